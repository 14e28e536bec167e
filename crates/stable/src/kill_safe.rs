//! Kill-safe writes: a file holds its old or its new content at any moment, never a part of it.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Replaces a file by what `write` writes, once all of it is on the disk. On an error `path` is as it was. A device or a
/// pipe is written to, not replaced.
///
/// # Errors
/// Whatever `write` or the file system report.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let mut writer = BufWriter::new(File::options().write(true).open(path)?);
        write(&mut writer)?;
        return writer.flush();
    }
    let mut writer = BufWriter::with_capacity(1 << 20, PartialFile::create(path)?);
    write(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// A file that is being written. It is named `.NAME.partial`, beside the file it becomes, until [`PartialFile::finish`]
/// renames it. Dropped unfinished, it is removed; a kill may leave it behind, and the next attempt replaces it.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    file: File,
    is_finished: bool,
}

impl PartialFile {
    /// Begins a file that will replace `path`.
    ///
    /// # Errors
    /// When `path` has no file name, is something other than a file, or its folder refuses a new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let refused = |reason| io::Error::new(io::ErrorKind::InvalidInput, reason);
        let name = path.file_name().ok_or_else(|| refused("not a file name"))?;
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            // A rename would replace a device.
            return Err(refused("it is not a file"));
        }
        let mut partial_name = std::ffi::OsString::from(".");
        partial_name.push(name);
        partial_name.push(".partial");
        let partial = path.with_file_name(partial_name);
        let file = File::create(&partial)?;
        Ok(Self { path: path.to_owned(), partial, file, is_finished: false })
    }

    /// Gives the file its name once all its bytes are on the disk.
    ///
    /// # Errors
    /// When it cannot be synced or renamed; the file it would replace is as it was.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        self.is_finished = true;
        // The rename must reach the disk too. Not every system can sync a folder, and the file is whole either way.
        let _ = sync_folder(folder_of(&self.path));
        Ok(())
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // An error came first and is what matters; a partial file that cannot be removed does no harm.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Makes new and changed names in a folder last. Systems other than Unix need no such step.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        replace_file(&path, |writer| writer.write_all(b"old")).unwrap();
        let error = replace_file(&path, |writer| {
            writer.write_all(&[1; 3_000_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file is left");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to() {
        // Through a link, so that a mistake here costs the link and not the device.
        let folder = tempfile::tempdir().unwrap();
        for (device, is_full) in [("/dev/null", false), ("/dev/full", true)] {
            let path = folder.path().join("device");
            std::os::unix::fs::symlink(device, &path).unwrap();
            assert_eq!(replace_file(&path, |writer| writer.write_all(b"weights")).is_err(), is_full);
            assert!(path.is_symlink(), "{device} was replaced");
            assert!(PartialFile::create(&path).is_err());
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_partial_file_of_a_killed_run_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        fs::write(folder.path().join(".weights.partial"), [7; 100]).unwrap();
        replace_file(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_that_are_no_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/"), Path::new("..")] {
            let error = replace_file(path, |_| Ok(())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
    }

    #[test]
    fn a_file_dropped_unfinished_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = PartialFile::create(&folder.path().join("table")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
