//! Games as PGN with evaluations.

use super::{LeagueConfig, StoredGame, StoredMove};
use crate::adjudication::centipawns;
use crate::openings::BookError;
use mavis_data::pgn::{Note, PgnGame};
use mavis_game::{Game, Move, Position, Rules, Side};

/// One game as PGN. Chess moves are SAN; other games use their own move text, with the position text in `FEN`.
///
/// Evaluations are written as `[%eval 0.35,12]` in pawns from the first side's point of view with the depth where it is known
/// (`[%value 0.61]`, the first side's win probability, in games without pawns), times as `[%emt 0.050]` in seconds.
///
/// # Errors
/// When the stored moves do not replay under the rules.
pub fn pgn(config: &LeagueConfig, rules: Rules, game: &StoredGame) -> Result<String, BookError> {
    let replay: Vec<(Position, Move)> = game.positions(rules)?;
    let n_opening = game.opening.len();
    let record = game.record(&config.name, rules)?;
    let mut written = PgnGame::of_row(&record.row).map_err(BookError::Replay)?;
    written.set_tag(
        "Round",
        format!("{}.{}", game.pair.saturating_add(1), if game.game.is_multiple_of(2) { 1 } else { 2 }),
    );
    if let Some(clock) = &config.clock {
        written.set_tag("TimeControl", clock);
    }
    for (idx, made) in written.moves.iter_mut().enumerate() {
        made.notes.extend(comment(&replay, idx, n_opening, game).map(Note::Comment));
    }
    let end = Note::Comment(game.end.reason.clone());
    written.moves.last_mut().map_or(&mut written.preface, |last| &mut last.notes).push(end);
    Ok(written.to_string())
}

fn comment(replay: &[(Position, Move)], idx: usize, n_opening: usize, game: &StoredGame) -> Option<String> {
    let Some(made) = idx.checked_sub(n_opening).and_then(|at| game.moves.get(at)) else {
        return (n_opening.checked_sub(1) == Some(idx)).then(|| "book".to_owned());
    };
    let (position, _) = replay.get(idx)?;
    let sign = if position.side_to_move() == Side::First { 1.0 } else { -1.0 };
    let time = format!("[%emt {:.3}]", made.seconds);
    Some(
        evaluation(made, matches!(position, Position::Chess(_)), sign)
            .map_or(time.clone(), |eval| eval + " " + &time),
    )
}

fn evaluation(made: &StoredMove, is_chess: bool, sign: f64) -> Option<String> {
    if is_chess {
        let pawns = sign * f64::from(centipawns(made.centipawns, made.value)?) / 100.0;
        let depth = if made.depth > 0 { format!(",{}", made.depth) } else { String::new() };
        // Plus zero, so that nothing is worth -0.00.
        Some(format!("[%eval {:.2}{depth}]", pawns + 0.0))
    } else {
        let value = f64::from(made.value?);
        Some(format!("[%value {:.3}]", if sign > 0.0 { value } else { 1.0 - value }))
    }
}
