// Two players on one position.
import { $, h, percent } from '../dom.js';
import { playerPicker } from '../players.js';
import { bar } from './values.js';

export function render({ state, lines, results, faults, onPick, onHover, onPlay }) {
  const panel = $('panel-compare');
  const pick = index => h('label', {}, index ? 'and' : 'Compare', playerPicker({ game: state.game, value: lines[index], label: `Player ${index + 1}`, onPick: line => onPick(index, line) }));
  const head = h('div', { class: 'compare-pick' }, pick(0), pick(1));
  const faulty = faults.find(Boolean);
  const [a, b] = results;
  if (!a && !b) return panel.replaceChildren(head, h('p', { class: `note${faulty ? ' fault' : ''}` }, faulty ?? 'Thinking…'));
  const values = result => new Map((result?.moves ?? []).map(row => [row.text, row]));
  const left = values(a), right = values(b);
  const texts = [...new Set([...left.keys(), ...right.keys()])];
  const cells = (row, result, className) => [bar(row?.value, className), h('span', { class: 'percent' },
    row && row.text === result.choice.best.text && h('span', { class: 'star', title: 'its choice' }, '★ '), percent(row?.value))];
  const rows = texts.map(text => {
    const one = left.get(text), other = right.get(text);
    return h('div', { class: 'compare-row', onmouseenter: () => onHover(text), onmouseleave: () => onHover(null) },
      h('button', { type: 'button', class: 'plain', style: { padding: '.1rem .2rem', 'text-align': 'left', 'font-weight': '650', border: '0' }, onclick: () => onPlay(text) }, (one ?? other).san), ...cells(one, a, 'a'), ...cells(other, b, 'b'));
  });
  const name = (result, index) => (result ? `${result.choice.best.san} · ${result.choice.milliseconds} ms` : faults[index] ?? 'thinking…');
  panel.replaceChildren(head, h('div', { class: 'compare-row compare-head' }, h('span', {}, ''), h('span', { style: { 'grid-column': 'span 2' } }, name(a, 0)), h('span', { style: { 'grid-column': 'span 2' } }, name(b, 1))), h('div', {}, rows));
}
