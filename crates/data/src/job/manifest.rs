//! The file that says which shards are done.

use crate::table::TableError;
use mavis_stable::folder_lock::{FolderLock, LockError};
use mavis_stable::kill_safe::replace_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the file in a job's folder.
const NAME: &str = "manifest.json";
/// The version of its layout.
const VERSION: u32 = 1;

/// What a job is, and what is done of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this layout.
    pub version: u32,
    /// `annotate`, `selfplay` or `traces`.
    pub kind: String,
    /// Everything the result depends on; a run with other settings is another job.
    pub settings: BTreeMap<String, String>,
    /// Shards in all.
    pub n_shards: u64,
    /// Those on disk, by number.
    pub done: BTreeMap<u64, Shard>,
}

/// A shard on disk.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Its number from 0.
    pub number: u64,
    /// Its files, relative to the job's folder, each with its rows.
    pub files: BTreeMap<String, u64>,
    /// Items it took from the work, those set aside included.
    pub n_items: u64,
    /// What could not be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<SetAside>,
}

/// A position without a ranking.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    /// The position text.
    pub position: String,
    /// What the oracle said.
    pub reason: String,
}

/// A job that cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Another process runs a job in the folder, or it cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The manifest cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The manifest is not one.
    #[error("{}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A file of the job counts more items than there can be.
    #[error("{} counts more shards or items than the job has", path.display())]
    Counts {
        /// The file.
        path: PathBuf,
    },
    /// The folder holds another job.
    #[error(
        "{} holds another job: {setting} is '{there}' there and '{here}' here; give another folder, or the same settings",
        folder.display()
    )]
    OtherJob {
        /// The folder.
        folder: PathBuf,
        /// The setting that differs.
        setting: String,
        /// Its value in the folder.
        there: String,
        /// Its value asked for.
        here: String,
    },
    /// A shard the manifest names is not there.
    #[error("{} is named by the manifest but missing", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// Every position of a whole shard that is not over failed, so the oracle is at fault and not the positions.
    #[error("all {n} positions of a shard that had to be judged were set aside; the first because: {reason}")]
    AllAside {
        /// How many.
        n: u64,
        /// The first reason.
        reason: String,
    },
    /// No trace fits into the context.
    #[error("{0}")]
    Context(String),
    /// The queue gave no result.
    #[error(transparent)]
    Queue(#[from] mavis_queue::QueueError),
    /// A worker could not be made, or its game is not the oracle's.
    #[error("{0}")]
    Oracle(String),
}

/// A job's folder, open for writing by this process alone.
#[derive(Debug)]
pub struct Job {
    folder: PathBuf,
    /// Held while this process writes.
    _lock: FolderLock,
    manifest: Manifest,
}

impl Job {
    /// Starts a job in a folder, or continues with the same one.
    ///
    /// # Errors
    /// When another process runs a job in the folder, it holds another job, or cannot be used.
    pub fn open(
        folder: &Path,
        kind: &str,
        settings: BTreeMap<String, String>,
        n_shards: u64,
    ) -> Result<Self, JobError> {
        let path = folder.join(NAME);
        let lock = FolderLock::take(folder)?;
        let fresh =
            Manifest { version: VERSION, kind: kind.to_owned(), settings, n_shards, done: BTreeMap::new() };
        let manifest = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Manifest>(&bytes)
                .map_err(|source| JobError::Manifest { path: path.clone(), source })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let job = Self { folder: folder.to_owned(), _lock: lock, manifest: fresh };
                job.save()?;
                return Ok(job);
            }
            Err(source) => return Err(JobError::Io { path, source }),
        };
        if let Some((setting, there, here)) = difference(&manifest, &fresh) {
            return Err(JobError::OtherJob { folder: folder.to_owned(), setting, there, here });
        }
        let mut shards = manifest.done.values();
        let n_items = shards.try_fold(0_u64, |sum, shard| sum.checked_add(shard.n_items));
        if n_items.is_none() || manifest.done.keys().any(|number| *number >= n_shards) {
            return Err(JobError::Counts { path });
        }
        for file in manifest.done.values().flat_map(|shard| shard.files.keys()) {
            let path = folder.join(file);
            if !path.is_file() {
                return Err(JobError::Lost { path });
            }
        }
        Ok(Self { folder: folder.to_owned(), _lock: lock, manifest })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is done.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether a shard is on disk.
    #[must_use]
    pub fn is_done(&self, number: u64) -> bool {
        self.manifest.done.contains_key(&number)
    }

    /// Notes a shard whose files are complete.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn complete(&mut self, shard: Shard) -> Result<(), JobError> {
        self.manifest.done.insert(shard.number, shard);
        self.save()
    }

    fn save(&self) -> Result<(), JobError> {
        let path = self.folder.join(NAME);
        let mut text = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|source| JobError::Manifest { path: path.clone(), source })?;
        text.push(b'\n');
        replace_file(&path, |file| file.write_all(&text))
            .map_err(|source| JobError::Io { path: path.clone(), source })
    }
}

/// The first thing in which two jobs differ, as name and both values.
fn difference(there: &Manifest, here: &Manifest) -> Option<(String, String, String)> {
    let plain = |manifest: &Manifest| {
        let mut all = manifest.settings.clone();
        all.insert("kind of job".to_owned(), manifest.kind.clone());
        all.insert("version of the manifest".to_owned(), manifest.version.to_string());
        all.insert("number of shards".to_owned(), manifest.n_shards.to_string());
        all
    };
    let (there, here) = (plain(there), plain(here));
    let value = |all: &BTreeMap<String, String>, name: &String| {
        all.get(name).cloned().unwrap_or_else(|| "absent".to_owned())
    };
    there
        .keys()
        .chain(here.keys())
        .find(|name| there.get(*name) != here.get(*name))
        .map(|name| (name.clone(), value(&there, name), value(&here, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_cannot_be_are_refused() {
        let reopened = |shards: &[(u64, u64)]| {
            let folder = tempfile::tempdir().unwrap();
            let open = || Job::open(folder.path(), "annotate", BTreeMap::new(), 3);
            let mut job = open().unwrap();
            for &(number, n_items) in shards {
                job.complete(Shard { number, files: BTreeMap::new(), n_items, aside: Vec::new() }).unwrap();
            }
            drop(job);
            open()
        };
        assert!(reopened(&[(0, u64::MAX)]).is_ok());
        assert!(matches!(reopened(&[(0, u64::MAX), (1, 1)]), Err(JobError::Counts { .. })));
        assert!(reopened(&[(0, 1), (1, 1)]).is_ok());
        assert!(matches!(reopened(&[(3, 1)]), Err(JobError::Counts { .. })));
    }
}
