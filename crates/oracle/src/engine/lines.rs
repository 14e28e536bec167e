//! The last report on every line of a search, read as moves once, when the search is over.

use crate::process::EngineError;
use crate::uci::{Bound, LineReport, UciScore};
use crate::{RankedMove, Ranking, Score};
use mavis_game::{Game, Move, Position};

/// Reports by line number. An engine reports every line at every depth, several times what we need, so only the last are looked at.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The last report with an exact score, by line number less one.
    exact: Vec<Option<Kept>>,
    /// The last report with a bound only.
    bounds: Vec<Option<Kept>>,
}

/// What is kept of a report.
#[derive(Clone, Debug)]
struct Kept {
    depth: Option<u32>,
    score: UciScore,
    first_move: String,
}

/// More lines than any position has moves, so that a mad number does not fill the memory.
const MOST_LINES: usize = 512;

impl Lines {
    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.bounds.clear();
    }

    /// Keeps a report if it is one of a line.
    pub(super) fn keep(&mut self, line: &str) {
        let Some(report) = LineReport::parse(line) else { return };
        let number = report.number as usize;
        if !(1..=MOST_LINES).contains(&number) {
            return;
        }
        let slots = if report.score.bound() == Bound::Exact { &mut self.exact } else { &mut self.bounds };
        if slots.len() < number {
            slots.resize(number, None);
        }
        let LineReport { depth, score, first_move, .. } = report;
        if let Some(slot) = slots.get_mut(number - 1) {
            *slot = Some(Kept { depth, score, first_move: first_move.to_owned() });
        }
    }

    /// The moves that were scored, each once.
    pub(super) fn scores(&self, position: &Position) -> Result<Vec<(Move, UciScore)>, EngineError> {
        let mut scored = Vec::new();
        for Kept { depth, score, first_move } in self.exact.iter().chain(&self.bounds).flatten() {
            let mv = position.parse_move(first_move).map_err(|_| EngineError::Nonsense {
                expected: "a line of legal moves",
                got: first_move.clone(),
            })?;
            scored.push((mv, *depth, *score));
        }
        // A move may stand on several lines, if its rank changed: the deepest exact report is the last one.
        scored.sort_by_key(|&(mv, depth, score)| (mv, score.bound() == Bound::Exact, depth));
        let last = scored.chunk_by(|a, b| a.0 == b.0).filter_map(<[_]>::last);
        Ok(last.map(|&(mv, _, score)| (mv, score)).collect())
    }
}

/// The ranking, if the engine's choice is one of the moves.
pub(super) fn ranking(
    position: &Position,
    scores: &[(Move, UciScore)],
    best: &str,
) -> Result<Ranking, EngineError> {
    let judged = |mv: Move| {
        let (_, score) = scores.iter().find(|(scored, _)| *scored == mv)?;
        let score = match *score {
            UciScore::Centipawns(value, _) => Score::Centipawns(value),
            UciScore::Mate(value, _) => Score::Mate(value),
        };
        Some(RankedMove::new(position.rules(), mv, score, None))
    };
    let mut ranking = Ranking::sorted(position.legal_moves().into_iter().filter_map(judged).collect());
    let nonsense = |_| EngineError::Nonsense { expected: "a legal best move", got: best.to_owned() };
    let best = position.parse_move(best).map_err(nonsense)?;
    // The engine knows more than its last full reports say: its choice goes first.
    let at = ranking.moves.iter().position(|entry| entry.mv == best);
    if let Some(up_to_it) = at.and_then(|at| ranking.moves.get_mut(..=at)) {
        up_to_it.rotate_right(1);
    }
    Ok(ranking)
}
