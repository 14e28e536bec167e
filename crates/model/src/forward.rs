//! Logits of rows of a batch, from a decoder or from a network in training.

use mavis_lang::vocab::VALUES;
use mavis_net::{Batch, Logits, NetError, Want};
use mavis_value::N_BUCKETS;

/// Something that computes logits of rows of a batch: a decoder, or a network in training.
pub trait Forward {
    /// Logits of the wanted rows.
    ///
    /// # Errors
    /// When the network refuses the batch or the device fails.
    fn forward(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError>;

    /// Logits of some rows over the whole vocabulary and of others over the values, from one pass.
    ///
    /// # Errors
    /// As [`forward`](Forward::forward).
    fn moves_and_values(
        &mut self,
        batch: &Batch,
        prompts: &[u32],
        branches: &[u32],
    ) -> Result<(Logits, Logits), NetError> {
        // A second pass costs more than the wider head: all rows at once, all columns.
        let mut all = self.forward(batch, &Want::rows([prompts, branches].concat()))?;
        let columns = usize::from(VALUES.start)..usize::from(VALUES.start) + N_BUCKETS;
        let values = (prompts.len()..all.n_rows()).flat_map(|row| &all.row(row)[columns.clone()]).copied();
        let values = Logits::whole(values.collect(), N_BUCKETS);
        all.values.truncate(prompts.len() * all.n_columns);
        Ok((all, values))
    }
}

/// The value tokens as columns.
pub(crate) fn value_columns() -> std::ops::Range<u32> {
    u32::from(VALUES.start)..u32::from(VALUES.start) + N_BUCKETS as u32
}

impl<D: mavis_net::Decoder + ?Sized> Forward for D {
    fn forward(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.logits(batch, want)
    }
}
