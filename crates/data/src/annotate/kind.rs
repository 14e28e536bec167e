//! Positions to judge as a job, here or on another machine.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::annotation;
use crate::job::SetAside;
use crate::wire::{AnnotateInputWire, AnnotationRow, JudgedWire, OracleName, PositionRow};
use mavis_game::{Game, Position};
use mavis_oracle::{Identity, Oracle, OracleError, Ranking};
use mavis_queue::{Beat, JobKind, Runner, read_json, write_json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Positions a thread takes at once: as many as it judges in this time, so that an engine hardly ever waits for the next ones and a
/// stop is not long in coming.
const CHUNK_TIME: Duration = Duration::from_millis(250);
/// At the most, and to begin with.
const MOST: usize = 64;
const FIRST: usize = 4;

/// The kind of job: positions in, their annotations out.
pub enum AnnotateJob {}

/// Positions, and who is to judge them.
#[derive(Clone, Debug)]
pub struct AnnotateInput {
    /// The oracle's line, from which a worker on another machine makes the oracle.
    pub line: Arc<str>,
    /// What the oracle must call itself.
    pub oracle: Arc<OracleName>,
    /// The positions.
    pub rows: Vec<PositionRow>,
}

/// A position with its values, or why it has none.
pub type Judged = Result<AnnotationRow, SetAside>;

impl JobKind for AnnotateJob {
    const NAME: &'static str = "annotate";
    type Input = AnnotateInput;
    type Output = Vec<Judged>;

    fn write_input(input: &AnnotateInput) -> Vec<u8> {
        write_json(&AnnotateInputWire::from(input))
    }

    fn read_input(bytes: &[u8]) -> Result<AnnotateInput, String> {
        Ok(read_json::<AnnotateInputWire>(bytes)?.into())
    }

    fn write_output(output: &Vec<Judged>) -> Vec<u8> {
        write_json(&output.iter().map(JudgedWire::from).collect::<Vec<_>>())
    }

    fn read_output(bytes: &[u8]) -> Result<Vec<Judged>, String> {
        let rows = read_json::<Vec<JudgedWire>>(bytes)?;
        // One name for all rows of a result, as the job had it.
        let mut oracle = Arc::default();
        rows.into_iter().map(|row| row.judged(&mut oracle)).collect()
    }
}

/// How many positions the next job gets.
#[derive(Clone, Debug)]
pub enum Pace {
    /// As many as take a fixed time, measured as the work proceeds.
    ByTime(Arc<AtomicUsize>),
    /// So many, which keeps jobs the same whoever cuts them.
    Fixed(usize),
}

impl Pace {
    /// Jobs of a quarter of a second.
    #[must_use]
    pub fn by_time() -> Self {
        Self::ByTime(Arc::new(AtomicUsize::new(FIRST)))
    }

    pub(crate) fn job_size(&self) -> usize {
        match self {
            Self::ByTime(size) => size.load(Ordering::Relaxed),
            Self::Fixed(size) => (*size).max(1),
        }
    }

    fn measured(&self, n: usize, time: Duration) {
        if let Self::ByTime(size) = self {
            let n_in_time = CHUNK_TIME.as_nanos() / (time / (n as u32).max(1)).as_nanos().max(1);
            size.store((n_in_time as usize).clamp(1, MOST), Ordering::Relaxed);
        }
    }
}

/// An oracle that does such jobs.
pub struct Judge {
    oracle: Box<dyn Oracle>,
    pace: Pace,
}

impl Judge {
    /// A runner with an oracle of its own.
    #[must_use]
    pub fn new(oracle: Box<dyn Oracle>, pace: Pace) -> Self {
        Self { oracle, pace }
    }

    /// The oracle's identity.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.oracle.identity()
    }
}

impl Runner<AnnotateJob> for Judge {
    fn run(&mut self, input: AnnotateInput, beat: &Beat) -> Result<Vec<Judged>, String> {
        let (begin, n) = (Instant::now(), input.rows.len());
        beat.progress();
        let judged = judge(&mut *self.oracle, &input.oracle, input.rows)?;
        self.pace.measured(n, begin.elapsed());
        Ok(judged)
    }
}

/// The annotations; the error says that the oracle will not answer again, which is no reason to set positions aside.
fn judge(
    oracle: &mut dyn Oracle,
    name: &Arc<OracleName>,
    rows: Vec<PositionRow>,
) -> Result<Vec<Judged>, String> {
    let mut reader = crate::PositionReader::default();
    let read = |row: &PositionRow| reader.position(&row.place.game, &row.place.position);
    let positions: Vec<Result<Position, String>> = rows.iter().map(read).collect();
    // A finished game needs no oracle: there is nothing to judge.
    let is_open = |position: &&Position| position.n_legal_moves() > 0;
    let open: Vec<Position> = positions.iter().flatten().filter(is_open).cloned().collect();
    let rankings = oracle.evaluate_all(&open);
    if let Some(Err(broken)) =
        rankings.iter().find(|ranking| matches!(ranking, Err(OracleError::Broken { .. })))
    {
        return Err(broken.to_string());
    }
    let mut rankings = rankings.into_iter();
    let judged = rows.into_iter().zip(positions).map(|(row, position)| {
        let aside = |reason: String| SetAside { position: row.place.position.clone(), reason };
        let position = position.map_err(aside)?;
        let ranking = match is_open(&&position) {
            true => rankings.next().unwrap_or_else(|| Ok(Ranking { moves: Vec::new() })),
            false => Ok(Ranking { moves: Vec::new() }),
        };
        let ranking = ranking.map_err(|error| aside(error.to_string()))?;
        annotation(&position, &ranking, row.place.game_id.clone(), name).map_err(aside)
    });
    Ok(judged.collect())
}
