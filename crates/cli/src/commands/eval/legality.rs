//! `mavis eval legality`: how well a model knows the rules, table 3 of paper 001.

use crate::commands::note;
use crate::commands::{answer, answer_json, model::read_model};
use crate::input::{BadInput, OrBadInput};
use crate::{bundled, positions, stop};
use anyhow::anyhow;
use clap::Args;
use indicatif::ProgressBar;
use mavis_data::odd_position;
use mavis_game::{Game as _, Move, Position};
use mavis_lang::{Commands, Forms, Given, Request, Top, check_answer, state};
use mavis_league::metrics::{
    Bands, LegalitySample, Metric, legality, metric_columns, metric_table, metrics_json,
};
use mavis_league::wire::MetricJson;
use mavis_model::{
    MavModel,
    decode::{Drafting, GreedySettings, MavDecoder},
};
use mavis_net::{Device, Precision};
use mavis_play::PlayerSpec;
use rand::{SeedableRng, seq::index};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Measures how well a model knows the rules: legal best action, listed moves, tracked states.
///
/// Each input has a column. Moves are listed by fan-out (--sequential: token by token). The best action and the state after it are the
/// answer to `%state %top_1 %best_action %state` (with --fen all positions are FENs). The move to track is the first one of the puzzle,
/// or drawn by the seed. An answer that does not parse counts as wrong in every metric of its request.
///
/// Example: mavis eval legality --input lichess_puzzles.csv.gz --ood 1000 --limit 1000
#[derive(Args)]
pub(crate) struct Legality {
    /// The model, as a player: mav for the bundled one, mav:model=FILE for another
    #[arg(long, default_value = "mav")]
    player: String,
    /// Puzzles (.csv, .csv.gz, ...), a table of positions or annotations, or a pair NAME.fen.zst and NAME.val.zst; repeatable
    #[arg(long)]
    input: Vec<PathBuf>,
    /// Number of chess positions with random pieces on random squares, as `mavis data ood` makes them
    #[arg(long, value_name = "N", value_parser = crate::input::in_memory)]
    ood: Option<usize>,
    /// Maximum number of positions of each input: the first puzzles, or rows drawn by the seed. Default: all
    #[arg(long, value_parser = crate::input::limit)]
    limit: Option<usize>,
    /// Makes positions and moves repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Decodes the list of moves token by token instead of by fan-out
    #[arg(long)]
    sequential: bool,
    /// Writes positions as FEN, as table 3 of paper 001 does, instead of as states; chess and chess960 only
    #[arg(long)]
    fen: bool,
    /// Positions in one pass of the model
    #[arg(long, default_value_t = 32, value_parser = crate::input::at_once)]
    batch: usize,
    /// Prints one JSON object, with bands by the number of legal moves
    #[arg(long)]
    json: bool,
}

/// Positions of one origin.
struct Set {
    name: String,
    positions: Vec<Asked>,
}

/// A position, and how it came about where that is known.
pub(super) struct Asked {
    pub(super) position: Position,
    pub(super) reached: Option<(Position, Move)>,
}

#[derive(Serialize)]
struct Shown {
    player: String,
    sets: Vec<ShownSet>,
}

#[derive(Serialize)]
struct ShownSet {
    input: String,
    n: usize,
    metrics: Vec<MetricJson>,
}

impl Legality {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let sets = self.sets()?;
        let mut decoder = decoder(&self.player)?;
        let stopped = stop::flag("the positions in hand");
        let bar = ProgressBar::new(sets.iter().map(|set| set.positions.len() as u64).sum());
        let mut measured: Vec<(String, usize, Vec<Metric>)> = Vec::new();
        for set in &sets {
            let mut samples = Vec::new();
            for batch in set.positions.chunks(self.batch.max(1)) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                samples.extend(self.ask(&mut decoder, batch)?);
                bar.inc(batch.len() as u64);
            }
            if samples.len() < set.positions.len() {
                note(&format!("{}: stopped after {} of {}", set.name, samples.len(), set.positions.len()));
            }
            let bands = Bands::about(8, samples.iter().map(|sample| sample.at));
            measured.push((set.name.clone(), samples.len(), legality(&samples, &bands)));
        }
        bar.finish_and_clear();
        self.show(measured)
    }

    fn forms(&self) -> Forms {
        if self.fen { Forms::Fen } else { Forms::State }
    }

    fn sets(&self) -> anyhow::Result<Vec<Set>> {
        let mut sets = Vec::new();
        for path in &self.input {
            let positions = read(path, self.limit, self.seed)?;
            let name = path
                .file_name()
                .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
            if positions.is_empty() {
                return Err(
                    BadInput::new(format!("{} holds no position that is not over", path.display())).into()
                );
            }
            sets.push(Set { name, positions });
        }
        if let Some(n) = self.ood {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
            let positions =
                (0..n).map(|_| Asked { position: odd_position(&mut random), reached: None }).collect();
            sets.push(Set { name: "OOD positions".to_owned(), positions });
        }
        let no_fen = |asked: &Asked| self.fen && !state::has_fen(asked.position.rules());
        if let Some(asked) = sets.iter().flat_map(|set| &set.positions).find(|asked| no_fen(asked)) {
            let game = asked.position.rules();
            return Err(BadInput::new(format!("--fen: {game} has no FEN, only chess and chess960 do")).into());
        }
        if sets.is_empty() {
            return Err(BadInput::new("nothing to measure on: give --input FILE, --ood N or both").into());
        }
        Ok(sets)
    }

    /// Three questions per position: all moves, the best action with what follows it, the state after a given move.
    fn ask(&self, decoder: &mut MavDecoder, batch: &[Asked]) -> anyhow::Result<Vec<LegalitySample>> {
        let mut samples: Vec<LegalitySample> = batch
            .iter()
            .map(|asked| LegalitySample {
                at: asked.position.n_legal_moves() as f64,
                ..LegalitySample::default()
            })
            .collect();
        let at = |commands: &dyn Fn(&Position) -> Commands| -> Vec<Request> {
            batch.iter().map(|asked| Request::at(asked.position.clone(), commands(&asked.position))).collect()
        };
        let forms = self.forms();
        let given = Given::Current(forms);
        let lists = at(&|position| Commands { given, ..Commands::top_all(position.rules()) });
        if self.sequential {
            write(decoder, &lists, &mut samples)?;
        } else {
            let answers = decoder.fan_out(&lists)?;
            for ((request, fanned), sample) in lists.iter().zip(answers).zip(&mut samples) {
                sample.add(&request.commands, Some(&check_answer(request, &fanned.answer(request))));
            }
        }
        let best = at(&|position| Commands {
            given,
            top: Some(Top::Best(1)),
            next: Some(forms),
            ..Commands::top_all_best(position.rules())
        });
        write(decoder, &best, &mut samples)?;
        let tracking: Vec<Request> = batch.iter().map(|asked| asked.tracking(forms, self.seed)).collect();
        write(decoder, &tracking, &mut samples)?;
        Ok(samples)
    }

    fn show(&self, sets: Vec<(String, usize, Vec<Metric>)>) -> anyhow::Result<()> {
        if self.json {
            let sets = sets.into_iter().map(|(input, n, metrics)| {
                let metrics = metrics_json(&metrics);
                ShownSet { input, n, metrics }
            });
            return answer_json(&Shown { player: self.player.clone(), sets: sets.collect() });
        }
        match sets.as_slice() {
            [(_, _, metrics)] => answer(&metric_table(metrics)),
            _ => answer(&metric_columns(&sets)),
        }
    }
}

/// Positions of a file that are not over: the first puzzles, or rows drawn by the seed.
pub(super) fn read(path: &Path, limit: Option<usize>, seed: u64) -> anyhow::Result<Vec<Asked>> {
    if positions::is_puzzles(path) {
        let list = positions::puzzles(path, limit)?;
        let asked = list.into_iter().filter_map(|puzzle| {
            let &first = puzzle.moves.first()?;
            let mut position = puzzle.position.clone();
            position.play_unchecked(first);
            Some(Asked { position, reached: Some((puzzle.position, first)) })
        });
        return Ok(asked.collect());
    }
    let mut rows: Vec<(String, String)> = Vec::new();
    positions::for_each(path, &mut |game, text| rows.push((game.to_owned(), text.to_owned())))?;
    let n = limit.unwrap_or(rows.len()).min(rows.len());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut drawn =
        if n < rows.len() { index::sample(&mut random, rows.len(), n).into_vec() } else { (0..n).collect() };
    drawn.sort_unstable();
    let mut asked = Vec::with_capacity(n);
    for idx in drawn {
        let (game, text) = &rows[idx];
        let position = Position::parse(game.parse().or_bad_input()?, text).or_bad_input()?;
        if position.outcome().is_none() {
            asked.push(Asked { position, reached: None });
        }
    }
    Ok(asked)
}

impl Asked {
    /// Asks for the state after the move that led here, or after one drawn by the seed.
    fn tracking(&self, forms: Forms, seed: u64) -> Request {
        let rules = self.position.rules();
        let given = Given::Previous { forms: Some(forms), tracked: forms };
        let commands = Commands { given, top: None, best: false, ..Commands::tracking(rules) };
        if let Some((previous, mv)) = &self.reached {
            return Request::after(previous.clone(), *mv, commands);
        }
        let legal = self.position.legal_moves();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ self.position.key());
        let idx = index::sample(&mut random, legal.len(), 1).index(0);
        Request::after(self.position.clone(), legal[idx], commands)
    }
}

/// Lets the model write answers, and has them judged.
fn write(
    decoder: &mut MavDecoder,
    requests: &[Request],
    samples: &mut [LegalitySample],
) -> anyhow::Result<()> {
    let settings = GreedySettings { drafting: Drafting::Copy, ..GreedySettings::default() };
    let decoded = decoder.greedy(requests, &settings)?;
    for ((request, decoded), sample) in requests.iter().zip(decoded).zip(samples) {
        let check = decoded.answer(request).ok().map(|answer| check_answer(request, &answer));
        sample.add(&request.commands, check.as_ref());
    }
    Ok(())
}

/// The model behind a player.
pub(super) fn decoder(player: &str) -> anyhow::Result<MavDecoder> {
    NamedModel::read(player, &[])?.decoder()
}

/// A model that a player's spec names, and where it runs.
pub(super) struct NamedModel {
    pub(super) model: MavModel,
    pub(super) precision: Precision,
    pub(super) device: Device,
    pub(super) spec: PlayerSpec,
}

impl NamedModel {
    /// Reads the spec of a player over a model; `more` are options beside those of the model that mean something here.
    pub(super) fn read(player: &str, more: &[&str]) -> anyhow::Result<Self> {
        let spec: PlayerSpec = player.parse().or_bad_input()?;
        if !spec.kind.starts_with("mav") {
            let kind = spec.kind;
            return Err(
                BadInput::new(format!("'{kind}' has no model to ask (mav, or mav:model=FILE)")).into()
            );
        }
        let known = [&["model", "precision", "device"], more].concat();
        if let Some(key) = spec.options.keys().find(|key| !known.contains(&key.as_str())) {
            let known = known.join(" ");
            return Err(BadInput::new(format!("option '{key}' has no effect here (known: {known})")).into());
        }
        let option = |key: &str| spec.options.get(key).map(String::as_str);
        let device: Device = option("device").map_or(Ok(Device::default()), str::parse).or_bad_input()?;
        let precision: Precision =
            option("precision").map_or(Ok(Precision::default()), str::parse).or_bad_input()?;
        let model = match option("model") {
            Some(path) => read_model(Path::new(path))?,
            None => bundled::model().map_err(|error| anyhow!(error))?,
        };
        Ok(Self { model, precision, device, spec })
    }

    /// A decoder of it.
    pub(super) fn decoder(&self) -> anyhow::Result<MavDecoder> {
        MavDecoder::open(&self.model, self.precision, self.device)
            .map_err(|error| BadInput::new(error).into())
    }
}
