//! The game as it was sent to an engine.

use mavis_game::{Game as _, Move, Position};
use mavis_oracle::uci::{Command, Start};

/// The last `position` command. The moves of a game are written once: a move later the command is the old one and the new moves'
/// text.
#[derive(Default)]
pub(super) struct PositionCommand {
    last: Option<Last>,
}

struct Last {
    start: Position,
    moves: Vec<Move>,
    after: Position,
    command: String,
}

impl PositionCommand {
    /// The start and every move since, so that the engine knows of repetitions. What follows an illegal move is left out.
    pub(super) fn text(&mut self, start: &Position, moves: &[Move]) -> &str {
        let continues = |last: &Last| last.start == *start && moves.starts_with(&last.moves);
        let mut last = self.last.take().filter(continues).unwrap_or_else(|| Last::new(start));
        for &mv in moves.iter().skip(last.moves.len()) {
            let text = last.after.move_text(mv);
            if last.after.play(mv).is_err() {
                break;
            }
            last.command.push_str(if last.moves.is_empty() { " moves " } else { " " });
            last.command.push_str(&text);
            last.moves.push(mv);
        }
        &self.last.insert(last).command
    }
}

impl Last {
    fn new(start: &Position) -> Self {
        let command = Command::Position { start: Start::Fen(start.to_string()), moves: Vec::new() };
        Self { start: start.clone(), moves: Vec::new(), after: start.clone(), command: command.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Rules;

    fn written(start: &Position, moves: &[Move]) -> String {
        let mut after = start.clone();
        let texts = moves.iter().map_while(|&mv| {
            let text = after.move_text(mv);
            after.play(mv).ok().map(|()| text)
        });
        let moves = texts.collect();
        Command::Position { start: Start::Fen(start.to_string()), moves }.to_string()
    }

    #[test]
    fn a_game_sent_move_by_move_reads_as_one_sent_at_once() {
        let start = Position::start(Rules::Chess);
        let (mut sent, mut after, mut moves) = (PositionCommand::default(), start.clone(), Vec::new());
        assert_eq!(sent.text(&start, &moves), written(&start, &moves));
        for text in ["e2e4", "e7e5", "e1e2", "e8e7", "e2e1", "e7e8"] {
            moves.push(after.play_text(text).unwrap());
            assert_eq!(sent.text(&start, &moves), written(&start, &moves));
        }
        // A move taken back, another game, another start.
        for moves in [&moves[..2], &moves[..4], &moves[1..]] {
            assert_eq!(sent.text(&start, moves), written(&start, moves));
        }
        assert_eq!(sent.text(&after, &[]), written(&after, &[]));
    }
}
