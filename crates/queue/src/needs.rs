//! What jobs need and what workers have.

use crate::content_hash;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version of everything on the queue: subjects, headers, the form of jobs and results. A change of any of them raises it.
pub const PROTOCOL: u32 = 1;

/// What a worker must have to run a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    /// The form of jobs, [`PROTOCOL`].
    pub protocol: u32,
    /// The version of Mavis: another one may judge or play otherwise.
    pub mavis: String,
    /// The game with its parameters; `None` means that any worker knows the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game: Option<String>,
    /// Engines by the name that workers map to a program, with the version wanted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engines: BTreeMap<String, String>,
    /// SHA-256 of model files that the worker must have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub models: BTreeSet<String>,
    /// Whether the job wants a GPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gpu: bool,
}

impl Needs {
    /// A job that needs this version of Mavis alone.
    #[must_use]
    pub fn version(mavis: &str) -> Self {
        Self {
            protocol: PROTOCOL,
            mavis: mavis.to_owned(),
            game: None,
            engines: BTreeMap::new(),
            models: BTreeSet::new(),
            gpu: false,
        }
    }

    /// The name of jobs of one kind with these needs: workers take jobs class by class.
    #[must_use]
    pub fn class(&self, kind: &str) -> String {
        let mut class = content_hash(&[kind.as_bytes(), &crate::write_json(self)]);
        class.truncate(16);
        class
    }
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mavis {}", self.mavis)?;
        for version in self.engines.iter().map(|(name, version)| format!("{name} = {version}")) {
            write!(f, ", {version}")?;
        }
        for model in &self.models {
            write!(f, ", model {}", model.get(..12).unwrap_or(model))?;
        }
        if let Some(game) = &self.game {
            write!(f, ", {game}")?;
        }
        f.write_str(if self.gpu { ", a GPU" } else { "" })
    }
}

/// What a worker has, as it declares it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// The form of jobs it knows.
    pub protocol: u32,
    /// Its version of Mavis.
    pub mavis: String,
    /// Jobs it runs concurrently.
    pub cores: usize,
    /// Kinds of job it knows.
    pub kinds: BTreeSet<String>,
    /// Games it knows, without parameters.
    pub games: BTreeSet<String>,
    /// Its engines by name, with what each calls itself.
    pub engines: BTreeMap<String, String>,
    /// SHA-256 of its model files.
    pub models: BTreeSet<String>,
    /// The GPU, if it has one.
    pub gpu: Option<String>,
}

impl Offer {
    /// Why a worker cannot run jobs of this kind with these needs; `None` means that it can.
    #[must_use]
    pub fn lacks(&self, kind: &str, needs: &Needs) -> Option<String> {
        if self.protocol != needs.protocol {
            return Some(format!("protocol {}, not {}", self.protocol, needs.protocol));
        }
        if self.mavis != needs.mavis {
            return Some(format!("mavis {}, not {}", self.mavis, needs.mavis));
        }
        if !self.kinds.contains(kind) {
            return Some(format!("no jobs of kind {kind}"));
        }
        if let Some(game) = &needs.game
            && !self.games.contains(game.split(':').next().unwrap_or(game))
        {
            return Some(format!("no {game}"));
        }
        for (name, version) in &needs.engines {
            match self.engines.get(name) {
                Some(here) if here == version => {}
                Some(here) => return Some(format!("{name} = {here}, not {version}")),
                None => return Some(format!("no engine {name}")),
            }
        }
        if let Some(model) = needs.models.iter().find(|model| !self.models.contains(*model)) {
            return Some(format!("no model {}", model.get(..12).unwrap_or(model)));
        }
        (needs.gpu && self.gpu.is_none()).then(|| "no GPU".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer {
            protocol: PROTOCOL,
            mavis: "1.0".to_owned(),
            cores: 2,
            kinds: ["annotate".to_owned()].into(),
            games: ["hex".to_owned()].into(),
            engines: [("stockfish".to_owned(), "Stockfish 16".to_owned())].into(),
            models: ["abcdef".to_owned()].into(),
            gpu: None,
        }
    }

    /// Asserts what is missing after a change of needs.
    fn check(expected: Option<&str>, change: impl FnOnce(&mut Needs)) {
        let mut needs = Needs::version("1.0");
        change(&mut needs);
        assert_eq!(offer().lacks("annotate", &needs).as_deref(), expected);
    }

    #[test]
    fn a_worker_takes_what_it_has_everything_for() {
        check(None, |_| ());
        check(None, |needs| needs.game = Some("hex:size=7".to_owned()));
        check(Some("no othello"), |needs| needs.game = Some("othello".to_owned()));
        check(Some("mavis 1.0, not 1.1"), |needs| needs.mavis = "1.1".to_owned());
        check(Some("protocol 1, not 2"), |needs| needs.protocol = 2);
        let engine = |version: &str| [("stockfish".to_owned(), version.to_owned())];
        check(None, |needs| needs.engines = engine("Stockfish 16").into());
        check(Some("stockfish = Stockfish 16, not Stockfish 17"), |needs| {
            needs.engines = engine("Stockfish 17").into();
        });
        check(Some("no engine lc0"), |needs| {
            needs.engines = [("lc0".to_owned(), "0.31".to_owned())].into();
        });
        check(Some("no model 0123"), |needs| needs.models = ["0123".to_owned()].into());
        check(Some("no GPU"), |needs| needs.gpu = true);
        assert_eq!(offer().lacks("game", &Needs::version("1.0")).as_deref(), Some("no jobs of kind game"));
    }

    #[test]
    fn jobs_of_other_needs_are_of_another_class() {
        let (one, two) = (Needs::version("1.0"), Needs::version("1.1"));
        assert_eq!(one.class("annotate"), one.clone().class("annotate"));
        assert_ne!(one.class("annotate"), two.class("annotate"));
        assert_ne!(one.class("annotate"), one.class("game"));
    }
}
