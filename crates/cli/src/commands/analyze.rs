//! `mavis analyze`: what a player thinks of every move of a position, or of every position of a game.

mod game;
mod rules_check;
mod written;

use super::{answer, answer_json, note, tree, wrote};
use crate::{
    input::{BadInput, OrBadInput, Place, move_time},
    registry, stop,
    tunables::TunableFlags,
};
use anyhow::Context as _;
use clap::Args;
use mavis_bundled::wire::AnalysisRecord;
use mavis_data::{import::Source, pgn::PgnReader};
use mavis_game::{Game as _, Position};
use mavis_play::{Analysis, Limit, Player, PlayerSpec, Turn};
use mavis_search::wire::SavedTree;
use rules_check::RulesCheckView;
use serde::Serialize;
use std::{io::Read as _, path::PathBuf};

/// Shows what a player thinks of every move of a position: values, visits, and the line it expects.
///
/// With --pgn it writes evaluations into whole games instead, and marks the mistakes.
/// Examples: mavis analyze --game connect4 --moves 4 4 3 --player oracle;
/// mavis analyze --pgn games.pgn --player uci:stockfish,nodes=50000 > analyzed.pgn
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Analyze {
    /// chess, chess960, connect4, hex (hex:size=13, hex:swap), othello or togyz
    #[arg(long, required_unless_present = "pgn")]
    game: Option<String>,
    /// Position text (a FEN for chess). Default: the start position
    #[arg(long, allow_hyphen_values = true)]
    position: Option<String>,
    /// Moves to play first, in order
    #[arg(long, num_args = 1..)]
    moves: Vec<String>,
    /// A file of games, compressed or not (- for stdin); they come out on stdout with evaluations
    #[arg(long, value_name = "FILE", conflicts_with_all = ["game", "position", "moves"])]
    pgn: Option<PathBuf>,
    /// The player line. Options of a search are also flags, such as --sims (mavis help players mav-mcts lists them)
    #[arg(long, default_value = "mav-mcts")]
    player: String,
    /// Seed; the same seed gives the same analysis
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds to think. Default: the player's own limits
    #[arg(long)]
    movetime: Option<f64>,
    /// Prints one JSON object, with the distribution over values where the player has one; with --pgn one per game
    #[arg(long)]
    json: bool,
    /// Saves the tree of the search, for `mavis tree` and --resume
    #[arg(long, value_name = "FILE", conflicts_with = "pgn")]
    tree: Option<PathBuf>,
    /// Continues from a tree that --tree saved, of the same position
    #[arg(long, value_name = "FILE", conflicts_with = "pgn")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    tunables: TunableFlags,
}

#[derive(Serialize)]
struct Shown {
    game: String,
    position: String,
    player: String,
    #[serde(flatten)]
    analysis: AnalysisRecord,
    /// Tokens and passes of a search that was written as text, and its tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<SavedTree>,
    /// Where the model alone was the world: what the rules say of its tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    referee: Option<RulesCheckView>,
}

impl Analyze {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut spec: PlayerSpec = self.player.parse().or_bad_input()?;
        self.tunables.apply(&mut spec);
        let limit = Limit { lines: u32::MAX, time: move_time(self.movetime)?, ..Limit::default() };
        let player = || registry::players().build(&spec, self.seed).or_bad_input();
        match &self.pgn {
            Some(path) => self.games(path, &mut *player()?, &Limit { lines: 1, ..limit }),
            None => self.one_position(&mut *player()?, limit),
        }
    }

    fn one_position(&self, player: &mut dyn Player, limit: Limit) -> anyhow::Result<()> {
        let place = Place { game: self.game.clone().unwrap_or_default(), position: self.position.clone() };
        let start = place.position()?;
        let mut position = start.clone();
        let mut moves = Vec::new();
        for text in &self.moves {
            moves.push(position.play_text(text).or_bad_input()?);
        }
        if position.outcome().is_some() {
            return Err(BadInput::new(format!("the game is over: {position}")).into());
        }
        player.ready_for(position.rules()).or_bad_input()?;
        player.new_game(position.rules());
        if let Some(path) = &self.resume {
            let tree = tree::read(path)?;
            let fault = |error: String| BadInput::new(format!("{}: {error}", path.display()));
            if tree.game != position.rules().to_string() || tree.position != position.to_string() {
                return Err(
                    fault(format!("a tree of another position, {} {}", tree.game, tree.position)).into()
                );
            }
            player.resume(&tree).map_err(|error| fault(error.to_string()))?;
        }
        let analysis = player.analyze(&mut Turn {
            start: &start,
            moves: &moves,
            position: &position,
            limit,
            cancel: stop::cancel("the search in hand"),
            sink: &mut |_| {},
        })?;
        let mut shown = Shown::new(&position, player.name(), &analysis);
        let written = written::tree_text(&analysis.choice.thought);
        shown.referee = player.tree_check().map(RulesCheckView);
        let saved = |path| -> anyhow::Result<(&PathBuf, String)> {
            match (player.tree(), &analysis.choice.thought.tree) {
                (Some(tree), _) => Ok((path, tree.to_json()?)),
                (None, Some(tree)) => Ok((path, tree.to_json()?)),
                (None, None) => Err(BadInput::new(format!("{} has no tree to save", player.name())).into()),
            }
        };
        let tree = self.tree.as_ref().map(saved).transpose()?;
        // Neither a path that cannot be written nor a reader who has left costs the other half.
        let answered = match self.json {
            true => answer_json(&shown),
            false => answer(&(shown.table() + &written)),
        };
        if let Some((path, json)) = tree {
            std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
            wrote(path);
        }
        answered
    }

    /// Every game of a file, each written as soon as it is done.
    fn games(&self, path: &std::path::Path, player: &mut dyn Player, limit: &Limit) -> anyhow::Result<()> {
        let unreadable = |error| BadInput::new(format!("{}: {error}", path.display()));
        let mut bytes = Vec::new();
        Source::open(path).and_then(|mut source| source.read_to_end(&mut bytes)).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        let cancel = stop::cancel("the position in hand");
        let (mut n_games, mut refused) = (0_usize, Vec::new());
        for (number, game) in PgnReader::new(&text).enumerate() {
            if cancel.is_cancelled() {
                break;
            }
            let mut game = match game {
                Ok(game) => game,
                Err(error) => {
                    if self.json {
                        answer_json(
                            &serde_json::json!({ "number": number + 1, "refused": error.to_string() }),
                        )?;
                    }
                    refused.push(format!("{}: {error}", path.display()));
                    continue;
                }
            };
            let moves = game::analyze(&mut game, player, limit, &cancel)?;
            n_games += 1;
            if self.json {
                answer_json(&serde_json::json!({
                    "number": number + 1, "tags": game.tags.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                    "moves": moves, "result": game.result,
                }))?;
            } else {
                answer(&game.to_string())?;
            }
        }
        match &refused[..] {
            [] => {}
            [only] if n_games == 0 => return Err(BadInput::new(only).into()),
            [first, others @ ..] if n_games == 0 => {
                let n = others.len();
                return Err(BadInput::new(format!("{first} (and {n} more games refused)")).into());
            }
            faults => {
                note(&format!("{n_games} games, {} refused\n  {}", faults.len(), faults.join("\n  ")));
            }
        }
        Ok(())
    }
}

impl Shown {
    fn new(position: &Position, player: String, analysis: &Analysis) -> Self {
        let thought = &analysis.choice.thought;
        Self {
            game: position.rules().to_string(),
            position: position.to_string(),
            player,
            analysis: AnalysisRecord::new(position, analysis),
            tokens: thought.tokens,
            passes: thought.passes,
            tree: thought.tree.as_deref().cloned(),
            referee: None,
        }
    }

    /// One line per move, best first.
    fn table(&self) -> String {
        let mut text = format!("{} plays {}\n", self.player, self.analysis.best);
        let distributions = self.analysis.moves.iter().any(|row| row.distribution.is_some());
        let head = if distributions { format!("{:<SKETCH$}  ", "lost ... won") } else { String::new() };
        text.push_str(&format!("move      value  visits  {head}line\n"));
        for row in &self.analysis.moves {
            let value = match (row.mate, row.value) {
                (Some(moves), _) if moves > 0 => format!("won in {moves}"),
                (Some(moves), _) => format!("lost in {}", -moves),
                (None, Some(value)) => format!("{:.1} %", 100.0 * value),
                (None, None) => "-".to_owned(),
            };
            let visits = row.visits.map_or_else(|| "-".to_owned(), |visits| visits.to_string());
            let sketch = match &row.distribution {
                Some(weights) => format!("{}  ", sketch(weights)),
                None if distributions => " ".repeat(SKETCH + 2),
                None => String::new(),
            };
            let line = row.line.join(" ");
            text.push_str(&format!("{:<6} {value:>8} {visits:>7}  {sketch}{line}\n", row.r#move));
        }
        if let Some(note) = &self.analysis.note {
            text.push_str(&format!("{note}\n"));
        }
        if let Some(referee) = &self.referee {
            text.push_str(&referee.line());
        }
        text
    }
}

/// Places of a distribution in a table.
const SKETCH: usize = 16;

/// A distribution over values as a row of small bars, from lost to won; the highest fills its place.
fn sketch(weights: &[f32]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let sums: Vec<f32> =
        weights.chunks(weights.len().div_ceil(SKETCH).max(1)).map(|part| part.iter().sum()).collect();
    let most = sums.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    // A weight that is there shows, however small beside the others; a thousandth of all is not there.
    let bar = |sum: f32| if sum < 1e-3 { 0 } else { (8.0 * sum / most).ceil() as usize };
    sums.iter().map(|&sum| BARS[bar(sum).min(8)]).collect()
}
