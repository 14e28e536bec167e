//! What every reader of text or bytes from outside promises, for fuzzers and for a seeded test alike.
//!
//! A [`Target`] takes any bytes and panics only if a reader breaks its promise: nothing that comes in stops the program, what
//! is refused has a reason, and what is accepted prints and reads back the same. The test of this crate runs each over its
//! corpus (`corpus/NAME/`) and over seeded damage to it ([`Mutator`]), as part of the usual tests; its program runs one for as
//! long as you like (`README.md`).
//!
//! ```
//! let target = mavis_fuzz::target("uci").expect("there is one");
//! (target.run)(b"go wtime -1 btime 99999999999999999999 searchmoves e2e4 \xff");
//! ```

mod files;
mod mutate;
mod protocols;
mod texts;

pub use files::with_header;
pub use mutate::Mutator;

use std::path::PathBuf;

/// One reader and its promise.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also of the folder of its corpus.
    pub name: &'static str,
    /// Reads an input; panics where the promise is broken.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 20] = [
    Target { name: "chess", run: texts::chess },
    Target { name: "chess960", run: texts::chess960 },
    Target { name: "connect4", run: texts::connect4 },
    Target { name: "hex", run: texts::hex },
    Target { name: "othello", run: texts::othello },
    Target { name: "togyz", run: texts::togyz },
    Target { name: "rules", run: texts::rules },
    Target { name: "spec", run: texts::spec },
    Target { name: "league_config", run: texts::league_config },
    Target { name: "pgn", run: texts::pgn },
    Target { name: "mav", run: texts::mav },
    Target { name: "mav_tokens", run: texts::mav_tokens },
    Target { name: "trace", run: texts::trace },
    Target { name: "uci", run: protocols::uci },
    Target { name: "gtp", run: protocols::gtp },
    Target { name: "puzzles", run: files::puzzles },
    Target { name: "safetensors", run: files::safetensors },
    Target { name: "table", run: files::table },
    Target { name: "league_log", run: files::league_log },
    Target { name: "tree", run: files::tree },
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

impl Target {
    /// The folder of its corpus.
    #[must_use]
    pub fn corpus_folder(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// The inputs of its corpus, in order of their names.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn corpus(&self) -> std::io::Result<Vec<Vec<u8>>> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.corpus_folder())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        files.sort();
        files.iter().map(std::fs::read).collect()
    }
}

/// An error has something to say.
fn assert_reason(error: &str) {
    assert!(!error.trim().is_empty(), "{error:?}");
}
