//! MCTS over the exact solver finds the win wherever there is one.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_game::{Connect4, Game, Position, Rules};
use mavis_oracle::{
    Identity, MoveVerdict, Oracle, OracleError, OracleEvaluator, Score, Verdict,
    connect4::{Book, Connect4Solver},
};
use mavis_search::{
    Stop,
    mcts::{Search, Settings},
};
use std::sync::Arc;

/// Says of every move who wins, which is all that win probabilities show, and not how soon, which costs most.
struct Winners(Connect4Solver);

impl Oracle for Winners {
    fn identity(&self) -> Identity {
        Identity { name: "winners".into(), version: String::new(), settings: String::new() }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Verdict, OracleError> {
        let &Position::Connect4(game) = position else {
            return Err(OracleError::WrongGame { oracle: "winners".into(), rules: position.rules() });
        };
        let judge = |mv| {
            let mut next = game;
            next.play_unchecked(mv);
            MoveVerdict::new(Rules::Connect4, mv, Score::Solved(-self.0.winner(next)), None)
        };
        Ok(Verdict { moves: position.legal_moves().into_iter().map(judge).collect() })
    }
}

/// Searches every `step`-th won position with so many stones, and returns how many there were.
fn find_wins(stones: std::ops::RangeInclusive<usize>, step: usize) -> usize {
    let solver = || Connect4Solver::new(256 << 20, Book::shipped());
    let evaluator: Arc<OracleEvaluator<Winners>> = Arc::new(OracleEvaluator::new(Winners(solver())));
    let mut judge = solver();
    let settings: Settings = "sims=200,batch=1".parse().unwrap();
    let mut n_won = 0;
    let lines =
        include_str!("data/connect4/Test_L1_R1.txt").lines().map(|line| line.split_once(' ').unwrap());
    let won =
        lines.filter(|(columns, score)| stones.contains(&columns.len()) && score.parse::<i32>().unwrap() > 0);
    for (columns, _) in won.step_by(step) {
        n_won += 1;
        let mut position = Position::start(Rules::Connect4);
        for column in columns.chars() {
            position.play_text(&column.to_string()).unwrap();
        }
        let mut search = Search::new(position.clone(), evaluator.clone(), settings.clone());
        let best = search.run_blocking(&Stop::never()).unwrap().best.unwrap();
        let Position::Connect4(mut game) = position else { panic!("it is Connect Four") };
        game.play_unchecked(best);
        assert_eq!(judge.winner(game), -1, "{columns}: {best:?} does not win");
    }
    n_won
}

#[test]
fn the_win_is_found_in_a_sample() {
    assert_eq!(find_wins(14..=14, 20), 7);
}

#[test]
#[ignore = "minutes: all won positions of twelve stones and more"]
fn the_win_is_found_from_twelve_stones_on() {
    assert_eq!(find_wins(12..=14, 1), 349);
}

/// The rest by number of stones, each with its own name so that it can be run by itself.
macro_rules! early {
    ($($name:ident $stones:literal $n_won:literal;)*) => {$(
        #[test]
        #[ignore = "long: early positions make the solver work for every bad move the search looks at"]
        fn $name() {
            assert_eq!(find_wins($stones..=$stones, 1), $n_won);
        }
    )*};
}

early! {
    the_win_is_found_with_eleven_stones 11 64;
    the_win_is_found_with_ten_stones 10 85;
    the_win_is_found_with_nine_stones 9 46;
    the_win_is_found_with_eight_stones 8 59;
    the_win_is_found_with_seven_stones 7 13;
    the_win_is_found_with_six_stones 6 52;
    the_win_is_found_with_five_stones 5 12;
    the_win_is_found_with_four_stones 4 43;
}

#[test]
fn an_illegal_move_is_a_hallucination_and_another_game_a_failure() {
    use mavis_eval::{EvalError, Evaluator, Request};
    let evaluator = OracleEvaluator::new(Connect4Solver::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let illegal = Request::child(Position::Connect4(Connect4::default()), mavis_game::Move(9));
    let other = Request::state(Position::start(Rules::Othello));
    let replies = runtime.block_on(evaluator.evaluate(vec![illegal, other]));
    assert!(matches!(replies[..], [Err(EvalError::Hallucination(_)), Err(EvalError::Failed(_))]));
}
