// The moves of the game and the graph of its values.
import { $, h, percent, s } from '../dom.js';

export function renderMoves({ view, cursor, ending, onGo }) {
  const root = $('moves');
  const items = [], first = view.start_ply;
  view.moves.forEach((move, index) => {
    const ply = first + index;
    if (ply % 2 === 0 || index === 0) items.push(h('li', { class: 'n' }, `${Math.floor(ply / 2) + 1}`));
    if (index === 0 && ply % 2 === 1) items.push(h('li', {}, h('span', { class: 'empty' }, '…')));
    items.push(h('li', {}, h('button', { type: 'button', 'aria-current': String(cursor === index + 1), onclick: () => onGo(index + 1) }, move.san)));
  });
  const end = ending ?? (view.result ? { result: view.result, reason: view.reason } : null);
  root.replaceChildren(items.length ? h('ol', {}, items) : h('div', { class: 'empty' }, 'No moves yet. Click or drag on the board, type a move, or press ? for the keys.'),
    ...(end ? [h('div', { class: 'ending' }, `${end.result} · ${end.reason}`)] : []));
  const current = root.querySelector('[aria-current="true"]');
  if (current) {
    const top = current.offsetTop - root.offsetTop;
    if (top < root.scrollTop || top > root.scrollTop + root.clientHeight - 30) root.scrollTop = top - root.clientHeight / 2;
  } else if (cursor === 0) root.scrollTop = 0;
}

/** Values of the first player by ply; `null` where nothing is known. */
export function renderGraph({ values, cursor, names, onGo }) {
  const root = $('graph'), n = Math.max(values.length - 1, 1);
  const svg = s('svg', { viewBox: `0 0 ${n} 100`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `Win probability of ${names[0]} over the game` });
  const known = values.map((value, ply) => [ply, value]).filter(([, value]) => value !== null);
  svg.append(s('rect', { class: 'under', x: 0, y: 0, width: n, height: 100 }));
  if (known.length > 1) {
    const line = known.map(([ply, value]) => `${ply},${(100 - 100 * value).toFixed(2)}`).join(' ');
    svg.append(s('polygon', { class: 'area', points: `${known[0][0]},100 ${line} ${known.at(-1)[0]},100` }), s('polyline', { class: 'curve', points: line }));
  }
  svg.append(s('line', { class: 'middle', x1: 0, y1: 50, x2: n, y2: 50 }), s('line', { class: 'here', x1: cursor, y1: 0, x2: cursor, y2: 100 }));
  svg.addEventListener('click', event => {
    const box = svg.getBoundingClientRect();
    onGo(Math.round((event.clientX - box.left) / box.width * n));
  });
  svg.append(s('title', {}, values[cursor] === null || values[cursor] === undefined ? '' : `${names[0]} ${percent(values[cursor], 1)}`));
  root.replaceChildren(svg);
}
