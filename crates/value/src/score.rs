//! What oracles say, as win probabilities.

use mavis_game::{Outcome, Rules, Side};

/// An oracle's judgment of a move, for the player who makes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Score {
    /// Centipawns of a chess engine.
    Centipawns(i32),
    /// Moves to mate: positive if the mover gives it, negative or zero if he is mated.
    Mate(i32),
    /// An exact solver's score; only its sign counts here, the distance stays in the table and decides the best move.
    Solved(i32),
    /// A win rate of a search, 0 to 1.
    WinRate(f32),
    /// A difference of discs (Othello) or stones won (Togyz Kumalak) that a heuristic expects.
    Margin(f32),
}

/// The scale of one game's logistic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogisticScale {
    /// The game.
    pub rules: Rules,
    /// The margin at which the win probability is 1 / (1 + 1/e), about 0.73.
    pub margin: f32,
    /// How the number was found.
    pub origin: &'static str,
}

/// Games whose oracles count a margin.
pub const LOGISTIC_SCALES: [LogisticScale; 2] = [
    LogisticScale {
        rules: Rules::Othello,
        margin: 8.7,
        origin: "maximum likelihood over 137,506 WTHOR tournament games 1977-2025: the disc difference of perfect play \
                 from 24 empty squares against the result of the game (8.69)",
    },
    LogisticScale {
        rules: Rules::Togyz,
        margin: 25.0,
        origin: "maximum likelihood over 2,015 distinct PlayOK games: the difference of the kazans against the result \
                 (27.4, 22.2 and 25.2 for plies 20-39, 40-59 and 60-79)",
    },
];

/// Lichess' conversion from centipawns, which paper 001 uses too.
const CENTIPAWN_SLOPE: f32 = 0.003_682_08;

impl Score {
    /// The centipawns that mean a win probability, within 100 pawns.
    #[must_use]
    pub fn centipawns_of(win_probability: f32) -> i32 {
        let p = f64::from(win_probability).clamp(1e-9, 1.0 - 1e-9);
        let centipawns = (p / (1.0 - p)).ln() / f64::from(CENTIPAWN_SLOPE);
        // The cast saturates; NaN becomes 0.
        (centipawns.round() as i32).clamp(-10_000, 10_000)
    }

    /// The win probability, 0 to 1.
    #[must_use]
    pub fn win_probability(self, rules: Rules) -> f32 {
        match self {
            Self::Centipawns(centipawns) => logistic(CENTIPAWN_SLOPE * centipawns as f32),
            Self::Mate(moves) => f32::from(u8::from(moves > 0)),
            Self::Solved(score) => 0.5 + 0.5 * score.signum() as f32,
            Self::WinRate(rate) => rate.clamp(0.0, 1.0),
            Self::Margin(margin) => {
                let scale = LOGISTIC_SCALES.iter().find(|scale| scale.rules.name() == rules.name());
                // A margin of a game without a scale is taken as decided by its sign.
                logistic(scale.map_or(margin * f32::MAX, |scale| margin / scale.margin))
            }
        }
    }

    /// The score of a finished game, as `side` sees it.
    #[must_use]
    pub fn of_outcome(outcome: Outcome, side: Side) -> Self {
        Self::Solved(match outcome.winner() {
            None => 0,
            Some(winner) if winner == side => 1,
            Some(_) => -1,
        })
    }
}

fn logistic(x: f32) -> f32 {
    if x.is_nan() { 0.5 } else { 1.0 / (1.0 + (-x).exp()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bucket;

    #[track_caller]
    fn check(rules: Rules, score: Score, bucket: u8) {
        assert_eq!(Bucket::from_win_probability(score.win_probability(rules)).number(), bucket, "{score:?}");
    }

    #[test]
    fn centipawns_come_back_from_probabilities() {
        for centipawns in [-900, -37, 0, 1, 250, 1200] {
            let probability = Score::Centipawns(centipawns).win_probability(Rules::Chess);
            assert!((Score::centipawns_of(probability) - centipawns).abs() <= 1, "{centipawns}");
        }
        assert!(Score::centipawns_of(f32::NAN).abs() <= 10_000);
        assert!(Score::centipawns_of(1.0) > 4000 && Score::centipawns_of(0.0) < -4000);
    }

    #[test]
    fn scores_of_every_kind_find_their_bucket() {
        check(Rules::Chess, Score::Centipawns(0), 33);
        // 50 + 50 (2 / (1 + exp(-0.368208)) - 1) = 59.10 %, and 64 times that is 37.8.
        check(Rules::Chess, Score::Centipawns(100), 38);
        check(Rules::Chess, Score::Centipawns(-100), 27);
        check(Rules::Chess, Score::Centipawns(10_000), 64);
        check(Rules::Chess, Score::Mate(12), 64);
        check(Rules::Chess, Score::Mate(-1), 1);
        check(Rules::Chess, Score::Mate(0), 1);
        check(Rules::Connect4, Score::Solved(18), 64);
        check(Rules::Connect4, Score::Solved(0), 33);
        check(Rules::Connect4, Score::Solved(-1), 1);
        check(Rules::HEX, Score::WinRate(0.25), 17);
        check(Rules::Othello, Score::Margin(0.0), 33);
        check(Rules::Othello, Score::Margin(8.7), 47);
        check(Rules::Togyz, Score::Margin(-25.0), 18);
        check(Rules::HEX, Score::Margin(3.0), 64);
        check(Rules::HEX, Score::Margin(0.0), 33);
    }
}
