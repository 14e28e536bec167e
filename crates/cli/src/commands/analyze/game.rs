//! `mavis analyze --pgn`: evaluations and swings written into whole games.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::input::BadInput;
use mavis_data::pgn::{Note, PgnGame, move_text};
use mavis_game::{Game as _, Move, Position, Side};
use mavis_play::{Limit, Player, Turn};
use mavis_search::Cancel;
use mavis_value::Score;
use serde::Serialize;

/// How much win probability a move must give away to earn a glyph: `??`, `?` and `?!`.
const SWINGS: [(f32, u16, &str); 3] = [(0.3, 4, "Blunder"), (0.2, 2, "Mistake"), (0.1, 6, "Inaccuracy")];

/// What a player thinks of one position of a game.
struct Judgment {
    /// Win probability of the side to move.
    value: f32,
    centipawns: Option<i32>,
    /// Moves to a certain end, from the side to move.
    mate: Option<i32>,
    /// What it would play; nothing once the game is over.
    best: Option<Move>,
}

/// One move of an analyzed game, for machines.
#[derive(Serialize)]
pub(super) struct AnalyzedMove {
    r#move: String,
    best: String,
    /// Win probability of the first side after the move.
    value: f32,
    /// Win probability given away by its player.
    loss: f32,
    swing: Option<&'static str>,
}

/// Writes what `player` thinks into a game; the comments of the file stay, evaluations in it are replaced. Once cancelled it
/// leaves the moves after the position in hand as they were.
pub(super) fn analyze(
    game: &mut PgnGame,
    player: &mut dyn Player,
    limit: &Limit,
    cancel: &Cancel,
) -> anyhow::Result<Vec<AnalyzedMove>> {
    let positions = game.positions();
    let moves: Vec<Move> = game.moves.iter().map(|made| made.mv).collect();
    player.new_game(game.start.rules());
    let mut judged = Vec::new();
    for (ply, position) in positions.iter().enumerate() {
        match analyze_ply(&game.start, moves.get(..ply).unwrap_or(&moves), position, player, limit, cancel) {
            Ok(judgment) => judged.push(judgment),
            Err(_) if cancel.is_cancelled() => break,
            Err(error) => return Err(error),
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    let mut rows = Vec::new();
    for (ply, made) in game.moves.iter_mut().enumerate() {
        let [before, after] = judged.get(ply..ply + 2).unwrap_or_default() else { break };
        let [position, reached] = positions.get(ply..ply + 2).unwrap_or_default() else { break };
        let best = before.best.unwrap_or(made.mv);
        let loss = if best == made.mv { 0.0 } else { (before.value - (1.0 - after.value)).max(0.0) };
        let swing = SWINGS.into_iter().find(|(least, ..)| loss >= *least);
        let best = move_text(position, best);
        let mut comment = reached.outcome().is_none().then(|| evaluation(reached, after));
        if let Some((_, glyph, name)) = swing {
            let words = format!("{name}: {best} was better by {:.0} %", 100.0 * loss);
            comment = Some(comment.map_or_else(|| words.clone(), |comment| format!("{comment} {words}")));
            if !made.notes.iter().any(|note| matches!(note, Note::Glyph(1..=6))) {
                made.notes.insert(0, Note::Glyph(glyph));
            }
        }
        made.notes.retain_mut(keep);
        let glyphs = made.notes.iter().take_while(|note| matches!(note, Note::Glyph(_))).count();
        made.notes.splice(glyphs..glyphs, comment.map(Note::Comment));
        let value = first_side(reached, after.value);
        let text = move_text(position, made.mv);
        rows.push(AnalyzedMove { r#move: text, best, value, loss, swing: swing.map(|(.., name)| name) });
    }
    game.set_tag("Annotator", format!("Mavis ({})", player.name()));
    Ok(rows)
}

fn analyze_ply(
    start: &Position,
    moves: &[Move],
    position: &Position,
    player: &mut dyn Player,
    limit: &Limit,
    cancel: &Cancel,
) -> anyhow::Result<Judgment> {
    if let Some(outcome) = position.outcome() {
        let value = match outcome.winner() {
            None => 0.5,
            Some(side) => f32::from(u8::from(side == position.side_to_move())),
        };
        return Ok(Judgment { value, centipawns: None, mate: None, best: None });
    }
    let choice = player.choose(&mut Turn {
        start,
        moves,
        position,
        limit: limit.clone(),
        cancel: cancel.clone(),
        sink: &mut |_| {},
    })?;
    let thought = &choice.thought;
    let certain = thought.mate.map(|moves| if moves > 0 { 1.0 } else { 0.0 });
    let by_pawns =
        || thought.centipawns.map(|score| Score::Centipawns(score).win_probability(position.rules()));
    let Some(value) = thought.value.or(certain).or_else(by_pawns) else {
        return Err(BadInput::new(format!("{} does not evaluate positions", player.name())).into());
    };
    Ok(Judgment { value, centipawns: thought.centipawns, mate: thought.mate, best: Some(choice.mv) })
}

/// A value of the side to move as the first side's.
fn first_side(position: &Position, value: f32) -> f32 {
    if position.side_to_move() == Side::First { value } else { 1.0 - value }
}

/// The evaluation of a position in the words of PGN, from the first side: pawns or moves to mate in chess, the win
/// probability elsewhere.
fn evaluation(position: &Position, judged: &Judgment) -> String {
    let sign = if position.side_to_move() == Side::First { 1 } else { -1 };
    match (position, judged.mate) {
        (Position::Chess(_), Some(moves)) => format!("[%eval #{}]", sign * moves),
        (Position::Chess(_), None) => {
            let score = judged.centipawns.unwrap_or_else(|| Score::centipawns_of(judged.value));
            // Plus zero, so that nothing is worth -0.00.
            format!("[%eval {:.2}]", f64::from(sign * score) / 100.0 + 0.0)
        }
        _ => format!("[%value {:.3}]", first_side(position, judged.value)),
    }
}

/// Takes earlier evaluations out of a comment; whether anything is left.
fn keep(note: &mut Note) -> bool {
    let Note::Comment(text) = note else { return true };
    for command in ["[%eval ", "[%value "] {
        while let Some(begin) = text.find(command) {
            let Some(length) = text.get(begin..).and_then(|rest| rest.find(']')) else { break };
            text.replace_range(begin..=begin + length, "");
        }
    }
    *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ours =
        |name: &str| text.starts_with(name) && text.contains(" was better by ") && text.ends_with(" %");
    !text.is_empty() && !SWINGS.iter().any(|(.., name)| ours(name))
}
