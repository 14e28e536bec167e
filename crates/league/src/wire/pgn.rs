//! Games as PGN with evaluations.

use super::{LeagueConfig, StoredGame, StoredMove};
use crate::adjudication::centipawns;
use crate::openings::BookError;
use mavis_data::pgn::{Note, PgnGame, PgnMove};
use mavis_game::{Game, Move, Position, Rules, Side};
use mavis_stable::time::Date;

/// One game as PGN. Chess moves are SAN; other games use their own move text, with the position text in `FEN`.
///
/// Evaluations stand as `[%eval 0.35,12]` in pawns from the first side's point of view with the depth where it is known
/// (`[%value 0.61]`, the first side's win probability, in games without pawns), times as `[%emt 0.050]` in seconds.
///
/// # Errors
/// When the stored moves do not replay under the rules.
pub fn pgn(config: &LeagueConfig, rules: Rules, game: &StoredGame) -> Result<String, BookError> {
    let start = game.opening().start_position(rules)?;
    let replay: Vec<(Position, Move)> = game.positions(rules)?;
    let n_opening = game.opening.len();
    let mut moves: Vec<PgnMove> = (replay.iter().enumerate())
        .map(|(idx, (_, mv))| {
            let notes = comment(&replay, idx, n_opening, game).map(Note::Comment).into_iter().collect();
            PgnMove { mv: *mv, notes }
        })
        .collect();
    let end = Note::Comment(game.end.reason.clone());
    let mut preface = Vec::new();
    moves.last_mut().map_or(&mut preface, |last| &mut last.notes).push(end);
    let tags = tags(config, rules, game, &start);
    Ok(PgnGame { tags, start, preface, moves, result: result(game).to_owned() }.to_string())
}

fn tags(config: &LeagueConfig, rules: Rules, game: &StoredGame, start: &Position) -> Vec<(String, String)> {
    let mut tags = Vec::new();
    let mut tag = |name: &str, value: &str| tags.push((name.to_owned(), value.to_owned()));
    tag("Event", &config.name);
    tag("Site", "?");
    tag("Date", &Date::of_unix_seconds(game.finished).pgn());
    tag("Round", &format!("{}.{}", game.pair + 1, game.game % 2 + 1));
    tag("White", &game.first);
    tag("Black", &game.second);
    tag("Result", result(game));
    match rules {
        Rules::Chess => {}
        Rules::Chess960 => tag("Variant", "Chess960"),
        other => tag("Variant", &other.to_string()),
    }
    if game.start.is_some() {
        tag("SetUp", "1");
        tag("FEN", &start.to_string());
    }
    if let Some(clock) = &config.clock {
        tag("TimeControl", clock);
    }
    tag("PlyCount", &(game.opening.len() + game.moves.len()).to_string());
    tag("Termination", game.end.by.pgn_termination());
    tags
}

fn result(game: &StoredGame) -> &'static str {
    mavis_game::Outcome::from(game.result).as_str()
}

fn comment(replay: &[(Position, Move)], idx: usize, n_opening: usize, game: &StoredGame) -> Option<String> {
    let Some(made) = idx.checked_sub(n_opening).and_then(|at| game.moves.get(at)) else {
        return (idx + 1 == n_opening).then(|| "book".to_owned());
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
