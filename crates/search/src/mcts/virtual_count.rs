//! Virtual counts: visits lent to the path of a simulation in flight, so that the next one looks elsewhere.

/// How many virtual visits an edge of the path gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VirtualRule {
    /// The same on the whole path.
    Fixed(u32),
    /// `max(n_min, floor(n_max * 2^(d - d_l)))` at depth d of a path whose leaf has depth d_l.
    ///
    /// Paper 001 prints `min`; its text ("halved at each parent … while maintaining a minimum") and figure 5 say
    /// what is meant.
    Dynamic {
        /// The least count on the path.
        n_min: u32,
        /// The count at the leaf.
        n_max: u32,
    },
    /// None: the simulation is backed up at once with an estimate, which the answer replaces.
    Estimate,
}

impl VirtualRule {
    /// The count of the node at `depth` on a path to a leaf at `leaf_depth`, the root having depth 0.
    #[must_use]
    pub fn count(self, depth: usize, leaf_depth: usize) -> u32 {
        match self {
            Self::Fixed(count) => count,
            Self::Estimate => 0,
            Self::Dynamic { n_min, n_max } => {
                let halvings = u32::try_from(leaf_depth - depth).unwrap_or(u32::MAX);
                n_min.max(n_max.checked_shr(halvings).unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_halve_toward_the_root() {
        let rule = VirtualRule::Dynamic { n_min: 2, n_max: 8 };
        let path: Vec<u32> = (0..=5).map(|depth| rule.count(depth, 5)).collect();
        assert_eq!(path, [2, 2, 2, 2, 4, 8]);
        assert_eq!(VirtualRule::Dynamic { n_min: 0, n_max: 8 }.count(0, 80), 0);
        assert_eq!(VirtualRule::Fixed(3).count(1, 9), 3);
    }
}
