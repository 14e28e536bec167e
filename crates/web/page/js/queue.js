// Jobs and workers of a queue, as tables.
import { h } from './dom.js';

const table = (heads, rows) => h('div', { class: 'wide' }, h('table', {},
  h('thead', {}, h('tr', {}, heads.map(text => h('th', { scope: 'col' }, text)))),
  h('tbody', {}, rows.map(([first, ...cells]) => h('tr', {}, h('th', { scope: 'row' }, first), cells.map(cell => h('td', {}, String(cell))))))));

const section = (title, rows, hint, heads) => h('section', {}, h('h2', {}, title), rows.length ? table(heads, rows) : h('p', { class: 'note' }, hint));

const named = entries => Object.entries(entries ?? {}).map(([name, version]) => `${name} (${version})`).join(', ');
const megabytes = bytes => `${(bytes / 1e6).toFixed(1)} MB`;

/** Everything that the status of a queue says. */
export function queueSections({ classes, workers, aside, n_results, result_bytes, replicas }) {
  const waiting = classes.reduce((sum, one) => sum + one.n_waiting, 0), working = classes.reduce((sum, one) => sum + one.n_in_work, 0);
  return [
    h('h1', {}, 'Jobs and workers'),
    h('p', { class: 'note' }, `${waiting} jobs wait, ${working} in work, ${aside.length} set aside · ${n_results} results (${megabytes(result_bytes)}) · kept by ${replicas} ${replicas === 1 ? 'server' : 'servers'}`),
    section('Jobs', classes.map(one => [one.kind, [one.needs.game, named(one.needs.engines), one.needs.gpu && 'a GPU'].filter(Boolean).join(', ') || '–', one.n_waiting, one.n_in_work, one.n_aside, one.able.length ? one.able.join(', ') : `nobody: ${one.unable.join('; ') || 'no worker'}`]),
      'None on the queue.', ['Kind', 'Needs', 'Waiting', 'In work', 'Set aside', 'Workers that can run them']),
    section('Workers', workers.map(one => [one.name, one.offer.cores, named(one.offer.engines) || '–', one.offer.gpu ?? '–', one.in_hand, one.n_done, one.n_failed, one.draining ? 'finishing' : 'at work']),
      'None. mavis worker --queue ADDRESS starts one, on any machine.', ['Name', 'Cores', 'Engines', 'GPU', 'In hand', 'Done', 'Failed', 'State']),
    section('Set aside', aside.map(one => [one.job, one.reason]), 'No job failed too often.', ['Job', 'Last error']),
  ];
}
