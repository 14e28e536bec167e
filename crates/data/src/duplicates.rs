//! Rows grouped by key in bounded memory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Partitions of the keys; one of them is in memory at the end.
const N_PARTITIONS: usize = 256;
/// Pairs held in memory before they go to disk: 4 MiB.
const N_IN_MEMORY: usize = 1 << 18;

/// Collects pairs of a key and a word, and then gives the words of each key together. Beyond 262,144 pairs they wait in
/// files, so memory stays bounded however many there are.
pub(crate) struct Groups {
    folder: PathBuf,
    partitions: Vec<Vec<(u64, u64)>>,
    n_held: usize,
    spilled: bool,
}

impl Groups {
    /// Groups whose files, if they become necessary, lie in a new folder of this name.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, partitions: vec![Vec::new(); N_PARTITIONS], n_held: 0, spilled: false }
    }

    /// Groups whose files lie beside a table that is about to be written.
    pub(crate) fn beside(table: &Path) -> Self {
        let name = table.file_name().unwrap_or_default().to_string_lossy();
        Self::new(table.with_file_name(format!(".{name}.keys-{}", std::process::id())))
    }

    pub(crate) fn push(&mut self, key: u64, word: u64) -> io::Result<()> {
        self.partitions[(key >> 56) as usize].push((key, word));
        self.n_held += 1;
        if self.n_held == N_IN_MEMORY { self.spill() } else { Ok(()) }
    }

    /// Calls `visit` with the words of each key, in ascending order.
    pub(crate) fn for_each(mut self, mut visit: impl FnMut(&[u64])) -> io::Result<()> {
        let mut words = Vec::new();
        for partition in 0..N_PARTITIONS {
            let mut pairs = std::mem::take(&mut self.partitions[partition]);
            if self.spilled {
                read_pairs(&self.file(partition), &mut pairs)?;
            }
            pairs.sort_unstable();
            for group in pairs.chunk_by(|a, b| a.0 == b.0) {
                words.clear();
                words.extend(group.iter().map(|(_, word)| *word));
                visit(&words);
            }
        }
        Ok(())
    }

    fn file(&self, partition: usize) -> PathBuf {
        self.folder.join(format!("{partition:03}"))
    }

    fn spill(&mut self) -> io::Result<()> {
        if !self.spilled {
            fs::create_dir_all(&self.folder)?;
            self.spilled = true;
        }
        for partition in 0..N_PARTITIONS {
            let path = self.file(partition);
            let pairs = &mut self.partitions[partition];
            let mut bytes = Vec::with_capacity(16 * pairs.len());
            for (key, word) in pairs.drain(..) {
                bytes.extend(key.to_le_bytes());
                bytes.extend(word.to_le_bytes());
            }
            File::options().create(true).append(true).open(path)?.write_all(&bytes)?;
        }
        self.n_held = 0;
        Ok(())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if self.spilled {
            // Left-over files of keys harm nobody.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn read_pairs(path: &Path, pairs: &mut Vec<(u64, u64)>) -> io::Result<()> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    pairs.extend(bytes.chunks_exact(16).map(|pair| (word(&pair[..8]), word(&pair[8..]))));
    Ok(())
}

/// One bit a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    pub(crate) fn insert(&mut self, row: u64) {
        let word = (row / 64) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (row % 64);
    }

    pub(crate) fn contains(&self, row: u64) -> bool {
        self.words.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    pub(crate) fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn groups_are_the_same_in_memory_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut groups = Groups::new(folder.path().join("keys"));
        let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for word in 0..5_000_u64 {
            let key = mavis_stable::seed::mix(word % 1_700);
            groups.push(key, word).unwrap();
            expected.entry(key).or_default().push(word);
            if word % 2_000 == 1_999 {
                groups.spill().unwrap();
            }
        }
        let mut found = Vec::new();
        groups.for_each(|words| found.push(words.to_vec())).unwrap();
        assert_eq!(found, expected.into_values().collect::<Vec<_>>());
        assert!(!folder.path().join("keys").exists());
    }
}
