//! The best action: a choice among moves that are listed already.

use super::MavDecoder;
use crate::ModelError;
use mavis_game::Move;
use mavis_lang::{Answer, Listing, Request, moves, vocab};
use mavis_net::{Batch, Want};
use mavis_value::Bucket;

impl MavDecoder {
    /// Decodes `%best_action` after a list of moves and values that stands as if the model had written it, in one pass.
    /// The likeliest of the listed moves is chosen; `None` if none is listed. The request must give its position.
    ///
    /// # Errors
    /// When the network fails.
    pub fn best_action(
        &mut self,
        request: &Request,
        listed: &[(Move, Bucket)],
    ) -> Result<Option<Move>, ModelError> {
        let rules = request.commands.rules;
        let known: Vec<(Move, u16)> = listed
            .iter()
            .filter_map(|&(mv, _)| moves::token_of(rules, mv).map(|token| (mv, token)))
            .collect();
        if known.len() < 2 {
            return Ok(known.first().map(|&(mv, _)| mv));
        }
        let mut tokens = request.prompt();
        let input_len = tokens.len();
        let list = Answer { listing: Some(Listing::Moves(listed.to_vec())), ..Answer::default() };
        list.write(&request.commands, &mut tokens);
        tokens.push(vocab::BEST_ACTION);
        let mut batch = Batch::default();
        self.input.push(&mut batch, &tokens, input_len, 0, tokens.len());
        let logits = self.decoder.logits(&batch, &Want::last(&batch))?;
        let row = logits.row(0);
        let likeliest = known
            .into_iter()
            .max_by(|(_, one), (_, other)| row[usize::from(*one)].total_cmp(&row[usize::from(*other)]));
        Ok(likeliest.map(|(mv, _)| mv))
    }
}
