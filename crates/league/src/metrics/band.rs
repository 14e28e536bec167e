//! Bands of a quantity: puzzle ratings, plies, numbers of legal moves.

/// Half-open intervals between edges.
#[derive(Clone, PartialEq, Debug)]
pub struct Bands {
    edges: Vec<f64>,
}

impl Bands {
    /// No bands: everything counts in the whole only.
    #[must_use]
    pub fn none() -> Self {
        Self { edges: Vec::new() }
    }

    /// Bands between these edges, in rising order; values outside are in none.
    #[must_use]
    pub fn between(edges: &[f64]) -> Self {
        let mut edges = edges.to_vec();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        Self { edges }
    }

    /// Bands of one width from `start` to at least `end`.
    #[must_use]
    pub fn every(width: f64, start: f64, end: f64) -> Self {
        let n = (((end - start) / width).ceil().max(1.0)) as usize;
        Self { edges: (0..=n).map(|k| start + width * k as f64).collect() }
    }

    /// Bands of a round width from 0 that hold all values: about `n` for the lower nine tenths of them, more for stragglers.
    #[must_use]
    pub fn about(n: usize, values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).or(sorted.last()).copied();
        let (common, most) = (at(0.9).unwrap_or(0.0), at(1.0).unwrap_or(0.0));
        let least_width = (common.max(0.0) + 1.0) / n.max(1) as f64;
        let power = 10_f64.powf(least_width.log10().floor());
        let round = [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|width| *width >= least_width);
        // Bands are closed below only, so the end lies beyond the highest value.
        Self::every(round.unwrap_or(10.0 * power).max(1.0), 0.0, most + 1e-9 * (1.0 + most))
    }

    /// The number of bands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// Whether there is no band.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The band a value lies in.
    #[must_use]
    pub fn index(&self, value: f64) -> Option<usize> {
        let above = self.edges.partition_point(|edge| *edge <= value);
        (above > 0 && above < self.edges.len()).then(|| above - 1)
    }

    /// `1000-1199` where edges are whole numbers, and so are the values (ratings, plies, counts); else `[0.1, 0.2)`.
    #[must_use]
    pub fn label(&self, band: usize) -> String {
        let (low, high) = (self.edges[band], self.edges[band + 1]);
        if self.edges.iter().any(|edge| edge.fract() != 0.0) {
            format!("[{low}, {high})")
        } else if high - low == 1.0 {
            low.to_string()
        } else {
            format!("{low}-{}", high - 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value lies in the one band whose label holds it.
    #[test]
    fn labels_of_neighbours_do_not_overlap() {
        let plies = Bands::every(6.0, 0.0, 24.0);
        assert_eq!((plies.label(2), plies.label(3)), ("12-17".to_owned(), "18-23".to_owned()));
        assert_eq!((plies.index(17.0), plies.index(18.0)), (Some(2), Some(3)));
        assert_eq!(Bands::every(1.0, 0.0, 3.0).label(1), "1");
        assert_eq!(Bands::between(&[0.0, 0.5, 1.0]).label(1), "[0.5, 1)");
    }
}
