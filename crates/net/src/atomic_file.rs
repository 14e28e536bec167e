//! Replacing a file so that its old or its new content is there at any moment, never a part of it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside `path` and renames it over `path` once all of it is on the disk. On an error `path` is as it was and the other file is
/// removed; a kill in between may leave it behind, and the next write replaces it. A device or a pipe is written to, not replaced.
///
/// # Errors
/// Whatever `write` or the file system say.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let mut writer = BufWriter::new(File::options().write(true).open(path)?);
        write(&mut writer)?;
        return writer.flush();
    }
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut partial_name = name.to_os_string();
    partial_name.push(".partial");
    let partial = folder.join(partial_name);
    let result = write_synced(&partial, write).and_then(|()| fs::rename(&partial, path));
    if result.is_err() {
        // The first error is what matters; a partial file that cannot be removed does no harm.
        let _ = fs::remove_file(&partial);
        return result;
    }
    // The rename itself must reach the disk too. Not every system can open a folder, and the file is whole either way.
    if let Ok(folder) = File::open(&folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn write_synced(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 20, File::create(path)?);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
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
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_partial_file_of_a_killed_run_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        fs::write(folder.path().join("weights.partial"), [7; 100]).unwrap();
        replace_file(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
