//! Win probabilities as classes: the interval from 0 to 1 cut into equal bins.

/// The bins of a value predictor: 16 to 256 of them, 128 by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins(u32);

impl Default for Bins {
    fn default() -> Self {
        Self(128)
    }
}

impl Bins {
    /// So many bins.
    ///
    /// # Errors
    /// When the number is not a multiple of 8 from 16 to 256.
    pub fn new(n: usize) -> Result<Self, String> {
        if (16..=256).contains(&n) && n.is_multiple_of(8) {
            Ok(Self(n as u32))
        } else {
            Err(format!("bins must be a multiple of 8 from 16 to 256, not {n}"))
        }
    }

    /// How many.
    #[must_use]
    pub fn count(self) -> usize {
        self.0 as usize
    }

    /// The bin of a win probability; 1 falls into the last.
    #[must_use]
    pub fn bin(self, win_probability: f32) -> u32 {
        ((win_probability * self.0 as f32) as u32).min(self.0 - 1)
    }

    /// The middle of a bin.
    #[must_use]
    pub fn center(self, bin: u32) -> f32 {
        (bin as f32 + 0.5) / self.0 as f32
    }

    /// The expected win probability of a distribution given by its logits.
    #[must_use]
    pub fn mean(self, logits: &[f32]) -> f32 {
        let most = logits.iter().copied().fold(f32::MIN, f32::max);
        let (mut total, mut sum) = (0.0, 0.0);
        for (bin, logit) in (0..).zip(logits) {
            let weight = (logit - most).exp();
            total += weight;
            sum += weight * self.center(bin);
        }
        sum / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_equal_and_the_mean_is_the_expectation() {
        let bins = Bins::new(16).unwrap();
        assert_eq!([0.0, 0.0624, 0.0626, 0.5, 0.9999, 1.0].map(|p| bins.bin(p)), [0, 0, 1, 8, 15, 15]);
        for bin in 0..128 {
            assert_eq!(Bins::default().bin(Bins::default().center(bin)), bin);
        }
        let mut logits = vec![f32::MIN / 4.0; 16];
        (logits[3], logits[5]) = (1.0, 1.0 + 3_f32.ln());
        assert!((bins.mean(&logits) - (0.25 * 3.5 + 0.75 * 5.5) / 16.0).abs() < 1e-6);
        for bad in [0, 8, 17, 264] {
            assert!(Bins::new(bad).unwrap_err().contains("16 to 256"));
        }
    }
}
