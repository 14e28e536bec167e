// Leagues and training runs on disk, and jobs on other machines, live.
import * as api from './api.js';
import { $, h, s, toast } from './dom.js';
import { queueSections } from './queue.js';

const COLORS = ['#1f6f5c', '#b9772a', '#4a7d9c', '#b0413e', '#7a5aa6', '#6b7a2f', '#a1527e', '#4f5d6b'];
let timer = null, chosen = null, onReplay = null;

/** Opens or closes the view. */
export function toggle(open, replay) {
  onReplay = replay ?? onReplay;
  $('studies').hidden = !open;
  $('main').hidden = open;
  clearInterval(timer);
  if (!open) return;
  chosen = null;
  refresh();
  timer = setInterval(refresh, 3000);
}

async function refresh() {
  if (document.hidden) return;
  try {
    if (!chosen) return renderList(await api.studies());
    if (chosen.kind === 'queue') show(back(), ...queueSections((await api.queue()).status));
    else if (chosen.kind === 'league') renderLeague(await api.league(chosen.id));
    else renderRun(await api.run(chosen.id));
  } catch (error) {
    toast(error.message);
    chosen = null;
  }
}

const choose = (kind, id) => { chosen = { kind, id }; refresh(); };
const back = () => h('button', { type: 'button', class: 'plain', onclick: () => { chosen = null; refresh(); } }, '← All leagues and runs');

function show(...content) {
  const scroll = $('studies').scrollTop;
  $('studies').replaceChildren(h('div', { class: 'studies' }, ...content));
  $('studies').scrollTop = scroll;
}

function renderList({ leagues, runs, queue }) {
  const list = (title, kind, entries, hint) => h('section', {}, h('h2', {}, title), entries.length
    ? h('ul', { class: 'study-list' }, entries.map(entry => h('li', {}, h('button', { type: 'button', onclick: () => choose(kind, entry.id) }, entry.id))))
    : h('p', { class: 'note' }, hint));
  show(h('h1', {}, 'Leagues and runs'),
    list('Leagues', 'league', leagues, 'None found. mavis league run --config league.toml --out league makes one; mavis serve --show FOLDER says where to look.'),
    list('Training runs', 'run', runs, 'None found. mavis train mav --config recipes/first.toml --out runs/first makes one.'),
    queue && list('Other machines', 'queue', [{ id: 'Jobs and workers' }]));
}

const number = (value, digits = 0) => (value === null || value === undefined ? '–' : value.toFixed(digits));

function renderLeague({ standings, names, history, games }) {
  const { players, cross } = standings;
  const lows = players.map(player => player.elo.low ?? player.elo.value ?? 0), highs = players.map(player => player.elo.high ?? player.elo.value ?? 0);
  const low = Math.min(...lows), span = Math.max(1, Math.max(...highs) - low), at = value => `${100 * ((value ?? low) - low) / span}%`;
  show(back(), h('h1', {}, standings.name || chosen.id), h('p', { class: 'note' }, `${standings.game} · ${standings.finished} of ${standings.planned} games${standings.sprt ? ` · ${standings.sprt.verdict}, LLR ${number(standings.sprt.llr, 2)}` : ''}`),
    h('section', {}, h('h2', {}, 'Standings'), h('table', { class: 'standings' },
      h('thead', {}, h('tr', {}, ['', 'Player', 'Elo', '95 % interval', 'Games', 'Score', 's/move'].map(text => h('th', { scope: 'col' }, text)))),
      h('tbody', {}, players.map((player, index) => h('tr', {}, h('td', {}, String(player.rank)), h('th', { scope: 'row' }, h('span', { class: 'dot', style: { background: COLORS[index % COLORS.length] } }), player.name),
        h('td', {}, number(player.elo.value)), h('td', { class: 'interval' }, h('span', { class: 'whisker', style: { left: at(lows[index]), right: `calc(100% - ${at(highs[index])})` } }), h('span', { class: 'point', style: { left: at(player.elo.value) } })),
        h('td', {}, String(player.games)), h('td', {}, player.score === null ? '–' : `${(100 * player.score).toFixed(1)}%`), h('td', {}, number(player.seconds, 2))))))),
    h('section', {}, h('h2', {}, 'Strength over the games'), chart(names.map((name, index) => ({ name, color: COLORS[index % COLORS.length], points: history.map(([n, elo]) => [n, elo[index]]).filter(([, value]) => value !== null) })), 'games', 'Elo')),
    h('section', {}, h('h2', {}, 'Each against each'), h('p', { class: 'note' }, 'Wins, draws and losses of the player of the row.'), h('div', { class: 'wide' }, h('table', { class: 'cross' },
      h('thead', {}, h('tr', {}, h('th', {}, ''), players.map(player => h('th', { scope: 'col' }, String(player.rank))))),
      h('tbody', {}, cross.map((row, index) => h('tr', {}, h('th', { scope: 'row' }, `${players[index].rank} ${players[index].name}`), row.map(([wins, draws, losses], column) => h('td', {}, column === index ? '' : wins + draws + losses ? `${wins}-${draws}-${losses}` : '·')))))))),
    h('section', {}, h('h2', {}, 'Latest games'), h('p', { class: 'note' }, 'A click replays a game on the board.'), h('div', { class: 'game-list' }, games.slice(0, 100).map(game => h('button', { type: 'button', onclick: () => replay(game) }, h('b', {}, game.result), ` ${game.first} – ${game.second}`, h('span', {}, `${game.plies} plies · ${game.reason}`))))));
}

async function replay(game) {
  try {
    const place = await api.leagueGame(chosen.id, game.game);
    toggle(false);
    onReplay(place);
  } catch (error) {
    toast(error.message);
  }
}

function renderRun({ curves }) {
  const groups = new Map();
  for (const [name, points] of Object.entries(curves)) {
    const group = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name;
    groups.set(group, [...(groups.get(group) ?? []), { name: name.slice(name.lastIndexOf('.') + 1), points }]);
  }
  const first = ['loss', 'learning_rate', 'by_kind'], rank = name => { const index = first.indexOf(name); return index < 0 ? first.length : index; };
  show(back(), h('h1', {}, chosen.id), h('div', { class: 'charts' }, [...groups].toSorted(([a], [b]) => rank(a) - rank(b)).map(([name, lines]) => h('section', {}, h('h2', {}, name.replaceAll('_', ' ')), chart(lines.slice(0, 8).map((line, index) => ({ ...line, color: COLORS[index % COLORS.length] })), 'steps', '')))));
}

/** Lines over a common axis. */
function chart(lines, xName, yName) {
  const points = lines.flatMap(line => line.points);
  if (points.length < 2) return h('p', { class: 'note' }, 'Too few points for a curve yet.');
  const [x0, x1, y0, y1] = [Math.min, Math.max].flatMap(f => [points.map(p => p[0]).reduce((a, b) => f(a, b))]).concat([Math.min, Math.max].map(f => points.map(p => p[1]).reduce((a, b) => f(a, b))));
  const W = 640, H = 220, left = 52, bottom = 22, x = v => left + (W - left - 8) * (v - x0) / Math.max(x1 - x0, 1e-9), y = v => 8 + (H - bottom - 8) * (1 - (v - y0) / Math.max(y1 - y0, 1e-9));
  const text = value => (Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 1 ? value.toFixed(2) : value.toPrecision(2));
  const svg = s('svg', { viewBox: `0 0 ${W} ${H}`, class: 'chart', role: 'img', 'aria-label': `${yName} ${lines.map(line => line.name).join(', ')} over ${xName}` });
  for (let i = 0; i <= 4; i++) {
    const value = y0 + (y1 - y0) * i / 4;
    svg.append(s('line', { class: 'rule', x1: left, x2: W - 8, y1: y(value), y2: y(value) }), s('text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, text(value)));
  }
  svg.append(s('text', { x: left, y: H - 5 }, text(x0)), s('text', { x: W - 8, y: H - 5, 'text-anchor': 'end' }, `${text(x1)} ${xName}`));
  for (const line of lines) svg.append(s('polyline', { points: line.points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(' '), stroke: line.color, fill: 'none', 'stroke-width': 1.8 }));
  return h('div', {}, svg, lines.length > 1 && h('div', { class: 'legend' }, lines.map(line => h('span', {}, h('span', { class: 'dot', style: { background: line.color } }), line.name))));
}
