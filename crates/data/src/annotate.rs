//! Positions in, an oracle's value for every legal move out.

mod sheet;

use crate::duplicates::RowSet;
use crate::job::{Job, JobError, JobEvent, Meter, SetAside, ordered};
use crate::table::{TableReader, n_rows, table_files};
use crate::unique::repeats;
use crate::wire::{AnnotationRow, MoveRow, MoveText, OracleName, Place, PositionRow, ScoreUnit};
use mavis_game::{Game, Position};
use mavis_oracle::{Identity, Oracle, Ranking, Score};
use sheet::Sheet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Positions a thread takes at once: as many as it judges in this time, so that an engine hardly ever waits for the next ones and a
/// stop is not long in coming.
const CHUNK_TIME: Duration = Duration::from_millis(250);
/// At the most, and to begin with.
const MOST: usize = 64;
const FIRST: usize = 4;

/// How to annotate.
#[derive(Clone, Debug)]
pub struct AnnotateSettings {
    /// The table of positions: files and folders.
    pub positions: Vec<PathBuf>,
    /// The job's folder, which becomes the table of annotations.
    pub out: PathBuf,
    /// Positions a shard.
    pub shard_size: u64,
    /// Raised to end the work: positions in hand are finished and kept, no further one is begun.
    pub stop: Arc<AtomicBool>,
}

/// What an annotation did, earlier runs included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// Rows of the table.
    pub n_rows: u64,
    /// Positions set aside; the manifest names them with the reason.
    pub n_aside: u64,
    /// Positions that stood in the input more than once and were asked about once.
    pub n_repeats: u64,
    /// Positions still to do, when it was stopped.
    pub n_left: u64,
}

/// Asks the oracles about every position once, one oracle a thread, and writes shards of annotations in the order of the input. All
/// oracles must have the same identity. Running again goes on where the last run stopped, and the table is the same whatever
/// was stopped when, as long as the oracle's limit is not a time.
///
/// # Errors
/// When the folder holds another job, a table cannot be read or written, or the oracle fails on a whole shard.
pub fn annotate(
    settings: &AnnotateSettings,
    oracles: Vec<Box<dyn Oracle>>,
    mut watch: impl FnMut(JobEvent<'_>),
) -> Result<Annotated, JobError> {
    let first = oracles.first().ok_or_else(|| JobError::Oracle("no oracle given".to_owned()))?;
    let identity = first.identity();
    let oracle = oracle_name(&identity);
    let n_input = n_rows(&settings.positions)?;
    let repeats = repeats::<PositionRow, _>(&settings.positions, &settings.out.join("positions"))?;
    let n_total = n_input - repeats.len();
    let shard_size = settings.shard_size.max(1);
    let n_shards = n_total.div_ceil(shard_size);
    let mut job =
        Job::open(&settings.out, "annotate", job_settings(settings, &identity, n_input)?, n_shards)?;
    let in_work = (0..n_shards).find(|&shard| !job.is_done(shard)).unwrap_or(n_shards);
    let mut sheet = Sheet::resume(&job, in_work)?;
    let chunk_size = AtomicUsize::new(FIRST);
    let n_complete: u64 = job.manifest().done.values().map(|shard| shard.n_items).sum();
    let mut meter = Meter::new(n_total, n_complete + sheet.kept.n_items);
    let work = Work::new(settings, &repeats, &job, (in_work, sheet.kept.n_items), &chunk_size)?;
    ordered(
        oracles,
        work.take_while(|_| !settings.stop.load(Ordering::Relaxed)),
        |oracle_here, chunk: Result<Chunk, JobError>| {
            let (begin, chunk) = (Instant::now(), chunk?);
            let n_items = chunk.rows.len() as u32;
            let judged = annotate_chunk(&mut **oracle_here, &oracle, chunk);
            let n_in_time = CHUNK_TIME.as_nanos() / (begin.elapsed() / n_items.max(1)).as_nanos().max(1);
            chunk_size.store((n_in_time as usize).clamp(1, MOST), Ordering::Relaxed);
            Ok::<AnnotatedChunk, JobError>(judged)
        },
        |chunk| {
            let chunk = chunk?;
            let n_items = chunk.rows.len() as u64;
            sheet.take(chunk, &mut job, shard_size.min(n_total), &mut watch)?;
            watch(meter.add(n_items));
            Ok::<(), JobError>(())
        },
    )?;
    sheet.journal.keep()?;
    let shards = job.manifest().done.values();
    let n_aside = shards.clone().map(|shard| shard.aside.len() as u64).sum();
    let n_done: u64 = shards.clone().map(|shard| shard.n_items).sum();
    let n_rows = shards.flat_map(|shard| shard.files.values()).sum();
    let n_left = n_total - n_done - sheet.kept.n_items;
    Ok(Annotated { n_rows, n_aside, n_repeats: repeats.len(), n_left })
}

/// What the table depends on. Paths may move, so the input is known by the names and rows of its files.
fn job_settings(
    settings: &AnnotateSettings,
    identity: &Identity,
    n_input: u64,
) -> Result<BTreeMap<String, String>, JobError> {
    let names: Vec<String> = table_files(&settings.positions)?
        .iter()
        .map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    Ok([
        ("input", names.join(" ")),
        ("input rows", n_input.to_string()),
        ("shard size", settings.shard_size.to_string()),
        ("oracle", identity.name.clone()),
        ("oracle version", identity.version.clone()),
        ("oracle settings", identity.settings.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

/// Positions of one shard that a thread takes at once; rows become annotations.
struct Chunk {
    shard: u64,
    /// Whether the shard ends with it.
    last: bool,
    rows: Vec<PositionRow>,
}

/// The chunks that are still to do.
struct Work<'a> {
    rows: std::iter::Zip<std::ops::RangeFrom<u64>, TableReader<PositionRow>>,
    repeats: &'a RowSet,
    done: Vec<u64>,
    /// The shard in work, and how many of its items an earlier run has kept.
    kept: (u64, u64),
    /// Positions of the next chunk.
    chunk_size: &'a AtomicUsize,
    shard_size: u64,
    /// Unique positions seen so far.
    n_seen: u64,
    n_total: u64,
}

impl<'a> Work<'a> {
    fn new(
        settings: &AnnotateSettings,
        repeats: &'a RowSet,
        job: &Job,
        kept: (u64, u64),
        chunk_size: &'a AtomicUsize,
    ) -> Result<Self, JobError> {
        Ok(Self {
            rows: (0..).zip(TableReader::open(&settings.positions)?),
            repeats,
            done: job.manifest().done.keys().copied().collect(),
            kept,
            chunk_size,
            shard_size: settings.shard_size.max(1),
            n_seen: 0,
            n_total: n_rows(&settings.positions)? - repeats.len(),
        })
    }
}

impl Iterator for Work<'_> {
    type Item = Result<Chunk, JobError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Small ones at the end, so that no thread is left with a long one when the others are done.
        let n_left = (self.n_total - self.n_seen) as usize;
        let chunk_size = self.chunk_size.load(Ordering::Relaxed).min(n_left / 8).max(1);
        let mut rows = Vec::with_capacity(chunk_size);
        loop {
            let (idx, row) = self.rows.next()?;
            let row = match row {
                Ok(row) => row,
                Err(error) => return Some(Err(error.into())),
            };
            if self.repeats.contains(idx) {
                continue;
            }
            let (shard, place) = (self.n_seen / self.shard_size, self.n_seen % self.shard_size);
            self.n_seen += 1;
            let last = self.n_seen.is_multiple_of(self.shard_size) || self.n_seen == self.n_total;
            let is_kept = shard == self.kept.0 && place < self.kept.1;
            if is_kept || self.done.binary_search(&shard).is_ok() {
                continue;
            }
            rows.push(row);
            if rows.len() >= chunk_size || last {
                return Some(Ok(Chunk { shard, last, rows }));
            }
        }
    }
}

/// A chunk with its rankings.
struct AnnotatedChunk {
    shard: u64,
    last: bool,
    rows: Vec<Result<AnnotationRow, SetAside>>,
}

fn annotate_chunk(oracle: &mut dyn Oracle, name: &Arc<OracleName>, chunk: Chunk) -> AnnotatedChunk {
    let mut reader = crate::PositionReader::default();
    let read = |row: &PositionRow| reader.position(&row.place.game, &row.place.position);
    let positions: Vec<Result<Position, String>> = chunk.rows.iter().map(read).collect();
    // A finished game needs no oracle: there is nothing to judge.
    let is_open = |position: &&Position| position.n_legal_moves() > 0;
    let open: Vec<Position> = positions.iter().flatten().filter(is_open).cloned().collect();
    let mut rankings = oracle.evaluate_all(&open).into_iter();
    let rows = chunk.rows.into_iter().zip(positions).map(|(row, position)| {
        let aside = |reason: String| SetAside { position: row.place.position.clone(), reason };
        let position = position.map_err(aside)?;
        let ranking = match is_open(&&position) {
            true => rankings.next().unwrap_or_else(|| Ok(Ranking { moves: Vec::new() })),
            false => Ok(Ranking { moves: Vec::new() }),
        };
        let ranking = ranking.map_err(|error| aside(error.to_string()))?;
        annotation(&position, &ranking, row.place.game_id.clone(), name).map_err(aside)
    });
    AnnotatedChunk { shard: chunk.shard, last: chunk.last, rows: rows.collect() }
}

/// The row of a ranking.
pub(crate) fn annotation(
    position: &Position,
    ranking: &Ranking,
    game_id: Option<String>,
    oracle: &Arc<OracleName>,
) -> Result<AnnotationRow, String> {
    let n_legal = position.n_legal_moves();
    if ranking.moves.len() != n_legal {
        return Err(format!("{} rankings for {n_legal} legal moves", ranking.moves.len()));
    }
    let mut moves = Vec::with_capacity(n_legal);
    for judged in &ranking.moves {
        let text = position.move_text(judged.mv);
        moves.push(MoveRow {
            mv: MoveText::from(&text).map_err(|_| format!("'{text}' is too long for a move"))?,
            win_probability: Some(judged.win_probability),
            score: Some(score(judged.score)),
            plies: judged.plies.map(|plies| plies as i32),
        });
    }
    Ok(AnnotationRow {
        place: Place::of(position, game_id),
        best: moves.first().map(|row| row.mv),
        value: moves.first().and_then(|row| row.win_probability),
        moves,
        oracle: Arc::clone(oracle),
    })
}

fn score(score: Score) -> (f32, ScoreUnit) {
    match score {
        Score::Centipawns(centipawns) => (centipawns as f32, ScoreUnit::Centipawns),
        Score::Mate(moves) => (moves as f32, ScoreUnit::Mate),
        Score::Solved(score) => (score as f32, ScoreUnit::Solved),
        Score::WinRate(rate) => (rate, ScoreUnit::WinRate),
        Score::Margin(margin) => (margin, ScoreUnit::Margin),
    }
}

/// The identity of an oracle as a table keeps it.
pub(crate) fn oracle_name(identity: &Identity) -> Arc<OracleName> {
    Arc::new(OracleName {
        name: identity.name.clone(),
        version: identity.version.clone(),
        settings: identity.settings.clone(),
    })
}
