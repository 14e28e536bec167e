//! The part of a batch that one rank computes.

use super::{Batch, LossRows};
use std::ops::Range;

/// The share of rank `rank` among `n_ranks`: whole sequences, about as many tokens for each rank. Losses are divided by the
/// normalizer of the whole batch, so that the gradients of all shares add up to that of the batch.
pub(crate) fn share(batch: &Batch, rows: &LossRows, rank: usize, n_ranks: usize) -> (Batch, LossRows) {
    let sequences = sequences_of(batch, rank, n_ranks);
    let start = |sequence: usize| batch.starts.get(sequence).map_or(0, |start| *start as usize);
    let tokens = start(sequences.start)..start(sequences.end);
    let mut part = Batch {
        tokens: batch.tokens[tokens.clone()].to_vec(),
        positions: batch.positions[tokens.clone()].to_vec(),
        places: batch.places[tokens.clone()].to_vec(),
        prefix_end: batch.prefix_end[tokens.clone()].to_vec(),
        branch_start: batch.branch_start[tokens.clone()].to_vec(),
        starts: Vec::new(),
    };
    if !sequences.is_empty() {
        let starts = &batch.starts[sequences.start..=sequences.end];
        part.starts = starts.iter().map(|start| start - tokens.start as u32).collect();
    }
    let mut own = LossRows { normalizer: Some(rows.normalizer()), ..LossRows::default() };
    for (row_idx, &row) in rows.rows.iter().enumerate() {
        if tokens.contains(&(row as usize)) {
            let (ids, probs) = rows.targets(row_idx);
            let targets: Vec<(u32, f32)> = ids.iter().copied().zip(probs.iter().copied()).collect();
            own.push_soft(row - tokens.start as u32, rows.weights[row_idx], rows.tags[row_idx], &targets);
        }
    }
    (part, own)
}

/// The sequences whose first token lies in the rank's part of the tokens.
fn sequences_of(batch: &Batch, rank: usize, n_ranks: usize) -> Range<usize> {
    let first_from = |rank: usize| {
        let cut = (batch.len() * rank).div_ceil(n_ranks) as u32;
        batch.starts[..batch.n_sequences()].partition_point(|start| *start < cut)
    };
    // Empty sequences at the end begin where the tokens end; the last rank takes them.
    let end = if rank + 1 == n_ranks { batch.n_sequences() } else { first_from(rank + 1) };
    first_from(rank)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_sequences_and_together_the_batch() {
        let (mut batch, mut rows) = (Batch::default(), LossRows::default());
        for (n, len) in [3, 9, 1, 4, 4, 2, 7].into_iter().enumerate() {
            let first = batch.len() as u32;
            batch.push_prompted(&vec![n as u32 + 1; len], len.min(2));
            batch.push_branch(&[20, 21], len, len, 0);
            batch.place_last(&[n as u32, 1]);
            rows.push_soft(first, 0.5 + n as f32, n as u8, &[(1, 0.25), (n as u32 + 2, 0.75)]);
        }
        for n_ranks in [1, 2, 3, 5, 12] {
            let (mut whole, mut n_rows) = (Batch::default(), 0);
            for rank in 0..n_ranks {
                let (part, own) = share(&batch, &rows, rank, n_ranks);
                part.validate(30, |_| 0).unwrap();
                own.validate(part.len(), 30).unwrap();
                assert_eq!(own.normalizer(), rows.normalizer());
                for row_idx in 0..own.len() {
                    assert_eq!(own.targets(row_idx), rows.targets(n_rows + row_idx));
                    let (ours, theirs) = (own.rows[row_idx], rows.rows[n_rows + row_idx]);
                    assert_eq!(part.tokens[ours as usize], batch.tokens[theirs as usize]);
                }
                n_rows += own.len();
                for sequence in 0..part.n_sequences() {
                    whole.begin();
                    for at in part.sequence(sequence) {
                        whole.push(crate::BatchToken {
                            id: part.tokens[at],
                            position: part.positions[at],
                            prefix_end: part.prefix_end[at],
                            branch_start: part.branch_start[at],
                        });
                        whole.place_last(&part.places[at..=at]);
                    }
                }
            }
            assert_eq!((whole, n_rows), (batch.clone(), rows.len()), "{n_ranks} ranks");
        }
        assert_eq!(share(&Batch::default(), &LossRows::default(), 1, 2).0, Batch::default());
    }
}
