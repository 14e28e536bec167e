// Chess and Chess960 on Chessground.
import { Chessground } from '/vendor/chessground/chessground.js';
import { h } from '../dom.js';

const ROLES = { q: 'queen', r: 'rook', b: 'bishop', n: 'knight' };

export function create(root, onMove) {
  const wrap = h('div', { class: 'cg-wrap' });
  root.replaceChildren(wrap);
  let options = null;
  const ground = Chessground(wrap, {
    animation: { duration: 180, enabled: !matchMedia('(prefers-reduced-motion: reduce)').matches },
    highlight: { lastMove: true, check: true },
    draggable: { showGhost: true },
    premovable: { enabled: false },
    drawable: { enabled: true, brushes: brushes() },
    movable: { free: false, showDests: true, events: { after: (from, to) => moved(from, to) } },
  });

  function moved(from, to) {
    const found = [...options.legal.keys()].filter(text => text.startsWith(from + to));
    if (found.length === 1) return onMove(found[0]);
    if (found.length > 1) return askPromotion(root, options.view.side, found).then(text => (text ? onMove(text) : api.set(options)));
    api.set(options);
  }

  const api = {
    set(next) {
      options = next;
      // Another view covers the board; it is drawn once it has a size again.
      if (!wrap.offsetWidth) return;
      const { view, last, movable, legal, flipped, hints } = options;
      const color = view.side === 'first' ? 'white' : 'black';
      const dests = new Map();
      if (movable) for (const text of legal.keys()) {
        const from = text.slice(0, 2);
        dests.set(from, [...(dests.get(from) ?? []), text.slice(2, 4)]);
      }
      ground.set({
        fen: view.position, orientation: flipped ? 'black' : 'white', turnColor: color,
        check: view.check ? color : false, lastMove: last ? [last.slice(0, 2), last.slice(2, 4)] : undefined,
        movable: { color: movable ? color : undefined, dests },
      });
      ground.setAutoShapes([...hints].map(([text, hint]) => ({
        orig: text.slice(0, 2), dest: text.slice(2, 4), brush: hint.brush ?? 'mavis',
        modifiers: { lineWidth: 3 + 6 * hint.weight },
        ...(hint.label ? { label: { text: hint.label } } : {}),
      })));
    },
    destroy() { watch.disconnect(); ground.destroy(); root.replaceChildren(); },
  };
  const watch = new ResizeObserver(() => {
    if (!wrap.offsetWidth) return;
    ground.redrawAll();
    if (options) api.set(options);
  });
  watch.observe(wrap);
  return api;
}

function brushes() {
  const brush = (key, color, opacity) => [key, { key, color, opacity, lineWidth: 10 }];
  return Object.fromEntries([
    brush('mavis', '#1f6f5c', 0.75), brush('best', '#12664f', 0.9), brush('other', '#b9772a', 0.75),
    brush('green', '#15781b', 0.8), brush('red', '#882020', 0.8), brush('blue', '#003088', 0.8), brush('yellow', '#e68f00', 0.8),
    brush('paleBlue', '#003088', 0.4), brush('paleGreen', '#15781b', 0.4), brush('paleRed', '#882020', 0.4), brush('paleGrey', '#4a4a4a', 0.35),
  ]);
}

function askPromotion(root, side, texts) {
  return new Promise(resolve => {
    const color = side === 'first' ? 'white' : 'black';
    const done = text => { layer.remove(); resolve(text); };
    const layer = h('div', { class: 'promotion cg-wrap', role: 'dialog', 'aria-label': 'Promote to', onclick: event => event.target === layer && done(null), onkeydown: event => event.key === 'Escape' && done(null) },
      h('div', {}, Object.entries(ROLES).map(([letter, role]) => {
        const text = texts.find(candidate => candidate.endsWith(letter));
        const piece = getComputedStyle(samplePiece(root, role, color)).backgroundImage;
        return text && h('button', { type: 'button', 'aria-label': role, style: { 'background-image': piece }, onclick: () => done(text) });
      })));
    root.append(layer);
    layer.querySelector('button')?.focus();
  });
}

/** The style sheet of the pieces styles `piece` elements; one is made to read its picture. */
function samplePiece(root, role, color) {
  const piece = document.createElement('piece');
  piece.className = `${role} ${color}`;
  const holder = h('div', { class: 'cg-wrap', style: { position: 'absolute', width: '0', height: '0', overflow: 'hidden' } }, piece);
  root.append(holder);
  queueMicrotask(() => setTimeout(() => holder.remove()));
  return piece;
}
