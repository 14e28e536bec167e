// Moves to mark on the board: the one pointed at, or the best few.
import { percent } from './dom.js';
import { predictsReplies } from './panels/values.js';

/** Marks by move: weight from 0 to 1, label where the board has room for one, brush. */
export function marks({ tree, analysis, hovered, arrows, chess }) {
  const marked = new Map(), source = tree ? ofTree(tree) : ofAnalysis(analysis);
  const label = text => (chess ? undefined : text);
  if (hovered) {
    const row = source.find(entry => entry.text === hovered);
    marked.set(hovered, { weight: 1, label: label(percent(row?.value)), brush: 'best' });
    if (row?.reply && row.reply.text !== hovered) marked.set(row.reply.text, { weight: 0.6, label: label('reply'), brush: 'mavis' });
    return marked;
  }
  if (!arrows) return marked;
  const best = source[0]?.value ?? 0;
  source.slice(0, chess ? 4 : 8).forEach((entry, index) => {
    const weight = entry.share ?? Math.max(0, 1 - (best - entry.value) * 5);
    if (index > 0 && weight < 0.12) return;
    marked.set(entry.text, { weight, label: label(percent(entry.value)), brush: index === 0 ? 'best' : 'mavis' });
  });
  return marked;
}

function ofAnalysis(analysis) {
  const rows = (analysis?.moves ?? []).filter(row => row.value !== null).map(row => ({ ...row, reply: predictsReplies(analysis) ? row.line[1] : null }));
  return rows.toSorted((a, b) => (b.text === analysis.choice.best.text) - (a.text === analysis.choice.best.text) || b.value - a.value);
}

function ofTree(view) {
  const most = Math.max(1, ...view.tree.map(move => move.visits));
  return view.tree.filter(move => move.visits > 0).map(move => ({ text: move.text, value: move.value, share: move.visits / most })).toSorted((a, b) => b.share - a.share);
}
