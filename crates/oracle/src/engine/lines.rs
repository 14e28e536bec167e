//! The last report on every line of a search, kept as text and read once, when the search is over.

use crate::process::EngineError;
use crate::uci::{Bound, Info, UciScore};
use crate::{MoveVerdict, Score, Verdict};
use mavis_game::{Game, Position};

/// Reports by line number. An engine reports every line at every depth, some hundred times what we need, so reading
/// them all would cost a share of the processor that the engine should have.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The last report with an exact score, by line number less one.
    exact: Vec<String>,
    /// The last report with a bound only.
    bounds: Vec<String>,
}

/// More lines than any position has moves, so that a mad number does not fill the memory.
const MOST_LINES: usize = 512;

impl Lines {
    pub(super) fn clear(&mut self) {
        self.exact.iter_mut().chain(&mut self.bounds).for_each(String::clear);
    }

    /// Keeps a report if it is one of a line.
    pub(super) fn keep(&mut self, line: String) {
        let Some((_, score)) = line.split_once(" score ") else { return };
        let number = line.split_once(" multipv ").map_or(Some(1), |(_, rest)| {
            rest.split(' ').next().and_then(|number| number.parse::<usize>().ok())
        });
        let Some(number) = number.filter(|number| (1..=MOST_LINES).contains(number)) else { return };
        let is_bound = score.split(' ').nth(2).is_some_and(|word| word.ends_with("bound"));
        let slots = if is_bound { &mut self.bounds } else { &mut self.exact };
        if slots.len() < number {
            slots.resize_with(number, String::new);
        }
        slots[number - 1] = line;
    }

    /// The verdict, if every legal move has a score and the engine's choice is one of them.
    pub(super) fn verdict(&self, position: &Position, best: Option<&str>) -> Result<Verdict, EngineError> {
        let mut scored = Vec::new();
        for info in self.exact.iter().chain(&self.bounds).filter(|line| !line.is_empty()) {
            let info = Info::parse(info);
            let (Some(score), Some(first)) = (info.score, info.pv.first()) else { continue };
            let mv = position.parse_move(first).map_err(|_| EngineError::Nonsense {
                expected: "a line of legal moves",
                got: first.clone(),
            })?;
            scored.push((mv, info.depth, score));
        }
        // A move may stand on several lines, if its rank changed: the deepest exact report is the last one.
        scored.sort_by_key(|&(_, depth, score)| (score.bound() == Bound::Exact, depth));
        let mut moves = Vec::new();
        for mv in position.legal_moves() {
            let Some(&(_, _, score)) = scored.iter().rfind(|(scored, _, _)| *scored == mv) else {
                return Err(EngineError::Nonsense {
                    expected: "a score for every legal move",
                    got: format!("none for {}", position.move_text(mv)),
                });
            };
            let score = match score {
                UciScore::Centipawns(value, _) => Score::Centipawns(value),
                UciScore::Mate(value, _) => Score::Mate(value),
            };
            moves.push(MoveVerdict::new(position.rules(), mv, score, None));
        }
        let nonsense = || EngineError::Nonsense {
            expected: "a legal best move",
            got: best.unwrap_or("bestmove (none)").to_owned(),
        };
        let best = best.and_then(|text| position.parse_move(text).ok()).ok_or_else(nonsense)?;
        let mut verdict = Verdict::sorted(moves);
        // The engine knows more than its last full reports say: its choice goes first.
        if let Some(at) = verdict.moves.iter().position(|verdict| verdict.mv == best) {
            verdict.moves[..=at].rotate_right(1);
        }
        Ok(verdict)
    }
}
