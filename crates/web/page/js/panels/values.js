// Thoughts: every legal move with its value and the distribution behind it.
import { $, h, percent, s, valueColor } from '../dom.js';
import { playerPicker } from '../players.js';

let focused = null;

/** Draws the panel. `onHover` gets a move's text or null, `onPlay` a move's text. */
export function render({ state, analysis, fault, busy, over, onThinker, onToggle, onHover, onPlay }) {
  const panel = $('panel-values');
  const head = h('div', { class: 'panel-head' },
    analysis && !over ? h('div', {}, h('div', { class: 'big' }, percent(analysis.choice.value, 1)), h('div', { class: 'sub' }, 'for the side to move')) : h('div', { class: 'sub' }, over ? 'The game is over.' : busy ? 'Thinking…' : ''),
    h('span', { class: 'spacer' }),
    h('label', { class: 'switch' }, h('input', { type: 'checkbox', checked: state.arrows, onchange: event => onToggle('arrows', event.target.checked) }), 'on the board'),
    playerPicker({ game: state.game, value: state.thinker, label: 'Who thinks', onPick: onThinker }));
  if (fault) return panel.replaceChildren(head, h('p', { class: 'note fault' }, fault));
  if (!analysis || over) return panel.replaceChildren(head, h('p', { class: 'note' }, over ? 'Step back in the moves to see what was thought before.' : ''));
  const rows = analysis.moves;
  if (!rows.some(row => row.text === focused)) focused = null;
  const detail = h('div', { class: 'detail' });
  const hasSpark = rows.some(row => row.distribution);
  const replies = predictsReplies(analysis);
  const list = h('div', { class: `values${hasSpark ? '' : ' no-spark'}${hasSpark && rows.every(row => !extra(row)) ? ' no-extra' : ''}` }, rows.map(row => {
    const isBest = row.text === analysis.choice.best.text;
    const show = () => { focused = row.text; mark(); showDetail(detail, row); onHover(row.text); };
    return h('button', {
      type: 'button', class: `value-row${isBest ? ' best' : ''}`, 'data-row': row.text, title: 'Click to play this move',
      onmouseenter: show, onfocus: show, onmouseleave: () => onHover(null), onblur: () => onHover(null), onclick: () => onPlay(row.text),
    },
    h('span', { class: 'move' }, row.san), bar(row.value), h('span', { class: 'percent' }, row.mate ? mateText(row.mate) : percent(row.value)),
    hasSpark && sparkline(row.distribution), h('span', { class: 'extra' }, replies && row.line[1] ? h('span', { class: 'reply' }, `you: ${row.line[1].san}`) : extra(row)));
  }));
  const mark = () => list.querySelectorAll('.value-row').forEach(row => row.classList.toggle('active', row.dataset.row === focused));
  const first = rows.find(row => row.text === focused) ?? rows.find(row => row.text === analysis.choice.best.text) ?? rows[0];
  showDetail(detail, first);
  panel.replaceChildren(...[head, hasSpark && detail, replies && h('p', { class: 'note', id: 'replies-note' }, 'MPC-MC: beside each move the reply it predicts; the value is that of the position after both. Point at a move to see both on the board.'), analysis.choice.note && h('p', { class: 'note' }, analysis.choice.note), list].filter(Boolean));
  mark();
}

/** Whether the values rest on a predicted reply to each move. */
export const predictsReplies = analysis => analysis.choice.player.startsWith('mpc');

const mateText = mate => (mate > 0 ? `won in ${mate}` : `lost in ${-mate}`);

function extra(row) {
  const parts = [];
  if (row.visits !== null) parts.push(`${row.visits} visits`);
  if (row.centipawns !== null) parts.push(`${row.centipawns > 0 ? '+' : ''}${(row.centipawns / 100).toFixed(2)}`);
  if (row.line.length > 1) parts.push(row.line.slice(1).map(entry => entry.san).join(' '));
  return parts.join(' · ');
}

export function bar(value, className = '') {
  const width = value === null || value === undefined ? 0 : Math.max(1, 100 * value);
  return h('div', { class: 'track' }, h('div', { class: `fill ${className}`, style: { width: `${width}%`, ...(className ? {} : { background: valueColor(value) }) } }));
}

/** The 64 buckets in a small picture. */
export function sparkline(weights) {
  const svg = s('svg', { class: 'spark', viewBox: '0 0 64 20', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  if (!weights) return svg;
  const most = Math.max(...weights, 1e-6);
  weights.forEach((weight, index) => {
    if (weight > most * 0.004) svg.append(s('rect', { x: index, y: 20 - 20 * weight / most, width: 0.86, height: 20 * weight / most }));
  });
  return svg;
}

/** One move's distribution, large: from lost to won. */
function showDetail(root, row) {
  if (!row?.distribution) return root.replaceChildren();
  const weights = row.distribution, most = Math.max(...weights, 1e-6);
  const mean = weights.reduce((sum, weight, index) => sum + weight * (index + 0.5) / 64, 0);
  const svg = s('svg', { viewBox: '0 0 640 60', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Value distribution of ${row.san}: mean ${percent(mean, 1)}` });
  weights.forEach((weight, index) => {
    const height = 54 * weight / most;
    svg.append(s('rect', { class: 'bar', x: index * 10 + 0.8, y: 58 - height, width: 8.4, height }, s('title', {}, `bucket ${index + 1}: ${percent(weight, 1)}`)));
  });
  svg.append(s('line', { class: 'axis', x1: 0, y1: 58.5, x2: 640, y2: 58.5 }), s('line', { class: 'mean', x1: mean * 640, y1: 2, x2: mean * 640, y2: 58 }));
  const mode = weights.indexOf(most) + 1;
  root.replaceChildren(h('div', { class: 'detail-title' }, h('b', {}, row.san), h('span', {}, `mean ${percent(mean, 1)} · likeliest bucket ${mode} of 64${row.model_value !== null && row.visits !== null ? ` · after search ${percent(row.value, 1)}` : ''}`)), svg, h('div', { class: 'axis-labels', 'aria-hidden': 'true' }, ['lost', '25%', 'even', '75%', 'won'].map(text => h('span', {}, text))));
}
