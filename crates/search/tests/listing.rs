//! How often a step of a search asks the rules.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_eval::{Cache, Evaluator, Scripted};
use mavis_game::{EndReason, Game, Move, MoveError, Moves, Outcome, Position, Rules, Side};
use mavis_search::minimax::grow;
use mavis_search::{Stop, mcts::Search};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Default, Debug)]
struct Calls {
    /// Lists of legal moves.
    lists: AtomicU32,
    /// Tests for the end of the game.
    ends: AtomicU32,
}

/// A game that counts what it is asked, all positions of a search together.
#[derive(Clone, Debug)]
struct Counted {
    position: Position,
    calls: Arc<Calls>,
}

impl Counted {
    fn start(rules: Rules) -> Self {
        Self { position: Position::start(rules), calls: Arc::default() }
    }

    /// Lists and tests so far.
    fn calls(&self) -> (u32, u32) {
        (self.calls.lists.load(Ordering::Relaxed), self.calls.ends.load(Ordering::Relaxed))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for Counted {}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.position.fmt(f)
    }
}

impl Game for Counted {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        self.position.rules()
    }

    fn side_to_move(&self) -> Side {
        self.position.side_to_move()
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        self.calls.lists.fetch_add(1, Ordering::Relaxed);
        self.position.legal_moves_into(moves);
    }

    /// One move is not a list.
    fn is_legal(&self, mv: Move) -> bool {
        self.position.is_legal(mv)
    }

    /// Nor is a look for one that wins.
    fn winning_move(&self) -> Option<Move> {
        self.position.winning_move()
    }

    fn play_unchecked(&mut self, mv: Move) {
        self.position.play_unchecked(mv);
    }

    fn outcome(&self) -> Option<Outcome> {
        self.calls.ends.fetch_add(1, Ordering::Relaxed);
        self.position.outcome()
    }

    fn end_reason(&self) -> Option<EndReason> {
        self.position.end_reason()
    }

    fn key(&self) -> u64 {
        self.position.key()
    }

    fn ply(&self) -> u32 {
        self.position.ply()
    }

    fn move_text(&self, mv: Move) -> String {
        self.position.move_text(mv)
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        self.position.parse_move(text)
    }

    fn drawing(&self) -> String {
        self.position.drawing()
    }
}

/// Search, evaluator and cache share one list of legal moves per evaluation and one test for an end per simulation.
#[test]
fn mcts_lists_moves_once_per_evaluation() {
    for rules in [Rules::Chess, Rules::Connect4, Rules::Othello] {
        for batch in [1, 16] {
            let evaluators: [Arc<dyn Evaluator<Counted>>; 2] =
                [Arc::new(Scripted::new(5)), Arc::new(Cache::new(Scripted::new(5), 1_000))];
            for evaluator in evaluators {
                let root = Counted::start(rules);
                let settings = format!("sims=200,batch={batch}").parse().unwrap();
                let report =
                    Search::new(root.clone(), evaluator, settings).run_blocking(&Stop::never()).unwrap();
                let (lists, ends) = root.calls();
                assert_eq!(lists, report.counts.evaluations, "{rules} {batch}");
                // The root is tested once.
                assert!(ends <= report.counts.simulations + 1, "{rules} {batch}: {ends}");
                assert!(report.counts.simulations >= 200 && report.counts.evaluations > 150);
            }
        }
    }
}

#[test]
fn minimax_lists_moves_once_per_node() {
    let root = Counted::start(Rules::Othello);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (evaluator, settings) = (Scripted::new(2), "breadth=3,depth=3".parse().unwrap());
    let n_nodes = runtime.block_on(grow(&root, &evaluator, &settings)).unwrap().nodes.len() as u32;
    assert_eq!((n_nodes, root.calls()), (40, (40, 40)));
}
