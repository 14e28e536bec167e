//! A person at the terminal.

use crate::{Choice, Player, PlayerError, Turn};
use mavis_game::Game;
use std::io::{BufRead, Write};

/// Reads moves from standard input and asks again until one is legal. Prompts go to standard error.
pub struct Human;

impl<G: Game> Player<G> for Human {
    fn name(&self) -> String {
        "human".to_owned()
    }

    fn evaluates(&self) -> bool {
        false
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        let mut prompt = std::io::stderr();
        loop {
            // A closed stderr must not end the game; the answer still comes over stdin.
            let _ = write!(prompt, "your move ('moves' lists them, 'resign' ends): ");
            let _ = prompt.flush();
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            match (read, line.trim()) {
                (Err(error), _) => return Err(PlayerError::Failed(error.to_string())),
                (Ok(0), _) | (_, "resign" | "quit") => return Err(PlayerError::Resign),
                (_, "") => {}
                (_, "moves") => {
                    let position = turn.position;
                    let moves: Vec<_> =
                        position.legal_moves().into_iter().map(|mv| position.move_text(mv)).collect();
                    let _ = writeln!(prompt, "{}", moves.join(" "));
                }
                (_, text) => match turn.position.parse_move(text) {
                    Ok(mv) => return Ok(Choice::plain(mv)),
                    Err(error) => {
                        let _ = writeln!(prompt, "{error}");
                    }
                },
            }
        }
    }
}
