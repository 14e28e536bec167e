//! Rankings of moves.

/// Kendall's rank correlation with ties counted out of both margins; `None` where either side is all one value.
#[must_use]
pub fn kendall_tau_b(pairs: &[(f64, f64)]) -> Option<f64> {
    let (mut agree, mut tied_x, mut tied_y, mut total) = (0_i64, 0_i64, 0_i64, 0_i64);
    for (k, a) in pairs.iter().enumerate() {
        for b in &pairs[..k] {
            let (dx, dy) = (a.0 - b.0, a.1 - b.1);
            total += 1;
            tied_x += i64::from(dx == 0.0);
            tied_y += i64::from(dy == 0.0);
            if dx != 0.0 && dy != 0.0 {
                agree += if (dx > 0.0) == (dy > 0.0) { 1 } else { -1 };
            }
        }
    }
    let margins = ((total - tied_x) as f64) * ((total - tied_y) as f64);
    (margins > 0.0).then(|| agree as f64 / margins.sqrt())
}

/// The index of the highest score; the first of equals.
#[must_use]
pub fn best_of(scores: &[f32]) -> Option<usize> {
    let best = scores.iter().enumerate().fold(None, |best: Option<(usize, f32)>, (idx, &score)| match best {
        Some((_, most)) if score <= most => best,
        _ => Some((idx, score)),
    });
    best.map(|(idx, _)| idx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_counts_pairs_and_ties() {
        // By hand: 8 concordant and 2 discordant pairs of 10, no ties.
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)];
        assert_eq!(kendall_tau_b(&pairs), Some(0.6));
        // One tie in the second: 2 concordant pairs, margins 3 and 2.
        assert_eq!(kendall_tau_b(&[(1.0, 0.1), (2.0, 0.1), (3.0, 0.3)]), Some(2.0 / 6.0_f64.sqrt()));
        assert_eq!(kendall_tau_b(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(best_of(&[0.1, 0.7, 0.7]), Some(1));
        assert_eq!(best_of(&[]), None);
    }
}
