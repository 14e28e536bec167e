// What our SVG boards share: cells that can be clicked, focused and reached by arrow keys.
import { h, s } from '../dom.js';

/**
 * An SVG board. `draw(svg, options, cell)` fills it on every change; `cell(move, label, at, ...children)` makes a cell that
 * plays a move when it is legal. `at` is [column, row] for the arrow keys.
 */
export function svgBoard(root, { name, label, viewBox, draw }, onMove) {
  let options = null, focus = null;
  const svg = s('svg', { class: `svg-board ${name}`, role: 'group', 'aria-label': label, tabindex: 0, viewBox: viewBox({}) });
  root.replaceChildren(svg);

  const play = text => options?.movable && options.legal.has(text) && onMove(text);
  svg.addEventListener('click', event => {
    const cell = event.target.closest('[data-move]');
    if (cell) play(cell.dataset.move);
  });
  svg.addEventListener('keydown', event => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return focus && play(focus);
    const cells = [...svg.querySelectorAll('[data-at]')];
    const here = cells.find(cell => cell.dataset.move === focus);
    const [x, y] = (here?.dataset.at ?? '-1,0').split(',').map(Number);
    const find = (column, row) => cells.find(cell => cell.dataset.at === `${column},${row}`);
    let next = null;
    for (let i = 1; i < 20 && !next; i++) next = find(x + i * step[0], y + i * step[1]);
    next ??= here ?? cells[0];
    focus = next?.dataset.move ?? null;
    mark();
    svg.setAttribute('aria-label', next?.getAttribute('aria-label') ?? label);
  });

  function mark() {
    svg.querySelectorAll('.cursor').forEach(old => old.remove());
    const cell = focus && svg.querySelector(`[data-move="${CSS.escape(focus)}"]`);
    if (!cell || document.activeElement !== svg) return;
    const box = cell.getBBox();
    svg.append(s('rect', { class: 'cursor', x: box.x, y: box.y, width: box.width, height: box.height, 'stroke-width': 0.06, rx: 0.1 }));
  }

  function cell(move, text, at, ...children) {
    const legal = options.movable && options.legal.has(move);
    return s('g', { class: `cell${legal ? ' legal' : ''}`, 'data-move': move, 'data-at': at?.join(','), role: 'img', 'aria-label': text }, ...children);
  }

  return {
    set(next) {
      options = next;
      svg.setAttribute('viewBox', viewBox(options));
      svg.replaceChildren();
      draw(svg, options, cell);
      mark();
    },
    destroy() { root.replaceChildren(); },
  };
}

/** A value as a badge on a cell. */
export function badge(x, y, hint, size = 0.3) {
  return s('text', { class: 'hint-text', x, y: y + size * 0.36, 'text-anchor': 'middle', 'font-size': size, style: hint.fill ? { '--hint': hint.fill } : undefined }, hint.label);
}

export const empty = () => h('div');
