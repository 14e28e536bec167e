//! A number that depends on how far the game has come.

use crate::tunable::{Range, TunableValue};
use std::fmt;

/// A step function of the ply: `1` is constant, `0:1/30:0.5` is 1 until ply 29 and 0.5 from ply 30 on.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// First plies and values, in rising order; the first starts at ply 0.
    steps: Vec<(u32, f32)>,
}

impl Schedule {
    /// The same value at every ply.
    #[must_use]
    pub fn constant(value: f32) -> Self {
        Self { steps: vec![(0, value)] }
    }

    /// The value at a ply.
    #[must_use]
    pub fn at(&self, ply: u32) -> f32 {
        let n_begun = self.steps.partition_point(|&(first, _)| first <= ply);
        self.steps[n_begun.saturating_sub(1)].1
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, value)] = self.steps[..] {
            return write!(f, "{value}");
        }
        for (index, (ply, value)) in self.steps.iter().enumerate() {
            write!(f, "{}{ply}:{value}", if index > 0 { "/" } else { "" })?;
        }
        Ok(())
    }
}

impl TunableValue for Schedule {
    fn read(text: &str, _: Range) -> Option<Self> {
        let value = |text: &str| text.parse::<f32>().ok().filter(|value| *value > 0.0 && value.is_finite());
        if !text.contains(':') {
            return value(text).map(Self::constant);
        }
        let steps: Option<Vec<(u32, f32)>> = text
            .split('/')
            .map(|step| {
                let (ply, number) = step.split_once(':')?;
                Some((ply.parse().ok()?, value(number)?))
            })
            .collect();
        let steps = steps?;
        let rising = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (rising && steps.first().is_some_and(|&(ply, _)| ply == 0)).then_some(Self { steps })
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_begin_at_their_ply() {
        let schedule = Schedule::read("0:1/30:0.5/60:0.25", Range::Switch).unwrap();
        let values: Vec<f32> = [0, 29, 30, 59, 60, 500].map(|ply| schedule.at(ply)).into();
        assert_eq!(values, [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]);
        assert_eq!(Schedule::read(&schedule.to_string(), Range::Switch), Some(schedule));
        for bad in ["", "0", "-1", "nan", "5:1", "0:1/0:2", "0:1/9:x", "0:1/9"] {
            assert_eq!(Schedule::read(bad, Range::Switch), None, "{bad}");
        }
    }
}
