//! `mavis eval agreement`: two ways to the same answer, all moves at once and token by token.

use super::legality::{Asked, decoder, read};
use crate::commands::{answer, answer_json};
use crate::input::BadInput;
use clap::{ArgAction, Args};
use mavis_game::Game as _;
use mavis_lang::{Commands, Request};
use mavis_model::{
    decode::{GreedySettings, ListOrder},
    measure::{self, fan_out_against_chain},
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::path::PathBuf;

/// Compares a model's lists by fan-out with those it writes token by token.
///
/// Each input has two rows: lists of a given state, and joint answers (state and list) to the previous state and a move. Same set:
/// both list the same moves. Same best: the move with the highest mean value is the same.
///
/// The last columns count answers written token by token by what is wrong: a move named twice, moves missing, moves too many,
/// malformed (not of the language, or cut), another state. A list may both lack moves and have too many; an answer of the other three
/// kinds is broken and is counted once.
///
/// Example: mavis eval agreement --input data/valid_chess --input valid/connect4.parquet --limit 500
#[derive(Args)]
pub(crate) struct Agreement {
    /// The model, as a player: mav for the bundled one, mav:model=FILE,device=cuda for another
    #[arg(long, default_value = "mav")]
    player: String,
    /// Puzzles (.csv, .csv.gz, ...), a table of positions or annotations, or a pair NAME.fen.zst and NAME.val.zst; repeatable
    #[arg(long, required = true)]
    input: Vec<PathBuf>,
    /// Maximum number of positions of each input: the first puzzles, or rows drawn by the seed
    #[arg(long, default_value_t = 500)]
    limit: usize,
    /// Makes positions and previous moves repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Positions in one pass of the model
    #[arg(long, default_value_t = 32, value_parser = crate::input::at_once)]
    batch: usize,
    /// Whether a list may name a move twice where that is the likeliest text, as programs without our grammar write it
    #[arg(long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set)]
    repeats: bool,
    /// Order of the moves of a written list: likeliest first, or drawn at random as in training (the list then ends where its end
    /// is likelier than all moves together)
    #[arg(long, value_name = "ORDER", default_value_t)]
    list_order: ListOrder,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    player: String,
    repeats: bool,
    list_order: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    input: String,
    /// `list` of a given state, or `joint` answer to the previous state and a move.
    asked: &'static str,
    #[serde(flatten)]
    agreement: measure::Agreement,
}

impl Agreement {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut sets = Vec::new();
        for path in &self.input {
            let positions = read(path, Some(self.limit), self.seed)?;
            if positions.is_empty() {
                let text = format!("{} holds no position that is not over", path.display());
                return Err(BadInput::new(text).into());
            }
            let name = path.file_name().unwrap_or(path.as_os_str());
            sets.push((name.to_string_lossy().into_owned(), positions));
        }
        let mut decoder = decoder(&self.player)?;
        let settings = GreedySettings {
            repeats: self.repeats,
            list_order: self.list_order,
            ..GreedySettings::default()
        };
        let mut rows = Vec::new();
        for (input, positions) in sets {
            let lists: Vec<Request> = positions
                .iter()
                .map(|asked| Request::at(asked.position.clone(), Commands::top_all(asked.position.rules())))
                .collect();
            let joint = joint_requests(&positions, self.seed);
            for (asked, requests) in [("list", lists), ("joint", joint)] {
                let agreement = fan_out_against_chain(&mut decoder, &requests, self.batch, settings)?;
                rows.push(Row { input: input.clone(), asked, agreement });
            }
        }
        let shown = Shown {
            player: self.player,
            repeats: self.repeats,
            list_order: self.list_order.to_string(),
            rows,
        };
        if self.json { answer_json(&shown) } else { answer(&shown.text()) }
    }
}

/// Asks for each position through the move that led to it, or one taken back at random; positions that nothing leads to are left
/// out.
fn joint_requests(positions: &[Asked], seed: u64) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let request = |asked: &Asked| {
        let reached = asked.reached.clone();
        let (previous, mv) = reached.or_else(|| asked.position.random_predecessor(|| random.random()))?;
        let commands = Commands { best: false, ..Commands::tracking(previous.rules()) };
        Some(Request::after(previous, mv, commands))
    };
    positions.iter().filter_map(request).collect()
}

impl Shown {
    fn text(&self) -> String {
        let mut text = format!(
            "{:<24} {:<5} {:>5} {:>9} {:>9} {:>9} {:>11} {:>6} {:>8} {:>6} {:>10} {:>6}\n",
            "input",
            "asked",
            "n",
            "states",
            "same set",
            "same best",
            "value diff.",
            "twice",
            "missing",
            "extra",
            "malformed",
            "state",
        );
        for Row { input, asked, agreement } in &self.rows {
            let measure::Wrong { named_twice, missing, extra, malformed, other_state } = agreement.wrong;
            text.push_str(&format!(
                "{input:<24} {asked:<5} {:>5} {:>7.2} % {:>7.2} % {:>7.2} % {:>11.4} {named_twice:>6} {missing:>8} {extra:>6} \
                 {malformed:>10} {other_state:>6}\n",
                agreement.n_positions,
                100.0 * agreement.right_states,
                100.0 * agreement.same_set,
                100.0 * agreement.same_best,
                agreement.value_difference,
            ));
        }
        text
    }
}
