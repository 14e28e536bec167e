//! `mavis bench`: speed, printed with what it was measured on.

mod data;
mod gpu;
mod league;
mod loader;
mod peer;
mod profile;
#[cfg(feature = "cluster")]
mod queue;
mod usage;

pub(super) use usage::waited_seconds;

use super::{answer, answer_json, model::read_model};
use crate::input::OrBadInput;
use clap::{Args, Subcommand};
use gpu::Gpu;
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{Commands, Request, vocabulary};
use mavis_model::{
    MavModel, Preset,
    decode::{GreedySettings, MavDecoder},
    measure::{
        Agreement, JointCost, PROMPT_PASS, Speed, against_exact, evaluations_per_second,
        fan_out_against_chain, joint_cost, profile as profile_answers, speed,
    },
};
use mavis_net::{Device, Precision, initial_parameters};
use peer::Peer;
use serde::Serialize;
use std::path::PathBuf;

/// Measures speed on this machine.
#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Model(BenchModel),
    League(league::BenchLeague),
    Data(data::BenchData),
    Loader(loader::BenchLoader),
    #[cfg(feature = "cluster")]
    Queue(queue::BenchQueue),
}

/// Measures decoding: prompts, token by token, and all moves at once; on the processor exactly, in bf16 and in 8 bits.
///
/// On a GPU training is measured too. Example: mavis bench model --preset 9m --torch python3
#[derive(Args)]
struct BenchModel {
    /// A model's file. Default: random weights of --preset
    model: Option<PathBuf>,
    /// test, 9m, 30m or 120m
    #[arg(long, default_value = "9m")]
    preset: String,
    /// The game whose positions are evaluated
    #[arg(long, default_value = "chess")]
    game: String,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Sizes of batches whose evaluations per second are measured, with commas between them
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: Vec<u16>,
    /// Positions of random play on which a given model's ways to answer are compared
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    positions: u32,
    /// Seed of those positions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to compute: cpu, cuda, or auto for a GPU where there is one
    #[arg(long, default_value = "cpu")]
    device: String,
    /// A Python that has torch: its speed with a network of the same shape is measured in the same run
    #[arg(long, value_name = "PYTHON")]
    torch: Option<String>,
    /// Measures only where the time of plain and joint answers goes, on a GPU by kernel; needs a model's file
    #[arg(long, requires = "model", conflicts_with_all = ["torch", "batch"])]
    profile: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Measured {
    machine: String,
    threads: usize,
    device: String,
    network: String,
    position: String,
    /// On the processor.
    exact: Option<Speed>,
    /// The number format that players use by default.
    bf16: Speed,
    /// On the processor.
    int8: Option<Speed>,
    /// In f32 and in bf16 on the processor, in bf16 on a GPU.
    torch: Vec<Peer>,
    gpu: Option<Gpu>,
    /// In bf16, of positions of random play.
    batches: Vec<BatchSpeed>,
    /// In bf16, of moves of random play; absent for random weights, whose drafts of states are all wrong.
    joint: Option<JointCost>,
    bf16_agreement: Option<Agreement>,
    int8_agreement: Option<Agreement>,
    fan_out_agreement: Option<Agreement>,
}

/// Evaluations in batches of one size, legal moves given.
#[derive(Serialize)]
struct BatchSpeed {
    size: usize,
    /// Absent where the batch could not be evaluated.
    evaluations_per_second: Option<f64>,
    /// Why it could not, most often more tokens than the device takes in one pass.
    skipped: Option<String>,
}

impl Bench {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Model(command) => command.run(),
            What::League(command) => command.run(),
            What::Data(command) => command.run(),
            What::Loader(command) => command.run(),
            #[cfg(feature = "cluster")]
            What::Queue(command) => command.run(),
        }
    }
}

impl BenchModel {
    fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let preset: Preset = self.preset.parse().or_bad_input()?;
        let time = mavis_stable::time::seconds(self.seconds).or_bad_input()?;
        let (model, network) = match &self.model {
            Some(path) => (read_model(path)?, path.display().to_string()),
            None => (random_model(preset)?, format!("random weights of preset {preset}")),
        };
        let device = self.device.parse::<Device>().or_bad_input()?.resolved().or_bad_input()?;
        if self.profile {
            let decoder = model.decoder(Precision::Bf16, device)?;
            let profiles = profile_answers(decoder, model.input, &random_moves(rules, JOINT, 11), time)?;
            return if self.json { answer_json(&profiles) } else { answer(&profile::text(&profiles)) };
        }
        let on_cpu = device == Device::Cpu;
        let position = middle_game(rules);
        let other = |precision: Precision| match on_cpu {
            true => speed(&mut MavDecoder::cpu(&model, precision)?, &position, time).map(Some),
            false => Ok(None),
        };
        let exact = other(Precision::Exact)?;
        let mut decoder = MavDecoder::open(&model, Precision::Bf16, device)?;
        let bf16 = speed(&mut decoder, &position, time)?;
        let played = random_positions(rules, 64, 11);
        let sizes = self.batch.iter().map(|&size| usize::from(size));
        let batches = sizes
            .map(|size| BatchSpeed::new(size, evaluations_per_second(&mut decoder, &played, size, time)));
        let batches = batches.collect();
        let joint =
            self.model.as_ref().map(|_| joint_cost(&mut decoder, &random_moves(rules, JOINT, 11), time));
        let joint = joint.transpose()?;
        // Right after ours, so that both see the same machine.
        let types: &[&str] = if on_cpu { &["float32", "bfloat16"] } else { &["bfloat16"] };
        let torch = self.torch.iter().flat_map(|python| {
            types.iter().map(|kind| Peer::measure(python, &model.config, (device, kind), self.seconds))
        });
        let torch = torch.collect::<anyhow::Result<Vec<_>>>()?;
        let int8 = other(Precision::Int8)?;
        let gpu = if on_cpu { None } else { Some(Gpu::measure(&model.config)?) };
        // Of random weights nothing can be said but how fast they are.
        let positions =
            self.model.as_ref().map(|_| random_positions(rules, self.positions as usize, self.seed));
        let on_cpu = positions.as_ref().filter(|_| on_cpu);
        let agreement =
            |precision: Precision| on_cpu.map(|some| against_exact(&model, precision, some)).transpose();
        let (bf16_agreement, int8_agreement) = (agreement(Precision::Bf16)?, agreement(Precision::Int8)?);
        let requests = positions.as_ref().map(|some| {
            let top_all = |position: &Position| Request::at(position.clone(), Commands::top_all(rules));
            some.iter().map(top_all).collect::<Vec<_>>()
        });
        let fan_out_agreement = requests
            .as_ref()
            .map(|some| fan_out_against_chain(&mut decoder, some, 16, GreedySettings::default()))
            .transpose()?;
        let measured = Measured {
            machine: machine(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            device: device.to_string(),
            network,
            position: position.to_string(),
            exact,
            bf16,
            int8,
            torch,
            gpu,
            batches,
            joint,
            bf16_agreement,
            int8_agreement,
            fan_out_agreement,
        };
        if self.json { answer_json(&measured) } else { answer(&measured.text()) }
    }
}

impl BatchSpeed {
    /// A batch that fails costs its own row only.
    fn new(size: usize, measured: Result<f64, impl std::fmt::Display>) -> Self {
        match measured {
            Ok(speed) => Self { size, evaluations_per_second: Some(speed), skipped: None },
            Err(error) => Self { size, evaluations_per_second: None, skipped: Some(error.to_string()) },
        }
    }

    fn text(&self) -> String {
        let name = format!("batches of {}, random play, bf16, evaluations/s", self.size);
        match (self.evaluations_per_second, &self.skipped) {
            (Some(speed), _) => format!("{name:<44} {speed:>12.1}\n"),
            (None, reason) => format!("{name:<44} {}\n", reason.as_deref().unwrap_or("not measured")),
        }
    }
}

/// Joint answers that are measured together.
const JOINT: usize = 16;

/// The rows of joint answers.
fn joint_text(joint: &JointCost) -> String {
    let JointCost { n_positions, joint_passes, .. } = joint;
    let row = |name: &str, value: f64| format!("{name:<44} {value:>12.2}\n");
    format!(
        "joint answers in batches of {n_positions}, bf16, {joint_passes} passes:\n{}{}{}{}{}",
        row("state and moves after a move, ms", 1e3 * joint.joint_seconds),
        row("moves of the same positions, two passes, ms", 1e3 * joint.plain_seconds),
        row("the same, moves given, ms", 1e3 * joint.known_seconds),
        row("  ratio of joint answers to two passes", joint.ratio),
        row("  ratio of joint answers to moves given", joint.ratio_to_known),
    )
}

/// The row that PyTorch is measured on too.
const STREAM: &str = "token by token, one stream, tokens/s";

impl Measured {
    fn text(&self) -> String {
        let (sequences, length) = PROMPT_PASS;
        let columns =
            [("exact", self.exact.as_ref()), ("bf16", Some(&self.bf16)), ("int8", self.int8.as_ref())];
        let speeds: Vec<(&str, &Speed)> =
            columns.into_iter().filter_map(|(name, speed)| Some((name, speed?))).collect();
        let names: String = speeds.iter().map(|(name, _)| format!(" {name:>12}")).collect();
        let mut text = format!(
            "{}, {} threads, on {}\n{}\n{} ({} moves)\n\n{:<44}{names}\n",
            self.machine, self.threads, self.device, self.network, self.position, self.bf16.n_moves, "",
        );
        let mut row = |name: &str, value: &dyn Fn(&Speed) -> f64, digits: usize| {
            let cells = speeds.iter().map(|(_, speed)| value(speed));
            let cells: String = cells.map(|cell| format!(" {cell:>12.digits$}")).collect();
            text.push_str(&format!("{name:<44}{cells}\n"));
        };
        let prompt = format!("prompt pass {sequences} x {length}, tokens/s");
        row(&prompt, &|speed| speed.prompt_tokens_per_second, 0);
        row(STREAM, &|speed| speed.sequential_tokens_per_second, 0);
        row("all at once, moves given, ms", &|speed| 1e3 * speed.fan_out_seconds, 2);
        row("all at once in two passes, ms", &|speed| 1e3 * speed.fan_out_alone_seconds, 2);
        row("token by token, ms", &|speed| 1e3 * speed.sequential_seconds, 2);
        row("  ratio to all at once in two passes", &|s| s.sequential_seconds / s.fan_out_alone_seconds, 2);
        row("  ratio to all at once, moves given", &|s| s.sequential_seconds / s.fan_out_seconds, 2);
        row("batches of 16, moves given, evaluations/s", &|speed| speed.batch_evaluations_per_second, 1);
        row(
            "  ratio to token by token in batches of 16",
            &|speed| speed.batch_evaluations_per_second / speed.batch_sequential_per_second,
            2,
        );
        text.extend(self.batches.iter().map(BatchSpeed::text));
        text.extend(self.joint.iter().map(joint_text));
        for torch in &self.torch {
            text.push_str(&format!("{}, the same shape, and ours beside it:\n", torch.name()));
            let stream = (STREAM, torch.sequential_tokens_per_second);
            for (name, theirs) in [(prompt.as_str(), torch.prompt_tokens_per_second), stream] {
                let ratio = |(kind, ours): &(&str, &Speed)| {
                    let ours = if name == STREAM {
                        ours.sequential_tokens_per_second
                    } else {
                        ours.prompt_tokens_per_second
                    };
                    format!("  {kind} {:.2} x", ours / theirs)
                };
                let ratios: String = speeds.iter().map(ratio).collect();
                text.push_str(&format!("{name:<44} {theirs:>12.0}{ratios}\n"));
            }
        }
        text.extend(self.gpu.iter().map(Gpu::text));
        for (name, agreement) in [
            ("bf16 and exact", &self.bf16_agreement),
            ("int8 and exact", &self.int8_agreement),
            ("all at once and token by token", &self.fan_out_agreement),
        ] {
            if let Some(agreement) = agreement {
                text.push_str(&format!(
                    "{name}, {} positions: same set {:.3}, same best move {:.3}, values differ by {:.5} and at most {:.4}, {} broken answers\n",
                    agreement.n_positions,
                    agreement.same_set,
                    agreement.same_best,
                    agreement.value_difference,
                    agreement.largest_difference,
                    agreement.n_broken
                ));
            }
        }
        text
    }
}

/// A network that knows nothing, exact in bf16 as every shipped one is.
fn random_model(preset: Preset) -> anyhow::Result<MavModel> {
    let config = preset.shape(vocabulary().len(), 1);
    let parameters = initial_parameters(&config)?;
    let rounded = parameters.iter().map(|x| f32::from_bits(x.to_bits() & 0xffff_0000)).collect();
    Ok(MavModel { config, input: mavis_model::InputAttention::Causal, step: 0, parameters: rounded })
}

/// A position with about as many moves as the game has on average.
fn middle_game(rules: Rules) -> Position {
    random_positions(rules, 40, 7)
        .into_iter()
        .max_by_key(|position| position.n_legal_moves().min(30))
        .unwrap_or_else(|| Position::start(rules))
}

/// Positions of random games that are not over.
pub(super) fn random_positions(rules: Rules, n: usize, seed: u64) -> Vec<Position> {
    // A multiplicative generator is random enough to pick moves, and the same everywhere.
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move || {
        state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (state >> 32) as u32
    };
    let mut positions = Vec::with_capacity(n);
    while positions.len() < n {
        let mut position = Position::start(rules);
        let length = 2 + random() % 30;
        for _ in 0..length {
            match position.random_move(random()) {
                Some(mv) => position.play_unchecked(mv),
                None => break,
            }
        }
        if position.outcome().is_none() {
            positions.push(position);
        }
    }
    positions
}

/// Positions of random games with a move after which the game is not over.
fn random_moves(rules: Rules, n: usize, seed: u64) -> Vec<(Position, Move)> {
    let played = (0..).flat_map(|round| random_positions(rules, n, seed + round)).filter_map(|position| {
        let mv = position.random_move(position.ply())?;
        let mut after = position.clone();
        after.play_unchecked(mv);
        after.outcome().is_none().then_some((position, mv))
    });
    played.take(n).collect()
}

/// The processor's name, where the system gives it.
pub(super) fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_fails_costs_its_own_row_only() {
        let rows = [
            BatchSpeed::new(64, Ok::<f64, String>(1234.5)),
            BatchSpeed::new(1024, Err("a pass of 40000 tokens, at most 32768 fit".to_owned())),
        ];
        let [measured, skipped] = rows.each_ref().map(BatchSpeed::text);
        assert!(measured.ends_with(" 1234.5\n"), "{measured}");
        assert!(skipped.contains("batches of 1024") && skipped.contains("at most 32768 fit"), "{skipped}");
        let json = serde_json::to_value(rows).unwrap();
        assert_eq!(json[0]["evaluations_per_second"], 1234.5);
        assert!(json[1]["evaluations_per_second"].is_null() && json[1]["skipped"].is_string());
    }
}
