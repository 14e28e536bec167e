//! Puzzles: the whole solution must be played, as in paper 002.

use super::{Bands, Metric};
use mavis_game::{EndReason, Game, Move, Outcome, Position, Rules};
use mavis_play::{Limit, Player, PlayerError, Turn};
use mavis_search::Cancel;

/// A puzzle in Lichess' form.
#[derive(Clone, PartialEq, Debug)]
pub struct Puzzle {
    /// Its id, or its line number where the file has none.
    pub id: String,
    /// The position before the opponent's set-up move.
    pub position: Position,
    /// The set-up move, then the solution with the opponent's replies.
    pub moves: Vec<Move>,
    /// Its difficulty, where it is known.
    pub rating: Option<f64>,
}

/// A puzzle file that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PuzzleError {
    /// The header lacks a column.
    #[error("the header has no column '{0}' (Lichess' form has FEN, Moves and Rating)")]
    Column(&'static str),
    /// A line that is no puzzle.
    #[error("line {line}: {reason}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Reads Lichess' CSV; columns are found by the names in the header (`FEN` and `Moves` are needed, `PuzzleId` and
/// `Rating` used where they are).
///
/// # Errors
/// When a needed column is missing or a line holds no legal puzzle.
pub fn read_puzzles(text: &str) -> Result<Vec<Puzzle>, PuzzleError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header: Vec<&str> = lines.next().map_or_else(Vec::new, |(_, line)| line.trim().split(',').collect());
    let column = |name: &str| header.iter().position(|known| known.eq_ignore_ascii_case(name));
    let fen = column("FEN").ok_or(PuzzleError::Column("FEN"))?;
    let moves = column("Moves").ok_or(PuzzleError::Column("Moves"))?;
    let (id, rating) = (column("PuzzleId"), column("Rating"));
    lines
        .map(|(idx, line)| {
            let fault = |reason: String| PuzzleError::Line { line: idx + 1, reason };
            let cells: Vec<&str> = line.trim().split(',').collect();
            let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
            let position =
                Position::parse(Rules::Chess, cell(fen)).map_err(|error| fault(error.to_string()))?;
            let moves = replay(&position, cell(moves)).map_err(fault)?;
            let id = id.map_or_else(|| (idx + 1).to_string(), |at| cell(at).to_owned());
            Ok(Puzzle { id, position, moves, rating: rating.and_then(|at| cell(at).parse().ok()) })
        })
        .collect()
}

fn replay(start: &Position, text: &str) -> Result<Vec<Move>, String> {
    let mut position = start.clone();
    let mut moves = Vec::new();
    for word in text.split_whitespace() {
        moves.push(position.play_text(word).map_err(|error| error.to_string())?);
    }
    if moves.len() < 2 { Err("a puzzle needs a set-up move and a solution".to_owned()) } else { Ok(moves) }
}

/// How a puzzle went.
#[derive(Clone, PartialEq, Debug)]
pub struct PuzzleResult {
    /// Its difficulty, where it is known.
    pub rating: Option<f64>,
    /// Whether it counts as solved.
    pub solved: bool,
    /// Whether it was solved by a mate other than the listed one.
    pub other_mate: bool,
    /// Moves of the solution that were played.
    pub n_right: usize,
    /// Moves of the solution.
    pub n_moves: usize,
}

/// Lets a player solve a puzzle: every one of its moves must be the listed one, or mate at once.
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
    let mut result = PuzzleResult {
        rating: puzzle.rating,
        solved: false,
        other_mate: false,
        n_right: 0,
        n_moves: puzzle.moves.len() / 2,
    };
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
            if chosen != listed {
                result.other_mate = mates(&position, chosen);
                result.solved = result.other_mate;
                return Ok(result);
            }
            result.n_right += 1;
        }
        position.play_unchecked(listed);
    }
    result.solved = true;
    Ok(result)
}

fn mates(position: &Position, mv: Move) -> bool {
    let mut next = position.clone();
    let side = position.side_to_move();
    next.play(mv).is_ok()
        && next.outcome() == Some(Outcome::Win(side))
        && next.end_reason() == Some(EndReason::Checkmate)
}

/// Puzzle accuracy by band of rating: all that count as solved, and apart those solved by another mate.
#[must_use]
pub fn puzzles(results: &[PuzzleResult]) -> Vec<Metric> {
    let bands = Bands::every(200.0, 0.0, 3400.0);
    let at = |result: &PuzzleResult| result.rating.unwrap_or(f64::NAN);
    let share = |name: &str, hit: &dyn Fn(&PuzzleResult) -> bool| {
        let samples: Vec<(f64, bool)> = results.iter().map(|result| (at(result), hit(result))).collect();
        Metric::share(name, &samples, &bands)
    };
    vec![
        share("puzzles solved", &|result| result.solved),
        share("exactly as listed", &|result| result.solved && !result.other_mate),
        share("by another mate", &|result| result.other_mate),
        share("first move right", &|result| result.n_right > 0 || result.other_mate),
    ]
}
