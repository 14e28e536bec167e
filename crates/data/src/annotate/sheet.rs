//! The shard in work: its table, and the journal that keeps it over a stop.

use super::{Chunk, Judged};
use crate::job::{Job, JobError, JobEvent, Journal, Kept, Shard};
use crate::table::TableWriter;
use crate::wire::AnnotationRow;

/// The shard being filled.
pub(super) struct Sheet {
    /// `None` before the first row.
    table: Option<TableWriter<AnnotationRow>>,
    pub(super) journal: Journal<AnnotationRow>,
    /// What it holds beside rows.
    pub(super) kept: Kept,
    /// Whether a row has moves: positions that are over need no oracle.
    has_judged: bool,
}

impl Sheet {
    /// Continues with what an earlier run has kept of a shard.
    pub(super) fn resume(job: &Job, shard: u64) -> Result<Self, JobError> {
        let (mut table, mut has_judged) = (None, false);
        let (journal, kept) = Journal::open(job.folder(), shard, |row: AnnotationRow| {
            has_judged |= !row.moves.is_empty();
            Ok(opened(&mut table, job, shard)?.write(&row)?)
        })?;
        Ok(Self { table, journal, kept, has_judged })
    }

    pub(super) fn take(
        &mut self,
        chunk: Chunk,
        rows: Vec<Judged>,
        job: &mut Job,
        full_size: u64,
        watch: &mut impl FnMut(JobEvent<'_>),
    ) -> Result<(), JobError> {
        let table = opened(&mut self.table, job, chunk.shard)?;
        for row in rows {
            self.kept.n_items += 1;
            if !chunk.last {
                self.journal.take(chunk.shard, &row)?;
            }
            match row {
                Ok(row) => {
                    self.has_judged |= !row.moves.is_empty();
                    table.write(&row)?;
                }
                Err(aside) => self.kept.aside.push(aside),
            }
        }
        if !chunk.last {
            return Ok(());
        }
        let Kept { n_items, aside } = std::mem::take(&mut self.kept);
        let n_aside = aside.len() as u64;
        if !std::mem::take(&mut self.has_judged)
            && n_items >= full_size.min(20)
            && n_aside > n_items / 2
            && let Some(first) = aside.first()
        {
            return Err(JobError::AllAside { n: n_aside, reason: first.reason.clone() });
        }
        let n_rows = self.table.take().map_or(Ok(0), TableWriter::finish)?;
        let files = [(file_name(chunk.shard), n_rows)].into();
        let shard = Shard { number: chunk.shard, files, n_items, aside };
        watch(JobEvent::Shard(&shard));
        job.complete(shard)?;
        self.journal.clear()
    }
}

/// The table of a shard, begun where it is not yet.
fn opened<'a>(
    table: &'a mut Option<TableWriter<AnnotationRow>>,
    job: &Job,
    shard: u64,
) -> Result<&'a mut TableWriter<AnnotationRow>, JobError> {
    let open = match table.take() {
        Some(open) => open,
        None => TableWriter::create(&job.folder().join(file_name(shard)))?,
    };
    Ok(table.insert(open))
}

fn file_name(shard: u64) -> String {
    format!("shard-{shard:06}.parquet")
}
