//! `mavis tree`: search trees as data.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{answer, answer_json};
use crate::input::{BadInput, OrBadInput};
use clap::Subcommand;
use mavis_search::wire::{Difference, SavedTree};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Shows, compares and draws trees that `mavis analyze --tree FILE` saved.
///
/// A tree is JSON with one node per line. Moves are given as text and as codes, values from -1 to 1 for the player who moves.
#[derive(Subcommand)]
pub(crate) enum Tree {
    /// The best moves of the root, each with the line that the search expects.
    ///
    /// Example: mavis tree lines tree.json --most 3
    Lines {
        /// The tree
        file: PathBuf,
        /// Lines to show
        #[arg(long, default_value_t = 5)]
        most: usize,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// What differs between two trees of one position, moves with the most visits first.
    ///
    /// Example: mavis tree diff before.json after.json
    Diff {
        /// One tree
        first: PathBuf,
        /// The other
        second: PathBuf,
        /// Values closer than this are the same
        #[arg(long, default_value_t = 0.001)]
        tolerance: f32,
        /// Differences to show
        #[arg(long, default_value_t = 20)]
        most: usize,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The first plies as a drawing in the language of Graphviz.
    ///
    /// Example: mavis tree dot tree.json --plies 3 | dot -Tsvg > tree.svg
    Dot {
        /// The tree
        file: PathBuf,
        /// Plies to draw
        #[arg(long, default_value_t = 3)]
        plies: usize,
        /// Moves of each node, the most visited
        #[arg(long, default_value_t = 4)]
        breadth: usize,
    },
}

#[derive(Serialize)]
struct ShownLine {
    moves: Vec<String>,
    visits: u32,
    value: f32,
}

#[derive(Serialize)]
struct ShownDiff {
    common_nodes: usize,
    only_first: usize,
    only_second: usize,
    other_best: usize,
    n_differences: usize,
    differences: Vec<ShownDifference>,
}

#[derive(Serialize)]
struct ShownDifference {
    line: Vec<String>,
    visits: [Option<u32>; 2],
    values: [Option<f32>; 2],
}

impl From<&Difference> for ShownDifference {
    fn from(difference: &Difference) -> Self {
        let Difference { line, visits, values } = difference;
        Self { line: line.clone(), visits: *visits, values: *values }
    }
}

impl Tree {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Lines { file, most, json } => lines(&read(&file)?, most, json),
            Self::Diff { first, second, tolerance, most, json } => {
                let (one, other) = (read(&first)?, read(&second)?);
                if (&one.game, &one.position) != (&other.game, &other.position) {
                    return Err(BadInput::new("the trees are of different positions").into());
                }
                diff(&one, &other, tolerance, most, json)
            }
            Self::Dot { file, plies, breadth } => answer(&read(&file)?.graphviz(plies, breadth)),
        }
    }
}

/// Reads a saved tree.
pub(super) fn read(path: &Path) -> Result<SavedTree, BadInput> {
    let fault = |error: String| BadInput::new(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    SavedTree::from_json(&text).map_err(|error| fault(error.to_string())).or_bad_input()
}

fn lines(tree: &SavedTree, most: usize, json: bool) -> anyhow::Result<()> {
    let lines = tree.top_lines(most).into_iter();
    let lines: Vec<ShownLine> =
        lines.map(|line| ShownLine { moves: line.moves, visits: line.visits, value: line.value }).collect();
    if json {
        return answer_json(&serde_json::json!({
            "game": tree.game, "position": tree.position, "settings": tree.settings, "evaluator": tree.evaluator,
            "nodes": tree.nodes.len(), "lines": lines,
        }));
    }
    let SavedTree { game, position, evaluator, settings, .. } = tree;
    let mut text = format!(
        "{game} {position}\n{} nodes by {evaluator} {settings}\nvisits   value  line\n",
        tree.nodes.len()
    );
    for ShownLine { moves, visits, value } in &lines {
        text.push_str(&format!("{visits:>6} {value:>+7.3}  {}\n", moves.join(" ")));
    }
    answer(&text)
}

fn diff(one: &SavedTree, other: &SavedTree, tolerance: f32, most: usize, json: bool) -> anyhow::Result<()> {
    let diff = one.diff(other, tolerance);
    let shown = ShownDiff {
        common_nodes: diff.common_nodes,
        only_first: diff.only_first,
        only_second: diff.only_second,
        other_best: diff.other_best,
        n_differences: diff.differences.len(),
        differences: diff.differences.iter().take(most).map(ShownDifference::from).collect(),
    };
    if json {
        return answer_json(&shown);
    }
    let ShownDiff { common_nodes, only_first, only_second, other_best, n_differences, differences } = &shown;
    let mut text = format!(
        "{common_nodes} nodes in both, {only_first} only in the first, {only_second} only in the second; another best move \
         at {other_best}; {n_differences} moves differ\n"
    );
    if !differences.is_empty() {
        text.push_str("       visits              value  line\n");
    }
    let number = |value: Option<f32>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.3}"));
    let count = |visits: Option<u32>| visits.map_or_else(|| "-".to_owned(), |visits| visits.to_string());
    for ShownDifference { line, visits, values } in differences {
        let [visits_one, visits_other] = visits.map(count);
        let [value_one, value_other] = values.map(number);
        let line = line.join(" ");
        text.push_str(&format!(
            "{visits_one:>6} {visits_other:>6} {value_one:>9} {value_other:>8}  {line}\n"
        ));
    }
    answer(&text)
}
