//! A player for the middle of the game, with others for its beginning and its end.

use crate::{Analysis, Choice, Player, PlayerError, Thought, Turn};
use mavis_game::{Game as _, Position, Rules};

/// Leaves the first moves of a game and its endgame to other players.
///
/// Paper 003 tests transformers this way: an engine plays the first 12 moves of both sides, and plays again once 12 pieces
/// or fewer are left.
pub struct Staged {
    /// Who plays between the two.
    pub middle: Box<dyn Player>,
    /// Who plays until this many moves of each side are made, if anyone.
    pub opening: Option<(Box<dyn Player>, u32)>,
    /// Who plays once this many chess pieces or fewer are left, kings and pawns included, if anyone.
    pub endgame: Option<(Box<dyn Player>, u32)>,
}

impl Staged {
    /// Who plays in a position. The opening goes first where both apply.
    fn at(&mut self, position: &Position) -> &mut dyn Player {
        if let Some((player, n_moves)) = &mut self.opening
            && position.ply() < 2 * *n_moves
        {
            return &mut **player;
        }
        match &mut self.endgame {
            Some((player, most)) if n_pieces(position).is_some_and(|n| n <= *most) => &mut **player,
            _ => &mut *self.middle,
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Box<dyn Player>> {
        let others = [self.opening.as_mut(), self.endgame.as_mut()].into_iter().flatten();
        std::iter::once(&mut self.middle).chain(others.map(|(player, _)| player))
    }
}

/// Pieces on a chess board, kings and pawns included; `None` in other games.
fn n_pieces(position: &Position) -> Option<u32> {
    match position {
        Position::Chess(_) => {
            let fen = position.to_string();
            let board = fen.split(' ').next().unwrap_or_default();
            Some(board.chars().filter(char::is_ascii_alphabetic).count() as u32)
        }
        _ => None,
    }
}

impl Player for Staged {
    fn name(&self) -> String {
        let opening = self.opening.as_ref().map(|(player, n)| format!(", {} to move {n}", player.name()));
        let endgame = self.endgame.as_ref().map(|(player, n)| format!(", {} from {n} pieces", player.name()));
        format!(
            "staged ({}{}{})",
            self.middle.name(),
            opening.unwrap_or_default(),
            endgame.unwrap_or_default()
        )
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        if self.endgame.is_some() && !matches!(rules, Rules::Chess | Rules::Chess960) {
            return Err(PlayerError::Failed(format!("an endgame by pieces is for chess, not for {rules}")));
        }
        self.all().try_for_each(|player| player.ready_for(rules))
    }

    fn new_game(&mut self, rules: Rules) {
        self.all().for_each(|player| player.new_game(rules));
    }

    fn reseed(&mut self, seed: u64) {
        self.all().for_each(|player| player.reseed(seed));
    }

    fn evaluates(&self) -> bool {
        self.middle.evaluates()
    }

    fn overhear(&mut self, thought: &Thought) {
        self.all().for_each(|player| player.overhear(thought));
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.at(turn.position).choose(turn)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        self.at(turn.position).analyze(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    /// Plays any move and says who it was.
    struct Named(&'static str);

    impl Player for Named {
        fn name(&self) -> String {
            self.0.to_owned()
        }

        fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
            let mut choice = Choice::plain(turn.position.legal_moves()[0]);
            choice.thought.note = Some(self.0.to_owned());
            Ok(choice)
        }
    }

    fn staged() -> Staged {
        Staged {
            middle: Box::new(Named("middle")),
            opening: Some((Box::new(Named("opening")), 12)),
            endgame: Some((Box::new(Named("endgame")), 12)),
        }
    }

    #[track_caller]
    fn check(fen: &str, expected: &str) {
        let position = Position::parse(Rules::Chess, fen).unwrap();
        let choice = staged().choose(&mut Turn::alone(&position, Limit::default(), &mut |_| {})).unwrap();
        assert_eq!(choice.thought.note.as_deref(), Some(expected), "{fen}");
    }

    #[test]
    fn the_stage_decides_who_plays() {
        check("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "opening");
        check("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 12", "opening");
        check("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 13", "middle");
        check("4k3/pppppp2/8/8/8/8/PPPPP3/4K3 w - - 0 40", "middle");
        check("4k3/ppppp3/8/8/8/8/PPPPP3/4K3 w - - 0 40", "endgame");
    }

    #[test]
    fn an_endgame_by_pieces_is_refused_in_other_games() {
        let error = staged().ready_for(Rules::Othello).unwrap_err().to_string();
        assert!(error.contains("an endgame by pieces is for chess, not for othello"), "{error}");
        assert!(staged().ready_for(Rules::Chess960).is_ok());
    }
}
