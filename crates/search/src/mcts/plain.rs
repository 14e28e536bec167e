//! The search for values that are found at once.

use super::{
    MctsSettings, Report, Stopped,
    drive::report,
    report::Counts,
    simulator::{Begun, Simulator},
    world::ByRules,
};
use crate::Stop;
use mavis_game::{Game, Move};

/// Searches by the rules with a function for an evaluator, one simulation after the other.
///
/// The function gets a position that is not over and an empty list, and fills in every legal move with its win
/// probability for the side to move. It is called once for the root and at most once a simulation.
pub fn search_game<G: Game>(
    root: &G,
    settings: &MctsSettings,
    stop: &Stop,
    mut evaluate: impl FnMut(&G, &mut Vec<(Move, f32)>),
) -> Report {
    let mut simulator = Simulator::alone(ByRules { root: root.clone() }, settings);
    let mut counts = Counts::default();
    if root.outcome().is_some() {
        return report(&mut simulator, settings, &counts, Stopped::Settled);
    }
    let stop = stop.clone().within(settings.time);
    let mut moves = Vec::new();
    evaluate(root, &mut moves);
    if moves.is_empty() {
        return report(&mut simulator, settings, &counts, Stopped::NoRoot);
    }
    simulator.expand_root(&moves);
    let stopped = loop {
        if counts.simulations >= settings.simulations {
            break Stopped::Simulations;
        }
        if stop.is_due() {
            break Stopped::Limit;
        }
        if simulator.is_full() {
            break Stopped::Full;
        }
        match simulator.begin() {
            Begun::Leaf(ticket, position) => {
                moves.clear();
                evaluate(&position, &mut moves);
                counts.simulations += 1;
                if moves.is_empty() {
                    counts.failed += 1;
                    simulator.answer_dead(ticket);
                } else {
                    counts.completed += 1;
                    simulator.answer(ticket, &moves);
                }
            }
            Begun::Known => {
                counts.simulations += 1;
                counts.completed += 1;
                counts.known += 1;
            }
            // Nothing is in flight, so what blocks can only be settled.
            Begun::Settled | Begun::Blocked => break Stopped::Settled,
        }
    };
    report(&mut simulator, settings, &counts, stopped)
}
