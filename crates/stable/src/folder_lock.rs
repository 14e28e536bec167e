//! One writer per folder: what a second process would tear, such as a log, is refused to it.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file that is locked. It is empty and stays: were it removed, a process that has just opened it and one that makes it
/// anew could both hold a lock.
const NAME: &str = "lock";

/// The right to write to a folder, until it is dropped. The system releases it however the process ends, so nothing is left
/// to clean up after a kill.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// A folder that this process may not write to.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds the lock.
    #[error("{} is in use: another process writes to it", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be made, or its lock not opened.
    #[error("cannot use {}: {error}", path.display())]
    Io {
        /// The folder, or the file in it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl FolderLock {
    /// Locks a folder, which is made if need be.
    ///
    /// # Errors
    /// When another process holds the lock, or the folder cannot be written.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| LockError::Io { path, error }
        };
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        let path = folder.join(NAME);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(failed(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Busy { folder: folder.to_owned() }),
            // Some network file systems have no locks; a single writer can work there all the same.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Self { _file: file })
            }
            Err(TryLockError::Error(error)) => Err(failed(&path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("runs/first");
        let lock = FolderLock::take(&folder).unwrap();
        assert!(matches!(FolderLock::take(&folder), Err(LockError::Busy { .. })));
        drop(lock);
        assert!(FolderLock::take(&folder).is_ok());
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(FolderLock::take(file.path()), Err(LockError::Io { .. })));
    }
}
