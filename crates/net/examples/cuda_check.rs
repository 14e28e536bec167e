//! Checks the CUDA implementation against the CPU's where a GPU is, and times it.
//!
//! `cuda_check` runs all checks (exit code 2 when one fails), `cuda_check --bench` times training steps and evaluations; `--section N` runs one
//! section of either, `--count` says how many there are, `--compile` only compiles the kernels. Each section is a process of its own, since a kernel that fails
//! leaves the GPU unusable for the rest of its process.
//!
//! `cuda_check --stress` runs the load of a league: `--decoders N` (default 2) at once, `--passes N` (default 3000) each, `--seed N`. To find the cause of a
//! fault, `--untimed` takes the library's first algorithm of every product, `MAVIS_CUDA_CLUSTERS=1` those that run as clusters of blocks, `--no-graphs`
//! records nothing, and `--stepwise` also waits for every operation, so that the error names it. `--processes N` runs N processes of it
//! at once, with seeds of their own: the GPU then switches between them in the midst of kernels.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

use std::process::{Command, ExitCode};
use std::time::Instant;

use mavis_net::cuda::bench::{self, bench, chain_batch, evaluations, star_batch};
use mavis_net::cuda::check::{
    Comparison, N_PLACES, Stress, compile, compile_conv, conv_against_cpu, conv_bench, conv_shapes,
    decoder_against_cpu, encoder_against_cpu, kernels, learning, long_chains, predictor_batch, random_batch,
    stress, tracked_batch, update_against_cpu,
};
use mavis_net::cuda::{PassMode, available};
use mavis_net::{
    Algorithm, Batch, ConvLayer, ConvLoss, ConvNetConfig, LossRows, NetError, NormKind, NormPlacement,
    OptimizerSettings, TransformerConfig, Variant,
};

const CHECKS: usize = 23;
const BENCHES: usize = 14;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let section = arguments.iter().position(|argument| argument == "--section");
    let section =
        section.and_then(|at| arguments.get(at + 1)).and_then(|number| number.parse::<usize>().ok());
    let timing = has("--bench");
    let count = if timing { BENCHES } else { CHECKS };
    let outcome = match section {
        _ if has("--count") => {
            println!("{count}");
            Ok(0)
        }
        _ if has("--compile") => compiled(),
        _ if has("--stress") => stressed(&arguments),
        Some(section) if timing => times(section).map(|()| 0),
        Some(section) => checks(section),
        None => available().map(|()| all(timing, count)),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            println!("ERROR BAD {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every section in a process of its own; counts those that fail.
fn all(timing: bool, count: usize) -> usize {
    let begin = Instant::now();
    let mut bad = 0;
    for section in 0..count {
        let mut command = match std::env::current_exe() {
            Ok(program) => Command::new(program),
            Err(error) => {
                eprintln!("cuda_check: {error}");
                return 1;
            }
        };
        command.args(timing.then_some("--bench")).args(["--section", &section.to_string()]);
        let ok = command.status().is_ok_and(|status| status.success());
        bad += usize::from(!ok);
        println!(
            "[{:.1} s] section {section} {}",
            begin.elapsed().as_secs_f64(),
            if ok { "ok" } else { "FAILED" }
        );
    }
    println!("{bad} sections failed");
    bad
}

fn config(
    d_model: usize,
    n_layers: usize,
    n_heads: usize,
    vocab: usize,
    (qk_norm, tied): (bool, bool),
) -> TransformerConfig {
    let d_ff = (8 * d_model / 3).next_multiple_of(64);
    let (rope_theta, norm_eps, init_seed) = (10_000.0, 1e-5, 1);
    TransformerConfig {
        vocab,
        d_model,
        n_layers,
        n_heads,
        d_ff,
        rope_theta,
        norm_eps,
        qk_norm,
        tied,
        init_seed,
        variant: Default::default(),
    }
}

/// The predictors of paper 002: every departure from Llama's layout, and how they may be combined otherwise.
fn encoders() -> [TransformerConfig; 4] {
    let variant = |norm, placement, outputs| Variant {
        norm,
        placement,
        learned_positions: Some(79),
        places: None,
        outputs: Some(outputs),
    };
    let shape = |d_model, n_layers, n_heads, variant| TransformerConfig {
        variant,
        ..config(d_model, n_layers, n_heads, 2112, (false, false))
    };
    [
        shape(256, 2, 8, variant(NormKind::Layer, NormPlacement::Post, 128)),
        shape(128, 2, 4, variant(NormKind::Layer, NormPlacement::Pre, 1968)),
        shape(384, 1, 6, variant(NormKind::Rms, NormPlacement::Post, 16)),
        // A head of one number, which is learned by squared error.
        shape(256, 2, 8, variant(NormKind::Layer, NormPlacement::Pre, 8)),
    ]
}

fn describe(config: &TransformerConfig) -> String {
    format!(
        "d {} layers {} heads {} (dim {}) ff {} vocab {}{}{}",
        config.d_model,
        config.n_layers,
        config.n_heads,
        config.head_dim(),
        config.d_ff,
        config.vocab,
        if config.qk_norm { " qk_norm" } else { "" },
        if config.tied { " tied" } else { "" }
    ) + &if config.variant.is_llama() { String::new() } else { format!(" {:?}", config.variant) }
}

/// The shapes that are checked: every width of vectors, head dimension and size of vocabulary the kernels tell apart.
fn shapes() -> [TransformerConfig; 7] {
    let places = Variant { places: Some(N_PLACES), ..Variant::default() };
    [
        config(256, 2, 8, 2560, (false, true)),
        config(128, 2, 4, 520, (true, false)),
        TransformerConfig { variant: places, ..config(384, 2, 6, 2560, (true, false)) },
        config(512, 1, 8, 2304, (false, false)),
        config(64, 2, 2, 5000, (true, true)),
        config(256, 1, 2, 1000, (true, false)),
        config(384, 1, 12, 2560, (false, false)),
    ]
}

fn compiled() -> Result<usize, NetError> {
    for config in shapes().into_iter().chain(encoders()) {
        println!("{}: {}", describe(&config), compile(&config)?);
    }
    println!("small nets: {}", compile_conv()?);
    Ok(0)
}

/// Prints comparisons; counts the bad ones.
fn show(title: &str, comparisons: &[Comparison]) -> usize {
    println!("\n== {title}");
    comparisons.iter().for_each(|comparison| println!("{comparison}"));
    comparisons.iter().filter(|comparison| !comparison.is_ok()).count()
}

fn checks(section: usize) -> Result<usize, NetError> {
    let shapes = shapes();
    match section {
        0 => {
            println!("{}", bench::describe(&shapes[0])?);
            Ok(0)
        }
        1..=7 => {
            let config = &shapes[section - 1];
            let (batch, rows) = random_batch(1024, 300, config.vocab, section as u64);
            let comparisons = kernels(config, &batch, &rows)?;
            Ok(show(&format!("kernels: {}, random masks", describe(config)), &comparisons))
        }
        8 => {
            // Short sequences only, which come in launches of their own.
            let mut bad = 0;
            for config in &shapes[..3] {
                let (batch, rows) = star_batch(1024, config.vocab, 5);
                let title = format!("kernels: {}, star batch", describe(config));
                bad += show(&title, &kernels(config, &batch, &rows)?);
            }
            Ok(bad)
        }
        9..=11 => {
            let (config, algorithm) = [
                (&shapes[1], Algorithm::AdamW),
                (&shapes[0], Algorithm::Muon),
                (&shapes[2], Algorithm::Muon),
            ][section - 9];
            let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
            let (batch, rows) = random_batch(1500, 250, config.vocab, 77);
            let comparisons = update_against_cpu(config, &optimizer, &batch, &rows)?;
            Ok(show(&format!("step against CPU: {}, {algorithm:?}", describe(config)), &comparisons))
        }
        12 | 13 => {
            let config = &shapes[(section - 12) * 2];
            Ok(show(&format!("decoder against CPU: {}", describe(config)), &decoder_against_cpu(config)?))
        }
        14 => [Algorithm::AdamW, Algorithm::Muon].into_iter().map(follows).sum(),
        15..=18 => predictors(section - 15),
        20 => {
            // A trunk longer than its input, with branches off its end.
            let mut bad = 0;
            for config in &shapes[..3] {
                let (batch, rows) = tracked_batch(1500, config.vocab, 6);
                let title = format!("kernels: {}, tracked stars", describe(config));
                bad += show(&title, &kernels(config, &batch, &rows)?);
                let title = format!("step against CPU: {}, tracked stars", describe(config));
                let optimizer = OptimizerSettings::default();
                bad += show(&title, &update_against_cpu(config, &optimizer, &batch, &rows)?);
            }
            Ok(bad)
        }
        21 => {
            // A few sequences of thousands of tokens, as traces have them.
            let (batch, rows) = random_batch(9_000, 8_192, shapes[1].vocab, 21);
            let title = format!("step against CPU: {}, 8,192 tokens", describe(&shapes[1]));
            let optimizer = OptimizerSettings::default();
            Ok(show(&title, &update_against_cpu(&shapes[1], &optimizer, &batch, &rows)?))
        }
        22 => stressed(&[]),
        _ => conv_shapes()
            .into_iter()
            .map(|(name, config, loss)| {
                Ok(show(&format!("small net against CPU: {name}"), &conv_against_cpu(&config, loss)?))
            })
            .sum(),
    }
}

/// The load of a league on several decoders at once, with what the arguments change.
fn stressed(arguments: &[String]) -> Result<usize, NetError> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let number = |flag: &str, default: usize| {
        let at = arguments.iter().position(|argument| argument == flag);
        at.and_then(|at| arguments.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mut settings = Stress::default();
    let n_processes = number("--processes", 1);
    if n_processes > 1 {
        let seed = number("--seed", settings.seed as usize);
        return beside_each_other(arguments, (0..n_processes).map(|process| seed + 1000 * process));
    }
    settings.n_decoders = number("--decoders", settings.n_decoders);
    settings.n_passes = number("--passes", settings.n_passes);
    settings.seed = number("--seed", settings.seed as usize) as u64;
    settings.options.timed = !has("--untimed");
    if has("--stepwise") {
        settings.options.mode = PassMode::Stepwise;
    } else if has("--no-graphs") {
        settings.options.mode = PassMode::Operations;
    }
    let config = config(256, 8, 8, 2304, (false, false));
    let title = format!("stress: {}, {settings:?}", describe(&config));
    println!("{title}");
    Ok(show(&title, &stress(&config, &settings)?))
}

/// Runs the stress check in a process for each seed, all at once; counts those that fail.
fn beside_each_other(arguments: &[String], seeds: impl Iterator<Item = usize>) -> Result<usize, NetError> {
    let failed = |error: std::io::Error| NetError::Device(format!("starting a process: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut children = Vec::new();
    for seed in seeds {
        // The first of several options counts.
        let mut command = Command::new(&program);
        command.args(["--processes", "1", "--seed", &seed.to_string()]).args(arguments);
        children.push((seed, command.spawn().map_err(failed)?));
    }
    let mut bad = 0;
    for (seed, child) in &mut children {
        let status = child.wait().map_err(failed)?;
        println!("process with seed {seed}: {status}");
        bad += usize::from(!status.success());
    }
    Ok(bad)
}

/// The encoders: kernels, steps, passes of the decoder, losses of a short run.
fn predictors(section: usize) -> Result<usize, NetError> {
    let encoders = encoders();
    let adam = OptimizerSettings::default();
    let mut bad = 0;
    match section {
        0 => {
            for config in &encoders {
                let (batch, rows) = predictor_batch(config, 1024, 5);
                let title = format!("kernels: {}", describe(config));
                bad += show(&title, &kernels(config, &batch, &rows)?);
            }
        }
        1 => {
            for config in [&encoders[0], &encoders[1], &encoders[3]] {
                let (batch, rows) = predictor_batch(config, 1500, 6);
                let title = format!("step against CPU: {}", describe(config));
                bad += show(&title, &update_against_cpu(config, &adam, &batch, &rows)?);
            }
        }
        2 => {
            for config in &encoders {
                let title = format!("passes without caches against CPU: {}", describe(config));
                bad += show(&title, &encoder_against_cpu(config)?);
            }
        }
        _ => {
            let small = TransformerConfig { n_layers: 2, d_model: 64, n_heads: 2, ..encoders[0].clone() };
            bad += compare_losses(&small, &adam, predictor_batch(&small, 2048, 3))?;
        }
    }
    Ok(bad)
}

/// Whether the losses of a short run follow those on CPU.
fn follows(algorithm: Algorithm) -> Result<usize, NetError> {
    let small = config(64, 2, 2, 512, (true, false));
    let (batch, rows) = star_batch(2048, small.vocab, 3);
    let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
    compare_losses(&small, &optimizer, (batch, rows))
}

fn compare_losses(
    config: &TransformerConfig,
    optimizer: &OptimizerSettings,
    (batch, rows): (Batch, LossRows),
) -> Result<usize, NetError> {
    let losses = learning(config, optimizer, (&batch, &rows), 30)?;
    println!("\n== losses, GPU and CPU, {}, {:?}", describe(config), optimizer.algorithm);
    for (step, (ours, theirs)) in losses.iter().enumerate().step_by(3) {
        println!("step {step:>3}  {ours:.4}  {theirs:.4}");
    }
    let near = |(ours, theirs): &(f32, f32)| (ours - theirs).abs() <= 0.05 * theirs.abs() + 0.02;
    let far = losses.iter().filter(|pair| !near(pair)).count();
    let bad = far > 3 || losses.len() != 30;
    println!("{far} of {} steps differ by more than 5 %{}", losses.len(), if bad { "  BAD" } else { "" });
    Ok(usize::from(bad))
}

fn times(section: usize) -> Result<(), NetError> {
    let n = 49_152;
    // PyTorch 2.11 compiled, in the same session as the table of docs/performance.md.
    let torch = [3.79, 2.18, 1.28];
    let sizes = [
        config(256, 8, 8, 2304, (false, false)),
        config(384, 10, 6, 2304, (false, false)),
        config(512, 12, 8, 2304, (false, false)),
    ];
    if section == 9 {
        let batches = [(0, 1), (0, 16), (0, 64), (0, 256), (0, 512), (1, 256), (2, 256)];
        for (size, n) in batches {
            let (rate, tokens) = evaluations(&sizes[size], n, if n < 64 { 200 } else { 50 })?;
            let shape = describe(&sizes[size]);
            println!(
                "evaluations by fan-out, {shape}, batch {n}: {rate:.0} a second, {:.2} M tokens/s",
                tokens / 1e6
            );
        }
        return Ok(());
    }
    if section == 11 {
        return [64, 1024, 8192].into_iter().try_for_each(small_net);
    }
    let encoder = TransformerConfig { n_layers: 8, d_ff: 1024, ..encoders()[0].clone() };
    let (size, kind) = match section {
        10 => (0, 3),
        12 | 13 => (0, section - 8),
        _ => (section / 3, section % 3),
    };
    let (name, algorithm) = [
        ("star", Algorithm::AdamW),
        ("chain", Algorithm::AdamW),
        ("star", Algorithm::Muon),
        ("predictor (the decoder's PyTorch)", Algorithm::AdamW),
        ("tracked star", Algorithm::Muon),
        ("chain of 8,192 tokens", Algorithm::Muon),
    ][kind];
    let config = if section == 10 { &encoder } else { &sizes[size] };
    let batches: Vec<_> = (0..4)
        .map(|seed| match kind {
            1 => chain_batch(n, config.vocab, seed),
            3 => predictor_batch(config, n, seed),
            4 => tracked_batch(n, config.vocab, seed),
            5 => long_chains(n, 8_192, config.vocab, seed),
            _ => star_batch(n, config.vocab, seed),
        })
        .collect();
    let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
    let report = bench(config, &optimizer, &batches, (n, 150))?;
    let rate = report.n_tokens as f64 / report.step_ms / 1e3;
    println!(
        "\n== {} {name} {algorithm:?}: {:.3} ms a step, {rate:.2} M tokens/s = {:.2} x PyTorch compiled ({} M), products {:.0} TFLOP/s over the whole step",
        describe(config),
        report.step_ms,
        rate / torch[size],
        torch[size],
        report.flops / report.step_ms * 1e-9,
    );
    println!(
        "{} tokens, {} rows; start {:.1} s; host busy {:.0} %; loss {:.3} to {:.3}",
        report.n_tokens,
        report.n_rows,
        report.start_seconds,
        100.0 * report.pack_share,
        report.losses.0,
        report.losses.1
    );
    let total: f64 = report.parts.iter().map(|part| part.2).sum();
    println!("parts add up to {total:.3} ms:");
    for (name, launches, ms) in report.parts.iter().filter(|part| part.2 > 0.004) {
        println!("  {name:<18} x{launches:<3} {ms:8.3} ms  {:8.1} us each", ms * 1e3 / *launches as f64);
    }
    Ok(())
}

/// Boards per second of a net of paper 004's kind: four convolutions and two dense layers over Connect Four.
fn small_net(n: usize) -> Result<(), NetError> {
    let leaky = ConvLayer::LeakyRelu { slope: 0.01 };
    let mut layers: Vec<ConvLayer> =
        [64; 4].into_iter().flat_map(|channels| [ConvLayer::Conv3x3 { channels }, leaky]).collect();
    layers.extend([ConvLayer::Dense { outputs: 64 }, leaky, ConvLayer::Dense { outputs: 7 }]);
    let config = ConvNetConfig { input: [6, 7, 4], layers, init_seed: 1 };
    let report = conv_bench(&config, ConvLoss::CrossEntropy, n)?;
    println!(
        "small conv net, {} parameters, batch {n}: {:.0} boards/s predicted ({:.1} TFLOP/s), {:.0} trained on ({:.1} TFLOP/s); CPU {:.0} and {:.0}",
        report.n_parameters,
        report.predicted,
        report.predicted * report.flops * 1e-12,
        report.trained,
        3.0 * report.trained * report.flops * 1e-12,
        report.cpu_predicted,
        report.cpu_trained
    );
    Ok(())
}
