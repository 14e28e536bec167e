//! Leagues and training runs on disk.

use crate::ApiError;
use mavis_league::wire::LeagueStore;
use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
};

/// How far below a folder is looked.
const DEEPEST: usize = 3;
/// Folders that are looked into at most.
const MOST_FOLDERS: usize = 2000;
/// Points of a curve that are sent.
const MOST_POINTS: usize = 400;
/// Curves of a run that are sent.
const MOST_CURVES: usize = 40;
/// The part of a log that is read: the last bytes, whole lines of them.
const MOST_BYTES: u64 = 32 << 20;

/// What lies in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    League,
    Run,
}

/// A league or a training run.
pub(crate) struct Study {
    /// Its path as it was found, by which clients name it.
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// Everything below the folders, nearest first.
pub(crate) fn find(folders: &[PathBuf]) -> Vec<Study> {
    let mut found = Vec::new();
    let mut open: VecDeque<(PathBuf, usize)> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    let mut n_folders = 0;
    while let Some((path, depth)) = open.pop_front() {
        n_folders += 1;
        if n_folders > MOST_FOLDERS {
            break;
        }
        let kind = if LeagueStore::is_in(&path) {
            Some(Kind::League)
        } else {
            path.join("metrics.jsonl").is_file().then_some(Kind::Run)
        };
        if let Some(kind) = kind {
            found.push(Study { id: path.display().to_string(), path, kind });
        } else if depth < DEEPEST {
            // A folder that cannot be read shows nothing.
            let below = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> =
                below.map(|entry| entry.path()).filter(|path| path.is_dir() && !is_hidden(path)).collect();
            below.sort();
            open.extend(below.into_iter().map(|path| (path, depth + 1)));
        }
    }
    found
}

/// The one study of this kind and name; only what [`find`] finds can be named.
pub(crate) fn named(folders: &[PathBuf], kind: Kind, id: &str) -> Result<Study, ApiError> {
    let known = find(folders).into_iter().find(|study| study.kind == kind && study.id == id);
    known.ok_or_else(|| ApiError::NotFound(format!("'{id}': GET /api/studies lists what there is")))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_none_or(|name| name.starts_with('.'))
}

/// The numbers of a run's log by name, each over the steps.
pub(crate) fn curves(path: &Path) -> Result<BTreeMap<String, Vec<[f64; 2]>>, ApiError> {
    let text = tail(&path.join("metrics.jsonl"))
        .map_err(|error| ApiError::Failed(format!("{}: {error}", path.display())))?;
    let mut curves: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for line in text.lines() {
        // The last line of a run under way may be cut.
        let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        collect("", &value, &mut |name, step, number| {
            if curves.len() < MOST_CURVES || curves.contains_key(name) {
                curves.entry(name.to_owned()).or_default().push([step, number]);
            }
        });
    }
    for points in curves.values_mut() {
        let stride = points.len().div_ceil(MOST_POINTS).max(1);
        let last = points.len().saturating_sub(1);
        let mut at = 0;
        points.retain(|_| {
            let keep = at % stride == 0 || at == last;
            at += 1;
            keep
        });
    }
    Ok(curves)
}

fn tail(path: &Path) -> std::io::Result<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Numbers of a line under their path; a line is an object with a `step`, or one inside an object that names the event.
fn collect(prefix: &str, value: &serde_json::Value, found: &mut dyn FnMut(&str, f64, f64)) {
    let Some(fields) = value.as_object() else { return };
    if let Some(step) = fields.get("step").and_then(serde_json::Value::as_f64) {
        return numbers(prefix, value, step, found);
    }
    for (name, inner) in fields {
        collect(name, inner, found);
    }
}

fn numbers(prefix: &str, value: &serde_json::Value, step: f64, found: &mut dyn FnMut(&str, f64, f64)) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match inner.as_f64() {
            Some(number) if name != "step" => found(&path, step, number),
            Some(_) => {}
            None => numbers(&path, inner, step, found),
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is the failure a test wants to show"
)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_and_their_numbers_become_curves() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a/b");
        std::fs::create_dir_all(&run).unwrap();
        let line =
            |step: u32| format!("{{\"step\":{step},\"loss\":{},\"by_kind\":{{\"move\":1.5}}}}\n", 10 - step);
        let log = (0..5).map(line).collect::<String>() + "{\"step\":5,\"lo";
        std::fs::write(run.join("metrics.jsonl"), log).unwrap();
        let found = find(&[folder.path().to_owned()]);
        assert!(found.len() == 1 && found[0].kind == Kind::Run);
        let curves = curves(&found[0].path).unwrap();
        assert_eq!(curves["loss"].last(), Some(&[4.0, 6.0]));
        assert_eq!(curves["by_kind.move"].len(), 5);
        assert!(named(&[folder.path().to_owned()], Kind::Run, "/etc").is_err());
    }
}
