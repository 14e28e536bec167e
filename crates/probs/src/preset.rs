//! Named settings: those of paper 004, and small ones that learn in minutes.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::{Algorithm, Evaluation, ProbsError, ProbsSettings, Size, Unvisited};
use mavis_game::Rules;
use std::fmt;

/// Names of the presets.
pub const PRESETS: [&str; 3] = ["small", "paper", "author"];

/// The settings of a preset for a game.
///
/// `paper` has the numbers of paper 004 for its three games; the others take those of the game they resemble most. `small`
/// learns in minutes on two cores. `author` is one round as the paper's author timed it: 100 games, 10 expansions and the
/// largest nets.
///
/// # Errors
/// When there is no such preset.
pub fn preset(name: &str, rules: Rules) -> Result<ProbsSettings, ProbsError> {
    match name {
        "paper" => Ok(paper(rules)),
        "small" => Ok(small(rules)),
        "author" => {
            Ok(ProbsSettings { net: Size::S420k, games: 100, expansions: 10, rounds: 1, ..paper(rules) })
        }
        _ => Err(ProbsError::Unknown { what: "preset", value: name.to_owned(), known: PRESETS.join(" ") }),
    }
}

/// Section 6 of paper 004. Connect Four: 100 iterations as for its figure 1 (section 6 says 1,000), 30 expansions and no
/// depth limit out of its three values each.
fn paper(rules: Rules) -> ProbsSettings {
    let connect4 = ProbsSettings {
        game: rules.to_string(),
        algorithm: Algorithm::Probs,
        net: Size::S10k,
        rounds: 100,
        games: 1000,
        turns: 100,
        capacity: 100_000,
        expansions: 30,
        depth: 99,
        simulations: 100,
        c_puct: 2.0,
        epsilon: 0.25,
        alpha: 0.5,
        random_plies: 0,
        drawn_plies: None,
        unvisited: Unvisited::Draw,
        temperature: 1.0,
        learning_rate: 0.003,
        learning_rate_decay: 1.0,
        batch: 128,
        epochs: 1,
        symmetries: false,
        average_decay: 0.0,
        evaluation: Evaluation { every: 1, games: 100, plies: 3 },
        seed: 1,
    };
    match rules {
        Rules::Connect4 => connect4,
        Rules::Togyz => ProbsSettings {
            net: Size::S420k,
            rounds: 326,
            games: 200,
            expansions: 50,
            depth: 5,
            alpha: 0.2,
            learning_rate: 0.0003,
            ..connect4
        },
        Rules::Othello => ProbsSettings {
            net: Size::S230k,
            rounds: 200,
            games: 200,
            expansions: 500,
            depth: 5,
            alpha: 0.2,
            learning_rate: 0.001,
            ..connect4
        },
        // Boards with many moves, as Othello; three plies of them are too many to scan.
        Rules::Hex { .. } | Rules::Chess | Rules::Chess960 => ProbsSettings {
            turns: if matches!(rules, Rules::Hex { .. }) { 400 } else { 200 },
            evaluation: Evaluation { every: 5, games: 40, plies: 2 },
            ..ProbsSettings { game: rules.to_string(), ..paper(Rules::Othello) }
        },
    }
}

/// Settings for a game of your own, to begin with: the preset `small` without what it knows of a game.
#[must_use]
pub fn small_settings(game: impl fmt::Display) -> ProbsSettings {
    ProbsSettings { game: game.to_string(), ..smaller(paper(Rules::Connect4)) }
}

fn smaller(paper: ProbsSettings) -> ProbsSettings {
    ProbsSettings {
        net: Size::S100k,
        rounds: 120,
        games: 100,
        expansions: 10,
        depth: 99,
        simulations: 32,
        temperature: 0.3,
        learning_rate: 0.003,
        learning_rate_decay: 0.98,
        symmetries: true,
        average_decay: 0.99,
        evaluation: Evaluation { every: 5, games: 200, plies: 3 },
        ..paper
    }
}

fn small(rules: Rules) -> ProbsSettings {
    let base = smaller(paper(rules));
    match rules {
        Rules::Connect4 => ProbsSettings { games: 300, ..base },
        // Beyond 100 plies most games of beginners are still open.
        Rules::Togyz => ProbsSettings { learning_rate: 0.001, turns: 200, ..base },
        Rules::Othello => ProbsSettings { learning_rate: 0.001, ..base },
        Rules::Hex { .. } | Rules::Chess | Rules::Chess960 => ProbsSettings {
            learning_rate: 0.001,
            evaluation: Evaluation { every: 5, games: 40, plies: 2 },
            ..base
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_of_every_game_is_valid() {
        for rules in Rules::ALL {
            for name in PRESETS {
                preset(name, rules).unwrap().validate().unwrap();
            }
        }
        let error = preset("smal", Rules::Connect4).unwrap_err().to_string();
        assert_eq!(error, "unknown preset 'smal' (known: small paper author)");
    }
}
