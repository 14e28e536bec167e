//! Players that jobs may name.

use super::engines::check_name;
use mavis_league::wire::LeagueConfig;
use mavis_play::PlayerSpec;
use std::collections::BTreeSet;

/// Options of an engine that a job may set. Others may name files, which an engine reads or writes.
const ENGINE_OPTIONS: [&str; 21] = [
    "nodes",
    "depth",
    "movetime",
    "skill",
    "elo",
    "patience",
    "jitter",
    "threads",
    "hash",
    "multipv",
    "ponder",
    "contempt",
    "skill level",
    "uci_elo",
    "uci_limitstrength",
    "uci_chess960",
    "uci_showwdl",
    "uci_analysemode",
    "move overhead",
    "slow mover",
    "nodestime",
];

/// What the players of a league are made of, beside what every worker has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Engines by name.
    pub(crate) engines: BTreeSet<String>,
    /// Files of weights, as the lines name them.
    pub(crate) models: BTreeSet<String>,
}

/// The parts of a league's players and judges.
///
/// # Errors
/// In words, when a player or judge has a meaning on one machine only: jobs carry no command line, file or address.
pub(crate) fn parts_of(config: &LeagueConfig) -> Result<Parts, String> {
    let mut parts = Parts::default();
    with_models(config, &mut parts, &mut |name| Ok(name.to_owned()))?;
    Ok(parts)
}

/// The same league with other names of its files of weights.
///
/// # Errors
/// As [`parts_of`], and those of `rename`.
pub(crate) fn renamed(
    config: &LeagueConfig,
    mut rename: impl FnMut(&str) -> Result<String, String>,
) -> Result<LeagueConfig, String> {
    with_models(config, &mut Parts::default(), &mut rename)
}

fn with_models(config: &LeagueConfig, parts: &mut Parts, rename: Rename<'_>) -> Result<LeagueConfig, String> {
    let mut config = config.clone();
    if let Some(exact) = &config.adjudication.exact
        && exact.judge.contains(':')
    {
        return Err(format!("adjudication.exact: '{}' names a folder of one machine", exact.judge));
    }
    let mut walk = Walk { is_chess: config.game.starts_with("chess"), parts, rename };
    let judge = config.adjudication.early.as_mut().and_then(|early| early.judge.as_mut());
    for line in config.players.iter_mut().map(|player| &mut player.player).chain(judge) {
        *line = walk.line(line).map_err(|reason| {
            format!(
                "player '{line}': {reason}; jobs carry no command line, file or address; run it without --cluster"
            )
        })?;
    }
    Ok(config)
}

type Rename<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Goes through a player and the players in it. Kinds that are not known here are refused.
struct Walk<'a> {
    is_chess: bool,
    parts: &'a mut Parts,
    rename: Rename<'a>,
}

impl Walk<'_> {
    fn line(&mut self, line: &str) -> Result<String, String> {
        let spec: PlayerSpec = line.parse().map_err(|error: mavis_play::SpecError| error.to_string())?;
        Ok(self.spec(spec)?.to_string())
    }

    fn spec(&mut self, mut spec: PlayerSpec) -> Result<PlayerSpec, String> {
        let PlayerSpec { kind, argument, options } = &mut spec;
        match kind.as_str() {
            "random" | "lookahead" | "mcts" | "mav" | "mav-is" | "mav-mcts" | "scripted-mcts" => {}
            "oracle" | "oracle-mcts" => {
                if self.is_chess {
                    self.engine(argument.as_deref().unwrap_or("stockfish"))?;
                }
            }
            "uci" => {
                self.engine(argument.as_deref().unwrap_or("stockfish"))?;
                let refused =
                    options.keys().find(|key| !ENGINE_OPTIONS.contains(&key.to_lowercase().as_str()));
                if let Some(key) = refused {
                    return Err(format!("a job must not set '{key}' of an engine"));
                }
            }
            // Every worker has the bundled nets.
            "probs" if argument.as_ref().is_none_or(|name| is_bundled(name)) => {}
            "probs" | "predictor" => {
                let file = argument.as_mut().ok_or("expected a file of weights")?;
                *file = self.model(file)?;
                if let Some(engine) = options.get("finisher") {
                    self.engine(engine)?;
                }
            }
            "mpc" | "fresh" | "predicted" | "staged" => {
                let inner = ["evaluator", "opponent", "opening", "endgame"];
                let nested = options.iter_mut().filter(|(key, _)| inner.contains(&key.as_str()));
                for line in nested.map(|(_, line)| line).chain(argument) {
                    *line = self.line(line)?;
                }
            }
            other => return Err(format!("'{other}' has a meaning on one machine only")),
        }
        if let Some(file) = options.get_mut("model") {
            *file = self.model(file)?;
        }
        if let Some(device) = options.get("device").filter(|device| *device != "cpu") {
            return Err(format!("workers play on their processors, not with device={device}"));
        }
        Ok(spec)
    }

    fn engine(&mut self, name: &str) -> Result<(), String> {
        check_name(name).map_err(|error| error.to_string())?;
        self.parts.engines.insert(name.to_owned());
        Ok(())
    }

    fn model(&mut self, file: &str) -> Result<String, String> {
        self.parts.models.insert(file.to_owned());
        (self.rename)(file)
    }
}

fn is_bundled(name: &str) -> bool {
    mavis_bundled::NETS.iter().any(|net| net.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_league::wire::PlayerConfig;

    fn league(line: &str) -> LeagueConfig {
        let player = |line: &str| PlayerConfig {
            player: line.to_owned(),
            name: None,
            limits: None,
            external: None,
            cores: None,
        };
        LeagueConfig::new("test", "chess", vec![player("random"), player(line)])
    }

    /// Engines and models of a player.
    fn check(line: &str, expected: Result<(&[&str], &[&str]), &str>) {
        let words = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
        match (parts_of(&league(line)), expected) {
            (Ok(parts), Ok((engines, models))) => {
                assert_eq!(words(&parts.engines), engines, "{line}");
                assert_eq!(words(&parts.models), models, "{line}");
            }
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{line}: {reason}"),
            (got, wanted) => panic!("{line}: {got:?}, not {wanted:?}"),
        }
    }

    #[test]
    fn jobs_name_players_and_nothing_of_one_machine() {
        check("mav-mcts:sims=20", Ok((&[], &[])));
        check("uci:stockfish,nodes=5,Threads=1", Ok((&["stockfish"], &[])));
        check("oracle-mcts:sims=9", Ok((&["stockfish"], &[])));
        check(
            "mpc:evaluator={uci:stockfish,nodes=20},opponent={uci:lc0,nodes=1}",
            Ok((&["lc0", "stockfish"], &[])),
        );
        check("staged:{mav:model=a/b.safetensors},endgame=uci", Ok((&["stockfish"], &["a/b.safetensors"])));
        check("probs:best.safetensors", Ok((&[], &["best.safetensors"])));
        check("probs:connect4,expand=20", Ok((&[], &[])));
        check("probs", Ok((&[], &[])));
        check("uci:/bin/sh", Err("'/bin/sh'"));
        check("uci:stockfish,Debug Log File=x", Err("'Debug Log File'"));
        check("uci:stockfish,args=x", Err("'args'"));
        check("gtp:gnugo,args={--mode gtp}", Err("'gtp'"));
        check("mav:device=cuda", Err("device=cuda"));
        check("openai:http://host", Err("'openai'"));
        check("mpc:evaluator={gtp:gnugo}", Err("'gtp'"));
        check("fresh:{human}", Err("'human'"));
    }

    #[test]
    fn files_get_other_names_wherever_they_stand() {
        let config = league("mpc:evaluator={mav:model=x},opponent={fresh:{mav-mcts:model=y,sims=3}}");
        let other = renamed(&config, |name| Ok(format!("{name}{name}"))).unwrap();
        let parts = parts_of(&other).unwrap();
        assert_eq!(parts.models.into_iter().collect::<Vec<_>>(), ["xx", "yy"]);
    }
}
