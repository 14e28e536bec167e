// Plays in a real browser against the real server: node test.mjs MAVIS OUT
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { chromium } from 'playwright-core';

const [binary, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const DESKTOP = { width: 1280, height: 800 }, PHONE = { width: 390, height: 844 };

// A real league of 24 games, for the view of leagues.
const studies = mkdtempSync(`${tmpdir()}/mavis-page-`);
writeFileSync(`${studies}/league.toml`, 'name = "Three small players"\ngame = "connect4"\n[schedule]\npairs = 4\n[[players]]\nplayer = "random"\n[[players]]\nplayer = "lookahead:1"\n[[players]]\nplayer = "mcts:sims=50"\n');

// A real queue with a worker, which plays that league.
const port = await new Promise(resolve => { const probe = createServer().listen(0, '127.0.0.1', () => { const { port } = probe.address(); probe.close(() => resolve(port)); }); });
const queue = `nats://127.0.0.1:${port}`;
const helpers = [spawn('nats-server', ['-js', '-a', '127.0.0.1', '-p', String(port), '-sd', `${studies}/queue`], { stdio: 'ignore' }),
  spawn(binary, ['worker', '--queue', queue, '--name', 'first-worker'], { stdio: 'ignore' })];
process.on('exit', () => helpers.forEach(helper => helper.kill('SIGKILL')));
// The server needs a moment until it answers.
const answers = () => new Promise(resolve => { const probe = connect(port, '127.0.0.1').on('connect', () => { probe.destroy(); resolve(true); }).on('error', () => resolve(false)); });
for (let tries = 0; !(await answers()); tries++) {
  assert.ok(tries < 600, 'the queue does not answer');
  await new Promise(resolve => setTimeout(resolve, 100));
}
execFileSync(binary, ['league', 'run', '--config', `${studies}/league.toml`, '--out', `${studies}/league`, '--cluster', queue], { stdio: 'ignore' });

const server = spawn(binary, ['serve', '--port', '0', '--show', studies, '--cluster', queue], { stdio: ['ignore', 'pipe', 'inherit'] });
const base = await new Promise((resolve, reject) => {
  server.stdout.on('data', data => { const found = /http:\S+/.exec(data); if (found) resolve(found[0]); });
  server.on('exit', code => reject(new Error(`mavis serve ended with ${code}`)));
});
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
const faults = [];

/** A fresh browser profile; whatever the page complains about or asks of other machines is a fault. */
async function open(hash = '', { viewport = DESKTOP, colorScheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(`console: ${message.text()}`));
  page.on('pageerror', error => faults.push(`page error: ${error.message}`));
  page.on('request', request => /^(data|blob):/.test(request.url()) || request.url().startsWith(base) || faults.push(`request to ${request.url()}`));
  page.on('response', response => response.status() >= 400 && faults.push(`${response.status()} for ${response.url()}`));
  await page.goto(base + hash);
  await page.waitForSelector('#board :is(svg, cg-board)');
  return page;
}

const hash = parts => `#${new URLSearchParams(parts)}`;
const stored = page => page.evaluate(() => JSON.parse(localStorage.getItem('mavis-game-1')));
const idle = page => page.waitForFunction(() => !document.querySelector('.seat .thinking'), null, { timeout: 60000 });
const shot = (page, name) => page.screenshot({ path: `${out}/${name}.png`, fullPage: page.viewportSize().width < 500 });

async function view(page) {
  const { game, start, moves } = await stored(page);
  const place = { game, moves, ...(start ? { start } : {}) };
  return page.evaluate(async body => (await fetch('/api/position', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json(), JSON.stringify(place));
}

/** Clicks a move on the board, and waits until the opponent has answered. */
async function clickMove(page, game, move, side) {
  const before = (await stored(page)).moves.length;
  if (game.startsWith('chess')) {
    const box = await page.locator('cg-board').boundingBox();
    const at = square => {
      const file = square.charCodeAt(0) - 97, rank = Number(square[1]) - 1;
      return [box.x + (file + 0.5) * box.width / 8, box.y + (7.5 - rank) * box.height / 8];
    };
    await page.mouse.click(...at(move.slice(0, 2)));
    await page.mouse.click(...at(move.slice(2, 4)));
    if (move.length > 4) await page.click(`.promotion button[aria-label="${{ q: 'queen', r: 'rook', b: 'bishop', n: 'knight' }[move[4]]}"]`);
  } else {
    await page.locator(`[data-move="${move}"]`).first().click({ position: undefined });
  }
  await page.waitForFunction(n => JSON.parse(localStorage.getItem('mavis-game-1')).moves.length > n, before);
  await answered(page);
  assert.equal(side, 'first');
}

/** Waits until a person is to move or the game is over. The page alone cannot tell: right after a move it still shows the position before. */
async function answered(page) {
  for (let tries = 0; tries < 600; tries++) {
    const { players } = await stored(page), { side, result } = await view(page);
    if (result || players[side === 'first' ? 0 : 1] === null) return idle(page);
    await page.waitForTimeout(100);
  }
  assert.fail('the opponent does not answer');
}

/** A game against the model by clicks; the moves are drawn from the legal ones in a fixed order, by a seed. */
async function playGame(page, game, most, seed = 7) {
  await page.click(`#games [data-game="${game}"]`);
  await page.waitForFunction(name => JSON.parse(localStorage.getItem('mavis-game-1')).game === name, game);
  await page.selectOption('#seat-top select', 'mav');
  let random = seed, played = 0;
  for (; played < most; played++) {
    await idle(page);
    const here = await view(page);
    if (here.result) break;
    if (here.side !== 'first') { await page.waitForTimeout(50); played--; continue; }
    const legal = here.legal.filter(move => move.text !== 'pass');
    if (!legal.length) { await page.keyboard.press('b'); continue; }
    random = (random * 48271) % 2147483647;
    await clickMove(page, game, legal[random % legal.length].text, here.side);
  }
  return played;
}

const steps = {
  async 'a whole game of Connect Four, with values that appear'() {
    const page = await open();
    await playGame(page, 'connect4', 42);
    const { moves } = await stored(page);
    assert.match(await page.textContent('#status'), /Game over/, `after ${moves}`);
    await page.click('#back');
    await page.waitForFunction(() => document.querySelectorAll('.value-row').length > 0);
    await shot(page, 'connect4-desktop');
    await page.context().close();
  },
  async 'ten moves of each other game'() {
    for (const game of ['chess', 'chess960', 'hex', 'othello', 'togyz']) {
      // Random moves may lose sooner than that; then another game is tried.
      let page, played = 0, legal = 0;
      for (let seed = 7; seed < 15 && (played < 10 || !legal); seed++) {
        await page?.context().close();
        page = await open();
        played = await playGame(page, game, 10, seed);
        await idle(page);
        const here = await view(page);
        legal = here.result ? 0 : here.legal.length;
      }
      assert.equal(played, 10, game);
      assert.ok(legal > 0, game);
      await page.waitForFunction(n => document.querySelectorAll('.value-row').length === n, legal, { timeout: 30000 });
      assert.equal(await page.locator('.value-row .spark').count(), legal, `${game}: a distribution for every move`);
      assert.ok((await page.locator('#graph .curve').count()) > 0, `${game}: a graph`);
      await shot(page, `${game}-desktop`);
      await page.context().close();
    }
  },
  async 'a reload in the middle of a game, undo, flip and a link elsewhere'() {
    const page = await open();
    await playGame(page, 'othello', 4);
    await idle(page);
    const before = await stored(page);
    await page.reload();
    await page.waitForSelector('.value-row');
    assert.deepEqual((await stored(page)).moves, before.moves);
    assert.deepEqual((await stored(page)).players, before.players);
    const other = await open(new URL(page.url()).hash);
    await other.waitForSelector('.value-row');
    assert.deepEqual((await stored(other)).moves, before.moves);
    await page.keyboard.press('u');
    await page.waitForFunction(n => JSON.parse(localStorage.getItem('mavis-game-1')).moves.length === n, before.moves.length - 2);
    await page.keyboard.press('f');
    assert.equal((await stored(page)).flipped, true);
    const download = page.waitForEvent('download');
    await page.click('#download');
    assert.match(readFileSync(await (await download).path(), 'utf8'), /\[Variant "othello"\]/);
    await page.context().close();
    await other.context().close();
  },
  async 'a position is set up, and a bad one is refused in words'() {
    const page = await open();
    await page.click('#setup');
    await page.fill('dialog textarea', 'nonsense');
    const refused = page.waitForResponse(response => response.url().endsWith('/api/import'));
    await page.click('dialog .primary');
    await refused;
    await page.waitForFunction(() => document.querySelector('dialog .fault').textContent.includes('neither a position nor PGN'));
    faults.splice(0, faults.length, ...faults.filter(fault => !fault.includes('/api/import') && !fault.includes('400 (Bad Request)')));
    await page.fill('dialog textarea', '6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1');
    await page.click('dialog .primary');
    await page.waitForFunction(() => [...document.querySelectorAll('.value-row .move')].some(move => move.textContent.startsWith('Rd8#')));
    await page.fill('#move-input', 'Rd8');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.getElementById('status').textContent.includes('1-0'));
    await page.context().close();
  },
  async 'a tree grows, two players are compared, and the model writes'() {
    const page = await open(hash({ game: 'chess', moves: 'e2e4 e7e5 g1f3 b8c6 f1b5' }));
    await page.waitForSelector('#graph .curve');
    await page.waitForTimeout(600);
    await shot(page, 'thoughts-desktop');
    await page.click('#tab-tree');
    await page.click('#search-button');
    const count = () => page.evaluate(() => Number(/(\d+) simulations/.exec(document.getElementById('tree-facts')?.textContent ?? '0 simulations')[1]));
    await page.waitForFunction(() => document.getElementById('tree-facts'));
    const seen = [await count()];
    while (seen.at(-1) < 400) { await page.waitForTimeout(100); const next = await count(); if (next !== seen.at(-1)) seen.push(next); assert.ok(seen.length < 1000); }
    assert.ok(seen.length >= 3, `it was seen growing: ${seen}`);
    assert.ok((await page.locator('.tree-row').count()) > 8);
    await shot(page, 'tree-desktop');
    await page.selectOption('#panel-tree .player-pick select', 'mav-is');
    await page.click('#search-button');
    await page.waitForFunction(() => document.getElementById('trace-text')?.textContent.includes('Minimax') && !document.getElementById('tree-facts').textContent.endsWith('…'), null, { timeout: 60000 });
    await shot(page, 'inner-desktop');
    await page.click('#tab-compare');
    await page.waitForFunction(() => document.querySelectorAll('.compare-row').length > 20 && document.querySelectorAll('.compare-row .b').length > 0);
    await shot(page, 'compare-desktop');
    await page.click('#tab-text');
    await page.click('#write');
    await page.waitForFunction(() => document.getElementById('written').textContent.includes('%top_all') && document.getElementById('write').textContent === 'Let it write', null, { timeout: 60000 });
    await shot(page, 'text-desktop');
    await page.context().close();
  },
  async 'a draw is offered, a game is given up, and both can be taken back'() {
    const page = await open();
    await page.click('#games [data-game="chess"]');
    assert.ok(await page.isDisabled('#resign'), 'nothing was played');
    await page.selectOption('#seat-top select', 'mav');
    await clickMove(page, 'chess', 'e2e4', 'first');
    await idle(page);
    await page.click('#resign');
    await page.waitForFunction(() => document.getElementById('status').textContent === 'Game over: 0-1 (resignation)');
    assert.ok(await page.isDisabled('#resign'));
    await page.click('#undo');
    await page.waitForFunction(() => document.getElementById('status').textContent.includes('White to move'));
    // White is a player; it refuses with a queen more, and accepts with a queen less.
    for (const [pieces, king, accepted] of [['k7/8/8/8/8/8/6P1/3Q3K', 'a8b8', false], ['3q3k/6p1/8/8/8/8/8/K7', 'h8h7', true]]) {
      await page.click('#setup');
      await page.fill('dialog textarea', `${pieces} b - - 0 1`);
      await page.click('dialog .primary');
      await page.waitForFunction(text => document.getElementById('board') && JSON.parse(localStorage.getItem('mavis-game-1')).start?.startsWith(text), pieces);
      await page.selectOption('#seat-bottom select', 'mav');
      await page.waitForSelector('.value-row');
      await clickMove(page, 'chess', king, 'first');
      await idle(page);
      await page.click('#draw');
      if (accepted) {
        await page.waitForFunction(() => document.getElementById('status').textContent.includes('1/2-1/2 (agreement)'));
      } else {
        await page.waitForFunction(() => document.getElementById('toasts').textContent.includes('plays on'));
      }
    }
    await page.context().close();
  },
  async 'MPC-MC shows the reply it predicts to each move'() {
    const page = await open(hash({ game: 'connect4', moves: '4 4 3' }));
    await page.selectOption('#panel-values select', 'mpc:evaluator=mav');
    await page.waitForSelector('#replies-note', { timeout: 60000 });
    assert.equal(await page.locator('.value-row .reply').count(), 7);
    await page.hover('.value-row');
    await shot(page, 'replies-desktop');
    await audit(page, 'replies');
    await page.context().close();
  },
  async 'a league is shown, and a click replays a game'() {
    const page = await open();
    await page.click('#studies-button');
    await page.click('.study-list button');
    await page.waitForSelector('.standings tbody tr');
    assert.equal(await page.locator('.standings tbody tr').count(), 3);
    assert.match(await page.textContent('.studies .note'), /24 of 24 games/);
    assert.ok((await page.locator('.chart polyline').count()) === 3);
    assert.match(await page.textContent('.legend'), /lookahead:1/);
    await shot(page, 'league-desktop');
    await audit(page, 'league');
    const game = await page.textContent('.game-list button b');
    await page.click('.game-list button');
    await page.waitForFunction(result => document.getElementById('status').textContent.includes(`Game over: ${result}`), game);
    await page.context().close();
  },
  async 'jobs and workers of a queue are shown'() {
    const page = await open();
    await page.click('#studies-button');
    await page.click('.study-list button:has-text("Jobs and workers")');
    await page.waitForSelector('th:has-text("first-worker")');
    assert.match(await page.textContent('.studies .note'), /0 jobs wait, 0 in work, 0 set aside · [1-9]/);
    assert.match(await page.textContent('.studies'), /at work/);
    await shot(page, 'queue-desktop');
    await audit(page, 'queue');
    await page.context().close();
  },
  async 'phone and dark pages, and no serious fault of accessibility'() {
    const games = { chess: 'e2e4 e7e5 g1f3 b8c6 f1b5', connect4: '4 4 3 5', hex: 'f6 g5 e8', othello: 'd3 c3 c4', togyz: '9 1 3' };
    for (const [game, moves] of Object.entries(games)) {
      for (const options of [{ viewport: PHONE }, { colorScheme: 'dark' }]) {
        const page = await open(hash({ game, moves }), options);
        await page.waitForSelector('.value-row');
        await page.waitForTimeout(300);
        await shot(page, `${game}-${options.viewport ? 'phone' : 'dark'}`);
        await audit(page, `${game} ${JSON.stringify(options)}`);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${game}: nothing sticks out sideways`);
        await page.context().close();
      }
    }
    const page = await open(hash({ game: 'chess', moves: 'e2e4' }));
    await page.waitForSelector('.value-row');
    for (const tab of ['tree', 'text', 'compare']) {
      await page.click(`#tab-${tab}`);
      if (tab === 'tree') { await page.click('#search-button'); await page.waitForSelector('.tree-row'); }
      await page.waitForTimeout(300);
      await audit(page, tab);
    }
    for (const dialog of ['new-game', 'setup', 'help']) {
      await page.click(`#${dialog}`);
      await audit(page, dialog);
      await page.keyboard.press('Escape');
    }
    await page.context().close();
  },
};

async function audit(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(fault => ['serious', 'critical'].includes(fault.impact));
  assert.deepEqual(serious.map(fault => `${where}: ${fault.id} at ${fault.nodes.slice(0, 3).map(node => node.target).join(' | ')}`), []);
}

let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  const began = performance.now();
  try {
    await step();
    assert.deepEqual(faults, []);
    console.log(`ok: ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}\n${faults.join('\n')}`);
  }
  faults.length = 0;
}
await browser.close();
server.kill();
// Children that live keep this program from ending.
helpers.forEach(helper => helper.kill('SIGKILL'));
process.exitCode = failed ? 1 : 0;
