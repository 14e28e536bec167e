//! Answers as records: the JSON of `mavis analyze`, `mavis solve` and `mavis lang check`, which the Python module reads too.

use mavis_game::{Game, Move};
use mavis_lang::report::CheckReport;
use mavis_oracle::{RankedMove, Ranking, Score};
use mavis_play::{Analysis, MoveAnalysis};
use serde::Serialize;

/// What a player thinks of a position.
#[derive(Clone, Debug, Serialize)]
pub struct AnalysisRecord {
    /// The move to play.
    pub best: String,
    /// Win probability of the side to move.
    pub value: Option<f32>,
    /// Positions looked at.
    pub nodes: u64,
    /// Simulations that a kept tree saved.
    pub kept: u64,
    /// What went wrong on the way, if anything.
    pub note: Option<String>,
    /// The moves, best first.
    pub moves: Vec<AnalyzedMove>,
}

/// What a player thinks of one move. What it has no notion of is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct AnalyzedMove {
    /// The move.
    pub r#move: String,
    /// Win probability of the player who makes it.
    pub value: Option<f32>,
    /// The evaluator's own value before any search.
    pub model_value: Option<f32>,
    /// Simulations through it.
    pub visits: Option<u32>,
    /// Its prior probability.
    pub prior: Option<f32>,
    /// Score in centipawns.
    pub centipawns: Option<i32>,
    /// Moves to a certain end: above 0 a win, below 0 a loss.
    pub mate: Option<i32>,
    /// The expected line, the move first.
    pub line: Vec<String>,
    /// The weights of the 64 value buckets, from lost to won.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Vec<f32>>,
}

impl AnalysisRecord {
    /// The record of an analysis of a position.
    #[must_use]
    pub fn new(position: &impl Game, analysis: &Analysis) -> Self {
        let thought = &analysis.choice.thought;
        Self {
            best: position.move_text(analysis.choice.mv),
            value: thought.value,
            nodes: thought.nodes,
            kept: thought.kept,
            note: thought.note.clone(),
            moves: analysis.moves.iter().map(|entry| AnalyzedMove::new(position, entry)).collect(),
        }
    }
}

impl AnalyzedMove {
    fn new(position: &impl Game, entry: &MoveAnalysis) -> Self {
        Self {
            r#move: position.move_text(entry.mv),
            value: entry.value,
            model_value: entry.model_value,
            visits: entry.visits,
            prior: entry.prior,
            centipawns: entry.centipawns,
            mate: entry.mate,
            line: line_text(position, &entry.line),
            distribution: entry.distribution.as_ref().map(|distribution| distribution.0.to_vec()),
        }
    }
}

/// Moves as text, as far as they can be played.
#[must_use]
pub fn line_text(position: &impl Game, line: &[Move]) -> Vec<String> {
    let mut after = position.clone();
    line.iter()
        .map_while(|&mv| {
            let text = after.is_legal(mv).then(|| after.move_text(mv))?;
            after.play_unchecked(mv);
            Some(text)
        })
        .collect()
}

/// Exact scores of a position's moves.
#[derive(Clone, Debug, Serialize)]
pub struct SolvedRecord {
    /// The position.
    pub position: String,
    /// The score of its best move.
    pub score: i32,
    /// The moves, best first.
    pub moves: Vec<SolvedMove>,
}

/// The exact score of a move.
#[derive(Clone, Debug, Serialize)]
pub struct SolvedMove {
    /// The move.
    pub r#move: String,
    /// Above 0 a win for the player who makes it.
    pub score: i32,
    /// Plies to the end of the game with best play.
    pub plies: Option<u32>,
}

impl SolvedRecord {
    /// The record of an exact solver's ranking.
    #[must_use]
    pub fn new(position: &impl Game, ranking: &Ranking) -> Self {
        let row = |entry: &RankedMove| SolvedMove {
            r#move: position.move_text(entry.mv),
            score: if let Score::Solved(score) = entry.score { score } else { 0 },
            plies: entry.plies,
        };
        let moves: Vec<SolvedMove> = ranking.moves.iter().map(row).collect();
        Self {
            position: position.to_string(),
            score: moves.iter().map(|row| row.score).max().unwrap_or(0),
            moves,
        }
    }
}

/// The check of a file of model answers.
#[derive(Clone, Debug, Serialize)]
pub struct CheckRecord {
    /// Answers in the file.
    pub n_answers: usize,
    /// Answers without a mistake.
    pub n_right: usize,
    /// Records that could not be read.
    pub n_unreadable: usize,
    /// What is wrong.
    pub mistakes: Vec<MistakeRecord>,
}

/// A mistake and its place.
#[derive(Clone, Debug, Serialize)]
pub struct MistakeRecord {
    /// Number of the record, from 1.
    pub record: usize,
    /// Line of the file.
    pub line: usize,
    /// Kind of mistake.
    pub kind: String,
    /// What is wrong, in words.
    pub reason: String,
}

impl From<&CheckReport> for CheckRecord {
    fn from(report: &CheckReport) -> Self {
        let mistakes = report.failures.iter().map(|failure| MistakeRecord {
            record: failure.record,
            line: failure.line,
            kind: failure.mistake.kind.to_string(),
            reason: failure.mistake.to_string(),
        });
        Self {
            n_answers: report.metrics.n_answers,
            n_right: report.metrics.n_right,
            n_unreadable: report.n_unreadable,
            mistakes: mistakes.collect(),
        }
    }
}
