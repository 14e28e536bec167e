//! Training and evaluations on a GPU.

use mavis_net::TransformerConfig;
use serde::Serialize;

/// What the GPU reaches with a network, on made-up batches of star and chain examples.
#[derive(Debug, Serialize)]
pub(super) struct Gpu {
    /// Name and libraries.
    device: String,
    /// Tokens of a training step.
    tokens_per_step: usize,
    /// Tokens per second in training, AdamW, star and chain layouts.
    star_tokens_per_second: f64,
    chain_tokens_per_second: f64,
    /// Operations of the products of a step, in 10^12 per second over the whole step (star).
    teraflops: f64,
    /// Share of a step in which the host packed batches; it runs beside the GPU.
    host_share: f64,
    /// Evaluations per second in batches of 256.
    evaluations_per_second: f64,
}

/// What large bf16 products reach on an H200, in 10^12 operations per second.
const H200_TERAFLOPS: f64 = 790.0;

impl Gpu {
    /// Measures on the first GPU.
    #[cfg(feature = "cuda")]
    pub(super) fn measure(config: &TransformerConfig) -> anyhow::Result<Self> {
        use mavis_net::OptimizerSettings;
        use mavis_net::cuda::bench::{bench, chain_batch, describe, evaluations, star_batch};
        let tokens = 49_152;
        let optimizer = OptimizerSettings::default();
        let star: Vec<_> = (0..4).map(|seed| star_batch(tokens, config.vocab, seed)).collect();
        let chain: Vec<_> = (0..4).map(|seed| chain_batch(tokens, config.vocab, seed)).collect();
        let star = bench(config, &optimizer, &star, (tokens, 100))?;
        let chain = bench(config, &optimizer, &chain, (tokens, 100))?;
        let (evaluations_per_second, _) = evaluations(config, 256, 50)?;
        let device = describe(config)?;
        Ok(Self {
            device: device.lines().next().unwrap_or_default().to_owned(),
            tokens_per_step: tokens,
            star_tokens_per_second: star.n_tokens as f64 / star.step_ms * 1e3,
            chain_tokens_per_second: chain.n_tokens as f64 / chain.step_ms * 1e3,
            teraflops: star.flops / star.step_ms * 1e-9,
            host_share: star.pack_share,
            evaluations_per_second,
        })
    }

    /// Nothing to measure in a build without CUDA, where no device resolves to a GPU.
    #[cfg(not(feature = "cuda"))]
    pub(super) fn measure(_: &TransformerConfig) -> anyhow::Result<Self> {
        anyhow::bail!("this build has no CUDA")
    }

    pub(super) fn text(&self) -> String {
        format!(
            "{}\ntraining, {} tokens a step: {:.2} M tokens/s (star), {:.2} M (chain)\n\
             products of a step: {:.0} TFLOP/s over the whole step, {:.0} % of the {H200_TERAFLOPS} that large products reach on an H200\n\
             host busy packing {:.0} % of a step, beside the GPU\n\
             evaluations all at once in batches of 256: {:.0} a second\n",
            self.device,
            self.tokens_per_step,
            self.star_tokens_per_second / 1e6,
            self.chain_tokens_per_second / 1e6,
            self.teraflops,
            100.0 * self.teraflops / H200_TERAFLOPS,
            100.0 * self.host_share,
            self.evaluations_per_second,
        )
    }
}
