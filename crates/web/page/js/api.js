// The HTTP interface. Every call carries the whole game, since the server keeps none.

export class Fault extends Error {}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Fault('The server does not answer. Is mavis still running?');
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Fault(body?.error?.message ?? `The server answered ${response.status}.`);
}

const post = (path, body, signal) =>
  request(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal });

const json = async (path, body, signal) => (await post(path, body, signal)).json();

export const info = async () => (await request('/api/info')).json();
export const position = (place, signal) => json('/api/position', place, signal);
export const importText = (game, text) => json('/api/import', { game, text });
export const exportGame = body => json('/api/export', body);
const query = async (path, parts) => (await request(`${path}?${new URLSearchParams(parts)}`)).json();
export const studies = async () => (await request('/api/studies')).json();
export const league = id => query('/api/league', { id });
export const leagueGame = (id, game) => query('/api/league/game', { id, game });
export const queue = async () => (await request('/api/queue')).json();
export const run = id => query('/api/run', { id });
export const choose = (question, signal) => json('/api/choose', question, signal);
export const analyze = (question, signal) => json('/api/analyze', question, signal);

/** Grows a tree; `onView` gets each view of it. */
export async function search(question, onView, signal) {
  for await (const { event, data } of events('/api/search', question, signal)) {
    const value = JSON.parse(data);
    if (event === 'fault') throw new Fault(value.error?.message ?? 'The search failed.');
    onView(value);
  }
}

/** Has the model continue a prompt; `onText` gets each piece. */
export async function complete(body, onText, signal) {
  for await (const { data } of events('/v1/completions', { ...body, stream: true }, signal)) {
    if (data === '[DONE]') return;
    const value = JSON.parse(data);
    if (value.error) throw new Fault(value.error.message);
    onText(value.choices[0]);
  }
}

/** Server-sent events of a POST, which EventSource cannot send. */
async function* events(path, body, signal) {
  const response = await post(path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    for (let end; (end = buffer.indexOf('\n\n')) >= 0;) {
      const fields = buffer.slice(0, end).split('\n');
      buffer = buffer.slice(end + 2);
      const field = name => fields.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trimStart()).join('\n');
      const data = field('data');
      if (data) yield { event: field('event') || 'message', data };
    }
  }
}
