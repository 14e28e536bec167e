//! Won positions of the public test set, searched with perfect answers.

use mavis_game::{Connect4, Game, Move, Position, Rules};
use mavis_oracle::{
    Identity, Oracle, OracleError, OracleEvaluator, RankedMove, Ranking, Score,
    connect4::{Book, Connect4Solver},
};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// Winners of positions that are known already; clones share them.
pub(crate) type Known = Arc<Mutex<HashMap<Connect4, i32>>>;

/// Searches positions with the exact solver for an evaluator, 200 simulations each.
pub(crate) struct Finder {
    evaluator: Arc<OracleEvaluator<Winners>>,
    judge: Winners,
    settings: MctsSettings,
}

impl Finder {
    /// A finder whose solvers remember about `bytes` bytes of positions each.
    pub(crate) fn new(bytes: usize, known: &Known) -> Self {
        let winners =
            || Winners { solver: Connect4Solver::new(bytes, Book::shipped()), known: Arc::clone(known) };
        let settings = "sims=200,batch=1".parse().unwrap();
        Self { evaluator: Arc::new(OracleEvaluator::new(winners())), judge: winners(), settings }
    }

    /// The move the search plays after `columns`, and whether it wins.
    pub(crate) fn search(&mut self, columns: &str) -> (Move, bool) {
        let mut position = Position::start(Rules::Connect4);
        for column in columns.chars() {
            position.play_text(&column.to_string()).unwrap();
        }
        let mut search = Search::new(position.clone(), self.evaluator.clone(), self.settings.clone());
        let best = search.run_blocking(&Stop::never()).unwrap().best.unwrap();
        let Position::Connect4(mut game) = position else { panic!("it is Connect Four") };
        game.play_unchecked(best);
        (best, self.judge.winner(game) == -1)
    }
}

/// The columns that lead to each won position with so many stones.
pub(crate) fn won(stones: std::ops::RangeInclusive<usize>) -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../data/connect4/Test_L1_R1.txt").lines();
    lines
        .map(|line| line.split_once(' ').unwrap())
        .filter(move |(columns, score)| stones.contains(&columns.len()) && score.parse::<i32>().unwrap() > 0)
        .map(|(columns, _)| columns)
}

/// Says of every move who wins, which is all that win probabilities show, and not how soon, which costs most.
struct Winners {
    solver: Connect4Solver,
    /// Searches from related positions ask for the same ones again.
    known: Known,
}

impl Winners {
    fn winner(&mut self, position: Connect4) -> i32 {
        if let Some(&winner) = self.known.lock().unwrap().get(&position) {
            return winner;
        }
        let winner = self.solver.winner(position);
        self.known.lock().unwrap().insert(position, winner);
        winner
    }
}

impl Oracle for Winners {
    fn identity(&self) -> Identity {
        Identity { name: "winners".into(), version: String::new(), settings: String::new() }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let &Position::Connect4(game) = position else {
            return Err(OracleError::WrongGame { oracle: "winners".into(), rules: position.rules() });
        };
        let judge = |mv| {
            let mut next = game;
            next.play_unchecked(mv);
            RankedMove::new(Rules::Connect4, mv, Score::Solved(-self.winner(next)), None)
        };
        Ok(Ranking { moves: position.legal_moves().into_iter().map(judge).collect() })
    }
}
