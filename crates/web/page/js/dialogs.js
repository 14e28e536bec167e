// New game, set-up and help.
import { $, h } from './dom.js';
import { gameInfo, kinds, playerPicker } from './players.js';
import { importText, Fault } from './api.js';
import { newClock } from './clock.js';

function show(content) {
  const dialog = $('dialog');
  dialog.replaceChildren(content);
  dialog.showModal();
  return dialog;
}

const close = () => $('dialog').close();
const end = (label, ...more) => h('div', { class: 'end' }, ...more, h('button', { type: 'button', onclick: close }, 'Cancel'), h('button', { class: 'primary', type: 'submit' }, label));

export function newGame(state, onStart) {
  const base = state.game.split(':')[0], sides = gameInfo(base).sides;
  const mine = state.players[0] === null ? 0 : state.players[1] === null ? 1 : 0;
  let opponent = state.players[1 - mine] ?? 'mav-mcts:sims=60,batch=8';
  const side = h('select', { 'aria-label': 'You play' }, sides.map((name, index) => h('option', { value: index, selected: index === mine }, name)), h('option', { value: 'random' }, 'Random side'), h('option', { value: 'both' }, 'Both sides'), h('option', { value: 'watch' }, 'Neither: watch'));
  const clock = h('select', { 'aria-label': 'Clock' }, [['', 'No clock'], ['1+1', '1 min + 1 s'], ['3+2', '3 min + 2 s'], ['10+5', '10 min + 5 s'], ['30+20', '30 min + 20 s']].map(([value, text]) => h('option', { value }, text)));
  const size = h('select', { 'aria-label': 'Board size' }, [5, 7, 9, 11, 13].map(n => h('option', { value: n, selected: state.game === `hex:size=${n}` || (n === 11 && !state.game.includes('size')) }, `${n} × ${n}`)));
  const swap = h('input', { type: 'checkbox' });
  const number = h('input', { type: 'number', min: 0, max: 959, placeholder: 'random', 'aria-label': 'Start position, 0 to 959' });
  const form = h('form', {
    onsubmit: event => {
      event.preventDefault();
      close();
      const chosen = side.value === 'random' ? Math.floor(Math.random() * 2) : side.value;
      const players = chosen === 'both' ? [null, null] : chosen === 'watch' ? [opponent, opponent] : Number(chosen) === 0 ? [null, opponent] : [opponent, null];
      const game = base === 'hex' && (Number(size.value) !== 11 || swap.checked) ? `hex:size=${size.value}${swap.checked ? ',swap' : ''}` : base;
      const start = base === 'chess960' ? start960(number.value === '' ? Math.floor(Math.random() * 960) : Math.min(959, Math.max(0, Number(number.value)))) : null;
      onStart({ game, start, players, clock: newClock(clock.value), flipped: players[0] !== null && players[1] === null });
    },
  },
  h('h2', { id: 'dialog-title' }, `New game of ${gameInfo(base).title}`),
  h('fieldset', {}, h('span', {}, h('b', {}, 'Opponent')), playerPicker({ game: base, value: opponent, label: 'Opponent', onPick: line => { opponent = line; } })),
  h('div', { class: 'row' }, h('label', {}, 'You play', side), h('label', {}, 'Clock', clock)),
  base === 'hex' && h('div', { class: 'row' }, h('label', {}, 'Board', size), h('label', {}, 'Swap rule', h('span', { class: 'switch' }, swap, 'the second player may swap'))),
  base === 'chess960' && h('label', {}, 'Start position', number),
  end('Play'));
  show(form);
}

export function setUp(state, position, onLoad) {
  const text = h('textarea', { 'aria-label': 'Position, PGN or moves', spellcheck: 'false' }, position);
  const fault = h('div', { class: 'fault', role: 'alert' });
  show(h('form', {
    onsubmit: async event => {
      event.preventDefault();
      try {
        const place = await importText(state.game, text.value);
        close();
        onLoad(place);
      } catch (error) {
        fault.textContent = error instanceof Fault ? error.message : String(error);
      }
    },
  },
  h('h2', { id: 'dialog-title' }, 'Set up a position'),
  h('p', {}, `Paste ${state.game.startsWith('chess') ? 'a FEN, ' : 'position text, '}PGN of any of the six games, or a list of moves. The current position is below; edit it or replace it.`), text, fault, end('Load')));
  text.select();
}

export function help() {
  const keys = [['← →', 'one move back, forward'], ['Home End', 'first, last position'], ['u', 'undo'], ['f', 'flip the board'], ['n', 'new game'], ['p', 'set up a position'], ['b', 'play the best move shown'], ['a', 'thoughts on the board'], ['s', 'start or stop the tree search'], ['d', 'dark or light'], ['/', 'type a move'], ['1–9', 'play a column or pit']];
  show(h('form', { method: 'dialog' },
    h('h2', { id: 'dialog-title' }, 'What you see'),
    h('p', {}, 'Thoughts lists every legal move with the chance of winning that the player gives it. The small picture beside it is the whole opinion: 64 buckets from lost to won. Tree shows a search while it grows, Text the words the model reads and writes, Compare two players on one position.'),
    h('table', {}, keys.map(([key, text]) => h('tr', {}, h('td', {}, h('kbd', {}, key)), h('td', {}, text)))),
    h('p', {}, `Player lines for experts: ${kinds().map(kind => kind.name).join(', ')}; options follow a colon, as in mav-mcts:sims=200,batch=8.`),
    h('div', { class: 'end' }, h('button', { class: 'primary', value: 'ok' }, 'Close'))));
}

/** The Chess960 start position of a number, as X-FEN. */
export function start960(number) {
  const row = Array(8).fill(null);
  let n = number;
  row[2 * (n % 4) + 1] = 'b'; n = Math.floor(n / 4);
  row[2 * (n % 4)] = 'b'; n = Math.floor(n / 4);
  const free = () => row.map((piece, index) => (piece ? -1 : index)).filter(index => index >= 0);
  row[free()[n % 6]] = 'q'; n = Math.floor(n / 6);
  const knights = [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]][n], places = free();
  for (const index of knights) row[places[index]] = 'n';
  const [left, king, right] = free();
  row[left] = 'r'; row[king] = 'k'; row[right] = 'r';
  const back = row.join('');
  return `${back}/pppppppp/8/8/8/8/PPPPPPPP/${back.toUpperCase()} w KQkq - 0 1`;
}
