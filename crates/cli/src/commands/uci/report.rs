//! Thoughts and choices in the words of UCI.

use mavis_bundled::wire::line_text;
use mavis_game::{Game as _, Position, Rules};
use mavis_oracle::uci::{Bound, EngineMessage, Info, UciScore};
use mavis_play::{Choice, Thought};
use mavis_value::Score;
use std::time::Duration;

/// What the GUI wants to see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Whether lines are numbered.
    pub(super) several: bool,
    /// Whether scores come with chances of win, draw and loss.
    pub(super) wdl: bool,
}

/// An `info` line of a thought.
pub(super) fn info(position: &Position, thought: &Thought, time: Duration, shown: Shown) -> Info {
    if thought.line.is_empty() {
        return Info { string: thought.note.clone(), ..Info::default() };
    }
    let milliseconds = time.as_millis() as u64;
    Info {
        depth: Some(thought.depth.max(1)),
        multi_pv: shown.several.then_some(thought.rank.max(1)),
        score: score(thought),
        wdl: if shown.wdl { chances(thought) } else { None },
        nodes: Some(thought.nodes),
        nps: Some((thought.nodes as f64 / time.as_secs_f64().max(1e-6)) as u64),
        time: Some(milliseconds),
        pv: line_text(position, &thought.line),
        string: thought.note.clone(),
        ..Info::default()
    }
}

/// The `bestmove` line, with the reply the player expects.
pub(super) fn best_move(position: &Position, choice: &Choice) -> EngineMessage {
    let line = if choice.thought.line.first() == Some(&choice.mv) {
        line_text(position, &choice.thought.line)
    } else {
        Vec::new()
    };
    EngineMessage::BestMove { best: Some(position.move_text(choice.mv)), ponder: line.into_iter().nth(1) }
}

/// A score from the player's own measure, or from its win probability on the scale of Lichess.
fn score(thought: &Thought) -> Option<UciScore> {
    if let Some(moves) = thought.mate {
        return Some(UciScore::Mate(moves, Bound::Exact));
    }
    let by_value = || thought.value.map(Score::centipawns_of);
    thought.centipawns.or_else(by_value).map(|value| UciScore::Centipawns(value, Bound::Exact))
}

/// Weight of draws in Davidson's model of ties: at an even score every second game is drawn.
const TIES: f64 = 2.0;

/// Chances of win, draw and loss in permille. Players know one number, the expected score, and Davidson's model of ties
/// splits it (win : draw : loss = x : ν : 1/x), as the ratings of leagues do.
fn chances(thought: &Thought) -> Option<[u32; 3]> {
    let score = match thought.mate {
        Some(moves) => f64::from(u8::from(moves > 0)),
        None => {
            let by_centipawns =
                || thought.centipawns.map(|value| Score::Centipawns(value).win_probability(Rules::Chess));
            f64::from(thought.value.or_else(by_centipawns)?).clamp(0.0, 1.0)
        }
    };
    if score >= 1.0 {
        return Some([1000, 0, 0]);
    }
    let lean = TIES * (score - 0.5);
    // The positive root of (1 - p) x² - ν (p - ½) x - p = 0, which makes the expected score p.
    let x = (lean + (lean * lean + 4.0 * score * (1.0 - score)).sqrt()) / (2.0 * (1.0 - score));
    let sum = x * x + TIES * x + 1.0;
    let permille = |share: f64| (1000.0 * share / sum).round() as u32;
    let (win, draw) = (permille(x * x), permille(TIES * x));
    Some([win, draw, 1000_u32.saturating_sub(win + draw)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: f32, expected: [u32; 3]) {
        let thought = Thought { value: Some(value), ..Thought::default() };
        assert_eq!(chances(&thought), Some(expected), "{value}");
    }

    #[test]
    fn chances_keep_the_expected_score() {
        check(0.5, [250, 500, 250]);
        check(0.0, [0, 0, 1000]);
        check(1.0, [1000, 0, 0]);
        for percent in 1..100_u16 {
            let thought = Thought { value: Some(f32::from(percent) / 100.0), ..Thought::default() };
            let [win, draw, loss] = chances(&thought).expect("a value").map(f64::from);
            assert!((win + draw / 2.0 - 10.0 * f64::from(percent)).abs() <= 1.5, "{percent}");
            assert!((win + draw + loss - 1000.0).abs() < 1e-9, "{percent}");
        }
        let mated = Thought { mate: Some(-2), ..Thought::default() };
        assert_eq!(chances(&mated), Some([0, 0, 1000]));
        assert_eq!(chances(&Thought::default()), None);
    }
}
