// The MAV text behind the views, and the model writing by itself.
import { $, h } from '../dom.js';

export function render({ analysis, written, writing, fault, onWrite, onStop }) {
  const panel = $('panel-text');
  if (!analysis) return panel.replaceChildren(h('p', { class: 'note' }, 'No position to write about: the game is over, or nobody thinks.'));
  panel.replaceChildren(
    h('div', { class: 'text-part' }, h('h3', {}, 'What is asked'), h('p', {}, 'The position in the language of the model.'), h('pre', { class: 'mav' }, paint(analysis.text.prompt))),
    h('div', { class: 'text-part' }, h('h3', {}, 'What is answered'), h('p', {}, 'Each move with the token of its value, from <ctrl1> (lost) to <ctrl64> (won): the values of the Thoughts view.'), h('pre', { class: 'mav' }, paint(analysis.text.answer))),
    h('div', { class: 'text-part' },
      h('div', { class: 'panel-head', style: { position: 'static', border: '0' } }, h('h3', { style: { padding: '0' } }, 'Written by the model itself'), h('span', { class: 'spacer' }),
        h('button', { type: 'button', class: 'plain', id: 'write', onclick: writing ? onStop : onWrite }, writing ? 'Stop' : 'Let it write')),
      h('p', {}, 'Token by token, nothing checked: moves in an order of its own, and its mistakes too.'),
      fault && h('p', { class: 'fault' }, fault), h('pre', { class: 'mav', id: 'written' }, paint(written))));
}

/** Marks commands, values and the best action. */
function paint(text) {
  const parts = [];
  for (const piece of (text ?? '').split(/(%[a-z_0-9]+|<ctrl\d+>|<\/?mav[^>]*>)/)) {
    if (!piece) continue;
    if (piece.startsWith('%')) parts.push(h('span', { class: 'command' }, piece));
    else if (piece.startsWith('<ctrl')) parts.push(h('span', { class: 'val' }, piece));
    else if (piece.startsWith('<')) parts.push(h('span', { class: 'prompt' }, piece));
    else parts.push(piece);
  }
  return parts;
}
