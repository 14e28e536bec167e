// Clocks of a timed game. The time left is part of the stored game, so a reload goes on where it stood.
import { state, update } from './store.js';

let since = null, running = null;

export const newClock = text => {
  const match = /^(\d+(?:\.\d+)?)\+(\d+(?:\.\d+)?)$/.exec(text);
  if (!match) return null;
  const base = 60000 * Number(match[1]), increment = 1000 * Number(match[2]);
  return base > 0 ? { base, increment, left: [base, base] } : null;
};

/** Time left of a side in milliseconds. */
export function left(side) {
  const spent = running === side && since !== null ? performance.now() - since : 0;
  return Math.max(0, state.clock.left[side] - spent);
}

/** Lets one side's clock run; null stops both. The time of the other is settled. */
export function run(side) {
  if (!state.clock || running === side) return;
  settle();
  running = side;
  since = side === null ? null : performance.now();
}

export const isRunning = side => running === side;

/** Adds the increment to a side that moved. */
export function moved(side) {
  if (!state.clock) return;
  settle();
  state.clock.left[side] += state.clock.increment;
  update({ clock: state.clock });
}

export function settle() {
  if (state.clock && running !== null && since !== null) {
    state.clock.left[running] = left(running);
    since = performance.now();
  }
}

export function stop() { settle(); running = null; since = null; }

export function text(ms) {
  const seconds = Math.ceil(ms / 1000);
  if (ms < 10000) return (ms / 1000).toFixed(1);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
