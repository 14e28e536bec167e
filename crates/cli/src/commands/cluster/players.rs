//! Players that jobs may name.

use super::engines::check_name;
use mavis_league::wire::LeagueConfig;
use std::collections::BTreeSet;

/// Kinds and options of players that mean a program, a file, a server or a person of one machine.
const OF_ONE_MACHINE: [&str; 9] =
    ["gtp", "htp", "openai", "openai-mcts", "predictor", "probs", "human", "args", "model"];

/// The engines that the players of a league ask for by name.
///
/// # Errors
/// In words, when a player or judge has a meaning on one machine only: jobs carry no command line, file or address.
pub(crate) fn engines_of(config: &LeagueConfig) -> Result<BTreeSet<String>, String> {
    let mut engines = BTreeSet::new();
    let judge = config.adjudication.early.as_ref().and_then(|early| early.judge.as_ref());
    for line in config.players.iter().map(|player| &player.player).chain(judge) {
        let words: Vec<&str> = line.split([':', ',', '=', '{', '}', ' ']).collect();
        for (idx, word) in words.iter().enumerate() {
            let lower = word.to_lowercase();
            if OF_ONE_MACHINE.contains(word) || word.contains(['/', '\\']) || is_file(&lower) {
                return Err(format!(
                    "player '{line}': '{word}' has a meaning on one machine only, and jobs carry no command line, \
                     file or address; run it without --cluster"
                ));
            }
            match *word {
                "uci" => {
                    let name = words.get(idx + 1).copied().unwrap_or_default();
                    check_name(name).map_err(|error| error.to_string())?;
                    engines.insert(name.to_owned());
                }
                "oracle" if config.game.starts_with("chess") => {
                    engines.insert("stockfish".to_owned());
                }
                _ => {}
            }
        }
    }
    match &config.adjudication.exact {
        Some(exact) if exact.judge.contains(':') => {
            Err(format!("adjudication.exact: '{}' names a folder of one machine", exact.judge))
        }
        _ => Ok(engines),
    }
}

/// Whether an option of an engine names a file: an engine writes its log there, or reads networks.
fn is_file(word: &str) -> bool {
    word.ends_with("file") || word.ends_with("path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_league::wire::PlayerConfig;

    fn check(line: &str, expected: Result<&[&str], &str>) {
        let player = |line: &str| PlayerConfig {
            player: line.to_owned(),
            name: None,
            limits: None,
            external: None,
            cores: None,
        };
        let config = LeagueConfig::new("test", "chess", vec![player("random"), player(line)]);
        match (engines_of(&config), expected) {
            (Ok(engines), Ok(wanted)) => {
                assert_eq!(engines.iter().map(String::as_str).collect::<Vec<_>>(), wanted, "{line}");
            }
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{line}: {reason}"),
            (got, wanted) => panic!("{line}: {got:?}, not {wanted:?}"),
        }
    }

    #[test]
    fn jobs_name_players_and_nothing_of_one_machine() {
        check("mav-mcts:sims=20", Ok(&[]));
        check("uci:stockfish,nodes=5", Ok(&["stockfish"]));
        check("mpc:evaluator={uci:stockfish,nodes=20},opponent={uci:lc0,nodes=1}", Ok(&["lc0", "stockfish"]));
        check("uci:/bin/sh", Err("'/bin/sh'"));
        check("uci:stockfish,Debug Log File=x", Err("'File'"));
        check("gtp:gnugo,args={--mode gtp}", Err("'gtp'"));
        check("mav:model=best.safetensors", Err("'model'"));
        check("openai:url=http://host", Err("'openai'"));
        check("mpc:evaluator={gtp:gnugo}", Err("'gtp'"));
    }
}
