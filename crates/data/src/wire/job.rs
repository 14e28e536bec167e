//! Positions to judge and their annotations, as they travel between machines.

use super::{AnnotationRow, MoveRow, MoveText, OracleName, Place, PositionRow, ScoreUnit};
use crate::annotate::{AnnotateInput, Judged};
use crate::job::SetAside;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A position and where it came from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceWire {
    game: String,
    position: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    game_id: Option<String>,
    ply: u32,
}

impl From<&Place> for PlaceWire {
    fn from(place: &Place) -> Self {
        let Place { game, position, game_id, ply } = place.clone();
        Self { game, position, game_id, ply }
    }
}

impl From<PlaceWire> for Place {
    fn from(place: PlaceWire) -> Self {
        let PlaceWire { game, position, game_id, ply } = place;
        Self { game, position, game_id, ply }
    }
}

/// Name, version and settings of an oracle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct OracleWire(String, String, String);

impl From<&OracleName> for OracleWire {
    fn from(oracle: &OracleName) -> Self {
        let OracleName { name, version, settings } = oracle.clone();
        Self(name, version, settings)
    }
}

impl From<OracleWire> for OracleName {
    fn from(oracle: OracleWire) -> Self {
        let OracleWire(name, version, settings) = oracle;
        Self { name, version, settings }
    }
}

/// What a job of kind `annotate` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnnotateInputWire {
    line: String,
    oracle: OracleWire,
    rows: Vec<PlaceWire>,
}

impl From<&AnnotateInput> for AnnotateInputWire {
    fn from(input: &AnnotateInput) -> Self {
        Self {
            line: input.line.to_string(),
            oracle: (&*input.oracle).into(),
            rows: input.rows.iter().map(|row| (&row.place).into()).collect(),
        }
    }
}

impl From<AnnotateInputWire> for AnnotateInput {
    fn from(input: AnnotateInputWire) -> Self {
        let row = |place: PlaceWire| PositionRow { place: place.into(), played: None };
        Self {
            line: input.line.into(),
            oracle: Arc::new(input.oracle.into()),
            rows: input.rows.into_iter().map(row).collect(),
        }
    }
}

/// A move with its judgment. Numbers with a fraction are given by their bits, so that they arrive as they were.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MoveWire(String, Option<u32>, Option<(u32, String)>, Option<i32>);

/// What became of a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum JudgedWire {
    /// It has values.
    #[serde(rename = "row")]
    Row {
        /// The position.
        place: PlaceWire,
        /// The moves, best first.
        moves: Vec<MoveWire>,
        /// The oracle's choice.
        best: Option<String>,
        /// The bits of the position's value.
        value: Option<u32>,
        /// Who judged.
        oracle: OracleWire,
    },
    /// It has none.
    #[serde(rename = "aside")]
    Aside(SetAside),
}

impl From<&AnnotationRow> for JudgedWire {
    fn from(row: &AnnotationRow) -> Self {
        Self::Row {
            place: (&row.place).into(),
            moves: row.moves.iter().map(MoveWire::from).collect(),
            best: row.best.map(|mv| mv.to_string()),
            value: row.value.map(f32::to_bits),
            oracle: (&*row.oracle).into(),
        }
    }
}

impl From<&Judged> for JudgedWire {
    fn from(judged: &Judged) -> Self {
        match judged {
            Ok(row) => row.into(),
            Err(aside) => Self::Aside(aside.clone()),
        }
    }
}

impl JudgedWire {
    /// The row; `last` is the oracle of the row before, which is shared where it is the same.
    pub(crate) fn judged(self, last: &mut Arc<OracleName>) -> Result<Judged, String> {
        match self {
            Self::Aside(aside) => Ok(Err(aside)),
            Self::Row { place, moves, best, value, oracle } => {
                let oracle = OracleName::from(oracle);
                if **last != oracle {
                    *last = Arc::new(oracle);
                }
                let moves: Result<Vec<MoveRow>, String> = moves.into_iter().map(MoveWire::row).collect();
                Ok(Ok(AnnotationRow {
                    place: place.into(),
                    moves: moves?,
                    best: best.map(|text| move_text(&text)).transpose()?,
                    value: value.map(f32::from_bits),
                    oracle: Arc::clone(last),
                }))
            }
        }
    }
}

impl From<&MoveRow> for MoveWire {
    fn from(row: &MoveRow) -> Self {
        let score = row.score.map(|(score, unit)| (score.to_bits(), unit.as_str().to_owned()));
        Self(row.mv.to_string(), row.win_probability.map(f32::to_bits), score, row.plies)
    }
}

impl MoveWire {
    fn row(self) -> Result<MoveRow, String> {
        let Self(mv, win_probability, score, plies) = self;
        let score = score.map(|(score, unit)| {
            let unit = ScoreUnit::parse(&unit).ok_or_else(|| format!("unknown unit '{unit}'"))?;
            Ok::<_, String>((f32::from_bits(score), unit))
        });
        Ok(MoveRow {
            mv: move_text(&mv)?,
            win_probability: win_probability.map(f32::from_bits),
            score: score.transpose()?,
            plies,
        })
    }
}

fn move_text(text: &str) -> Result<MoveText, String> {
    MoveText::from(text).map_err(|_| format!("'{text}' is too long for a move"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::AnnotateJob;
    use mavis_queue::JobKind;

    #[test]
    fn rows_arrive_as_they_were_whatever_their_numbers() {
        let oracle = Arc::new(OracleName {
            name: "Stockfish".to_owned(),
            version: "16".to_owned(),
            settings: "nodes=1".to_owned(),
        });
        let place = Place {
            game: "chess".to_owned(),
            position: "a \"quoted\" text".to_owned(),
            game_id: Some("ü".to_owned()),
            ply: 3,
        };
        let mv = |text: &str, value: f32| MoveRow {
            mv: MoveText::from(text).expect("short"),
            win_probability: Some(value),
            score: Some((-0.0, ScoreUnit::Mate)),
            plies: Some(-4),
        };
        let row = AnnotationRow {
            place: place.clone(),
            moves: vec![mv("e2e4", 0.1 + 0.2), mv("e1g1", f32::MIN_POSITIVE / 2.0)],
            best: Some(MoveText::from("e2e4").expect("short")),
            value: None,
            oracle: Arc::clone(&oracle),
        };
        let aside = SetAside { position: "x".to_owned(), reason: "no\nsuch game".to_owned() };
        let output = vec![Ok(row), Err(aside)];
        let bytes = AnnotateJob::write_output(&output);
        assert_eq!(AnnotateJob::read_output(&bytes).expect("readable"), output);

        let input = AnnotateInput {
            line: "stockfish".into(),
            oracle,
            rows: vec![PositionRow { place, played: Some("e2e4".to_owned()) }],
        };
        let read = AnnotateJob::read_input(&AnnotateJob::write_input(&input)).expect("readable");
        assert_eq!((&read.line, &read.oracle), (&input.line, &input.oracle));
        assert_eq!(read.rows[0].place, input.rows[0].place);
        assert!(AnnotateJob::read_input(b"{}").is_err());
    }
}
