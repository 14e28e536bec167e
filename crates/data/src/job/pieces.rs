//! The hidden files that keep what is done of the shard in work.

use super::JobError;
use std::fs;
use std::path::{Path, PathBuf};

/// The pieces of one shard, numbered from 0 without a gap. Each is brought to the disk and renamed, so it is whole or not there.
pub(crate) struct Pieces {
    folder: PathBuf,
    shard: u64,
    n: u64,
}

impl Pieces {
    /// The pieces of `shard`, the first that is to do, none of which is read yet; those of other shards go away.
    pub(crate) fn open(folder: &Path, shard: u64) -> Result<Self, JobError> {
        let own = format!(".shard-{shard:06}-");
        for entry in fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".shard-") && name.ends_with(".piece") && !name.starts_with(&own) {
                fs::remove_file(&path).map_err(io(&path))?;
            }
        }
        Ok(Self { folder: folder.to_owned(), shard, n: 0 })
    }

    /// The shard in work.
    pub(crate) fn shard(&self) -> u64 {
        self.shard
    }

    /// Where the next piece is, or will be.
    pub(crate) fn next(&self) -> PathBuf {
        self.path(self.n)
    }

    /// Counts the next piece, which was read or written.
    pub(crate) fn count(&mut self) {
        self.n = self.n.saturating_add(1);
    }

    /// Removes all of them and continues with another shard.
    pub(crate) fn begin(&mut self, shard: u64) -> Result<(), JobError> {
        for number in 0..std::mem::take(&mut self.n) {
            let path = self.path(number);
            fs::remove_file(&path).map_err(io(&path))?;
        }
        self.shard = shard;
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!(".shard-{:06}-{number:06}.piece", self.shard))
    }
}

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> JobError + use<> {
    let path = path.to_owned();
    |source| JobError::Io { path, source }
}
