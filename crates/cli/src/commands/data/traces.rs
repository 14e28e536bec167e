//! `mavis data traces`.

use super::{job_failure, n_threads, oracle_maker, refuse_other_games, table_failure};
use crate::commands::{answer, answer_json, model::read_model, wrote};
use crate::input::{BadInput, OrBadInput};
use crate::positions;
use crate::progress::JobProgress;
use clap::Args;
use mavis_data::job::{JobError, JobEvent};
use mavis_data::table::table_kind;
use mavis_data::traces::DEFAULT_SIZES;
use mavis_data::wire::GameRow;
use mavis_data::{PositionReader, TableReader, TracePlan, TraceSettings, Traced, traces_on};
use mavis_game::{Game, Position};
use mavis_lang::Top;
use mavis_model::{MavModel, ModelLabels};
use mavis_net::{Device, Precision};
use mavis_stable::seed::derive;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
#[cfg(feature = "cluster")]
use {
    crate::commands::cluster::{ClusterArgs, needs},
    crate::commands::worker::by_line::BUNDLED,
    mavis_data::{Labeler as _, Pace, Request},
    mavis_game::Rules,
    mavis_queue::Cluster,
};
#[cfg(not(feature = "cluster"))]
use {
    mavis_data::{Grower, Request},
    mavis_queue::Local,
};

/// Writes traces of internal search: minimax trees over the values of an oracle or a model, as text to learn from.
///
/// Roots are drawn from tables of annotations, positions or games, or pairs NAME.fen.zst and NAME.val.zst; give training tables only. The
/// output is a table in shards with a manifest; a stop loses at most the unfinished shard, and the same command resumes.
/// Example: mavis data traces data/chess_000 --roots 10000 --model bundled --device cuda --out traces/chess
#[derive(Args)]
#[command(after_long_help = "Oracles: mavis data annotate --help lists them")]
pub(crate) struct Traces {
    /// Where the roots come from
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Roots to draw. Default: all positions of the input
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    roots: Option<u64>,
    /// The oracle that evaluates every node. Default: the usual oracle of the game
    #[arg(long, conflicts_with = "model")]
    oracle: Option<String>,
    /// The model that evaluates every node: its file, or bundled for the one in the binary
    #[arg(long)]
    model: Option<PathBuf>,
    /// Where the model computes: cpu, cuda, or auto for a GPU where there is one
    #[arg(long, default_value = "cpu", requires = "model")]
    device: String,
    /// Number format on the processor: bf16, exact (slower) or int8 (faster, less precise)
    #[arg(long, default_value = "bf16", requires = "model")]
    precision: String,
    /// Traces of each root, all of different sizes
    #[arg(long, default_value_t = 4)]
    per_root: usize,
    /// Sizes to draw from, as BREADTHxDEPTH. Default: breadth 2 to 5 and depth 1 to 3 without 5x3. Sizes that cannot fit into
    /// the context are left out
    #[arg(long, value_delimiter = ',', value_name = "BxD")]
    sizes: Vec<String>,
    /// Moves that each node lists: a number, or all; several, joined by commas, are drawn from
    #[arg(long, value_delimiter = ',', default_value = "5")]
    top: Vec<String>,
    /// Share of traces in compact form, without the previous states
    #[arg(long, default_value_t = 0.5)]
    compact: f64,
    /// Share of traces that visit their nodes level by level instead of depth first
    #[arg(long, default_value_t = 0.0)]
    breadth_first: f64,
    /// Tokens of the longest trace
    #[arg(long, default_value_t = 8_192)]
    context: usize,
    /// Seed; the same seed gives the same traces
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The output folder; an unfinished run in it is resumed
    #[arg(long)]
    out: PathBuf,
    /// Threads. Default: one per core
    #[arg(long, short, value_parser = crate::input::at_once)]
    jobs: Option<usize>,
    /// Roots per shard
    #[arg(long, default_value_t = 1_024)]
    shard_size: u64,
    /// Progress and result as lines of JSON
    #[arg(long)]
    json: bool,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterArgs,
    /// With --cluster and an oracle: roots per job
    #[cfg(feature = "cluster")]
    #[arg(long, default_value_t = 16)]
    job_size: usize,
}

impl Traces {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let plan = self.plan()?;
        let device: Device = self.device.parse().or_bad_input()?;
        let precision: Precision = self.precision.parse().or_bad_input()?;
        device.resolved().or_bad_input()?;
        let roots = self.draw_roots()?;
        let Some(first) = roots.first() else {
            return Err(BadInput::new("no root: every position of the input is over").into());
        };
        let names: Vec<_> = self.input.iter().filter_map(|path| path.file_name()).collect();
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let settings = TraceSettings {
            input: names.join(" "),
            plan,
            seed: self.seed,
            shard_size: self.shard_size,
            out: self.out.clone(),
            stop: crate::stop::flag("the roots in hand"),
        };
        let mut progress = JobProgress::new(self.json, "roots");
        let watch = |event: JobEvent<'_>| progress.watch(&event);
        #[cfg(feature = "cluster")]
        let elsewhere = self.queue(first.rules(), device, precision)?;
        #[cfg(not(feature = "cluster"))]
        let elsewhere = None::<(Request, Local<Grower<ModelLabels>>)>;
        let n_threads = n_threads(self.jobs);
        let result = match (elsewhere, &self.model) {
            (Some((request, mut queue)), _) => traces_on(&settings, &roots, &request, &mut queue, watch),
            (None, Some(path)) => {
                let labels = ModelLabels::open(&model(path)?, precision, device).or_bad_input()?;
                mavis_data::traces(&settings, &roots, labels.shared(n_threads), watch)
            }
            (None, None) => {
                let maker = oracle_maker(self.oracle.as_deref(), Some(first.rules()))?;
                let mut oracles = maker.make(n_threads)?;
                refuse_other_games(oracles.first_mut(), roots.iter().map(Position::rules))?;
                mavis_data::traces(&settings, &roots, oracles, watch)
            }
        };
        progress.finish();
        self.report(result)
    }

    /// The queue of many machines, where the user names one. Of models, workers have the bundled one.
    #[cfg(feature = "cluster")]
    fn queue(
        &self,
        rules: Rules,
        device: Device,
        precision: Precision,
    ) -> anyhow::Result<Option<(Request, Cluster)>> {
        let Some(path) = &self.model else {
            return super::oracle_queue(&self.cluster, (self.oracle.as_deref(), rules), self.job_size);
        };
        let Some(cluster) = self.cluster.connect(needs())? else { return Ok(None) };
        if path != Path::new(BUNDLED) || device.resolved().or_bad_input()? != Device::Cpu {
            let reason =
                "with --cluster the model is the bundled one on the processor (--model bundled --device cpu)";
            return Err(BadInput::new(reason).into());
        }
        let labels = ModelLabels::open(&model(path)?, precision, Device::Cpu).or_bad_input()?;
        let (line, pace) = (format!("{BUNDLED} {}", self.precision), Pace::Fixed(labels.n_roots() as usize));
        let mut needs = needs();
        needs.game = Some(rules.to_string());
        Ok(Some((Request { line, identity: labels.identity(), pace }, cluster.with_needs(needs))))
    }

    fn report(&self, result: Result<Traced, JobError>) -> anyhow::Result<()> {
        let Traced { n_traces, n_left, n_aside } = result.map_err(job_failure)?;
        wrote(&self.out);
        if self.json {
            let event = if n_left == 0 { "done" } else { "stopped" };
            return answer_json(&json!({
                "event": event, "traces": n_traces, "aside": n_aside, "left": n_left,
            }));
        }
        if n_left > 0 {
            return answer(&format!("stopped with {n_left} roots left; the same command resumes\n"));
        }
        answer(&format!("{n_traces} traces, {n_aside} roots set aside\n"))
    }

    fn plan(&self) -> Result<TracePlan, BadInput> {
        for (name, share) in [("compact", self.compact), ("breadth-first", self.breadth_first)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(BadInput::new(format!("--{name} must be between 0 and 1, not {share}")));
            }
        }
        if self.per_root == 0 {
            return Err(BadInput::new("--per-root must be at least 1, not 0"));
        }
        let mut sizes: Vec<(u16, u16)> =
            self.sizes.iter().map(|text| size(text)).collect::<Result<_, _>>()?;
        if sizes.is_empty() {
            sizes = DEFAULT_SIZES.to_vec();
        }
        let tops: Vec<Top> = self.top.iter().map(|text| top(text)).collect::<Result<_, _>>()?;
        Ok(TracePlan {
            per_root: self.per_root,
            sizes,
            compact: self.compact,
            breadth_first: self.breadth_first,
            tops,
            context: self.context,
        })
    }

    /// Different positions that are not over, in an order that the seed decides.
    fn draw_roots(&self) -> anyhow::Result<Vec<Position>> {
        let mut texts: Vec<(String, String)> = Vec::new();
        let mut seen = HashSet::new();
        for path in &self.input {
            let mut take = |game: &str, position: &str| {
                if seen.insert(position.to_owned()) {
                    texts.push((game.to_owned(), position.to_owned()));
                }
            };
            match is_table(path).then(|| table_kind(&[path])).transpose().map_err(table_failure)?.as_deref() {
                Some("games") => self.positions_of_games(path, &mut take)?,
                _ => positions::for_each(path, &mut take)?,
            }
        }
        texts.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(self.seed));
        let mut reader = PositionReader::default();
        let mut roots = Vec::new();
        for (game, text) in &texts {
            if self.roots.is_some_and(|limit| roots.len() as u64 == limit) {
                break;
            }
            let position = reader.position(game, text).map_err(BadInput::new)?;
            if position.outcome().is_none() {
                roots.push(position);
            }
        }
        Ok(roots)
    }

    /// One position of each game, drawn by the seed.
    fn positions_of_games(&self, path: &Path, take: &mut dyn FnMut(&str, &str)) -> anyhow::Result<()> {
        let mut reader = PositionReader::default();
        for (number, row) in (0..).zip(TableReader::<GameRow>::open(&[path]).map_err(table_failure)?) {
            let row = row.map_err(table_failure)?;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(derive(self.seed, &[number]));
            let mut position = reader.position(&row.game, &row.start).map_err(BadInput::new)?;
            let n_plies = random.random_range(0..row.moves.len().max(1));
            for text in row.moves.iter().take(n_plies) {
                let named = |error| BadInput::new(format!("game {}: {error}", row.game_id));
                position.play_text(text).map_err(named)?;
            }
            take(&row.game, &position.to_string());
        }
        Ok(())
    }
}

/// A model by its file, or the one in the binary.
fn model(path: &Path) -> anyhow::Result<MavModel> {
    if path == Path::new("bundled") {
        return Ok(mavis_bundled::model().map_err(BadInput::new)?);
    }
    Ok(read_model(path)?)
}

fn is_table(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|ending| ending == "parquet")
}

/// `BREADTHxDEPTH`.
fn size(text: &str) -> Result<(u16, u16), BadInput> {
    let bad = || {
        BadInput::new(format!("bad size '{text}' (expected BREADTHxDEPTH, breadth 1 to 400, depth 1 to 64)"))
    };
    let (breadth, depth) = text.split_once('x').ok_or_else(bad)?;
    let (breadth, depth) = (breadth.parse().map_err(|_| bad())?, depth.parse().map_err(|_| bad())?);
    if !(1..=400).contains(&breadth) || !(1..=mavis_lang::trace::MAX_DEPTH).contains(&depth) {
        return Err(bad());
    }
    Ok((breadth, depth))
}

fn top(text: &str) -> Result<Top, BadInput> {
    match text {
        "all" => Ok(Top::All),
        _ => match text.parse() {
            Ok(k @ 1..) => Ok(Top::Best(k)),
            _ => Err(BadInput::new(format!("bad --top '{text}' (expected a number from 1 on, or all)"))),
        },
    }
}
