//! The shard in work: its tables, and the journal that keeps its games over a stop.

use super::Played;
use super::journal::GameJournal;
use crate::job::{Job, JobError, JobEvent, SetAside, Shard};
use crate::table::TableWriter;
use crate::wire::{AnnotationRow, GameRow};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The shard being filled, with its games in the order of their numbers.
pub(super) struct Sheet {
    shard_size: u64,
    n_games: u64,
    /// Its number; past the last one when all are done.
    shard: u64,
    /// The next game of the tables.
    next: u64,
    /// Finished games that come after one that is not.
    ahead: BTreeMap<u64, Played>,
    journal: GameJournal,
    filling: Filling,
}

/// What a shard holds so far.
#[derive(Default)]
struct Filling {
    /// `None` before the first game.
    tables: Option<(TableWriter<GameRow>, TableWriter<AnnotationRow>)>,
    /// Of positions that have their annotation.
    keys: HashSet<u64>,
    aside: Vec<SetAside>,
    n_items: u64,
}

impl Sheet {
    /// Continues with the games that an earlier run has kept of the first shard to do.
    pub(super) fn resume(
        job: &mut Job,
        [shard_size, n_games]: [u64; 2],
        watch: &mut impl FnMut(JobEvent<'_>),
    ) -> Result<Self, JobError> {
        let shard = first_open(job);
        let journal = GameJournal::open(job.folder(), shard)?;
        let (ahead, filling) = (BTreeMap::new(), Filling::default());
        let mut sheet = Self { shard_size, n_games, shard, next: 0, ahead, journal, filling };
        sheet.next = sheet.range().start;
        while let Some(games) = sheet.journal.read_next()? {
            let range = sheet.range();
            sheet.ahead.extend(games.into_iter().filter(|(number, _)| range.contains(number)));
            sheet.fill(job, watch)?;
        }
        Ok(sheet)
    }

    /// Games of the shard in work that are finished, those ahead included.
    pub(super) fn n_kept(&self) -> u64 {
        self.filling.n_items + self.ahead.range(self.range()).count() as u64
    }

    /// The numbers of those games.
    pub(super) fn kept(&self) -> impl Iterator<Item = u64> {
        (self.range().start..self.next).chain(self.ahead.keys().copied())
    }

    /// Takes a game, whatever its number.
    pub(super) fn take(
        &mut self,
        number: u64,
        game: Played,
        job: &mut Job,
        watch: &mut impl FnMut(JobEvent<'_>),
    ) -> Result<(), JobError> {
        // A worker plays its games together, those that are there already included.
        if number < self.next || self.ahead.contains_key(&number) {
            return Ok(());
        }
        if self.range().contains(&number) {
            self.journal.take(number, &game)?;
        }
        self.ahead.insert(number, game);
        self.fill(job, watch)
    }

    /// Brings the games of the shard in work to the disk.
    pub(super) fn keep(&mut self) -> Result<(), JobError> {
        self.journal.keep()
    }

    /// The numbers of the games of the shard in work.
    fn range(&self) -> Range<u64> {
        let begin = |shard: u64| shard.saturating_mul(self.shard_size).min(self.n_games);
        begin(self.shard)..begin(self.shard + 1)
    }

    /// Writes the games that come next, as far as they are there.
    fn fill(&mut self, job: &mut Job, watch: &mut impl FnMut(JobEvent<'_>)) -> Result<(), JobError> {
        while let Some(game) = self.ahead.remove(&self.next) {
            self.filling.write(game, job, self.shard)?;
            self.next += 1;
            if self.next == self.range().end {
                self.complete(job, watch)?;
            }
        }
        Ok(())
    }

    fn complete(&mut self, job: &mut Job, watch: &mut impl FnMut(JobEvent<'_>)) -> Result<(), JobError> {
        let Filling { tables, aside, n_items, .. } = std::mem::take(&mut self.filling);
        if aside.len() as u64 == n_items
            && let Some(first) = aside.first()
        {
            // The next run asks the oracle again.
            self.journal.begin(self.shard)?;
            return Err(JobError::AllAside { n: n_items, reason: first.reason.clone() });
        }
        let Some((games, annotations)) = tables else { return Ok(()) };
        let [games_name, annotations_name] = file_names(self.shard);
        let files = [(games_name, games.finish()?), (annotations_name, annotations.finish()?)].into();
        let shard = Shard { number: self.shard, files, n_items, aside };
        watch(JobEvent::Shard(&shard));
        job.complete(shard)?;
        self.shard = first_open(job);
        self.next = self.range().start;
        self.journal.begin(self.shard)
    }
}

impl Filling {
    fn write(&mut self, game: Played, job: &Job, shard: u64) -> Result<(), JobError> {
        let (games, annotations) = match &mut self.tables {
            Some(tables) => tables,
            None => {
                let [games, annotations] = file_names(shard).map(|name| job.folder().join(name));
                self.tables.insert((TableWriter::create(&games)?, TableWriter::create(&annotations)?))
            }
        };
        self.n_items += 1;
        match game {
            Ok((row, annotated)) => {
                games.write(&row)?;
                for (key, annotation) in annotated {
                    if self.keys.insert(key) {
                        annotations.write(&annotation)?;
                    }
                }
            }
            Err(aside) => self.aside.push(aside),
        }
        Ok(())
    }
}

/// The first shard that is to do.
fn first_open(job: &Job) -> u64 {
    (0..).find(|&shard| !job.is_done(shard)).unwrap_or(u64::MAX)
}

/// The files of games and annotations.
fn file_names(shard: u64) -> [String; 2] {
    ["games", "annotations"].map(|folder| format!("{folder}/shard-{shard:06}.parquet"))
}
