//! Games to play as a job, here or on another machine.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::{GamePlan, Memory, Play};
use crate::job::SetAside;
use crate::wire::{AnnotationRow, GameRow, OracleName, PlayedWire, SelfplayInputWire};
use mavis_oracle::{Identity, Oracle};
use mavis_queue::{Beat, JobKind, Runner, read_json, write_json};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The kind of job: numbers of games in, the games with their annotations out.
pub enum SelfplayJob {}

/// Games by their numbers, and how they are played.
#[derive(Clone, Debug)]
pub struct SelfplayInput {
    /// The oracle's line, from which a worker on another machine makes the oracle.
    pub line: Arc<str>,
    /// What the oracle must call itself.
    pub oracle: Arc<OracleName>,
    /// How each game is played.
    pub plan: Arc<GamePlan>,
    /// Which games.
    pub numbers: Range<u64>,
}

/// A game and its annotated positions with their keys, or why it was given up.
pub type Played = Result<(GameRow, Vec<(u64, AnnotationRow)>), SetAside>;

impl JobKind for SelfplayJob {
    const NAME: &'static str = "selfplay";
    type Input = SelfplayInput;
    type Output = Vec<Played>;

    fn write_input(input: &SelfplayInput) -> Vec<u8> {
        write_json(&SelfplayInputWire::from(input))
    }

    fn read_input(bytes: &[u8]) -> Result<SelfplayInput, String> {
        read_json::<SelfplayInputWire>(bytes)?.input()
    }

    fn write_output(output: &Vec<Played>) -> Vec<u8> {
        write_json(&output.iter().map(PlayedWire::from).collect::<Vec<_>>())
    }

    fn read_output(bytes: &[u8]) -> Result<Vec<Played>, String> {
        let mut oracle = Arc::default();
        read_json::<Vec<PlayedWire>>(bytes)?.into_iter().map(|game| game.played(&mut oracle)).collect()
    }
}

/// An oracle that plays such games.
pub struct SelfPlayer {
    oracle: Box<dyn Oracle>,
    memory: Arc<Memory>,
    stop: Arc<AtomicBool>,
}

impl SelfPlayer {
    /// A runner with an oracle of its own; players that share a memory judge openings once.
    #[must_use]
    pub fn new(oracle: Box<dyn Oracle>, memory: Arc<Memory>) -> Self {
        Self { oracle, memory, stop: Arc::default() }
    }

    /// The same player; when `stop` is raised it drops its game and plays no further one.
    #[must_use]
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The oracle's identity.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.oracle.identity()
    }
}

impl Runner<SelfplayJob> for SelfPlayer {
    fn run(&mut self, input: SelfplayInput, beat: &Beat) -> Result<Vec<Played>, String> {
        let Self { oracle, memory, stop } = self;
        let play = Play { plan: &input.plan, oracle: &input.oracle, memory, stop };
        let game = |number| {
            beat.progress();
            play.game(&mut **oracle, number).transpose()
        };
        input.numbers.map_while(game).collect()
    }
}
