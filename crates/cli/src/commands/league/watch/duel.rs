//! The score of two players.

use mavis_league::{
    Pentanomial, Results, SprtConfig, sprt,
    wire::{StoredGame, results_of},
};
use std::fmt;

/// The spread of fewer pairs says nothing.
const FEWEST: u64 = 5;

/// Results of two players, the Elo difference, and the state of a test between them.
pub(in crate::commands) struct Duel {
    names: [String; 2],
    games: Vec<StoredGame>,
    test: SprtConfig,
}

impl Duel {
    /// A match that begins with these games.
    pub(in crate::commands) fn new(names: [String; 2], games: Vec<StoredGame>, test: SprtConfig) -> Self {
        Self { names, games, test }
    }

    pub(super) fn add(&mut self, game: &StoredGame) {
        // Only the result matters here; the moves of long matches would fill memory.
        self.games.push(StoredGame { moves: Vec::new(), ..game.clone() });
    }

    fn results(&self) -> Results {
        results_of(&self.names, &self.games)
    }
}

impl fmt::Display for Duel {
    /// `+12 =3 -5 (13.5/20), Elo 127 [3, 281], LLR 0.84 in (-2.94, 2.94)`, all as the first player sees it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let results = self.results();
        let tally = results.totals().first().copied().unwrap_or_default();
        write!(f, "+{} ={} -{} ", tally.wins, tally.draws, tally.losses)?;
        write!(f, "({}/{})", tally.points(), tally.n_games())?;
        let pairs = Pentanomial::of(&results, 0, 1);
        match sprt(&pairs, &self.test) {
            Ok(state) if pairs.n_pairs() >= FEWEST => {
                let elo = |value: f64| match value {
                    value if value.is_finite() => format!("{value:.0}"),
                    value if value > 0.0 => "inf".to_owned(),
                    _ => "-inf".to_owned(),
                };
                let (low, high) = (elo(state.elo.low), elo(state.elo.high));
                write!(f, ", Elo {} [{low}, {high}]", elo(state.elo.value))?;
                write!(f, ", LLR {:.2} in ({:.2}, {:.2})", state.llr, state.lower, state.upper)
            }
            // A bad test was refused before the match.
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_league::wire::{EndKind, StoredEnd, StoredResult};

    fn game(pair: u64, first: &str, second: &str, result: StoredResult) -> StoredGame {
        let end = StoredEnd { by: EndKind::Rules, reason: "connection".to_owned() };
        StoredGame {
            game: 0,
            pair,
            first: first.to_owned(),
            second: second.to_owned(),
            start: None,
            opening: Vec::new(),
            moves: Vec::new(),
            result,
            end,
            finished: 0,
        }
    }

    #[test]
    fn the_score_is_the_first_players() {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut duel = Duel::new(names, Vec::new(), SprtConfig::default());
        assert_eq!(duel.to_string(), "+0 =0 -0 (0/0)");
        for pair in 0..5 {
            assert!(!duel.to_string().contains("Elo"), "{duel}");
            duel.add(&game(pair, "a", "b", StoredResult::First));
            duel.add(&game(pair, "b", "a", StoredResult::Draw));
        }
        let text = duel.to_string();
        assert!(text.starts_with("+5 =5 -0 (7.5/10), Elo 191 ["), "{text}");
        assert!(text.contains(", LLR "), "{text}");
    }
}
