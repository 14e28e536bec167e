//! The embedded evaluator as searches see it.

use super::trained::{decoder, known, model, positions};
use mavis_eval::{EndOrMoves, EvalError, Evaluator, Request, WorldModel};
use mavis_game::{Game, Move, Position, Rules};
use mavis_model::{
    InputAttention::Causal,
    evaluator::{Embedded, EmbeddedSettings},
};
use mavis_net::Precision;
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
};
use mavis_value::Mistake;
use std::sync::Arc;

fn embedded(world: WorldModel) -> Embedded {
    let settings = EmbeddedSettings { world, ..EmbeddedSettings::default() };
    Embedded::cpu(model(Causal), Precision::Exact, settings).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn with_the_rules_every_legal_move_has_the_value_of_a_whole_pass() {
    let evaluator = embedded(WorldModel::Rules);
    let mut decoder = decoder(Causal);
    let played = positions(Rules::Connect4, 20, 3);
    let requests: Vec<Request> =
        played.iter().map(|(before, mv, _)| Request::child(before.clone(), *mv)).collect();
    let replies = runtime().block_on(evaluator.evaluate(requests));
    let mut n_over = 0;
    for ((_, _, after), reply) in played.iter().zip(replies) {
        let evaluation = reply.unwrap();
        assert_eq!(*evaluation.state, *after);
        match evaluation.content {
            EndOrMoves::Ended(outcome) => {
                n_over += 1;
                assert_eq!(Some(outcome), after.outcome());
            }
            EndOrMoves::Moves(moves) => {
                let legal: Vec<Move> = after.legal_moves().into_iter().collect();
                let whole = decoder.fan_out_network().known_moves(&[(after, &legal)]).unwrap().remove(0);
                assert_eq!(moves.len(), legal.len());
                for (entry, (mv, values)) in moves.iter().zip(&whole.values) {
                    assert_eq!(entry.mv, *mv);
                    assert!((entry.value.mean - values.mean()).abs() < 1e-5);
                    assert!(entry.value.distribution.is_some());
                }
            }
        }
    }
    assert!(n_over > 0, "ends are among the positions");
    let start = Position::start(Rules::Connect4);
    let illegal = runtime().block_on(evaluator.evaluate_one(Request::child(start, Move(9))));
    assert!(matches!(illegal, Err(EvalError::Hallucination { kind, .. }) if kind == Mistake::IllegalMove));
}

#[test]
fn the_model_alone_tracks_lists_and_is_caught_when_it_makes_things_up() {
    let evaluator = embedded(WorldModel::Model);
    let played = positions(Rules::Connect4, 12, 1);
    let requests: Vec<Request> =
        played.iter().map(|(before, mv, _)| Request::child(before.clone(), *mv)).collect();
    let replies = runtime().block_on(evaluator.evaluate(requests));
    let right = played
        .iter()
        .zip(&replies)
        .filter(|((_, _, after), reply)| reply.as_ref().is_ok_and(|evaluation| *evaluation.state == *after));
    assert!(right.count() >= 8, "states it was trained on are tracked");
    // Hex was never trained: the answers are not even of the language, and say so.
    let hex = Request::child(Position::start(Rules::HEX), Move(5));
    let reply = runtime().block_on(evaluator.evaluate_one(hex));
    assert!(matches!(reply, Err(EvalError::Hallucination { .. })), "{reply:?}");
    let foreign = Request::child(Position::start(Rules::Connect4), Move(4_000));
    let reply = runtime().block_on(evaluator.evaluate_one(foreign));
    assert!(matches!(reply, Err(EvalError::Hallucination { kind, .. }) if kind == Mistake::IllegalMove));
}

#[test]
fn the_model_chooses_among_what_it_listed() {
    let evaluator = embedded(WorldModel::Rules);
    for position in known() {
        let state = Arc::new(position);
        let reply = runtime().block_on(evaluator.evaluate_one(Request::state(state.clone()))).unwrap();
        let EndOrMoves::Moves(listed) = reply.content else { panic!("known positions are not over") };
        let chosen = runtime().block_on(evaluator.best_action(state.clone(), listed)).unwrap();
        assert!(state.is_legal(chosen.unwrap()));
        let nothing = runtime().block_on(evaluator.best_action(state, Vec::new())).unwrap();
        assert_eq!(nothing, None);
    }
}

#[test]
fn a_tree_search_runs_on_the_model_with_either_world() {
    for world in [WorldModel::Rules, WorldModel::Model] {
        let evaluator: Arc<dyn Evaluator> = Arc::new(embedded(world));
        let position = known().remove(0);
        let settings = MctsSettings { world, simulations: 40, ..MctsSettings::default() };
        let mut search = Search::new(position.clone(), evaluator, settings);
        let report = search.run_blocking(&Stop::default()).unwrap();
        assert!(position.is_legal(report.best.unwrap()));
    }
}
