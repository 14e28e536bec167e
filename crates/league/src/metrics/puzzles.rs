//! Puzzles: the whole solution must be played, as in paper 002.

use super::{Bands, Metric, PuzzleResult};
use mavis_data::Puzzle;
use mavis_game::Game;
use mavis_play::{Limit, Player, PlayerError, Turn};
use mavis_search::Cancel;

/// Lets a player solve a puzzle; it ends with the first move that is not the listed one.
///
/// # Errors
/// When the player fails; an illegal move is a wrong answer, not a failure.
pub fn solve_puzzle(
    player: &mut dyn Player,
    puzzle: &Puzzle,
    limit: &Limit,
) -> Result<PuzzleResult, PlayerError> {
    player.new_game(puzzle.position.rules());
    let mut position = puzzle.position.clone();
    let mut result = PuzzleResult::begin(puzzle.rating, puzzle.moves.len() / 2);
    for (idx, &listed) in puzzle.moves.iter().enumerate() {
        if idx % 2 == 1 {
            let mut turn = Turn {
                start: &puzzle.position,
                moves: &puzzle.moves[..idx],
                position: &position,
                limit: limit.clone(),
                cancel: Cancel::new(),
                sink: &mut |_| {},
            };
            let chosen = player.choose(&mut turn)?.mv;
            if !result.add(&position, listed, Some(chosen)) {
                break;
            }
        }
        position.play_unchecked(listed);
    }
    Ok(result)
}

/// Puzzle accuracy by band of rating: solutions played as listed, those and other mates, and first moves.
#[must_use]
pub fn puzzles(results: &[PuzzleResult]) -> Vec<Metric> {
    let bands = Bands::every(200.0, 0.0, 3400.0);
    let at = |result: &PuzzleResult| result.rating.unwrap_or(f64::NAN);
    let share = |name: &str, hit: &dyn Fn(&PuzzleResult) -> bool| {
        let samples: Vec<(f64, bool)> = results.iter().map(|result| (at(result), hit(result))).collect();
        Metric::share(name, &samples, &bands)
    };
    vec![
        share("puzzles solved", &PuzzleResult::is_solved),
        share("solved, other mates counted", &PuzzleResult::is_solved_or_mates),
        share("first move right", &PuzzleResult::is_first_right),
    ]
}
