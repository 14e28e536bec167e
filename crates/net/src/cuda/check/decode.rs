//! KV caches beside those of the CPU.

use super::batches::{N_PLACES, predictor_batch};
use super::{Bounds, Comparison, parameters, random_batch};
use crate::batch::Batch;
use crate::config::TransformerConfig;
use crate::cpu::CpuDecoder;
use crate::cuda::decoder::{CudaDecoder, CudaDecoderOptions};
use crate::decoder::{Brief, Decoder, Logits, Precision, Want};
use crate::error::NetError;

/// Logits of predictors, which have no caches, in batches of several sizes.
///
/// # Errors
/// When a device fails.
pub fn encoder_against_cpu(config: &TransformerConfig) -> Result<Vec<Comparison>, NetError> {
    let parameters = parameters(config)?;
    let options = CudaDecoderOptions {
        max_tokens: 4096,
        max_rows: 64,
        cache_tokens: 64,
        ..CudaDecoderOptions::default()
    };
    let mut gpu = CudaDecoder::new(config, &parameters, &options)?;
    let mut cpu = CpuDecoder::new(config.clone(), &parameters, Precision::Exact)?;
    let bound = Bounds::of(config).logits;
    let mut comparisons = Vec::new();
    for n_tokens in [100, 1000, 4000] {
        let (batch, _) = predictor_batch(config, n_tokens, n_tokens as u64);
        let want = Want::last(&batch);
        let expected = cpu.logits(&batch, &want)?.values.into_iter().map(f64::from).collect::<Vec<_>>();
        let name = format!("encoder, {} sequences", batch.n_sequences());
        comparisons.push(Comparison::new(name, &gpu.logits(&batch, &want)?.values, &expected, bound));
    }
    Ok(comparisons)
}

/// Logits without caches; then prompts, branches that are truncated away, a fork, and sequential tokens, all on both.
///
/// # Errors
/// When a device fails.
pub fn decoder_against_cpu(config: &TransformerConfig) -> Result<Vec<Comparison>, NetError> {
    let parameters = parameters(config)?;
    let options = CudaDecoderOptions {
        max_tokens: 4096,
        max_rows: 2048,
        cache_tokens: 8192,
        ..CudaDecoderOptions::default()
    };
    let mut gpu = CudaDecoder::new(config, &parameters, &options)?;
    let mut cpu = CpuDecoder::new(config.clone(), &parameters, Precision::Exact)?;
    let bound = Bounds::of(config).logits;
    let mut comparisons = Vec::new();
    let mut compare = |name: &str, ours: &[f32], theirs: &[f32]| {
        let expected: Vec<f64> = theirs.iter().map(|x| f64::from(*x)).collect();
        comparisons.push(Comparison::new(name, ours, &expected, bound));
    };
    let (batch, rows) = random_batch(1500, 300, config.vocab, 21);
    let want = Want { rows: rows.rows.clone(), columns: None, brief: None };
    compare("decoder, no cache", &gpu.logits(&batch, &want)?.values, &cpu.logits(&batch, &want)?.values);
    let want = Want { rows: vec![3, 1, 7], columns: Some(64..128), brief: None };
    for name in ["decoder, some columns", "decoder, some columns, from graph"] {
        compare(name, &gpu.logits(&batch, &want)?.values, &cpu.logits(&batch, &want)?.values);
    }
    // The likeliest of a brief row is that of our own whole row: the processor's may be another where two are close.
    let is_brief: Vec<bool> = (0..rows.rows.len()).map(|row| row % 3 != 1).collect();
    let whole_rows = gpu.logits(&batch, &Want::rows(rows.rows.clone()))?;
    for n_columns in [100, 0] {
        let brief = Some(Brief { is_brief: is_brief.clone(), n_columns });
        let brief_rows = gpu.logits(&batch, &Want { brief, ..Want::rows(rows.rows.clone()) })?;
        let read = |logits: &Logits, row: usize| {
            let first = logits.row(row)[..n_columns as usize].to_vec();
            first.into_iter().chain([logits.likeliest(row) as f32]).collect::<Vec<f32>>()
        };
        let rows_of = |logits| (0..rows.rows.len()).flat_map(|row| read(logits, row)).collect::<Vec<f32>>();
        let name = format!("decoder, rows in brief, {n_columns} columns");
        compare(&name, &rows_of(&brief_rows), &rows_of(&whole_rows));
    }
    let places = |n: usize| (1..=n).map(|token| (token * 7 % N_PLACES) as u32).collect::<Vec<u32>>();
    let prompts = [90usize, 63, 64, 130, 1];
    let (mut batch, mut ids) = (Batch::default(), Vec::new());
    for (i, len) in prompts.iter().enumerate() {
        let tokens: Vec<u32> = (0..*len).map(|t| ((t * 37 + i * 11) % config.vocab) as u32).collect();
        batch.push_prompted(&tokens, if i % 2 == 0 { *len } else { 0 });
        batch.place_last(&places(*len));
        ids.push((gpu.open()?, cpu.open()?));
    }
    let split =
        |ids: &[(crate::KvCacheId, crate::KvCacheId)]| -> (Vec<_>, Vec<_>) { ids.iter().copied().unzip() };
    let (ours, theirs) = split(&ids);
    let want = Want::last(&batch);
    compare(
        "decoder, prompts",
        &gpu.extend(&ours, &batch, &want)?.values,
        &cpu.extend(&theirs, &batch, &want)?.values,
    );
    // The pass runs again; what follows shows that the caches are the same after it.
    let parts = gpu.parts_of_last_pass()?.map_or(0, |parts| parts.operations.len());
    compare("decoder, kinds of operations timed", &[parts as f32], &[12.0]);
    let mut branches = Batch::default();
    for (i, len) in prompts.iter().enumerate() {
        branches.begin();
        for b in 0..20 + 30 * i {
            branches.push_branch(&[(b * 13 % config.vocab) as u32], *len, *len, *len);
        }
    }
    let want = Want::rows((0..branches.len() as u32).collect::<Vec<_>>());
    let (a, b) = (gpu.extend(&ours, &branches, &want)?, cpu.extend(&theirs, &branches, &want)?);
    compare("decoder, branches", &a.values, &b.values);
    for ((our, their), len) in ids.iter().zip(prompts) {
        gpu.truncate(*our, len)?;
        cpu.truncate(*their, len)?;
    }
    ids.push((gpu.fork(ids[3].0, 100)?, cpu.fork(ids[3].1, 100)?));
    let (ours, theirs) = split(&ids);
    let mut lens = prompts.to_vec();
    lens.push(100);
    for step in 0..5 {
        let mut next = Batch::default();
        for len in &mut lens {
            next.begin();
            next.push(crate::BatchToken {
                id: (step * 5) as u32,
                position: *len as u32,
                prefix_end: 0,
                branch_start: 0,
            });
            next.place_last(&places(1));
            *len += 1;
        }
        let want = Want::last(&next);
        let (a, b) = (gpu.extend(&ours, &next, &want)?, cpu.extend(&theirs, &next, &want)?);
        compare(&format!("decoder, one token more ({step})"), &a.values, &b.values);
    }
    ours.iter().for_each(|id| gpu.close(*id));
    Ok(comparisons)
}
