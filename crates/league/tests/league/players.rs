//! Players that misbehave, and a registry that knows them.

use mavis_game::{Game, Move, Rules};
use mavis_play::{BuildError, Choice, Key, Kind, Player, PlayerError, Registry, Thought, Turn};
use std::sync::Arc;
use std::time::Duration;

/// What goes wrong, from a given ply on.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Crash,
    Panic,
    Illegal,
    /// Sleeps but listens to the cancel token.
    Hang,
    /// Never comes back.
    Deaf,
    /// Reports a fixed evaluation with every move.
    Evaluates(i32),
    /// Plays nothing but chess.
    ChessOnly,
}

struct Faulty {
    fault: Fault,
    from_ply: u32,
}

impl Player for Faulty {
    fn name(&self) -> String {
        "faulty".to_owned()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        match (self.fault, rules) {
            (Fault::ChessOnly, Rules::Chess) => Ok(()),
            (Fault::ChessOnly, _) => Err(PlayerError::unsupported("faulty", rules)),
            _ => Ok(()),
        }
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        let moves = turn.position.legal_moves();
        let mut choice = Choice::plain(moves[0]);
        if turn.position.ply() < self.from_ply {
            return Ok(choice);
        }
        match self.fault {
            Fault::Crash => Err(PlayerError::Failed("the engine died".to_owned())),
            Fault::Panic => panic!("a player's own bug"),
            Fault::Illegal => Ok(Choice::plain(Move(u16::MAX))),
            Fault::Hang => {
                while !turn.cancel.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(PlayerError::Stopped)
            }
            Fault::Deaf => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            Fault::Evaluates(centipawns) => {
                choice.thought = Thought { centipawns: Some(centipawns), depth: 3, ..Thought::default() };
                Ok(choice)
            }
            Fault::ChessOnly => Ok(choice),
        }
    }
}

/// The basic players and `crash`, `panic`, `illegal`, `hang`, `deaf`, `evaluates:CP`, `chess-only`.
pub(crate) fn registry() -> Arc<Registry> {
    let mut registry = Registry::basic();
    for (name, fault) in [
        ("crash", Fault::Crash),
        ("panic", Fault::Panic),
        ("illegal", Fault::Illegal),
        ("hang", Fault::Hang),
        ("deaf", Fault::Deaf),
        ("evaluates", Fault::Evaluates(0)),
        ("chess-only", Fault::ChessOnly),
    ] {
        registry.add(Kind {
            name,
            help: "misbehaves",
            keys: vec![Key::new("argument", "centipawns"), Key::new("from", "first ply of the fault")],
            open: false,
            build: Box::new(move |options, _| -> Result<Box<dyn Player>, BuildError> {
                let centipawns = options.argument::<i32>()?.unwrap_or(0);
                let fault =
                    if matches!(fault, Fault::Evaluates(_)) { Fault::Evaluates(centipawns) } else { fault };
                Ok(Box::new(Faulty { fault, from_ply: options.value("from")?.unwrap_or(0) }))
            }),
        });
    }
    Arc::new(registry)
}
