// Othello: a1 at the top left.
import { s } from '../dom.js';
import { badge, svgBoard } from './grid.js';

export function create(root, onMove) {
  return svgBoard(root, { name: 'othello', label: 'Othello board. Arrow keys choose a square, Enter plays.', viewBox: () => '-0.5 -0.5 8.7 8.7', draw }, onMove);
}

function draw(svg, { view, last, hints, legal }, cell) {
  const [squares, side] = view.position.split(' ');
  svg.append(s('rect', { class: 'rim', x: -0.5, y: -0.5, width: 8.7, height: 8.7, rx: 0.18 }), s('rect', { class: 'felt', x: -0.02, y: -0.02, width: 8.04, height: 8.04 }));
  for (let i = 0; i <= 8; i++) svg.append(s('line', { class: 'grid', x1: i, y1: 0, x2: i, y2: 8 }), s('line', { class: 'grid', x1: 0, y1: i, x2: 8, y2: i }));
  for (let i = 0; i < 8; i++) {
    svg.append(s('text', { class: 'coord', x: i + 0.5, y: -0.16, 'text-anchor': 'middle', 'font-size': 0.24 }, 'abcdefgh'[i]));
    svg.append(s('text', { class: 'coord', x: -0.25, y: i + 0.59, 'text-anchor': 'middle', 'font-size': 0.24 }, String(i + 1)));
  }
  for (let index = 0; index < 64; index++) {
    const column = index % 8, row = Math.floor(index / 8), x = column + 0.5, y = row + 0.5;
    const text = 'abcdefgh'[column] + (row + 1), disc = squares[index];
    const parts = [s('rect', { x: column, y: row, width: 1, height: 1, fill: 'transparent' })];
    if (disc !== '-') parts.push(s('circle', { class: `disc ${disc === 'X' ? 'first-othello' : 'second-othello'}`, cx: x, cy: y, r: 0.42 }));
    if (last === text) parts.push(s('circle', { class: 'last-mark', cx: x, cy: y, r: 0.13, 'stroke-width': 0.07 }));
    const hint = hints.get(text);
    if (legal.has(text)) {
      if (hint) parts.push(s('circle', { class: side === 'X' ? 'first-othello' : 'second-othello', cx: x, cy: y, r: 0.4, opacity: 0.12 + 0.3 * hint.weight }), badge(x, y, hint, 0.27));
      else parts.push(s('circle', { class: 'dot', cx: x, cy: y, r: 0.12 }));
    }
    const who = disc === 'X' ? 'black disc' : disc === 'O' ? 'white disc' : legal.has(text) ? 'legal move' : 'empty';
    svg.append(cell(text, `${text}, ${who}`, [column, row], parts));
  }
}
