//! A choice from an analysis, and the words that justify it.

use super::input::Objective;
use crate::{
    ApiError,
    wire::{AnalysisView, ChoiceView, MoveText, MoveView},
};
use mavis_game::{Outcome, Side};
use serde_json::{Value, json};

/// Choice and justification for an objective.
pub(super) fn chosen(view: &AnalysisView, objective: Objective) -> Result<Value, ApiError> {
    let (choice, value, line) = match objective {
        Objective::Win => {
            let ChoiceView { best, value, line, .. } = &view.choice;
            (best, *value, line)
        }
        Objective::Even => nearest(view, 0.5)?,
        Objective::Lose => nearest(view, 0.0)?,
    };
    Ok(json!({
        "choice": choice.san,
        "justification": justification(view, objective, choice, value, line),
        "value": value,
        "line": sans(line),
        "player": view.choice.player,
    }))
}

type Chosen<'a> = (&'a MoveText, Option<f32>, &'a Vec<MoveText>);

fn nearest(view: &AnalysisView, goal: f32) -> Result<Chosen<'_>, ApiError> {
    let valued = view.moves.iter().filter_map(|entry| Some((entry, worth(entry)?)));
    let best = valued.min_by(|(_, one), (_, other)| (one - goal).abs().total_cmp(&(other - goal).abs()));
    match best {
        Some((entry, value)) => Ok((&entry.text, Some(value), &entry.line)),
        None => Err(ApiError::bad(format!(
            "{} gives no values, so only the objective 'win' can be asked of it",
            view.choice.player
        ))),
    }
}

/// What the search found, or what the model thought where it did not search.
fn worth(entry: &MoveView) -> Option<f32> {
    entry.value.or(entry.model_value)
}

/// One move of an analysis.
pub(super) fn move_json(entry: &MoveView) -> Value {
    json!({
        "move": entry.text.san, "value": worth(entry), "visits": entry.visits, "mate": entry.mate, "line": sans(&entry.line),
    })
}

fn justification(
    view: &AnalysisView,
    objective: Objective,
    choice: &MoveText,
    value: Option<f32>,
    line: &[MoveText],
) -> String {
    let why = match objective {
        Objective::Win => "is the best move",
        Objective::Even => "keeps the game most even",
        Objective::Lose => "gives away the most",
    };
    let mut text = format!("{} {why}", choice.san);
    if let Some(value) = value {
        text.push_str(&format!(": {} for the side to move", percent(value)));
    }
    if view.choice.nodes > 1 {
        text.push_str(&format!(" after {} positions", view.choice.nodes));
    }
    if line.len() > 1 {
        text.push_str(&format!("; expected line {}", sans(line).join(" ")));
    }
    let others = view.moves.iter().filter(|entry| entry.text.text != choice.text);
    let others = others.filter_map(|entry| Some(format!("{} {}", entry.text.san, percent(worth(entry)?))));
    let others: Vec<String> = others.take(3).collect();
    if !others.is_empty() {
        text.push_str(&format!("; alternatives {}", others.join(", ")));
    }
    if let Some(note) = &view.choice.note {
        text.push_str(&format!(" ({note})"));
    }
    text
}

/// What a move is worth to the player who makes it.
pub(super) struct ComparedMove {
    played: MoveText,
    value: f32,
    line: Vec<MoveText>,
    /// Whether the move ends the game, so that the value is certain.
    ends: bool,
}

impl ComparedMove {
    pub(super) fn over(played: MoveText, outcome: Outcome, mover: Side) -> Self {
        let value = match outcome.winner() {
            Some(winner) if winner == mover => 1.0,
            Some(_) => 0.0,
            None => 0.5,
        };
        Self { line: vec![played.clone()], played, value, ends: true }
    }

    pub(super) fn behind(played: MoveText, reply: &ChoiceView, same_side: bool) -> Result<Self, ApiError> {
        let value = reply.value.ok_or_else(|| {
            ApiError::bad(format!("{} gives no values, so it cannot compare moves", reply.player))
        })?;
        let line = std::iter::once(played.clone()).chain(reply.line.iter().cloned()).collect();
        Ok(Self { played, value: if same_side { value } else { 1.0 - value }, line, ends: false })
    }

    fn json(&self) -> Value {
        json!({ "move": self.played.san, "value": self.value, "line": sans(&self.line), "ends_the_game": self.ends })
    }
}

/// Two moves side by side; equal values leave the first.
pub(super) fn compared(one: &ComparedMove, two: &ComparedMove) -> Value {
    let (better, worse) = if one.value >= two.value { (one, two) } else { (two, one) };
    let justification = format!(
        "{} keeps {} for the side to move, {} {}; expected lines {} and {}",
        better.played.san,
        percent(better.value),
        worse.played.san,
        percent(worse.value),
        sans(&better.line).join(" "),
        sans(&worse.line).join(" "),
    );
    json!({
        "choice": better.played.san, "justification": justification, "first": one.json(), "second": two.json(),
    })
}

fn percent(value: f32) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn sans(line: &[MoveText]) -> Vec<&str> {
    line.iter().map(|mv| mv.san.as_str()).collect()
}
