// Ends of games that the rules do not know: resignation, draws by claim and by agreement.
import * as api from './api.js';

const DRAWS = ['chess', 'chess960', 'connect4', 'othello', 'togyz'];

/** The side of the person who ends the game: the only one, or the one to move; null where players play each other. */
function person(players, toMove) {
  const persons = [0, 1].filter(side => players[side] === null);
  return persons.length === 2 ? toMove : persons[0] ?? null;
}

export const canResign = (state, toMove) => state.moves.length > 0 && person(state.players, toMove) !== null;
export const canDraw = (state, toMove) => canResign(state, toMove) && DRAWS.includes(state.game.split(':')[0]);

export function resignation(state, toMove) {
  const side = person(state.players, toMove);
  return { result: side === 0 ? '0-1' : '1-0', reason: 'resignation' };
}

/** A draw, or null where the opponent refuses: a player accepts when it sees no advantage for itself. */
export async function draw(state, view, place, signal) {
  if (view.claimable) return { result: '1/2-1/2', reason: 'claimed' };
  const toMove = view.side === 'first' ? 0 : 1, opponent = state.players[1 - person(state.players, toMove)];
  if (opponent === null) return { result: '1/2-1/2', reason: 'agreement' };
  const { choice } = await api.analyze({ place, player: opponent }, signal);
  const value = toMove === person(state.players, toMove) ? 1 - choice.value : choice.value;
  return choice.value !== null && value <= 0.5 ? { result: '1/2-1/2', reason: 'agreement' } : null;
}
