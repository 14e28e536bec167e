//! Games and opponents by strength, for people who do not write player lines.

use crate::{
    Policy,
    wire::{GameInfo, PresetInfo},
};
use mavis_game::Rules;

/// An opponent by strength.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// A name for people.
    pub title: &'static str,
    /// The player line.
    pub player: &'static str,
    /// One sentence.
    pub help: &'static str,
}

impl Level {
    /// The level of a name; case, spaces and hyphens do not matter.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
        LEVELS.into_iter().find(|level| plain(level.title) == plain(name))
    }

    /// Its name as one word.
    #[must_use]
    pub fn word(&self) -> String {
        self.title.to_lowercase().replace(' ', "-")
    }

    /// Whether the player can play a game at all.
    #[must_use]
    pub fn plays(&self, rules: Rules) -> bool {
        !self.player.starts_with("uci") || matches!(rules, Rules::Chess | Rules::Chess960)
    }
}

/// Every level, weakest first. The policy decides which of them a server offers.
pub const LEVELS: [Level; 11] = [
    Level { title: "Random", player: "random", help: "Plays any legal move." },
    Level {
        title: "Beginner",
        player: "lookahead:1",
        help: "Sees a win in one move, plays at random otherwise.",
    },
    Level {
        title: "Rollouts",
        player: "mcts:sims=300",
        help: "Plain Monte Carlo tree search with random games; no model.",
    },
    Level {
        title: "Casual",
        player: "mav:temperature=0.03",
        help: "The model without search, now and then a second choice.",
    },
    Level {
        title: "Intuition",
        player: "mav",
        help: "The model without search: the move whose value it likes best.",
    },
    Level { title: "Thinker", player: "mav-mcts:sims=60,batch=8", help: "The model with a short search." },
    Level {
        title: "Deep thinker",
        player: "mav-mcts:sims=300,batch=16",
        help: "The model with a longer search.",
    },
    Level {
        title: "Inner search",
        player: "mav-is",
        help: "The model writes its search as text and plays the conclusion.",
    },
    Level {
        title: "Replies",
        player: "mpc:evaluator=mav",
        help: "MPC-MC: predicts your reply to each move, then judges.",
    },
    Level {
        title: "Oracle",
        player: "oracle",
        help: "The strongest oracle of this game; exact in Connect Four.",
    },
    Level {
        title: "Stockfish",
        player: "uci:stockfish,nodes=20000",
        help: "A chess engine in its own process.",
    },
];

/// A game with the opponents a policy permits.
pub(crate) fn game(rules: Rules, policy: &Policy) -> GameInfo {
    let (title, sides) = names(rules);
    let presets = LEVELS
        .into_iter()
        .filter(|level| policy.permits(level.player, rules) && level.plays(rules))
        .map(|Level { title, player, help }| PresetInfo { title, player: player.to_owned(), help })
        .collect();
    GameInfo { game: rules.name(), title, sides, presets }
}

/// What people call a game, and its two sides.
#[must_use]
pub fn names(rules: Rules) -> (&'static str, [&'static str; 2]) {
    match rules {
        Rules::Chess => ("Chess", ["White", "Black"]),
        Rules::Chess960 => ("Chess960", ["White", "Black"]),
        Rules::Connect4 => ("Connect Four", ["Red", "Yellow"]),
        Rules::Hex { .. } => ("Hex", ["Red", "Blue"]),
        Rules::Othello => ("Othello", ["Black", "White"]),
        Rules::Togyz => ("Togyz Kumalak", ["White", "Black"]),
    }
}
