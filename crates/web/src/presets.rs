//! Games and opponents by strength, for people who do not write player lines.

use crate::{
    Policy,
    wire::{GameInfo, PresetInfo},
};
use mavis_game::Rules;

/// Title, player line, help; weakest first. The policy decides which of them are offered.
const PRESETS: [(&str, &str, &str); 10] = [
    ("Random", "random", "Plays any legal move."),
    ("Beginner", "lookahead:1", "Sees a win in one move, plays at random otherwise."),
    ("Rollouts", "mcts:sims=300", "Plain Monte Carlo tree search with random games; no model."),
    ("Casual", "mav:temperature=0.03", "The model without search, now and then a second choice."),
    ("Intuition", "mav", "The model without search: the move whose value it likes best."),
    ("Thinker", "mav-mcts:sims=60,batch=8", "The model with a short search."),
    ("Deep thinker", "mav-mcts:sims=300,batch=16", "The model with a longer search."),
    ("Replies", "mpc:evaluator=mav", "MPC-MC: predicts your reply to each move, then judges."),
    ("Oracle", "oracle", "The strongest oracle of this game; exact in Connect Four."),
    ("Stockfish", "uci:stockfish,nodes=20000", "A chess engine in its own process."),
];

/// A game with the opponents a policy permits.
pub(crate) fn game(rules: Rules, policy: &Policy) -> GameInfo {
    let (title, sides) = match rules {
        Rules::Chess => ("Chess", ["White", "Black"]),
        Rules::Chess960 => ("Chess960", ["White", "Black"]),
        Rules::Connect4 => ("Connect Four", ["Red", "Yellow"]),
        Rules::Hex { .. } => ("Hex", ["Red", "Blue"]),
        Rules::Othello => ("Othello", ["Black", "White"]),
        Rules::Togyz => ("Togyz Kumalak", ["White", "Black"]),
    };
    let is_chess = matches!(rules, Rules::Chess | Rules::Chess960);
    let presets = PRESETS
        .into_iter()
        .filter(|(_, player, _)| policy.permits(player, rules))
        .filter(|(_, player, _)| is_chess || !player.starts_with("uci"))
        .map(|(title, player, help)| PresetInfo { title, player: player.to_owned(), help })
        .collect();
    GameInfo { game: rules.name(), title, sides, presets }
}
