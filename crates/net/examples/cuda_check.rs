//! Checks the CUDA implementation against the CPU's where a GPU is, and times it.
//!
//! `cuda_check` runs all checks (exit code 2 when one fails), `cuda_check --bench` times training steps, `--quick` does less of either.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

use std::process::ExitCode;
use std::time::Instant;

use mavis_net::cuda::check::{
    Comparison, bench, chain_batch, decoder_against_cpu, evaluations, kernels, learning, random_batch, star_batch, update_against_cpu,
};
use mavis_net::{Algorithm, NetError, OptimizerSettings, TransformerConfig};

fn main() -> ExitCode {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let begin = Instant::now();
    let outcome = if has("--bench") { times(has("--quick")).map(|()| 0) } else { checks(has("--quick")) };
    eprintln!("[{:.1} s] done", begin.elapsed().as_secs_f64());
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(bad) => {
            println!("{bad} comparisons BAD");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("cuda_check: {error}");
            ExitCode::FAILURE
        }
    }
}

fn config(d_model: usize, n_layers: usize, n_heads: usize, vocab: usize, qk_norm: bool, tied: bool) -> TransformerConfig {
    let d_ff = (8 * d_model / 3).next_multiple_of(64);
    let (rope_theta, norm_eps, init_seed) = (10_000.0, 1e-5, 1);
    TransformerConfig { vocab, d_model, n_layers, n_heads, d_ff, rope_theta, norm_eps, qk_norm, tied, init_seed }
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
    )
}

/// Prints comparisons; counts the bad ones. An error is one too, so that the rest still runs.
fn show(title: &str, result: Result<Vec<Comparison>, NetError>) -> usize {
    println!("\n== {title}");
    match result {
        Ok(comparisons) => {
            comparisons.iter().for_each(|comparison| println!("{comparison}"));
            comparisons.iter().filter(|comparison| !comparison.is_ok()).count()
        }
        Err(error) => {
            println!("ERROR BAD {error}");
            1
        }
    }
}

fn checks(quick: bool) -> Result<usize, NetError> {
    let shapes = [
        config(256, 2, 8, 2560, false, true),
        config(128, 2, 4, 520, true, false),
        config(384, 2, 6, 2560, true, false),
        config(512, 1, 8, 2304, false, false),
        config(64, 2, 2, 5000, true, true),
        config(256, 1, 2, 1000, true, false),
        config(384, 1, 12, 2560, false, false),
    ];
    let mut bad = 0;
    for (i, config) in shapes.iter().enumerate().take(if quick { 2 } else { shapes.len() }) {
        let (batch, rows) = random_batch(1024, 300, config.vocab, i as u64);
        bad += show(&format!("kernels: {}, random masks", describe(config)), kernels(config, &batch, &rows));
    }
    let (batch, rows) = star_batch(1024, 2560, 5);
    bad += show("kernels: star batch, d 256", kernels(&shapes[0], &batch, &rows));
    for (config, algorithm) in [(&shapes[1], Algorithm::AdamW), (&shapes[0], Algorithm::Muon), (&shapes[2], Algorithm::Muon)] {
        let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
        let (batch, rows) = random_batch(1500, 250, config.vocab, 77);
        let title = format!("step against CPU: {}, {algorithm:?}", describe(config));
        bad += show(&title, update_against_cpu(config, &optimizer, &batch, &rows));
    }
    for config in [&shapes[0], &shapes[2]] {
        bad += show(&format!("decoder against CPU: {}", describe(config)), decoder_against_cpu(config));
    }
    let small = config(64, 2, 2, 512, true, false);
    for algorithm in [Algorithm::AdamW, Algorithm::Muon] {
        let (batch, rows) = star_batch(2048, small.vocab, 3);
        let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
        let losses = learning(&small, &optimizer, (&batch, &rows), 30)?;
        println!("\n== losses, GPU and CPU, {algorithm:?}");
        for (step, (ours, theirs)) in losses.iter().enumerate().step_by(3) {
            println!("step {step:>3}  {ours:.4}  {theirs:.4}");
        }
        let far = losses.iter().filter(|(ours, theirs)| !((ours - theirs).abs() <= 0.05 * theirs.abs() + 0.02)).count();
        println!("{far} of {} steps differ by more than 5 %{}", losses.len(), if far > 3 { "  BAD" } else { "" });
        bad += usize::from(far > 3);
    }
    Ok(bad)
}

fn times(quick: bool) -> Result<(), NetError> {
    let n = 49_152;
    let torch = [3.69, 2.43, 1.42];
    let sizes = [config(256, 8, 8, 2304, false, false), config(384, 10, 6, 2304, false, false), config(512, 12, 8, 2304, false, false)];
    for (i, config) in sizes.iter().enumerate().take(if quick { 1 } else { 3 }) {
        for (name, chain) in [("star", false), ("chain", true)] {
            let batches: Vec<_> = (0..4)
                .map(|seed| if chain { chain_batch(n, config.vocab, seed) } else { star_batch(n, config.vocab, seed) })
                .collect();
            for algorithm in [Algorithm::AdamW, Algorithm::Muon] {
                if (chain || quick) && algorithm == Algorithm::Muon {
                    continue;
                }
                let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
                let report = bench(config, &optimizer, &batches, (n, 100))?;
                let rate = report.n_tokens as f64 / report.step_ms / 1e3;
                println!(
                    "\n== {} {name} {algorithm:?}: {:.3} ms a step, {rate:.2} M tokens/s = {:.2} x PyTorch compiled ({} M), products {:.0} TFLOP/s of the whole step",
                    describe(config),
                    report.step_ms,
                    rate / torch[i],
                    torch[i],
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
            }
        }
    }
    for n in [1, 16, 64, 256, 512] {
        let (rate, tokens) = evaluations(&sizes[0], n, if n < 64 { 200 } else { 50 })?;
        println!("evaluations by fan-out, {}, batch {n}: {rate:.0} a second, {:.2} M tokens/s", describe(&sizes[0]), tokens / 1e6);
    }
    Ok(())
}
