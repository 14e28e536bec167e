//! Random numbers of searches and learners: seeded, small and the same on every machine.

use mavis_stable::seed::derive;
use rand::RngCore as _;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator every search owns.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// One of many independent generators of a seed, named by numbers such as a purpose, a round and a game.
    #[must_use]
    pub fn stream(seed: u64, name: &[u64]) -> Self {
        Self::seeded(derive(seed, name))
    }

    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `n`. The multiplication leaves a bias below n / 2^32, far under what a playout can show.
    pub fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }

    /// A number from 0 up to 1, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A draw from the gamma distribution with scale 1 (Marsaglia and Tsang 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // A draw of shape + 1 times u^(1/shape) has the wanted law.
            let scale = self.unit().powf(1.0 / shape);
            return self.gamma(shape + 1.0) * scale;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// A standard normal draw (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_variance() {
        let mut random = Random::seeded(3);
        for shape in [0.3, 1.0, 4.5] {
            let draws: Vec<f64> = (0..40_000).map(|_| random.gamma(shape)).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            assert!((mean - shape).abs() < 0.05 * shape.max(1.0), "mean {mean} of {shape}");
            assert!((variance - shape).abs() < 0.1 * shape.max(1.0), "variance {variance} of {shape}");
        }
    }
}
