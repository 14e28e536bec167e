//! Roots of traces and what came of them, as they travel between machines.

use super::job::OracleWire;
use super::{OracleName, TraceRow};
use crate::job::SetAside;
use crate::traces::{Rows, TraceInput, TracePlan};
use mavis_game::{Game as _, Position};
use mavis_lang::Top;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a job of kind `traces` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceInputWire {
    line: String,
    oracle: OracleWire,
    per_root: usize,
    sizes: Vec<(u16, u16)>,
    /// The bits of the share of compact traces.
    compact: u64,
    /// The bits of the share of traces that go breadth first.
    breadth_first: u64,
    /// Moves that nodes list; `None` means all.
    tops: Vec<Option<u16>>,
    context: usize,
    seed: u64,
    first: u64,
    /// Game and position text of each root.
    roots: Vec<(String, String)>,
}

impl From<&TraceInput> for TraceInputWire {
    fn from(input: &TraceInput) -> Self {
        let TracePlan { per_root, sizes, compact, breadth_first, tops, context } = &*input.plan;
        let top = |top: &Top| match top {
            Top::All => None,
            Top::Best(k) => Some(*k),
        };
        Self {
            line: input.line.to_string(),
            oracle: (&*input.oracle).into(),
            per_root: *per_root,
            sizes: sizes.clone(),
            compact: compact.to_bits(),
            breadth_first: breadth_first.to_bits(),
            tops: tops.iter().map(top).collect(),
            context: *context,
            seed: input.seed,
            first: input.first,
            roots: input.roots.iter().map(|root| (root.rules().to_string(), root.to_string())).collect(),
        }
    }
}

impl TraceInputWire {
    pub(crate) fn input(self) -> Result<TraceInput, String> {
        let mut reader = crate::PositionReader::default();
        let roots: Result<Vec<Position>, String> =
            self.roots.iter().map(|(game, text)| reader.position(game, text)).collect();
        let plan = TracePlan {
            per_root: self.per_root,
            sizes: self.sizes,
            compact: f64::from_bits(self.compact),
            breadth_first: f64::from_bits(self.breadth_first),
            tops: self.tops.into_iter().map(|top| top.map_or(Top::All, Top::Best)).collect(),
            context: self.context,
        };
        Ok(TraceInput {
            line: self.line.into(),
            oracle: Arc::new(self.oracle.into()),
            plan: Arc::new(plan),
            seed: self.seed,
            first: self.first,
            roots: roots?,
        })
    }
}

/// What became of a root.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum TracedWire {
    /// It has traces.
    #[serde(rename = "rows")]
    Rows(Vec<TraceWire>),
    /// It has none.
    #[serde(rename = "aside")]
    Aside(SetAside),
}

/// A row of the table of traces.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceWire {
    game: String,
    position: String,
    breadth: i32,
    depth: i32,
    top: Option<i32>,
    compact: i32,
    n_nodes: i32,
    loss_start: i32,
    tokens: Vec<i32>,
    oracle: OracleWire,
}

impl From<&Rows> for TracedWire {
    fn from(rows: &Rows) -> Self {
        match rows {
            Ok(rows) => Self::Rows(rows.iter().map(TraceWire::from).collect()),
            Err(aside) => Self::Aside(aside.clone()),
        }
    }
}

impl TracedWire {
    /// The rows; `last` is the oracle of the row before, which is shared where it is the same.
    pub(crate) fn rows(self, last: &mut Arc<OracleName>) -> Rows {
        match self {
            Self::Rows(rows) => Ok(rows.into_iter().map(|row| row.row(last)).collect()),
            Self::Aside(aside) => Err(aside),
        }
    }
}

impl From<&TraceRow> for TraceWire {
    fn from(row: &TraceRow) -> Self {
        let TraceRow { game, position, breadth, depth, top, compact, n_nodes, loss_start, tokens, oracle } =
            row.clone();
        let oracle = (&*oracle).into();
        Self { game, position, breadth, depth, top, compact, n_nodes, loss_start, tokens, oracle }
    }
}

impl TraceWire {
    fn row(self, last: &mut Arc<OracleName>) -> TraceRow {
        let Self { game, position, breadth, depth, top, compact, n_nodes, loss_start, tokens, oracle } = self;
        let oracle = OracleName::from(oracle);
        if **last != oracle {
            *last = Arc::new(oracle);
        }
        let oracle = Arc::clone(last);
        TraceRow { game, position, breadth, depth, top, compact, n_nodes, loss_start, tokens, oracle }
    }
}
