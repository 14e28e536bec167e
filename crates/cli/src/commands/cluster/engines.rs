//! Engines by name: jobs say which, each worker knows where.

use crate::input::{BadInput, OrBadInput};
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::process::find_engine;
use mavis_oracle::{Identity, Oracle as _};
use mavis_play::PlayerSpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The engines of this machine by the names that jobs use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Engines(BTreeMap<String, (PathBuf, String)>);

impl Engines {
    /// Stockfish where it is found, and those that the user names; each is started once to learn its version.
    pub(crate) fn find(named: &BTreeMap<String, PathBuf>) -> Result<Self, BadInput> {
        let path = std::env::var_os("PATH");
        let mut engines = BTreeMap::new();
        let mut all = named.clone();
        if let Ok(stockfish) = find_engine("stockfish", path.as_deref()) {
            all.entry("stockfish".to_owned()).or_insert(stockfish);
        }
        for (name, program) in all {
            check_name(&name)?;
            let program = find_engine(&program.to_string_lossy(), path.as_deref()).or_bad_input()?;
            let version = uci_version(&program).map_err(|reason| {
                BadInput::new(format!("engine {name} ({}): {reason}", program.display()))
            })?;
            engines.insert(name, (program, version));
        }
        Ok(Self(engines))
    }

    /// The engines of these names alone, as they are found on `PATH`.
    pub(crate) fn on_path(names: impl IntoIterator<Item = String>) -> Result<Self, BadInput> {
        let named: BTreeMap<String, PathBuf> =
            names.into_iter().map(|name| (name.clone(), name.into())).collect();
        let all = if named.is_empty() { Self::default() } else { Self::find(&named)? };
        Ok(Self(all.0.into_iter().filter(|(name, _)| named.contains_key(name)).collect()))
    }

    /// What each calls itself, by name.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(name, (_, version))| (name.clone(), version.clone())).collect()
    }

    /// Their programs, by name.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (&String, &PathBuf)> {
        self.0.iter().map(|(name, (program, _))| (name, program))
    }

    /// Whether there is an engine of a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The spec of an oracle with programs of this machine in place of engines' names.
    pub(crate) fn resolve(&self, spec: &PlayerSpec) -> Result<PlayerSpec, String> {
        let Some(name) = engine_of(spec)? else { return Ok(spec.clone()) };
        let (program, _) = self.0.get(&name).ok_or_else(|| format!("this worker has no engine '{name}'"))?;
        Ok(PlayerSpec {
            kind: "uci".to_owned(),
            argument: Some(program.to_string_lossy().into_owned()),
            options: spec.options.clone(),
        })
    }
}

/// The name of the engine that an oracle's line asks for, if it asks for one.
///
/// # Errors
/// In words, when the line names something that has a meaning on one machine only.
pub(crate) fn engine_of(spec: &PlayerSpec) -> Result<Option<String>, String> {
    let name = match spec.kind.as_str() {
        "stockfish" => "stockfish".to_owned(),
        "uci" => spec.argument.clone().ok_or("expected uci:NAME")?,
        "connect4" | "othello" | "togyz" | "hex" => return Ok(None),
        other => {
            return Err(format!(
                "the oracle '{other}' names programs or files of one machine, which jobs do not carry; \
                 run it without --cluster"
            ));
        }
    };
    check_name(&name).map_err(|error| error.to_string())?;
    // An engine writes its log where such an option says, and reads networks from there.
    let file = |key: &&String| ["file", "path"].iter().any(|word| key.to_lowercase().contains(word));
    if let Some(key) = spec.options.keys().find(file) {
        return Err(format!("option '{key}' names a file, which jobs do not carry"));
    }
    Ok(Some(name))
}

/// What an engine calls itself, as jobs and workers compare it.
pub(crate) fn version(identity: &Identity) -> String {
    format!("{} {}", identity.name, identity.version).trim_end().to_owned()
}

fn uci_version(program: &Path) -> Result<String, String> {
    let settings = EngineSettings::new(program.to_owned(), Limit::Nodes(1));
    UciOracle::start(settings).map(|oracle| version(&oracle.identity())).map_err(|error| error.to_string())
}

/// Refuses what is no plain name of an engine.
pub(super) fn check_name(name: &str) -> Result<(), BadInput> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(BadInput::new(format!(
            "'{name}' is no name of an engine: jobs name engines by letters, digits, '-', '_' and '.'; \
             each worker maps names to programs (mavis worker --engine NAME=PROGRAM)"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Option<&str>, &str>) {
        let spec: PlayerSpec = line.parse().expect("a spec");
        match (engine_of(&spec), expected) {
            (Ok(name), Ok(wanted)) => assert_eq!(name.as_deref(), wanted, "{line}"),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{line}: {reason}"),
            (got, wanted) => panic!("{line}: {got:?}, not {wanted:?}"),
        }
    }

    #[test]
    fn jobs_name_engines_and_nothing_of_one_machine() {
        check("stockfish:nodes=5", Ok(Some("stockfish")));
        check("uci:lc0,nodes=5", Ok(Some("lc0")));
        check("othello:nodes=5", Ok(None));
        check("uci:/bin/sh", Err("no name of an engine"));
        check("uci:../sh", Err("no name of an engine"));
        check("net:best.safetensors", Err("which jobs do not carry"));
        check("htp:mavis,args={gtp}", Err("which jobs do not carry"));
        check("stockfish:EvalFile=/tmp/x", Err("names a file"));
        check("stockfish:Debug Log File=/tmp/x", Err("names a file"));
    }
}
