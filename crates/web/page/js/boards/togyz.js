// Togyz Kumalak: nine pits for each side, sown counter-clockwise, a kazan for each.
import { s } from '../dom.js';
import { badge, svgBoard } from './grid.js';

export function create(root, onMove) {
  return svgBoard(root, { name: 'togyz', label: 'Togyz Kumalak board. Arrow keys choose a pit, Enter sows it.', viewBox: () => '-0.35 -0.9 9.7 9.7', draw }, onMove);
}

function draw(svg, { view, last, hints, legal, flipped }, cell) {
  const [pits, kazans, side] = view.position.split(' ');
  const counts = pits.split('/').map(row => row.split(',')), won = kazans.split(',').map(Number);
  svg.append(s('rect', { class: 'rim', x: -0.35, y: -0.35, width: 9.7, height: 8.6, rx: 0.35 }), s('rect', { class: 'wood', x: -0.2, y: -0.2, width: 9.4, height: 8.3, rx: 0.28 }));
  const bottom = flipped ? 1 : 0, mover = side === 'w' ? 0 : 1;
  for (const who of [0, 1]) {
    const isBottom = who === bottom;
    for (let pit = 0; pit < 9; pit++) {
      const column = isBottom ? pit : 8 - pit, x = column + 0.07, y = isBottom ? 5.15 : 0.35, height = 2.4;
      const count = counts[who][pit], text = String(pit + 1), mine = who === mover;
      const parts = [s('rect', { class: 'pit', x, y, width: 0.86, height, rx: 0.3 })];
      if (count === 'X') parts.push(s('circle', { class: 'tuzdyk', cx: x + 0.43, cy: y + height / 2, r: 0.27 }), s('text', { class: 'count', x: x + 0.43, y: y + height / 2 + 0.12, 'text-anchor': 'middle', 'font-size': 0.34 }, '✕'));
      else stones(parts, Number(count), x, y, isBottom);
      const yCount = isBottom ? y + height + 0.36 : y - 0.12;
      parts.push(s('text', { class: 'count', x: x + 0.43, y: yCount, 'text-anchor': 'middle', 'font-size': 0.34 }, count === 'X' ? '' : count));
      if (last === text && who !== mover && !view.result) parts.push(s('rect', { class: 'last-mark', x, y, width: 0.86, height, rx: 0.3, 'stroke-width': 0.07 }));
      const hint = mine && legal.has(text) && hints.get(text);
      if (hint) parts.push(badge(x + 0.43, isBottom ? y + 0.3 : y + height - 0.2, { ...hint, fill: '#ffe9b0' }, 0.26));
      const label = `Pit ${text}, ${count === 'X' ? 'tuzdyk' : `${count} stones`}`;
      const group = mine ? cell(text, label, [column, 0], parts) : s('g', { role: 'img', 'aria-label': label }, ...parts);
      svg.append(group);
    }
    const y = isBottom ? 4.02 : 2.98, kazan = s('g', { role: 'img', 'aria-label': `${who ? 'Second' : 'First'} player's kazan, ${won[who]} stones` });
    kazan.append(s('rect', { class: 'kazan', x: 0.07, y: y - 0.02, width: 8.86, height: 0.92, rx: 0.3 }));
    for (let i = 0; i < won[who]; i++) {
      const column = i % 41, row = Math.floor(i / 41);
      kazan.append(s('circle', { class: 'stone', cx: 0.4 + column * 0.19, cy: y + 0.25 + row * 0.24 + (column % 2) * 0.1, r: 0.085 }));
    }
    kazan.append(s('text', { class: 'count', x: 8.55, y: y + 0.6, 'text-anchor': 'middle', 'font-size': 0.46 }, String(won[who])));
    svg.append(kazan);
  }
}

function stones(parts, count, x, y, isBottom) {
  const shown = Math.min(count, 20);
  for (let i = 0; i < shown; i++) {
    const column = i % 2, row = Math.floor(i / 2) % 10;
    const dy = 0.32 + row * 0.2;
    parts.push(s('circle', { class: 'stone', cx: x + 0.26 + column * 0.34, cy: isBottom ? y + 2.4 - dy : y + dy, r: 0.125 }));
  }
}
