//! What the options of the search are worth: how often the move it chooses keeps the result of perfect play.
//!
//! Connect Four positions of ten stones and more, an evaluator that plays a few random games for each move (so it is
//! often wrong), and the exact solver as the judge. The table in docs/search.md was made with
//! `cargo run --release -p mavis-oracle --example search_effects`.

#![allow(clippy::print_stdout, reason = "its output is a table for people")]

use mavis_eval::{EndOrMoves, Evaluation, Evaluator, MoveValue, Replies, Request, Value, ready};
use mavis_game::{Connect4, Game, Move, Position, Rules};
use mavis_oracle::connect4::Connect4Solver;
use mavis_search::{Stop, mcts::Search};
use std::sync::Arc;

/// Settings to compare, the first row being the paper's.
const ROWS: &[&str] = &[
    "sims=100,batch=16,virtual=dynamic",
    "sims=100,batch=16,virtual=fixed",
    "sims=100,batch=16,virtual=fixed,n_fixed=8",
    "sims=100,batch=1",
    "sims=25,batch=1",
    "sims=400,batch=1",
    "sims=400,batch=16",
    "sims=100,batch=1,solver=false",
    "sims=100,batch=1,c_puct=0.5",
    "sims=100,batch=1,c_puct=1",
    "sims=100,batch=1,c_puct=4",
    "sims=100,batch=1,tau=0.1",
    "sims=100,batch=1,k=3",
    "sims=100,batch=1,epsilon=0.5",
    "sims=1,batch=1",
];

/// Win rates of a few random games, the same for the same position.
struct RandomGames {
    n_games: u32,
}

impl RandomGames {
    fn value(&self, game: Connect4, mv: Move) -> f32 {
        let mut next = game;
        next.play_unchecked(mv);
        let mut bits = next.key() | 1;
        let mut random = || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            (bits >> 32) as u32
        };
        let points = (0..self.n_games).map(|_| {
            let outcome = next.clone().playout(u32::MAX, &mut random);
            outcome
                .and_then(|outcome| outcome.winner())
                .map_or(0.5, |side| f32::from(side == game.side_to_move()))
        });
        points.sum::<f32>() / self.n_games as f32
    }
}

impl Evaluator for RandomGames {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let answer = |request: &Request| {
            let failed = || mavis_eval::EvalError::Failed("Connect Four only".to_owned());
            let state = request.by_rules().ok_or_else(failed)?;
            let &Position::Connect4(game) = &*state else { return Err(failed()) };
            let value = |mv: Move| MoveValue { mv, value: Value::certain(self.value(game, mv)) };
            let content = EndOrMoves::Moves(state.legal_moves().into_iter().map(value).collect());
            Ok(Evaluation { state, content })
        };
        ready(requests.iter().map(answer).collect())
    }

    fn describe(&self) -> String {
        format!("{} random games a move", self.n_games)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut solver = Connect4Solver::default();
    let mut positions = Vec::new();
    for line in include_str!("../tests/data/connect4/Test_L1_R1.txt").lines() {
        let columns = line.split(' ').next().unwrap_or_default();
        let mut position = Position::start(Rules::Connect4);
        for column in columns.chars() {
            position.play_text(&column.to_string())?;
        }
        let Position::Connect4(game) = position else { continue };
        if game.ply() < 12 {
            continue;
        }
        let scores = solver.score_moves(game);
        let results: Vec<i32> = scores.iter().map(|(_, score)| score.signum()).collect();
        // Where every move comes to the same there is nothing to choose.
        if results.iter().any(|result| *result != results[0]) {
            positions.push((game, scores));
        }
    }
    println!("{} positions", positions.len());
    let evaluator: Arc<dyn Evaluator> = Arc::new(RandomGames { n_games: 8 });
    for row in ROWS {
        let mut n_kept = 0;
        for (game, scores) in &positions {
            let settings = row.parse()?;
            let mut search = Search::new(Position::Connect4(*game), evaluator.clone(), settings);
            let best = search.run_blocking(&Stop::never())?.best;
            let score = scores.iter().find(|(mv, _)| Some(*mv) == best).map(|(_, score)| score.signum());
            n_kept += usize::from(score == Some(scores[0].1.signum()));
        }
        println!("| `{row}` | {:.1} % |", 100.0 * n_kept as f64 / positions.len() as f64);
    }
    Ok(())
}
