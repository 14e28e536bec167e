//! Who can be compared with whom.

use super::Note;
use crate::results::Results;

/// Which players are joined by results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Components {
    /// Players with one number scored a point against each other in a cycle: their ratings have a finite maximum.
    strong: Vec<usize>,
    n_strong: usize,
}

impl Components {
    /// Whether the likelihood alone puts no bound on the gap of two players.
    pub(super) fn separated(&self, i: usize, j: usize) -> bool {
        self.strong[i] != self.strong[j]
    }

    pub(super) fn all_strong(&self) -> bool {
        self.n_strong <= 1
    }
}

/// Finds the groups and adds what a reader must know.
pub(super) fn notes(results: &Results, notes: &mut Vec<Note>) -> Components {
    let n = results.players.len();
    let mut scored = vec![vec![false; n]; n];
    let mut met = vec![vec![false; n]; n];
    for game in &results.games {
        for (me, other, points) in [
            (game.first, game.second, game.first_points()),
            (game.second, game.first, 1.0 - game.first_points()),
        ] {
            met[me][other] = true;
            scored[me][other] |= points > 0.0;
        }
    }
    let weak = components(&met);
    let strong = components(&scored);
    let n_strong = strong.iter().max().map_or(0, |&top| top + 1);
    let name = |i: usize| results.players[i].clone();
    let idle: Vec<usize> = (0..n).filter(|&i| !met[i].contains(&true)).collect();
    notes.extend(idle.iter().map(|&i| Note::NoGames(name(i))));
    let groups: Vec<Vec<String>> = (0..n)
        .map(|label| (0..n).filter(|&i| weak[i] == label && !idle.contains(&i)).map(name).collect())
        .filter(|group: &Vec<String>| !group.is_empty())
        .collect();
    if groups.len() > 1 {
        notes.push(Note::Disconnected(groups));
    }
    separations(results, &strong, &scored, &met, notes);
    Components { strong, n_strong }
}

fn separations(
    results: &Results,
    strong: &[usize],
    scored: &[Vec<bool>],
    met: &[Vec<bool>],
    notes: &mut Vec<Note>,
) {
    let n = strong.len();
    for (i, tally) in results.totals().iter().enumerate() {
        if tally.n_games() > 0 && tally.wins == tally.n_games() {
            notes.push(Note::OnlyWins(results.players[i].clone()));
        } else if tally.n_games() > 0 && tally.losses == tally.n_games() {
            notes.push(Note::OnlyLosses(results.players[i].clone()));
        }
    }
    // Groups of several on both sides; single players are told above.
    let n_strong = strong.iter().max().map_or(0, |&top| top + 1);
    for above in 0..n_strong {
        for below in (0..n_strong).filter(|&below| below != above) {
            let members = |label: usize| (0..n).filter(move |&i| strong[i] == label);
            let crossed = |from: usize, to: usize, table: &[Vec<bool>]| {
                members(from).any(|i| members(to).any(|j| table[i][j]))
            };
            let alone = members(above).count() == 1 || members(below).count() == 1;
            if !alone && crossed(above, below, met) && !crossed(below, above, scored) {
                let names = |label: usize| members(label).map(|i| results.players[i].clone()).collect();
                notes.push(Note::Separated(names(above), names(below)));
            }
        }
    }
}

/// Labels of the strongly connected components, by mutual reachability; leagues are small.
fn components(edges: &[Vec<bool>]) -> Vec<usize> {
    let n = edges.len();
    let reach: Vec<Vec<bool>> = (0..n).map(|start| reachable(edges, start)).collect();
    let mut labels = vec![usize::MAX; n];
    let mut next = 0;
    for i in 0..n {
        if labels[i] == usize::MAX {
            for j in i..n {
                if labels[j] == usize::MAX && (i == j || (reach[i][j] && reach[j][i])) {
                    labels[j] = next;
                }
            }
            next += 1;
        }
    }
    labels
}

fn reachable(edges: &[Vec<bool>], start: usize) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut stack = vec![start];
    seen[start] = true;
    while let Some(node) = stack.pop() {
        for (next, &edge) in edges[node].iter().enumerate() {
            if edge && !seen[next] {
                seen[next] = true;
                stack.push(next);
            }
        }
    }
    seen
}
