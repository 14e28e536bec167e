//! The average of the real model over views of a position.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use crate::repeat::shipped;
use mavis_game::{Game, Position, Rules};
use mavis_play::{Analysis, Limit, Registry, Thought, Turn, add_models};

fn registry() -> Registry {
    let mut registry = Registry::default();
    let _ = add_models(&mut registry, shipped);
    registry
}

fn analyze(registry: &Registry, spec: &str, position: &Position) -> Analysis {
    let mut player = registry.build(&spec.parse().unwrap(), 1).unwrap();
    player.analyze(&mut Turn::alone(position, Limit::default(), &mut |_: &Thought| {})).unwrap()
}

/// A position of random play with castling lost, so that chess has all four views.
fn played(game: &str) -> Position {
    if game == "chess" {
        return Position::parse(Rules::Chess, "3rk3/6b1/5pP1/4p3/pp1P4/P1P1B3/qPK5/3R2Q1 w - - 0 32")
            .unwrap();
    }
    let mut position = Position::start(game.parse().unwrap());
    let mut number = 7_u32;
    position.playout(6, || {
        number = number.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        number
    });
    position
}

#[test]
fn values_are_averages_over_the_views_that_there_are() {
    let registry = registry();
    for (game, views, n_views) in [
        ("chess", 3, 3),
        ("connect4", 2, 2),
        ("connect4", 8, 2),
        ("othello", 5, 5),
        ("hex:size=7", 2, 2),
        ("togyz", 2, 1),
    ] {
        let position = played(game);
        let alone: Vec<(usize, Analysis)> = (0..n_views)
            .map(|number| (number, analyze(&registry, "mav", &position.view(number).unwrap())))
            .collect();
        for player in ["mav:views", "mav-mcts:sims=1,views"] {
            let averaged = analyze(&registry, &format!("{player}={views}"), &position);
            assert_eq!(averaged.moves.len(), position.n_legal_moves(), "{game}");
            for entry in &averaged.moves {
                let in_view = |(number, analysis): &(usize, Analysis)| {
                    let mv = position.move_in_view(*number, entry.mv);
                    analysis.moves.iter().find(|entry| entry.mv == mv).unwrap().model_value.unwrap()
                };
                let mean = alone.iter().map(in_view).sum::<f32>() / n_views as f32;
                let difference = (entry.model_value.unwrap() - mean).abs();
                assert!(difference < 1e-5, "{game} {player}: {difference}");
            }
        }
        let differ = alone.iter().any(|(_, other)| other.moves[0].value != alone[0].1.moves[0].value);
        assert_eq!(differ, n_views > 1, "{game}: the model does not know its symmetries by heart");
    }
}

#[test]
fn bad_numbers_of_views_are_refused() {
    let registry = registry();
    for (spec, part) in [
        ("mav:views=0", "bad value '0' for views of player 'mav' (a whole number from 1 to 8)"),
        ("mav:views=9", "bad value '9' for views of player 'mav' (a whole number from 1 to 8)"),
        ("mav-mcts:views=all", "bad value 'all' for views of player 'mav-mcts' (a whole number from 1 to 8)"),
        ("mav:views=2,world=model", "player 'mav': views needs world=rules"),
        ("mav-mcts:world=model,views=2", "player 'mav-mcts': views needs world=rules"),
    ] {
        let error = registry.build(&spec.parse().unwrap(), 1).err().unwrap().to_string();
        assert_eq!(error, part);
    }
    let named = registry.build(&"mav-mcts:sims=9,views=2".parse().unwrap(), 1).unwrap();
    assert_eq!(named.name(), "mav-mcts:sims=9,views=2");
    registry.build(&"mav:views=1,world=model".parse().unwrap(), 1).unwrap();
}
