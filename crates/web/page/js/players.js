// Choosing a player: presets by strength, or a line for experts.
import { h } from './dom.js';

let info = null;
export const setInfo = value => { info = value; };
export const gameInfo = game => info.games.find(entry => entry.game === game.split(':')[0]) ?? info.games[0];
export const kinds = () => info.kinds;

/** The title of a line: its preset's, or the line itself. */
export function playerTitle(game, line) {
  if (line === null) return 'You';
  return gameInfo(game).presets.find(preset => preset.player === line)?.title ?? line;
}

const CUSTOM = '\u0000custom';

/**
 * A picker; `onPick` gets the line, or null for a person where `person` is set.
 * `trees` leaves only players that grow one.
 */
export function playerPicker({ game, value, person = false, trees = false, label, onPick }) {
  const presets = gameInfo(game).presets.filter(preset => !trees || /^mav-(mcts|is)/.test(preset.player));
  const known = (person && value === null) || presets.some(preset => preset.player === value);
  const option = (key, text, title) => h('option', { value: key, title, selected: key === (value === null ? 'person' : known ? value : CUSTOM) }, text);
  const input = h('input', {
    value: value ?? 'mav-mcts:sims=200', 'aria-label': `${label}: player line`, spellcheck: 'false', hidden: known,
    title: 'A player line such as mav-mcts:sims=200,batch=8', list: 'player-kinds',
    onchange: () => input.value.trim() && onPick(input.value.trim()),
  });
  const select = h('select', {
    'aria-label': label,
    onchange: () => {
      input.hidden = select.value !== CUSTOM;
      if (select.value === CUSTOM) input.focus();
      else onPick(select.value === 'person' ? null : select.value);
    },
  }, person && option('person', 'A person'), presets.map(preset => option(preset.player, preset.title, preset.help)), option(CUSTOM, 'Player line…'));
  return h('div', { class: 'player-pick' }, select, input);
}
