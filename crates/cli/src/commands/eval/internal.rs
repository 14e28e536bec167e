//! `mavis eval internal`: searches that a model writes, checked line by line.

use super::legality::{NamedModel, read};
use crate::commands::{answer, answer_json, note};
use crate::input::{BadInput, OrBadInput};
use crate::stop;
use clap::Args;
use indicatif::ProgressBar;
use mavis_game::{Game as _, Position, Rules};
use mavis_lang::{Step, Top, check_trace, trace::Share, trace::TraceCounts};
use mavis_league::metrics::{Bands, Metric, metric_columns, metrics_json};
use mavis_league::wire::MetricJson;
use mavis_model::decode::{MavDecoder, TraceDecodeSettings, TraceStream};
use mavis_model::evaluator::{Embedded, EmbeddedSettings};
use mavis_model::internal::InternalSettings;
use mavis_play::{InternalPlayerSettings, choose, runtime};
use mavis_search::minimax::{self, MinimaxTree};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Measures a model's internal searches: whether decisions follow from the values in the trace, and whether the trace follows the rules.
///
/// Each game and size of tree has a column. Faithful: the trace is complete and every decision follows from the values in it. Wholly
/// right: also every state, list, end and expansion agrees with the rules. States, moves, lists, expansions and decisions are counted
/// over nodes; a broken trace counts up to where it breaks. Minimax: an external search by the rules over the same model's evaluations
/// (the value that the player writes: scoring=max or mean). Mended: tokens that the grammar demanded against the model
/// (grammar=demanded); traces without any are those that the model writes by itself. Seconds: the time of a batch, divided by its traces.
///
/// Example: mavis eval internal --game connect4 --game chess --size 3,1 --size 4,2 --positions 100
#[derive(Args)]
pub(crate) struct Internal {
    /// The model, as a player: mav-is for the bundled one, mav-is:model=FILE,device=cuda for another; its options compact, top, order, context, scoring, repeats and grammar apply
    #[arg(long, default_value = "mav-is")]
    player: String,
    /// The games, e.g. connect4 or hex:size=7; repeatable
    #[arg(long, default_values_t = ["connect4".to_owned()])]
    game: Vec<String>,
    /// Breadth and depth of the tree; repeatable. Default: 2,1 3,1 4,1 2,2 3,2 4,2
    #[arg(long, value_name = "B,D")]
    size: Vec<String>,
    /// Positions of a file instead of random play (puzzles, a table of positions or annotations); repeatable
    #[arg(long, conflicts_with = "game")]
    input: Vec<PathBuf>,
    /// Positions of each game or file
    #[arg(long, default_value_t = 50, value_parser = crate::input::in_memory)]
    positions: usize,
    /// Makes the positions repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Traces per batch, at most: fewer where the longest would not fit into 131,072 tokens together
    #[arg(long, default_value_t = 16, value_parser = crate::input::at_once)]
    batch: usize,
    /// Writes every trace a second time without drafts, and compares text and time
    #[arg(long)]
    plain: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    player: String,
    rows: Vec<ShownRow>,
}

#[derive(Serialize)]
struct ShownRow {
    input: String,
    breadth: u16,
    depth: u16,
    n: usize,
    metrics: Vec<MetricJson>,
    /// Traces without a last line, by kind.
    broken: BTreeMap<String, usize>,
}

/// Positions of one origin and game.
struct Set {
    name: String,
    rules: Rules,
    positions: Vec<Position>,
}

/// What came of one trace.
struct Sample {
    counts: TraceCounts,
    finished: bool,
    wholly_right: bool,
    /// Whether some line of it names a legal move to play.
    has_move: bool,
    /// Whether it plays what minimax outside the model plays, and how far the values of the root are apart.
    same_move: bool,
    value_difference: Option<f64>,
    broken: Option<String>,
    tokens: f64,
    /// Tokens among them that the grammar wrote against the model.
    n_mended: usize,
    passes: f64,
    seconds: f64,
    plain: Option<Plain>,
}

/// The same trace without drafts.
struct Plain {
    same_text: bool,
    passes: f64,
    seconds: f64,
}

impl Internal {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let sizes = self.sizes()?;
        let sets = self.sets()?;
        let named = NamedModel::read(
            &self.player,
            &["compact", "top", "order", "context", "scoring", "repeats", "grammar"],
        )?;
        let base = Asked::read(&named)?;
        let mut rows = Vec::new();
        for set in &sets {
            for &(breadth, depth) in &sizes {
                let top = base.top.unwrap_or_else(|| InternalPlayerSettings::usual_top(breadth));
                let settings = InternalPlayerSettings { breadth, depth, top, ..base.settings };
                let max_tokens = settings.max_tokens(set.rules).map_err(BadInput::new)?;
                rows.push((set, settings, max_tokens));
            }
        }
        let mut decoder = named.decoder()?;
        let name = "eval internal".to_owned();
        let embedded =
            Embedded::start([named.decoder()?], EmbeddedSettings { name, ..EmbeddedSettings::default() })?;
        let stopped = stop::flag("the traces in hand");
        let bar = ProgressBar::new(rows.iter().map(|(set, ..)| set.positions.len() as u64).sum());
        let mut measured = Vec::new();
        for (set, settings, max_tokens) in rows {
            let mut samples = Vec::new();
            // More would not fit into the memory for keys and values of a GPU.
            let batch = self.batch.clamp(1, InternalSettings::default().n_traces(max_tokens));
            for positions in set.positions.chunks(batch) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                samples.extend(self.search(&mut decoder, &embedded, positions, &settings, max_tokens)?);
                bar.inc(positions.len() as u64);
            }
            if samples.len() < set.positions.len() {
                note(&format!("{}: stopped after {} of {}", set.name, samples.len(), set.positions.len()));
            }
            measured.push((set.name.clone(), settings, samples));
        }
        bar.finish_and_clear();
        self.show(&measured)
    }

    fn sizes(&self) -> anyhow::Result<Vec<(u16, u16)>> {
        if self.size.is_empty() {
            return Ok(vec![(2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (4, 2)]);
        }
        let size = |text: &String| {
            let parts = text.split_once(',').and_then(|(breadth, depth)| {
                Some((breadth.trim().parse().ok()?, depth.trim().parse().ok()?))
            });
            match parts {
                Some((breadth @ 1.., depth @ 1..=mavis_lang::trace::MAX_DEPTH)) => Ok((breadth, depth)),
                _ => {
                    Err(BadInput::new(format!("--size: expected BREADTH,DEPTH such as 3,1, not '{text}'"))
                        .into())
                }
            }
        };
        self.size.iter().map(size).collect()
    }

    fn sets(&self) -> anyhow::Result<Vec<Set>> {
        let mut sets = Vec::new();
        for path in &self.input {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let asked = read(path, Some(self.positions), self.seed)?;
            let positions: Vec<Position> = asked.into_iter().map(|asked| asked.position).collect();
            let Some(rules) = positions.first().map(Position::rules) else {
                let text = format!("{} holds no position that is not over", path.display());
                return Err(BadInput::new(text).into());
            };
            let positions = positions.into_iter().filter(|position| position.rules() == rules).collect();
            sets.push(Set { name, rules, positions });
        }
        if sets.is_empty() {
            for game in &self.game {
                let rules: Rules = game.parse().or_bad_input()?;
                let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
                let positions = (0..self.positions).map(|_| played(rules, &mut random)).collect();
                sets.push(Set { name: rules.to_string(), rules, positions });
            }
        }
        Ok(sets)
    }

    /// The traces of some positions in common passes, and what is right about them.
    fn search(
        &self,
        decoder: &mut MavDecoder,
        embedded: &Embedded,
        positions: &[Position],
        settings: &InternalPlayerSettings,
        max_tokens: usize,
    ) -> anyhow::Result<Vec<Sample>> {
        let decoding = settings.decoding(max_tokens);
        let (drafted, seconds) = write(decoder, positions, settings, decoding)?;
        let plain = if self.plain {
            let decoding = TraceDecodeSettings { drafting: false, ..decoding };
            Some(write(decoder, positions, settings, decoding)?)
        } else {
            None
        };
        let mut samples = Vec::with_capacity(positions.len());
        for (idx, (stream, position)) in drafted.iter().zip(positions).enumerate() {
            let outside = outside(position, embedded, settings)?;
            let mut sample = Sample::new(stream, position, &outside, seconds);
            sample.plain = plain.as_ref().map(|(streams, seconds)| Plain {
                same_text: streams[idx].progress().tokens() == stream.progress().tokens(),
                passes: streams[idx].n_passes() as f64,
                seconds: *seconds,
            });
            samples.push(sample);
        }
        Ok(samples)
    }

    fn show(&self, measured: &[(String, InternalPlayerSettings, Vec<Sample>)]) -> anyhow::Result<()> {
        let broken = |samples: &[Sample]| {
            let mut counts = BTreeMap::new();
            for kind in samples.iter().filter_map(|sample| sample.broken.clone()) {
                *counts.entry(kind).or_insert(0) += 1;
            }
            counts
        };
        if self.json {
            let rows = measured.iter().map(|(input, settings, samples)| ShownRow {
                input: input.clone(),
                breadth: settings.breadth,
                depth: settings.depth,
                n: samples.len(),
                metrics: metrics_json(&metrics(samples)),
                broken: broken(samples),
            });
            return answer_json(&Shown { player: self.player.clone(), rows: rows.collect() });
        }
        let mut text = String::new();
        // Six columns fit on a wide terminal.
        for part in measured.chunks(6) {
            let columns: Vec<(String, usize, Vec<Metric>)> = part
                .iter()
                .map(|(name, settings, samples)| {
                    let InternalPlayerSettings { breadth, depth, .. } = settings;
                    (format!("{name} ({breadth},{depth})"), samples.len(), metrics(samples))
                })
                .collect();
            text.push_str(&metric_columns(&columns));
            for ((name, ..), (_, _, samples)) in columns.iter().zip(part) {
                for (kind, n) in broken(samples) {
                    text.push_str(&format!("{name}: broken by {kind}: {n}\n"));
                }
            }
            text.push('\n');
        }
        answer(&text)
    }
}

/// What the player's options say for all sizes.
#[derive(Clone, Copy)]
struct Asked {
    /// `None` means as many as are usual for the breadth.
    top: Option<Top>,
    settings: InternalPlayerSettings,
}

impl Asked {
    fn read(named: &NamedModel) -> anyhow::Result<Self> {
        let mut settings = InternalPlayerSettings::default();
        let option = |key: &str| named.spec.options.get(key).map(String::as_str);
        let top = match option("top") {
            None => None,
            Some("all") => Some(Top::All),
            Some(text) => match text.parse() {
                Ok(k @ 1..) => Some(Top::Best(k)),
                _ => return Err(bad("top", text).into()),
            },
        };
        take("context", option("context"), &mut settings.context)?;
        take("compact", option("compact"), &mut settings.compact)?;
        take("order", option("order"), &mut settings.order)?;
        take("scoring", option("scoring"), &mut settings.scoring)?;
        take("repeats", option("repeats"), &mut settings.repeats)?;
        take("grammar", option("grammar"), &mut settings.grammar)?;
        Ok(Self { top, settings })
    }
}

/// Sets an option of the player that is given.
fn take<T: FromStr>(key: &str, text: Option<&str>, to: &mut T) -> Result<(), BadInput> {
    if let Some(text) = text {
        *to = text.parse().map_err(|_| bad(key, text))?;
    }
    Ok(())
}

fn bad(key: &str, text: &str) -> BadInput {
    BadInput::new(format!("bad value '{text}' for {key} of mav-is"))
}

/// A position of random play that is not over.
fn played(rules: Rules, random: &mut Xoshiro256PlusPlus) -> Position {
    let most = match rules {
        Rules::Chess | Rules::Chess960 | Rules::Togyz => 60,
        Rules::Othello => 50,
        Rules::Connect4 => 24,
        Rules::Hex { size, .. } => u32::from(size) * u32::from(size) / 2,
    };
    loop {
        let mut position = Position::start(rules);
        for _ in 0..random.random_range(0..=most) {
            let Some(mv) = position.random_move(random.random()) else { break };
            position.play_unchecked(mv);
        }
        if position.outcome().is_none() {
            return position;
        }
    }
}

/// Writes the traces of some positions in common passes; the seconds are those of one trace.
fn write(
    decoder: &mut MavDecoder,
    positions: &[Position],
    settings: &InternalPlayerSettings,
    how: TraceDecodeSettings,
) -> anyhow::Result<(Vec<TraceStream>, f64)> {
    let began = Instant::now();
    let mut streams = Vec::with_capacity(positions.len());
    for position in positions {
        streams.push(decoder.open_trace(settings.shape(position.rules()), position, how)?);
    }
    while streams.iter().any(TraceStream::is_open) {
        decoder.advance_traces(&mut streams.iter_mut().collect::<Vec<_>>())?;
    }
    streams.iter().for_each(|stream| decoder.close_trace(stream));
    Ok((streams, began.elapsed().as_secs_f64() / positions.len().max(1) as f64))
}

/// The same tree grown outside the model.
fn outside(
    position: &Position,
    embedded: &Embedded,
    settings: &InternalPlayerSettings,
) -> anyhow::Result<MinimaxTree> {
    let settings = minimax::MinimaxSettings {
        breadth: settings.breadth,
        depth: settings.depth,
        scoring: settings.scoring,
        ..minimax::MinimaxSettings::default()
    };
    let runtime = runtime().map_err(anyhow::Error::msg)?;
    Ok(runtime.block_on(minimax::grow(position, embedded, &settings))?)
}

impl Sample {
    fn new(stream: &TraceStream, position: &Position, outside: &MinimaxTree, seconds: f64) -> Self {
        let progress = stream.progress();
        let trace = progress.trace();
        let finished = progress.step() == Step::Done && trace.is_ok();
        let chosen = choose(progress, |mv| position.is_legal(mv));
        let root = &outside.nodes[0];
        let decided = progress.nodes()[0].decision.as_ref().map(|decision| decision.value.win_probability());
        let broken = match (progress.step(), &trace) {
            (Step::Done, Ok(_)) => None,
            (Step::More, _) | (Step::Broken, Ok(_)) => Some("limit of tokens".to_owned()),
            (_, Err(mistake)) => Some(mistake.kind.to_string()),
        };
        Self {
            counts: progress.counts(),
            finished,
            wholly_right: trace.is_ok_and(|trace| check_trace(&trace, None).is_ok()),
            has_move: chosen.is_some(),
            same_move: chosen.is_some_and(|chosen| Some(chosen.mv) == root.selected),
            value_difference: decided.map(|value| f64::from((value - root.value).abs())),
            broken,
            tokens: (progress.tokens().len() - progress.prompt_len()) as f64,
            n_mended: stream.n_mended(),
            passes: stream.n_passes() as f64,
            seconds,
            plain: None,
        }
    }
}

/// Every number of a column.
fn metrics(samples: &[Sample]) -> Vec<Metric> {
    let bands = Bands::none();
    let share = |name, hit: &dyn Fn(&Sample) -> Option<bool>| {
        let hits: Vec<(f64, bool)> = samples.iter().filter_map(hit).map(|hit| (0.0, hit)).collect();
        Metric::share(name, &hits, &bands)
    };
    let mean = |name, value: &dyn Fn(&Sample) -> Option<f64>| {
        let values: Vec<(f64, f64)> = samples.iter().filter_map(value).map(|value| (0.0, value)).collect();
        Metric::mean(name, &values, &bands, 0.0..=f64::INFINITY)
    };
    let nodes = |name, part: &dyn Fn(&TraceCounts) -> Share| {
        let parts = samples.iter().map(|sample| part(&sample.counts));
        let hits: Vec<(f64, bool)> =
            parts.flat_map(|Share { right, all }| (0..all).map(move |idx| (0.0, idx < right))).collect();
        Metric::share(name, &hits, &bands)
    };
    let mut metrics = vec![
        share("Finished traces", &|sample| Some(sample.finished)),
        share("Faithful traces", &|sample| Some(sample.counts.faithful)),
        share("Faithful, none mended", &|sample| Some(sample.counts.faithful && sample.n_mended == 0)),
        share("Wholly right traces", &|sample| Some(sample.wholly_right)),
        share("A legal move to play", &|sample| Some(sample.has_move)),
        nodes("States right", &|counts| counts.states),
        nodes("Listed moves legal", &|counts| counts.moves),
        nodes("Lists exact", &|counts| counts.lists),
        nodes("Expansions right", &|counts| counts.expansions),
        nodes("Decisions right", &|counts| counts.decisions),
        share("Same move as minimax", &|sample| Some(sample.same_move)),
        mean("Difference to minimax", &|sample| sample.value_difference),
        mean("Tokens", &|sample| Some(sample.tokens)),
        mean("Tokens mended", &|sample| Some(sample.n_mended as f64)),
        mean("Passes", &|sample| Some(sample.passes)),
        mean("Seconds", &|sample| Some(sample.seconds)),
    ];
    if samples.iter().any(|sample| sample.plain.is_some()) {
        let plain = |sample: &Sample, part: &dyn Fn(&Plain) -> f64| sample.plain.as_ref().map(part);
        metrics.extend([
            share("Same text without drafts", &|sample| sample.plain.as_ref().map(|plain| plain.same_text)),
            mean("Passes without drafts", &|sample| plain(sample, &|plain| plain.passes)),
            mean("Seconds without drafts", &|sample| plain(sample, &|plain| plain.seconds)),
        ]);
    }
    metrics
}
