// The page: ties the game, the board, the panels and the server together.
import * as api from './api.js';
import * as clock from './clock.js';
import * as dialogs from './dialogs.js';
import * as endings from './endings.js';
import { $, h, percent, toast } from './dom.js';
import { marks } from './hints.js';
import { gameInfo, playerPicker, playerTitle, setInfo } from './players.js';
import { link, place, readAddress, restore, save, state, update } from './store.js';
import * as compare from './panels/compare.js';
import * as record from './panels/record.js';
import * as text from './panels/text.js';
import * as tree from './panels/tree.js';
import * as values from './panels/values.js';
import * as studies from './studies.js';

const BOARDS = { chess: 'chess', chess960: 'chess', connect4: 'connect4', hex: 'hex', othello: 'othello', togyz: 'togyz' };

let board = null, boardKind = null;
let view = null, whole = null; // the shown position, and the whole game
let analysis = null, thinkFault = null, thinkBusy = false;
let hovered = null, thinking = null; // a hovered move; the side whose player thinks
let graph = [], playing = null;
const views = new Map(), analyses = new Map();
const stops = { draw: null, think: null, choose: null, search: null, compare: null, write: null, graph: null };
const growing = { view: null, running: false, fault: null, line: 'mav-mcts:sims=300,batch=16', sims: 400 };
const comparing = { lines: ['mav', 'mcts:sims=300'], results: [null, null], faults: [null, null], key: null };
const writing = { text: '', running: false, fault: null, key: null };

const sideIndex = side => (side === 'first' ? 0 : 1);
const aborted = error => error.name === 'AbortError';
const key = (n = state.cursor) => JSON.stringify(place(n));
const restart = name => { stops[name]?.abort(); stops[name] = new AbortController(); return stops[name].signal; };
const cancel = name => { stops[name]?.abort(); stops[name] = null; };
const isOver = () => Boolean(view?.result || (state.ending && state.cursor === state.moves.length));

async function positionAt(n) {
  const at = key(n);
  if (!views.has(at)) views.set(at, await api.position(place(n)));
  if (views.size > 2000) views.delete(views.keys().next().value);
  return views.get(at);
}

/** Shows the position at the cursor, then lets everyone think about it. */
async function refresh() {
  const wanted = key() + state.moves.length;
  try {
    const [here, all] = await Promise.all([positionAt(state.cursor), positionAt(state.moves.length)]);
    if (wanted !== key() + state.moves.length) return;
    [view, whole] = [here, all];
  } catch (error) {
    toast(error.message);
    if (!view) { update({ game: 'chess', start: null, moves: [], cursor: 0 }); return refresh(); }
    return;
  }
  analysis = analyses.get(analysisKey()) ?? null;
  if (growing.key !== key()) { cancel('search'); Object.assign(growing, { view: null, running: false, fault: null, key: key() }); }
  if (writing.key !== key()) { cancel('write'); Object.assign(writing, { text: '', running: false, fault: null, key: key() }); }
  draw();
  runClocks();
  think();
  compareNow();
  fillGraph();
  opponent();
}

function draw() {
  drawBoard();
  drawSeats();
  drawEvaluation();
  drawPanels();
  record.renderMoves({ view: whole, cursor: state.cursor, ending: state.ending, onGo: go });
  drawGraph();
  drawStatus();
  document.querySelectorAll('#games button').forEach(button => button.setAttribute('aria-current', String(button.dataset.game === state.game.split(':')[0])));
  $('back').disabled = $('to-start').disabled = state.cursor === 0;
  $('forward').disabled = $('to-end').disabled = state.cursor === state.moves.length;
  $('undo').disabled = state.moves.length === 0;
  $('resign').disabled = isOver() || !endings.canResign(state, sideIndex(view.side));
  $('draw').disabled = isOver() || !endings.canDraw(state, sideIndex(view.side));
}

const legalMoves = () => new Map(view.legal.map(move => [move.text, move]));

/** May a person move here? Anywhere but at the end the game is only looked at, and a move begins anew from there. */
const movable = () => !isOver() && state.players[sideIndex(view.side)] === null;

async function drawBoard() {
  const kind = BOARDS[state.game.split(':')[0]] ?? 'chess';
  if (kind !== boardKind) {
    boardKind = kind;
    board?.destroy();
    board = null;
    const module = await import(`./boards/${kind}.js`);
    if (boardKind !== kind) return;
    board = module.create($('board'), play);
  }
  if (!board) return;
  const last = state.cursor > 0 ? whole.moves[state.cursor - 1]?.text : null;
  board.set({ view, last, legal: legalMoves(), movable: movable(), flipped: state.flipped, hints: hints() });
}

const hints = () => (view && !isOver() ? marks({ tree: state.tab === 'tree' ? growing.view : null, analysis, hovered, arrows: state.arrows, chess: boardKind === 'chess' }) : new Map());

function drawSeats() {
  const sides = gameInfo(state.game).sides, bottom = state.flipped ? 1 : 0;
  for (const [id, index] of [['seat-bottom', bottom], ['seat-top', 1 - bottom]]) {
    const line = state.players[index], over = isOver();
    const picker = playerPicker({ game: state.game, value: line, person: true, label: `Who plays ${sides[index]}`, onPick: player => setPlayer(index, player) });
    $(id).replaceChildren(...[
      h('span', { class: 'chip', style: { background: chipColor(index) } }), h('span', { class: 'name' }, sides[index]), picker,
      thinking === index && h('span', { class: 'thinking' }, 'thinking'), h('span', { class: 'spacer' }),
      state.clock && h('span', { class: `clock${clock.isRunning(index) && !over ? ' running' : ''}${clock.left(index) < 20000 ? ' low' : ''}`, 'data-side': index }, clock.text(clock.left(index)))].filter(Boolean));
  }
}

const chipColor = index => ({ connect4: ['#d2493f', '#f0c541'], hex: ['#c7463d', '#3567a8'], othello: ['#191816', '#f6f4ee'] }[state.game.split(':')[0]] ?? ['#f6f4ee', '#191816'])[index];

/** The value of the shown position for the first player, 0 to 1. */
function firstValue(result = analysis, side = view.side) {
  if (result === null || result?.choice.value === null || result === undefined) return null;
  return side === 'first' ? result.choice.value : 1 - result.choice.value;
}

const resultValue = result => ({ '1-0': 1, '0-1': 0, '1/2-1/2': 0.5 }[result] ?? null);

function drawEvaluation() {
  const bar = $('eval-bar'), value = resultValue(view.result) ?? firstValue() ?? (growing.view ? (view.side === 'first' ? growing.view.value : 1 - growing.view.value) : null);
  const share = value ?? 0.5, names = gameInfo(state.game).sides;
  bar.querySelector('.eval-fill').style.height = `${100 * share}%`;
  bar.style.setProperty('--fill', `${100 * share}%`);
  bar.querySelector('.eval-text').textContent = value === null ? '' : Math.round(100 * share);
  bar.classList.toggle('flipped', state.flipped);
  bar.classList.toggle('dark-text', share < 0.06);
  bar.setAttribute('aria-label', value === null ? 'Evaluation: none yet' : `Evaluation: ${names[0]} ${percent(share)}`);
}

function drawPanels() {
  for (const name of ['values', 'tree', 'text', 'compare']) {
    const selected = state.tab === name, tab = $(`tab-${name}`);
    tab.setAttribute('aria-selected', String(selected));
    tab.tabIndex = selected ? 0 : -1;
    $(`panel-${name}`).hidden = !selected;
  }
  const hover = move => { if (hovered !== move) { hovered = move; drawBoard(); } };
  if (state.tab === 'values') values.render({ state, analysis, fault: thinkFault, busy: thinkBusy, over: isOver(), onHover: hover, onPlay: playShown, onThinker: thinker => { update({ thinker }); analysis = null; graph = []; think(); fillGraph(); }, onToggle: (name, on) => { update({ [name]: on }); drawBoard(); } });
  if (state.tab === 'tree') tree.render({ state, ...growing, onStart: startSearch, onStop: () => cancel('search'), onHover: hover, onLine: line => { growing.line = line; drawPanels(); }, onSims: sims => { growing.sims = sims; } });
  if (state.tab === 'text') text.render({ analysis, written: writing.text, writing: writing.running, fault: writing.fault, onWrite: write, onStop: () => cancel('write') });
  if (state.tab === 'compare') compare.render({ state, ...comparing, onHover: hover, onPlay: playShown, onPick: (index, line) => { comparing.lines[index] = line; comparing.key = null; compareNow(); } });
}

function drawStatus() {
  const names = gameInfo(state.game).sides;
  $('status').textContent = isOver() ? `Game over: ${view.result ?? `${state.ending.result} (${state.ending.reason})`}` : thinking !== null ? `${names[thinking]} thinks` : `${names[sideIndex(view.side)]} to move${view.claimable ? ' · a draw can be claimed' : ''}`;
}

const analysisKey = (n = state.cursor) => `${state.thinker} ${key(n)}`;

/** What the thinker says of the shown position. */
async function think() {
  const signal = restart('think'), wanted = analysisKey();
  thinkFault = null;
  if (analyses.has(wanted) || isOver()) { analysis = isOver() ? null : analyses.get(wanted); thinkBusy = false; return afterThought(); }
  thinkBusy = true;
  try {
    const result = await api.analyze({ place: place(), player: state.thinker }, signal);
    analyses.set(wanted, result);
    if (wanted !== analysisKey()) return;
    analysis = result;
  } catch (error) {
    if (aborted(error)) return;
    thinkFault = error.message;
  }
  thinkBusy = false;
  afterThought();
}

function afterThought() {
  graph[state.cursor] = resultValue(view.result) ?? firstValue() ?? graph[state.cursor] ?? null;
  drawBoard();
  drawEvaluation();
  drawPanels();
  drawGraph();
}

/** Fills the graph of the game, one position after another, in the background. */
async function fillGraph() {
  const signal = restart('graph'), n = state.moves.length;
  graph.length = n + 1;
  for (let ply = n; ply >= 0; ply--) {
    if (signal.aborted || n !== state.moves.length) return;
    const known = analyses.get(analysisKey(ply));
    try {
      const at = await positionAt(ply);
      let value = resultValue(at.result) ?? firstValue(known, at.side);
      if (value === null && ply !== state.cursor) {
        const result = await api.analyze({ place: place(ply), player: state.thinker }, signal);
        analyses.set(analysisKey(ply), result);
        value = firstValue(result, at.side);
      }
      if (signal.aborted) return;
      if (value !== null) graph[ply] = value;
    } catch (error) {
      // Whoever thinks said why in the panel; the graph goes without.
      return;
    }
    if (ply % 4 === 0) drawGraph();
  }
}

const drawGraph = () => record.renderGraph({ values: Array.from({ length: state.moves.length + 1 }, (_, ply) => graph[ply] ?? null), cursor: state.cursor, names: gameInfo(state.game).sides, onGo: go });

/** A move by a person or a player at the shown position; what came after it is replaced. */
function play(move) {
  if (isOver() || !legalMoves().has(move)) return;
  const mover = sideIndex(view.side);
  clock.moved(mover);
  const moves = [...state.moves.slice(0, state.cursor), move];
  graph.length = Math.min(graph.length, state.cursor + 1);
  hovered = null;
  cancel('choose');
  thinking = null;
  update({ moves, cursor: moves.length, ending: null });
  refresh();
}

/** Plays a move that a panel shows, where a person may move. */
const playShown = move => (movable() ? play(move) : toast('It is not your turn.'));

/** Lets the player whose turn it is move, at the end of the game only. */
async function opponent() {
  const line = state.players[sideIndex(view.side)];
  if (line === null || isOver() || state.cursor !== state.moves.length) { cancel('choose'); thinking = null; return; }
  const wanted = `${key()} ${line}`;
  if (playing === wanted) return;
  const signal = restart('choose'), side = sideIndex(view.side), began = performance.now();
  playing = wanted;
  thinking = side;
  drawSeats();
  drawStatus();
  try {
    const question = { place: place(), player: line, seed: state.moves.length };
    if (state.clock) question.clock = { own_ms: Math.round(clock.left(side)), other_ms: Math.round(clock.left(1 - side)), increment_ms: state.clock.increment };
    const choice = await api.choose(question, signal);
    // A person wants to see the move happen.
    await new Promise(resolve => setTimeout(resolve, Math.max(0, 350 - (performance.now() - began))));
    if (playing !== wanted || signal.aborted || state.cursor !== state.moves.length) return;
    playing = null;
    thinking = null;
    play(choice.best.text);
  } catch (error) {
    if (playing === wanted) playing = null;
    if (aborted(error)) return;
    thinking = null;
    drawSeats();
    toast(error.message);
  }
}

async function startSearch() {
  if (isOver()) return;
  const signal = restart('search');
  Object.assign(growing, { view: null, running: true, fault: null, key: key() });
  drawPanels();
  try {
    await api.search({ place: place(), player: growing.line, nodes: growing.sims }, next => {
      growing.view = next;
      if (state.tab === 'tree') { drawPanels(); drawBoard(); }
    }, signal);
  } catch (error) {
    if (!aborted(error)) growing.fault = error.message;
  }
  if (signal === stops.search?.signal || signal.aborted) growing.running = false;
  drawPanels();
}

async function write() {
  const signal = restart('write');
  Object.assign(writing, { text: '', running: true, fault: null, key: key() });
  drawPanels();
  try {
    await api.complete({ prompt: analysis.text.prompt, max_tokens: 1500, temperature: 0 }, choice => {
      writing.text += choice.text;
      if (state.tab === 'text') drawPanels();
    }, signal);
  } catch (error) {
    if (!aborted(error)) writing.fault = error.message;
  }
  writing.running = false;
  drawPanels();
}

async function compareNow() {
  if (state.tab !== 'compare' || isOver()) return;
  const wanted = key() + comparing.lines.join(' ');
  if (comparing.key === wanted) return;
  const signal = restart('compare');
  Object.assign(comparing, { key: wanted, results: [null, null], faults: [null, null] });
  drawPanels();
  await Promise.all(comparing.lines.map(async (player, index) => {
    try {
      comparing.results[index] = await api.analyze({ place: place(), player }, signal);
    } catch (error) {
      if (aborted(error)) return;
      comparing.faults[index] = error.message;
    }
    if (!signal.aborted) drawPanels();
  }));
}

function go(cursor) {
  const next = Math.max(0, Math.min(state.moves.length, cursor));
  if (next === state.cursor) return;
  hovered = null;
  update({ cursor: next });
  refresh();
}

function undo() {
  if (!state.moves.length) return;
  cancel('choose');
  playing = null;
  // Against a player one takes back to one's own turn. Until the server has answered to a move, `whole` is the game before it, with the other side to move.
  const one = state.players.filter(line => line === null).length === 1;
  const mine = state.players[0] === null ? 'first' : 'second';
  const isMine = (whole.side === mine) === (whole.moves.length === state.moves.length);
  const back = one && isMine && state.moves.length > 1 ? 2 : 1;
  const moves = state.moves.slice(0, -back);
  update({ moves, cursor: moves.length, ending: null });
  refresh();
}

/** Ends the game by something other than the rules. */
function finish(ending) {
  cancel('choose');
  playing = null;
  thinking = null;
  clock.stop();
  update({ ending, cursor: state.moves.length });
  refresh();
}

async function offerDraw() {
  try {
    const ending = await endings.draw(state, whole, place(state.moves.length), restart('draw'));
    if (ending) finish(ending);
    else toast('The opponent sees an advantage and plays on.');
  } catch (error) {
    if (!aborted(error)) toast(error.message);
  }
}

function setPlayer(index, player) {
  const players = [...state.players];
  players[index] = player;
  cancel('choose');
  playing = null;
  update({ players });
  refresh();
}

function load(changes) {
  for (const name of Object.keys(stops)) cancel(name);
  clock.stop();
  playing = null;
  thinking = null;
  graph = [];
  comparing.key = null;
  update({ start: null, moves: [], ending: null, clock: null, ...changes, cursor: (changes.moves ?? []).length });
  refresh();
}

/** A game's own default: you against the model, you first. */
const chooseGame = game => load({ game, start: game === 'chess960' ? dialogs.start960(Math.floor(Math.random() * 960)) : null, players: [null, 'mav-mcts:sims=60,batch=8'], flipped: false });

function runClocks() {
  if (!state.clock) return;
  const live = !isOver() && state.cursor === state.moves.length && state.moves.length > 0;
  if (live) clock.run(sideIndex(view.side));
  else if (isOver()) clock.stop();
}

setInterval(() => {
  if (!state.clock || !view) return;
  for (const element of document.querySelectorAll('.clock')) {
    const side = Number(element.dataset.side), left = clock.left(side);
    element.textContent = clock.text(left);
    element.classList.toggle('running', clock.isRunning(side));
    if (left <= 0 && clock.isRunning(side) && !state.ending && !isOver()) {
      clock.stop();
      cancel('choose');
      thinking = null;
      update({ ending: { result: side === 0 ? '0-1' : '1-0', reason: 'time' } });
      draw();
    }
  }
}, 100);
addEventListener('pagehide', () => { clock.settle(); if (state.clock) update({}); });

async function download() {
  try {
    const names = state.players.map(line => playerTitle(state.game, line));
    const { pgn } = await api.exportGame({ place: place(state.moves.length), players: names, ...(state.ending ? { result: state.ending.result } : {}) });
    const url = URL.createObjectURL(new Blob([pgn], { type: 'application/x-chess-pgn' }));
    h('a', { href: url, download: `mavis-${state.game.replace(/\W+/g, '-')}.pgn` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  } catch (error) {
    toast(error.message);
  }
}

async function share() {
  const address = location.origin + location.pathname + link();
  try {
    await navigator.clipboard.writeText(address);
    toast('Link copied.');
  } catch {
    prompt('The link to this position:', address);
  }
}

function selectTab(tab) {
  hovered = null;
  update({ tab });
  drawPanels();
  drawBoard();
  compareNow();
}

/** Leagues and runs in place of the board, or back. */
function showStudies(open) {
  studies.toggle(open, loaded => { $('studies-button').removeAttribute('aria-current'); load({ ...loaded, start: loaded.start ?? null, players: [null, null] }); });
  document.querySelectorAll('#games button').forEach(button => button.setAttribute('aria-current', String(open ? button.id === 'studies-button' : button.dataset.game === state.game.split(':')[0])));
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem('mavis-theme', document.documentElement.dataset.theme);
}

const actions = {
  'to-start': () => go(0), back: () => go(state.cursor - 1), forward: () => go(state.cursor + 1), 'to-end': () => go(state.moves.length),
  undo, resign: () => finish(endings.resignation(state, sideIndex(whole.side))), draw: offerDraw, flip: () => { update({ flipped: !state.flipped }); draw(); },
  'new-game': () => dialogs.newGame(state, load), setup: () => dialogs.setUp(state, view.position, loaded => load({ ...loaded, start: loaded.start ?? null, players: [null, null] })),
  share, download, theme, help: dialogs.help,
};

const keys = {
  ArrowLeft: 'back', ArrowRight: 'forward', Home: 'to-start', End: 'to-end', u: 'undo', f: 'flip', n: 'new-game', p: 'setup', d: 'theme', '?': 'help',
};

function onKey(event) {
  if (!$('studies').hidden || event.target.closest('input, select, textarea, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('[role=tablist]') && event.key.startsWith('Arrow')) return;
  const { key: pressed } = event;
  if (keys[pressed]) { event.preventDefault(); return actions[keys[pressed]](); }
  if (pressed === '/') { event.preventDefault(); return $('move-input').focus(); }
  if (pressed === 'b' && analysis) return playShown(analysis.choice.best.text);
  if (pressed === 'a') { update({ arrows: !state.arrows }); drawBoard(); return drawPanels(); }
  if (pressed === 's') { selectTab('tree'); return growing.running ? cancel('search') : startSearch(); }
  if (/^[1-9]$/.test(pressed) && ['connect4', 'togyz'].includes(state.game) && movable()) play(pressed);
}

async function typeMove(event) {
  event.preventDefault();
  const input = $('move-input'), typed = input.value.trim();
  if (!typed) return;
  const same = view.legal.find(move => move.san === typed || move.text === typed || move.san.replace(/[+#x=]/g, '').toLowerCase() === typed.replace(/[+#x=]/g, '').toLowerCase());
  if (!movable()) toast('It is not your turn.');
  else if (same) { input.value = ''; play(same.text); } else toast(`'${typed}' is not a legal move here.`);
}

async function boot() {
  const stored = localStorage.getItem('mavis-theme');
  document.documentElement.dataset.theme = stored ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const info = await api.info();
  setInfo(info);
  restore();
  $('games').replaceChildren(...info.games.map(game => h('button', { type: 'button', 'data-game': game.game, onclick: () => { showStudies(false); chooseGame(game.game); } }, game.title)),
    h('button', { type: 'button', id: 'studies-button', onclick: () => showStudies(true) }, 'Leagues & runs'));
  for (const [id, action] of Object.entries(actions)) $(id)?.addEventListener('click', action);
  for (const name of ['values', 'tree', 'text', 'compare']) $(`tab-${name}`).addEventListener('click', () => selectTab(name));
  $('tabs').addEventListener('keydown', event => {
    const names = ['values', 'tree', 'text', 'compare'], step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(state.tab) + step + names.length) % names.length];
    selectTab(next);
    $(`tab-${next}`).focus();
  });
  $('type-move').addEventListener('submit', typeMove);
  addEventListener('keydown', onKey);
  addEventListener('hashchange', () => { if (location.hash !== link() && readAddress(location.hash)) { load({ ...state }); } });
  save();
  await refresh();
}

boot().catch(error => toast(error.message));
