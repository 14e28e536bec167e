// The tree of a search while it grows.
import { $, h, percent, s, valueColor } from '../dom.js';
import { playerPicker } from '../players.js';

const open = new Set(['']);
let touched = false;

export function render({ state, view, running, fault, line, sims, onStart, onStop, onLine, onSims, onHover }) {
  const panel = $('panel-tree');
  const scroll = panel.querySelector('.tree')?.scrollTop ?? 0, outer = panel.scrollTop;
  if (!view) { open.clear(); open.add(''); touched = false; }
  const head = h('div', { class: 'panel-head' },
    h('button', { type: 'button', class: running ? 'plain' : 'primary', id: 'search-button', onclick: running ? onStop : onStart, style: { border: '0', 'border-radius': 'var(--radius)', padding: '.42rem .8rem', cursor: 'pointer' } }, running ? 'Stop' : 'Search'),
    h('label', { class: 'switch' }, h('select', { 'aria-label': 'Simulations', onchange: event => onSims(Number(event.target.value)) }, [50, 100, 200, 400, 1000, 3000].map(n => h('option', { value: n, selected: n === sims }, `${n}`))), 'simulations'),
    h('span', { class: 'spacer' }),
    playerPicker({ game: state.game, value: line, trees: true, label: 'Search with', onPick: onLine }));
  if (fault) return panel.replaceChildren(head, h('p', { class: 'note fault' }, fault));
  if (!view) return panel.replaceChildren(head, h('p', { class: 'note' }, 'Grows a search tree from this position and shows it while it grows: how often each move was tried, what it turned out to be worth, and which lines the search believes in.'));
  if (!touched) expandMain(view.tree);
  const most = Math.max(1, ...view.tree.map(move => move.visits));
  const facts = h('div', { class: 'note', id: 'tree-facts', style: { padding: '.45rem .8rem' } },
    h('b', { style: { color: 'var(--text)' } }, `${view.best?.san ?? ''} ${percent(view.value, 1)}`), ` · ${view.text ? `${view.simulations} evaluations` : `${view.simulations} simulations`} · ${view.nodes} nodes${view.dead ? ` · ${view.dead} hallucinated` : ''} · ${(view.milliseconds / 1000).toFixed(1)} s${view.done ? '' : ' …'}`);
  const root = h('div', { class: 'tree', role: 'tree', 'aria-label': 'Search tree' }, list(view.tree, '', most, onHover, () => render({ state, view, running, fault, line, sims, onStart, onStop, onLine, onSims, onHover })));
  const written = view.text && h('pre', { class: 'trace', id: 'trace-text', tabindex: 0, 'aria-label': 'The search as the model writes it' }, view.text);
  panel.replaceChildren(...[head, facts, flame(view.tree, onHover), root, written].filter(Boolean));
  root.scrollTop = scroll;
  panel.scrollTop = outer;
}

/** Opens the most visited line, so that a first look shows something. */
function expandMain(moves) {
  open.clear();
  open.add('');
  let path = '';
  for (let level = moves, depth = 0; level.length && depth < 4; depth++) {
    const best = level.reduce((a, b) => (b.visits > a.visits ? b : a));
    path += `/${best.text}`;
    if (best.visits > 1) open.add(path);
    level = best.replies;
  }
}

function list(moves, path, most, onHover, redraw) {
  return h('ul', { role: path ? 'group' : 'none' }, moves.map(move => {
    const key = `${path}/${move.text}`, isOpen = open.has(key), has = move.replies.length > 0;
    const root = path.split('/')[1] ?? move.text;
    return h('li', { role: 'treeitem', 'aria-expanded': has ? String(isOpen) : undefined },
      h('div', { class: `tree-row${move.proof === 'dead' ? ' dead' : ''}`, onmouseenter: () => onHover(root), onmouseleave: () => onHover(null) },
        has ? h('button', { class: 'toggle', type: 'button', 'aria-label': `${isOpen ? 'Close' : 'Open'} ${move.san}`, onclick: () => { touched = true; isOpen ? open.delete(key) : open.add(key); redraw(); } }, isOpen ? '▾' : '▸') : h('span'),
        h('span', { class: 'move' }, move.san, move.proof && h('span', { class: `badge ${move.proof}` }, move.proof === 'dead' ? 'hallucinated' : move.proof)),
        h('div', { class: 'visits', style: { width: `${100 * move.visits / most}%` }, title: `prior ${percent(move.prior, 1)}, model ${percent(move.model_value, 1)}` }),
        h('span', { class: 'num' }, String(move.visits)), h('span', { class: 'value', style: { color: `color-mix(in srgb, ${valueColor(move.value)} 55%, var(--text))` } }, percent(move.value))),
      has && isOpen && list(move.replies, key, most, onHover, redraw),
      isOpen && move.hidden > 0 && h('div', { class: 'hidden' }, `and ${move.hidden} more`));
  }));
}

/** The tree as stacked bars: width is visits, color is the value for the first mover of the line. */
function flame(moves, onHover) {
  const full = Math.max(300, $('panel-tree').clientWidth);
  const svg = s('svg', { class: 'flame', viewBox: `0 0 ${full} 112`, role: 'img', 'aria-label': 'Visits by line, the root on top' });
  const rowHeight = 16;
  (function row(list, x, width, depth, sign, root) {
    const total = list.reduce((sum, move) => sum + move.visits, 0);
    if (!total || depth > 6) return;
    for (const move of [...list].sort((a, b) => b.visits - a.visits)) {
      const w = width * move.visits / total;
      if (w < 1.5) continue;
      const value = sign > 0 ? move.value : 1 - move.value, top = root ?? move.text;
      svg.append(s('rect', { x, y: depth * rowHeight, width: w, height: rowHeight - 1, fill: move.proof === 'dead' ? 'var(--warn)' : valueColor(value), onmouseenter: () => onHover(top), onmouseleave: () => onHover(null) }, s('title', {}, `${move.san}: ${move.visits} visits, ${percent(move.value)}`)));
      if (w > 8 * move.san.length + 6) svg.append(s('text', { x: x + 4, y: depth * rowHeight + 11.5 }, move.san));
      row(move.replies, x, w, depth + 1, -sign, top);
      x += w;
    }
  })(moves, 0, full, 0, 1, null);
  return svg;
}
