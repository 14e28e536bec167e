//! Thoughts and choices in the words of UCI.

use crate::commands::analyze::line_text;
use mavis_game::{Game as _, Position};
use mavis_oracle::uci::{Answer, Bound, Info, UciScore};
use mavis_play::{Choice, Thought};
use mavis_value::Score;
use std::time::Duration;

/// An `info` line of a thought.
pub(super) fn info(position: &Position, thought: &Thought, time: Duration, several: bool) -> Info {
    if thought.line.is_empty() {
        return Info { string: thought.note.clone(), ..Info::default() };
    }
    let milliseconds = time.as_millis() as u64;
    Info {
        depth: Some(thought.depth.max(1)),
        multi_pv: several.then_some(thought.rank.max(1)),
        score: score(thought),
        nodes: Some(thought.nodes),
        nps: Some((thought.nodes as f64 / time.as_secs_f64().max(1e-6)) as u64),
        time: Some(milliseconds),
        pv: line_text(position, &thought.line),
        string: thought.note.clone(),
        ..Info::default()
    }
}

/// The `bestmove` line, with the reply the player expects.
pub(super) fn best_move(position: &Position, choice: &Choice) -> Answer {
    let line = if choice.thought.line.first() == Some(&choice.mv) {
        line_text(position, &choice.thought.line)
    } else {
        Vec::new()
    };
    Answer::BestMove { best: Some(position.move_text(choice.mv)), ponder: line.into_iter().nth(1) }
}

/// A score from the player's own measure, or from its win probability on the scale of Lichess.
fn score(thought: &Thought) -> Option<UciScore> {
    if let Some(moves) = thought.mate {
        return Some(UciScore::Mate(moves, Bound::Exact));
    }
    let by_value = || thought.value.map(Score::centipawns_of);
    thought.centipawns.or_else(by_value).map(|value| UciScore::Centipawns(value, Bound::Exact))
}
