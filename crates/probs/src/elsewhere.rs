//! Self-play and searches on other machines; learning stays here.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod runner;

pub use runner::ProbsRunner;

use crate::{
    Meter, Planes, ProbsError, ProbsSettings,
    beams::{QValues, distinct},
    episode::{Episode, end},
    self_play::TOGETHER,
};
use mavis_game::Move;
use mavis_queue::{Files, Finished, JobKind, QueueError, Submitter, read_json, write_json};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Games of self-play, or beam searches, with the nets of one round.
pub enum ProbsJob {}

/// What a worker needs for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbsInput {
    /// The settings of the run.
    settings: ProbsSettings,
    /// The file with the weights of both nets.
    weights: String,
    task: Task,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    /// Games by their numbers in the round.
    Games { round: u32, numbers: Vec<u64> },
    /// States as the moves that lead to them, so that repetitions count as in the game.
    Search { lines: Vec<Vec<u16>> },
}

/// What a worker found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbsOutput {
    /// Positions passed through a net.
    evaluations: u64,
    found: Found,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Found {
    Games(Vec<PlayedGame>),
    /// Values of every move of every state.
    Search(Vec<Vec<(u16, f32)>>),
}

/// A game as its moves; how it ended follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlayedGame {
    moves: Vec<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Vec<(u16, f32)>>,
}

impl JobKind for ProbsJob {
    const NAME: &'static str = "probs";
    type Input = ProbsInput;
    type Output = ProbsOutput;

    fn write_input(input: &ProbsInput) -> Vec<u8> {
        write_json(input)
    }

    fn read_input(bytes: &[u8]) -> Result<ProbsInput, String> {
        read_json(bytes)
    }

    fn write_output(output: &ProbsOutput) -> Vec<u8> {
        write_json(output)
    }

    fn read_output(bytes: &[u8]) -> Result<ProbsOutput, String> {
        read_json(bytes)
    }
}

/// The queue that a learner sends its self-play and searches to.
pub struct Elsewhere<'a> {
    /// Takes the jobs.
    pub jobs: &'a mut dyn Submitter<ProbsJob>,
    /// Takes the weights.
    pub files: &'a dyn Files,
    /// Raised to withdraw what waits and end.
    pub stop: &'a AtomicBool,
}

impl Elsewhere<'_> {
    /// Plays the games of a round; the same games as here, since each depends on the settings, the weights and its number alone.
    pub(crate) fn play<G: Planes>(
        &mut self,
        start: &G,
        settings: &ProbsSettings,
        round: u32,
        parameters: &[f32],
        meter: &Meter,
    ) -> Result<(Vec<Episode<G>>, u64), ProbsError> {
        let numbers: Vec<u64> = (0..u64::from(settings.games)).collect();
        let tasks = numbers.chunks(TOGETHER).map(|numbers| Task::Games { round, numbers: numbers.to_vec() });
        let outputs = self.run(settings, parameters, tasks.collect(), meter)?;
        let (mut episodes, mut n_evaluations) = (Vec::new(), 0);
        for ProbsOutput { evaluations, found } in outputs {
            n_evaluations += evaluations;
            let Found::Games(games) = found else { return Err(bad_result("no games")) };
            for game in games {
                episodes.push(replayed(start, settings, game).map_err(|reason| bad_result(&reason))?);
            }
        }
        if episodes.len() != numbers.len() {
            return Err(bad_result(&format!("{} games, not {}", episodes.len(), numbers.len())));
        }
        Ok((episodes, n_evaluations))
    }

    /// Searches states, which are given with the moves that lead to them.
    pub(crate) fn search<G: Planes>(
        &mut self,
        (states, lines): (&[&G], &[&[Move]]),
        settings: &ProbsSettings,
        parameters: &[f32],
        meter: &Meter,
    ) -> Result<(QValues, u64), ProbsError> {
        let (different, rows) = distinct(states);
        meter.add(states.len() - different.len());
        let line = |&index: &usize| {
            lines.get(index).into_iter().flat_map(|line| line.iter().map(|mv| mv.0)).collect()
        };
        let tasks =
            different.chunks(TOGETHER).map(|chunk| Task::Search { lines: chunk.iter().map(line).collect() });
        let outputs = self.run(settings, parameters, tasks.collect(), meter)?;
        let (mut results, mut n_evaluations) = (Vec::new(), 0);
        for ProbsOutput { evaluations, found } in outputs {
            n_evaluations += evaluations;
            let Found::Search(found) = found else { return Err(bad_result("no searches")) };
            results.extend(found.into_iter().map(from_wire));
        }
        if results.len() != different.len() {
            return Err(bad_result(&format!("{} searches, not {}", results.len(), different.len())));
        }
        let of_row = |row: usize| results.get(row).cloned().unwrap_or_default();
        Ok((rows.into_iter().map(of_row).collect(), n_evaluations))
    }

    /// Results of all tasks in their order.
    fn run(
        &mut self,
        settings: &ProbsSettings,
        parameters: &[f32],
        tasks: Vec<Task>,
        meter: &Meter,
    ) -> Result<Vec<ProbsOutput>, ProbsError> {
        let bytes: Vec<u8> = parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect();
        let weights = self.files.put(&bytes)?;
        let n_tasks = tasks.len();
        for (number, task) in (0_u64..).zip(tasks) {
            let input = ProbsInput { settings: settings.clone(), weights: weights.clone(), task };
            self.jobs.submit(number, &input)?;
        }
        let mut results: BTreeMap<u64, ProbsOutput> = BTreeMap::new();
        let mut aside: BTreeMap<u64, String> = BTreeMap::new();
        while results.len() < n_tasks {
            if self.stop.load(Ordering::Relaxed) {
                self.jobs.withdraw()?;
                return Err(ProbsError::Stopped);
            }
            for Finished { number, result } in self.jobs.wait(LOOK)? {
                match result {
                    Ok(output) => {
                        meter.add(output.len());
                        aside.remove(&number);
                        results.insert(number, output);
                    }
                    Err(reason) => drop(aside.insert(number, reason)),
                }
            }
            if let (Some(reason), true) = (aside.values().next(), results.len() + aside.len() == n_tasks) {
                let (n, kind) = (aside.len(), ProbsJob::NAME.to_owned());
                return Err(QueueError::SetAside { n, kind, reason: reason.clone() }.into());
            }
        }
        // Nobody asks for the weights of this step again.
        self.files.remove(&weights)?;
        Ok(results.into_values().collect())
    }
}

impl ProbsOutput {
    /// Games or searches.
    fn len(&self) -> usize {
        match &self.found {
            Found::Games(games) => games.len(),
            Found::Search(searches) => searches.len(),
        }
    }
}

fn bad_result(reason: &str) -> ProbsError {
    QueueError::Result { job: ProbsJob::NAME.to_owned(), reason: reason.to_owned() }.into()
}

fn to_wire(moves: &[(Move, f32)]) -> Vec<(u16, f32)> {
    moves.iter().map(|(mv, value)| (mv.0, *value)).collect()
}

fn from_wire(moves: Vec<(u16, f32)>) -> Vec<(Move, f32)> {
    moves.into_iter().map(|(mv, value)| (Move(mv), value)).collect()
}

/// The position after moves, all of which must be legal.
fn after<G: Planes>(start: &G, moves: &[u16]) -> Result<G, String> {
    let mut state = start.clone();
    for &mv in moves {
        step(&mut state, mv)?;
    }
    Ok(state)
}

fn step<G: Planes>(state: &mut G, mv: u16) -> Result<(), String> {
    if !state.is_legal(Move(mv)) {
        return Err(format!("move {mv} is not legal"));
    }
    state.play_unchecked(Move(mv));
    Ok(())
}

/// A game from its moves.
fn replayed<G: Planes>(start: &G, settings: &ProbsSettings, game: PlayedGame) -> Result<Episode<G>, String> {
    let PlayedGame { moves, policies } = game;
    if moves.len() > settings.turns as usize || !(policies.is_empty() || policies.len() == moves.len()) {
        return Err("a game of the wrong length".to_owned());
    }
    let mut episode =
        Episode { policies: policies.into_iter().map(from_wire).collect(), ..Episode::default() };
    let mut state = start.clone();
    for mv in moves {
        episode.states.push(state.clone());
        episode.moves.push(Move(mv));
        step(&mut state, mv)?;
    }
    episode.outcome = end(&state);
    Ok(episode)
}
