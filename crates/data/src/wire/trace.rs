//! Traces of internal search as training reads them.

use super::{OracleName, Row};
use crate::table::{Buffers, CellError, Cursors};
use std::sync::Arc;

/// A trace in tokens, with the tree it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// The game's name with its parameters.
    pub game: String,
    /// The position text of the root.
    pub position: String,
    /// Children of an expanded node.
    pub breadth: i32,
    /// Plies from the root to the leaves.
    pub depth: i32,
    /// Moves that each node lists; absent where all are.
    pub top: Option<i32>,
    /// Whether nodes leave out the previous state, as 0 or 1.
    pub compact: i32,
    /// Evaluated and finished positions in it.
    pub n_nodes: i32,
    /// Tokens of the prompt, which carry no loss.
    pub loss_start: i32,
    /// Prompt and response.
    pub tokens: Vec<i32>,
    /// Who judged the nodes.
    pub oracle: Arc<OracleName>,
}

impl Row for TraceRow {
    const TABLE: &'static str = "traces";
    const SCHEMA: &'static str = "message traces {
        required binary game (STRING);
        required binary position (STRING);
        required int32 breadth;
        required int32 depth;
        optional int32 top;
        required int32 compact;
        required int32 n_nodes;
        required int32 loss_start;
        required group tokens (LIST) {
            repeated group list {
                optional int32 element;
            }
        }
        required binary oracle (STRING);
        required binary oracle_version (STRING);
        required binary oracle_settings (STRING);
    }";
    const ROWS_PER_GROUP: usize = 512;
    const LEAVES: &'static [(&'static str, &'static str)] = &[
        ("game", "game"),
        ("position", "position"),
        ("breadth", "breadth"),
        ("depth", "depth"),
        ("top", "top"),
        ("compact", "compact"),
        ("n_nodes", "n_nodes"),
        ("loss_start", "loss_start"),
        ("tokens", "element"),
        ("oracle", "oracle"),
        ("oracle_version", "oracle_version"),
        ("oracle_settings", "oracle_settings"),
    ];

    fn write(&self, columns: &mut Buffers) {
        columns.text(0, &self.game);
        columns.text(1, &self.position);
        columns.integer(2, self.breadth);
        columns.integer(3, self.depth);
        columns.optional_integer(4, self.top);
        columns.integer(5, self.compact);
        columns.integer(6, self.n_nodes);
        columns.integer(7, self.loss_start);
        columns.list_of_integers(8, self.tokens.iter().map(|&token| Some(token)));
        columns.text(9, &self.oracle.name);
        columns.text(10, &self.oracle.version);
        columns.text(11, &self.oracle.settings);
    }

    fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        Ok(Self {
            game: columns.text(0)?,
            position: columns.text(1)?,
            breadth: columns.integer(2)?,
            depth: columns.integer(3)?,
            top: columns.optional_integer(4)?,
            compact: columns.integer(5)?,
            n_nodes: columns.integer(6)?,
            loss_start: columns.integer(7)?,
            tokens: columns.list(8, |cell| cell.integer())?.into_iter().flatten().collect(),
            oracle: columns.oracle(9)?,
        })
    }

    fn oracle(&self) -> Option<&Arc<OracleName>> {
        Some(&self.oracle)
    }
}
