// Hex: a rhombus of pointed cells; each row stands half a cell to the right of the one above.
import { s } from '../dom.js';
import { badge, svgBoard } from './grid.js';

const W = Math.sqrt(3) / 2, R = 0.5774; // half-width factor and radius of a cell whose width is 1

export function create(root, onMove) {
  return svgBoard(root, {
    name: 'hex', label: 'Hex board. Arrow keys choose a cell, Enter plays. Red joins top and bottom, Blue joins left and right.',
    viewBox: ({ view }) => {
      const n = view ? view.position.split(' ')[0].split('/').length : 11;
      const width = 1.5 * n + 1.2, height = n * W + 1.6;
      // A square picture, with the rhombus in the middle.
      return `-1.1 ${-1 - (width - height) / 2} ${width} ${width}`;
    },
    draw,
  }, onMove);
}

const center = (column, row) => [column + row / 2 + 0.5, row * W + 0.5];
const corner = (x, y, i) => [x + R * Math.sin(i * Math.PI / 3), y - R * Math.cos(i * Math.PI / 3)];
const points = list => list.map(([x, y]) => `${x.toFixed(3)},${y.toFixed(3)}`).join(' ');

function draw(svg, { view, last, hints, legal }, cell) {
  const [rows, side] = view.position.split(' ');
  const board = rows.split('/'), n = board.length;
  edges(svg, n);
  const chain = view.result ? winningChain(board, view.result === '1-0' ? 'x' : 'o') : new Set();
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const [x, y] = center(column, row), stone = board[row][column];
      const text = String.fromCharCode(97 + column) + (row + 1);
      const parts = [s('polygon', { class: 'tile', points: points([0, 1, 2, 3, 4, 5].map(i => corner(x, y, i))) })];
      if (stone !== '.') parts.push(s('circle', { class: stone === 'x' ? 'first-hex' : 'second-hex', cx: x, cy: y, r: 0.4 }));
      if (last === text) parts.push(s('circle', { class: 'last-mark', cx: x, cy: y, r: 0.16, 'stroke-width': 0.09 }));
      if (chain.has(text)) parts.push(s('circle', { class: 'win-mark', cx: x, cy: y, r: 0.33, 'stroke-width': 0.08 }));
      const hint = hints.get(text);
      if (hint && legal.has(text)) parts.push(s('circle', { class: side === 'x' ? 'first-hex' : 'second-hex', cx: x, cy: y, r: 0.38, opacity: 0.15 + 0.6 * hint.weight }), badge(x, y, hint, 0.33));
      const who = stone === 'x' ? 'red stone' : stone === 'o' ? 'blue stone' : 'empty';
      svg.append(cell(text, `${text}, ${who}`, [column, row], parts));
    }
    const [x, y] = center(-1, row);
    svg.append(s('text', { class: 'coord', x: x - 0.02, y: y + 0.12, 'text-anchor': 'middle', 'font-size': 0.34 }, String(row + 1)));
  }
  for (let column = 0; column < n; column++) {
    const [x, y] = center(column, -1);
    svg.append(s('text', { class: 'coord', x: x + 0.3, y: y + 0.08, 'text-anchor': 'middle', 'font-size': 0.34 }, String.fromCharCode(97 + column)));
  }
  if (legal.has('swap')) {
    const at = n * 0.5;
    svg.append(cell('swap', 'Swap: take over the first stone', [0, n], [
      s('rect', { x: at - 1.4, y: n * W + 0.5, width: 2.8, height: 0.9, rx: 0.2, fill: 'var(--accent)' }),
      s('text', { x: at, y: n * W + 1.1, 'text-anchor': 'middle', 'font-size': 0.5, style: { fill: 'var(--accent-text)' } }, 'Swap')]));
  }
}

function edges(svg, n) {
  const top = [], bottom = [], left = [], right = [];
  for (let i = 0; i < n; i++) {
    const [tx, ty] = center(i, 0), [bx, by] = center(i, n - 1), [lx, ly] = center(0, i), [rx, ry] = center(n - 1, i);
    top.push(corner(tx, ty, 5), corner(tx, ty, 0), corner(tx, ty, 1));
    bottom.push(corner(bx, by, 4), corner(bx, by, 3), corner(bx, by, 2));
    left.push(corner(lx, ly, 5), corner(lx, ly, 4));
    right.push(corner(rx, ry, 1), corner(rx, ry, 2));
  }
  for (const [line, side] of [[left, 'second'], [right, 'second'], [top, 'first'], [bottom, 'first']]) svg.append(s('polyline', { class: `edge edge-${side}`, points: points(line) }));
}

/** The cells of the connected stones that join two edges. */
function winningChain(board, stone) {
  const n = board.length, at = (column, row) => board[row]?.[column] === stone;
  const name = (column, row) => String.fromCharCode(97 + column) + (row + 1);
  for (let i = 0; i < n; i++) {
    const start = stone === 'x' ? [i, 0] : [0, i];
    if (!at(...start)) continue;
    const seen = new Map([[String(start), null]]), queue = [start];
    while (queue.length) {
      const [c, r] = queue.shift();
      if ((stone === 'x' ? r : c) === n - 1) {
        const path = new Set();
        for (let key = `${c},${r}`; key; key = seen.get(key)) path.add(name(...key.split(',').map(Number)));
        return path;
      }
      for (const [dc, dr] of [[1, 0], [-1, 0], [0, 1], [0, -1], [1, -1], [-1, 1]]) {
        const next = [c + dc, r + dr];
        if (at(...next) && !seen.has(String(next))) { seen.set(String(next), `${c},${r}`); queue.push(next); }
      }
    }
  }
  return new Set();
}
