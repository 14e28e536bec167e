//! What plain and joint answers cost beside their network: the passes of a model are recorded once and given again.
//!
//! On a GPU a pass takes less than a millisecond, and what the processor does before, between and after two of them counts. Here
//! it is measured without a GPU: a pass that was seen before costs a search for it.
//!
//!     cargo run --release -p mavis-model --example answer_host -- models/mavis-9m.safetensors chess 16 3
#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use mavis_game::{Game, Move, Position, Rules};
use mavis_model::{MavModel, measure};
use mavis_net::{Batch, Decoder, KvCacheId, Logits, NetError, Precision, TransformerConfig, Want};
use std::{path::Path, time::Duration};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, game, n_positions, seconds] = &arguments[..] else {
        return Err("expected MODEL GAME POSITIONS SECONDS".into());
    };
    let (model, rules): (MavModel, Rules) = (MavModel::load(Path::new(model))?, game.parse()?);
    let played: Vec<(Position, Move)> =
        (0..n_positions.parse()?).filter_map(|at| played(rules, at)).collect();
    let decoder = Recorded { decoder: Box::new(model.cpu_decoder(Precision::Bf16)?), passes: Vec::new() };
    let time = Duration::from_secs_f64(seconds.parse()?);
    for profile in measure::profile(Box::new(decoder), model.input, &played, time)? {
        print!("{} {}:", profile.name, played.len());
        for pass in &profile.passes {
            print!(" {:.1} us before {} tokens,", 1e6 * pass.before_seconds, pass.n_tokens);
        }
        println!(" {:.1} us after", 1e6 * profile.after_seconds);
    }
    Ok(())
}

/// A move some moves into a game; `None` where the game was over.
fn played(rules: Rules, at: usize) -> Option<(Position, Move)> {
    let mut position = Position::start(rules);
    for ply in 0..4 + at % 24 {
        let mv = position.random_move((at * 31 + ply * 7) as u32)?;
        position.play_unchecked(mv);
    }
    position.random_move((at * 31) as u32).map(|mv| (position, mv))
}

/// A network whose passes are computed once.
struct Recorded {
    decoder: Box<dyn Decoder>,
    passes: Vec<(Batch, Want, Logits)>,
}

impl Decoder for Recorded {
    fn config(&self) -> &TransformerConfig {
        self.decoder.config()
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        self.decoder.open()
    }

    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError> {
        self.decoder.fork(cache, len)
    }

    fn close(&mut self, cache: KvCacheId) {
        self.decoder.close(cache);
    }

    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
        self.decoder.cache_len(cache)
    }

    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError> {
        // Where a pass was given again there is less in the cache.
        self.decoder.truncate(cache, len.min(self.decoder.cache_len(cache)?))
    }

    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        let same = |(known, wanted, _): &&(Batch, Want, Logits)| known == batch && wanted == want;
        if let Some((.., logits)) = self.passes.iter().find(same) {
            return Ok(logits.clone());
        }
        let logits = self.decoder.extend(caches, batch, want)?;
        self.passes.push((batch.clone(), want.clone(), logits.clone()));
        Ok(logits)
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.decoder.logits(batch, want)
    }
}
