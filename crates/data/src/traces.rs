//! Roots in, traces of minimax trees over their values out: what a model learns internal search from.
//!
//! The trees of many roots grow together, level by level, so that whoever judges gets large batches. Each root has its own stream of
//! random numbers, so neither threads nor stops change what comes out.

mod forest;
mod kind;
mod plan;

pub use kind::{Grower, Rows, TraceInput, TraceJob};
pub use plan::{DEFAULT_SIZES, TracePlan, TraceSizes};

use crate::annotate::{Pace, Request, oracle_name};
use crate::job::{Job, JobError, JobEvent, Meter, SetAside, Shard};
use crate::table::TableWriter;
use crate::wire::TraceRow;
use mavis_game::{Game, Position};
use mavis_lang::{trace::Evaluation, vocabulary_hash};
use mavis_oracle::{Identity, Oracle, OracleError};
use mavis_queue::{Local, Queue};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The key under which a table of traces names the vocabulary of its tokens.
pub(crate) const VOCABULARY: &str = "mavis.vocabulary";

/// Who values the moves of many positions at once: an oracle, or a model.
pub trait Labeler: Send {
    /// Who is speaking, for the table.
    fn identity(&self) -> Identity;

    /// Roots whose trees grow together. It decides what shares a batch, so it must not depend on the machine.
    fn n_roots(&self) -> u64;

    /// The values of all legal moves of each position, none of which is over.
    ///
    /// # Errors
    /// When the network behind it failed, so that it will not answer again.
    fn label(&mut self, positions: &[Position]) -> Result<Vec<Result<Evaluation, String>>, String>;
}

impl Labeler for Box<dyn Oracle> {
    fn identity(&self) -> Identity {
        (**self).identity()
    }

    fn n_roots(&self) -> u64 {
        1
    }

    fn label(&mut self, positions: &[Position]) -> Result<Vec<Result<Evaluation, String>>, String> {
        let evaluation = |ranking: mavis_oracle::Ranking| Evaluation {
            best: ranking.moves.first().map(|entry| entry.mv),
            moves: ranking.moves.iter().map(|entry| (entry.mv, entry.win_probability)).collect(),
        };
        let label = |ranking: Result<mavis_oracle::Ranking, OracleError>| match ranking {
            Ok(ranking) => Ok(Ok(evaluation(ranking))),
            Err(error @ OracleError::Broken { .. }) => Err(error.to_string()),
            Err(error) => Ok(Err(error.to_string())),
        };
        self.evaluate_all(positions).into_iter().map(label).collect()
    }
}

/// How to make traces.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// Where the roots come from, for the manifest.
    pub input: String,
    /// What is drawn for each root.
    pub plan: TracePlan,
    /// Makes the traces repeat exactly.
    pub seed: u64,
    /// Roots per shard; a stop loses at most those of one.
    pub shard_size: u64,
    /// The job's folder, which becomes the table of traces.
    pub out: PathBuf,
    /// Raised to end the work; the shard in hand is lost.
    pub stop: Arc<AtomicBool>,
}

/// What was made, earlier runs included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traced {
    /// Traces written.
    pub n_traces: u64,
    /// Roots still to do, when it was stopped.
    pub n_left: u64,
    /// Roots set aside because a position of their tree could not be judged; the manifest names them with the reason.
    pub n_aside: u64,
}

/// Grows a tree from each root and writes the traces that are drawn for it, in shards, in the order of the roots. All labelers must
/// have the same identity. Running again continues where the last run stopped.
///
/// # Errors
/// When the folder holds another job, no trace fits into the context, a table cannot be written, all roots of a shard fail,
/// or the network of a labeler fails.
pub fn traces<L: Labeler>(
    settings: &TraceSettings,
    roots: &[Position],
    labelers: Vec<L>,
    watch: impl FnMut(JobEvent<'_>),
) -> Result<Traced, JobError> {
    let first = labelers.first().ok_or_else(|| JobError::Oracle("no oracle given".to_owned()))?;
    let pace = Pace::Fixed(first.n_roots() as usize);
    let request = Request { line: String::new(), identity: first.identity(), pace };
    let growers = labelers.into_iter().map(Grower::new).collect();
    traces_on(settings, roots, &request, &mut Local::new(growers), watch)
}

/// The same on a queue of the caller's, whose runners may be on other machines. A job holds the roots whose trees grow together.
///
/// # Errors
/// As [`traces`], and when the queue gives no result.
pub fn traces_on(
    settings: &TraceSettings,
    roots: &[Position],
    request: &Request,
    queue: &mut impl Queue<TraceJob>,
    mut watch: impl FnMut(JobEvent<'_>),
) -> Result<Traced, JobError> {
    let mut games = HashSet::new();
    for rules in roots.iter().map(Position::rules) {
        if games.insert(rules) {
            settings.plan.sizes_for(rules).map_err(JobError::Context)?;
        }
    }
    let n_total = roots.len() as u64;
    let shard_size = settings.shard_size.max(1);
    let n_together = (request.pace.job_size() as u64).clamp(1, shard_size);
    let n_shards = n_total.div_ceil(shard_size);
    let job_settings = job_settings(settings, &request.identity, n_total);
    let mut job = Job::open(&settings.out, "traces", job_settings, n_shards)?;
    let n_before = job.manifest().done.values().map(|shard| shard.n_items).sum();
    let mut meter = Meter::new(n_total, n_before);
    let done: Vec<u64> = job.manifest().done.keys().copied().collect();
    let (line, oracle) = (Arc::<str>::from(request.line.as_str()), oracle_name(&request.identity));
    let plan = Arc::new(settings.plan.clone());
    let work = chunks(n_total, shard_size, n_together)
        .filter(|chunk| done.binary_search(&chunk.shard).is_err())
        .take_while(|_| !settings.stop.load(Ordering::Relaxed))
        .map(|chunk| {
            let roots = roots[chunk.first as usize..chunk.end as usize].to_vec();
            let (line, oracle, plan) = (Arc::clone(&line), Arc::clone(&oracle), Arc::clone(&plan));
            Ok((chunk, TraceInput { line, oracle, plan, seed: settings.seed, first: chunk.first, roots }))
        });
    let mut sheet = Sheet::default();
    queue.run(work, |chunk, rows| {
        let n_items = rows.len() as u64;
        sheet.take(rows, chunk, &mut job, &mut watch)?;
        watch(meter.add(n_items));
        Ok::<(), JobError>(())
    })?;
    let shards = job.manifest().done.values();
    Ok(Traced {
        n_traces: shards.clone().flat_map(|shard| shard.files.values()).sum(),
        n_left: n_total - shards.clone().map(|shard| shard.n_items).sum::<u64>(),
        n_aside: shards.map(|shard| shard.aside.len() as u64).sum(),
    })
}

fn job_settings(settings: &TraceSettings, identity: &Identity, n_roots: u64) -> BTreeMap<String, String> {
    let TracePlan { per_root, sizes, compact, breadth_first, tops, context } = &settings.plan;
    let sizes: Vec<String> = sizes.iter().map(|(breadth, depth)| format!("{breadth}x{depth}")).collect();
    let tops: Vec<String> = tops.iter().map(|top| plan::top_text(*top)).collect();
    let mut names: BTreeMap<String, String> = [
        ("input", settings.input.clone()),
        ("roots", n_roots.to_string()),
        ("traces a root", per_root.to_string()),
        ("sizes", sizes.join(" ")),
        ("compact", compact.to_string()),
        ("listed moves", tops.join(" ")),
        ("context", context.to_string()),
        ("seed", settings.seed.to_string()),
        ("shard size", settings.shard_size.to_string()),
        ("vocabulary", vocabulary_hash()),
        ("oracle", identity.name.clone()),
        ("oracle version", identity.version.clone()),
        ("oracle settings", identity.settings.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    // Jobs that were begun before there was this share go on.
    if *breadth_first > 0.0 {
        names.insert("breadth first".to_owned(), breadth_first.to_string());
    }
    names
}

/// Roots whose trees grow together; all of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    shard: u64,
    /// Whether the shard ends with it.
    last: bool,
    first: u64,
    end: u64,
}

fn chunks(n_total: u64, shard_size: u64, n_together: u64) -> impl Iterator<Item = Chunk> + Send {
    (0..n_total.div_ceil(shard_size)).flat_map(move |shard| {
        let (begin, end) = (shard * shard_size, n_total.min((shard + 1) * shard_size));
        (0..(end - begin).div_ceil(n_together)).map(move |number| {
            let first = begin + number * n_together;
            let chunk_end = end.min(first + n_together);
            Chunk { shard, last: chunk_end == end, first, end: chunk_end }
        })
    })
}

/// The shard being filled.
#[derive(Default)]
struct Sheet {
    table: Option<TableWriter<TraceRow>>,
    aside: Vec<SetAside>,
    n_items: u64,
}

impl Sheet {
    fn take(
        &mut self,
        roots: Vec<Rows>,
        chunk: Chunk,
        job: &mut Job,
        watch: &mut impl FnMut(JobEvent<'_>),
    ) -> Result<(), JobError> {
        let name = format!("shard-{:06}.parquet", chunk.shard);
        let table = match &mut self.table {
            Some(table) => table,
            None => {
                let mut table = TableWriter::create(&job.folder().join(&name))?;
                table.describe(VOCABULARY, &vocabulary_hash());
                self.table.insert(table)
            }
        };
        for rows in roots {
            self.n_items += 1;
            match rows {
                Ok(rows) => rows.iter().try_for_each(|row| table.write(row))?,
                Err(aside) => self.aside.push(aside),
            }
        }
        if !chunk.last {
            return Ok(());
        }
        if self.aside.len() as u64 == self.n_items
            && let Some(first) = self.aside.first()
        {
            return Err(JobError::AllAside { n: self.n_items, reason: first.reason.clone() });
        }
        let Self { table, aside, n_items } = std::mem::take(self);
        let Some(table) = table else { return Ok(()) };
        let shard = Shard { number: chunk.shard, files: [(name, table.finish()?)].into(), n_items, aside };
        watch(JobEvent::Shard(&shard));
        job.complete(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_root_once_and_keep_to_their_shard() {
        let all: Vec<Chunk> = chunks(25, 10, 4).collect();
        let roots: Vec<u64> = all.iter().flat_map(|chunk| chunk.first..chunk.end).collect();
        assert_eq!(roots, (0..25).collect::<Vec<u64>>());
        assert!(
            all.iter().all(|chunk| chunk.first / 10 == chunk.shard && (chunk.end - 1) / 10 == chunk.shard)
        );
        let last: Vec<u64> = all.iter().filter(|chunk| chunk.last).map(|chunk| chunk.end).collect();
        assert_eq!(last, [10, 20, 25]);
    }
}
