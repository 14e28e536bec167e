// The game under way: kept in memory, in localStorage and in the address.

const KEY = 'mavis-game-1';
const listeners = new Set();

/** Everything that survives a reload. Players are a line, or null for a person. */
export const state = {
  game: 'chess',
  start: null,
  moves: [],
  cursor: 0,
  flipped: false,
  players: [null, 'mav-mcts:sims=60,batch=8'],
  clock: null, // { base, increment, left: [ms, ms] }
  ending: null, // { result, reason } for what the rules do not know
  thinker: 'mav',
  arrows: true,
  values: true,
  tab: 'values',
};

export const onChange = listener => listeners.add(listener);

export function update(changes) {
  Object.assign(state, changes);
  save();
  for (const listener of listeners) listener(changes);
}

export const place = (n = state.cursor) => ({ game: state.game, ...(state.start ? { start: state.start } : {}), moves: state.moves.slice(0, n) });

/** The address of a position; opening it shows the same moves. */
export function link() {
  const parts = new URLSearchParams({ game: state.game });
  if (state.start) parts.set('start', state.start);
  if (state.moves.length) parts.set('moves', state.moves.join(' '));
  if (state.cursor !== state.moves.length) parts.set('at', state.cursor);
  return `#${parts}`;
}

export function save() {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch { /* Private windows may have no storage; the address still holds the game. */ }
  history.replaceState(null, '', link());
}

/** Takes up the stored game, or the one in the address where it is another. */
export function restore() {
  try {
    Object.assign(state, JSON.parse(localStorage.getItem(KEY) ?? '{}'));
  } catch { /* A damaged store is no reason not to play. */ }
  const stored = link();
  if (location.hash.length > 1 && location.hash !== stored) readAddress(location.hash);
  state.cursor = Math.max(0, Math.min(state.cursor, state.moves.length));
}

export function readAddress(hash) {
  const parts = new URLSearchParams(hash.slice(1));
  const game = parts.get('game');
  if (!game) return false;
  const moves = (parts.get('moves') ?? '').split(' ').filter(Boolean);
  const at = Number.parseInt(parts.get('at') ?? moves.length, 10);
  Object.assign(state, {
    game, moves, start: parts.get('start'), cursor: Number.isInteger(at) ? at : moves.length,
    ending: null, clock: null, players: [null, null],
  });
  return true;
}
