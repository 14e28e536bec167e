// Connect Four: seven columns of six.
import { s } from '../dom.js';
import { badge, svgBoard } from './grid.js';

export function create(root, onMove) {
  return svgBoard(root, { name: 'c4', label: 'Connect Four board. Arrow keys choose a column, Enter plays.', viewBox: () => '-0.2 -1.1 7.4 7.7', draw }, onMove);
}

function draw(svg, { view, last, hints, legal }, cell) {
  const [rows, side] = view.position.split(' ');
  const board = rows.split('/');
  const winning = line(board);
  svg.append(s('rect', { class: 'tray-edge', x: -0.12, y: -0.12, width: 7.24, height: 6.3, rx: 0.3 }), s('rect', { class: 'tray', x: -0.12, y: -0.12, width: 7.24, height: 6.2, rx: 0.3 }));
  for (let column = 0; column < 7; column++) {
    const text = String(column + 1);
    const height = board.filter(row => row[column] !== '.').length;
    const parts = [];
    for (let row = 0; row < 6; row++) {
      const stone = board[row][column], x = column + 0.5, y = row + 0.5;
      parts.push(s('circle', { class: 'hole', cx: x, cy: y, r: 0.41 }));
      if (stone !== '.') {
        const isLast = last === text && row === 6 - height;
        parts.push(s('circle', { class: `${stone === 'x' ? 'first-c4' : 'second-c4'}${isLast ? ' fall' : ''}`, cx: x, cy: y, r: 0.41, style: isLast ? { '--from': `${-(row + 1)}px` } : undefined }));
        parts.push(s('circle', { cx: x, cy: y, r: 0.28, fill: 'none', stroke: 'rgb(0 0 0 / 14%)', 'stroke-width': 0.05 }));
        if (isLast) parts.push(s('circle', { class: 'last-mark', cx: x, cy: y, r: 0.12, 'stroke-width': 0.06, stroke: '#fff' }));
      }
      if (winning.has(`${column},${row}`)) parts.push(s('circle', { class: 'win-mark', cx: x, cy: y, r: 0.36, 'stroke-width': 0.09 }));
    }
    const hint = hints.get(text);
    if (hint && height < 6) {
      const y = 5.5 - height;
      parts.push(s('circle', { class: side === 'x' ? 'first-c4' : 'second-c4', cx: column + 0.5, cy: y, r: 0.38, opacity: 0.12 + 0.35 * hint.weight }));
    }
    if (legal.has(text) && hint) parts.push(badge(column + 0.5, -0.55, { ...hint, fill: 'var(--text)' }, 0.27));
    parts.push(s('rect', { class: 'over', x: column, y: -0.1, width: 1, height: 6.1, rx: 0.2 }));
    parts.push(s('rect', { x: column, y: -1, width: 1, height: 7.1, fill: 'transparent' }));
    parts.push(s('text', { class: 'coord', x: column + 0.5, y: 6.5, 'text-anchor': 'middle', 'font-size': 0.26 }, text));
    const group = cell(text, `Column ${text}, ${height} of 6`, [column, 0], parts);
    group.classList.add('column');
    svg.append(group);
  }
}

/** The cells of four in a line, if there are any. */
function line(board) {
  for (let y = 0; y < 6; y++) for (let x = 0; x < 7; x++) for (const [dx, dy] of [[1, 0], [0, 1], [1, 1], [1, -1]]) {
    const cells = [0, 1, 2, 3].map(i => [x + i * dx, y + i * dy]);
    const stones = cells.map(([cx, cy]) => board[cy]?.[cx]);
    if (stones[0] && stones[0] !== '.' && stones.every(stone => stone === stones[0])) return new Set(cells.map(String));
  }
  return new Set();
}
