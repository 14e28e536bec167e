//! Which players a client may name.
//!
//! A player line can start a program (`uci:PROGRAM`), read a file (`mav:model=PATH`) or call another server
//! (`openai:ADDRESS`). A client gets none of these unless the command line allowed that very line.

use crate::ApiError;
use mavis_game::Rules;
use mavis_play::PlayerSpec;

/// Kinds that use nothing but the processor.
const FREE: [&str; 8] =
    ["random", "lookahead", "mcts", "mav", "mav-is", "mav-mcts", "probs", "scripted-mcts"];
/// Kinds that are free except in chess, where they start an engine.
const ORACLES: [&str; 2] = ["oracle", "oracle-mcts"];
/// Kinds made of other players, with the keys that name them.
const COMPOSED: [(&str, &[&str]); 4] = [
    ("mpc", &["evaluator", "opponent"]),
    ("fresh", &["argument"]),
    ("predicted", &["argument"]),
    ("staged", &["argument", "opening", "endgame"]),
];
/// Options of free kinds that name a file, a device, or a share of the machine.
const RESERVED: [&str; 9] =
    ["model", "device", "threads", "hash", "memory", "args", "ca", "argument", "context"];
/// Options that a client may change on a player that was allowed by its line.
const EFFORT: [&str; 9] =
    ["nodes", "depth", "movetime", "skill", "elo", "sims", "temperature", "jitter", "policy"];
/// No player line is longer.
const LONGEST_LINE: usize = 500;

/// The players a client may name: those that use only the processor, and those the command line allowed.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    allowed: Vec<PlayerSpec>,
    /// Names of nets inside the program, which `probs:NAME` takes before it looks for a file.
    nets: Vec<&'static str>,
}

impl Policy {
    /// The default policy, and these players and bundled nets of `probs` besides.
    #[must_use]
    pub fn new(allowed: Vec<PlayerSpec>, nets: impl IntoIterator<Item = &'static str>) -> Self {
        Self { allowed, nets: nets.into_iter().collect() }
    }

    /// Reads a player line and refuses what is not allowed.
    pub(crate) fn read(&self, line: &str, rules: Rules) -> Result<PlayerSpec, ApiError> {
        if line.len() > LONGEST_LINE {
            return Err(ApiError::bad(format!(
                "a player line of {} bytes; at most {LONGEST_LINE}",
                line.len()
            )));
        }
        // Values of options reach engines as lines of their protocol.
        if line.chars().any(char::is_control) {
            return Err(ApiError::bad("a player line with a control character"));
        }
        let spec: PlayerSpec = line.parse().map_err(ApiError::bad)?;
        self.check(&spec, rules)?;
        Ok(spec)
    }

    /// Whether a line may be named in a game.
    pub(crate) fn permits(&self, line: &str, rules: Rules) -> bool {
        self.read(line, rules).is_ok()
    }

    /// Whether a kind may be named at all.
    pub(crate) fn offers(&self, kind: &str) -> bool {
        FREE.contains(&kind)
            || ORACLES.contains(&kind)
            || COMPOSED.iter().any(|(name, _)| *name == kind)
            || self.allowed.iter().any(|allowed| allowed.kind == kind)
    }

    fn check(&self, spec: &PlayerSpec, rules: Rules) -> Result<(), ApiError> {
        if self.allowed.iter().any(|allowed| covers(allowed, spec)) {
            return Ok(());
        }
        let kind = spec.kind.as_str();
        let refused = |what: &str| {
            ApiError::NotAllowed(format!(
                "player '{spec}' {what}; start the server with --allow '{spec}' to permit it"
            ))
        };
        if let Some((_, parts)) = COMPOSED.iter().find(|(name, _)| *name == kind) {
            return self.check_parts(spec, parts, rules);
        }
        let is_chess = matches!(rules, Rules::Chess | Rules::Chess960);
        if ORACLES.contains(&kind) && is_chess {
            let stockfish = |allowed: &PlayerSpec| {
                allowed.kind == "uci" && allowed.argument.as_deref().is_none_or(|name| name == "stockfish")
            };
            if !self.allowed.iter().any(stockfish) || spec.argument.is_some() {
                return Err(refused("starts a program"));
            }
        } else if !FREE.contains(&kind) && !ORACLES.contains(&kind) {
            return Err(match kind {
                "human" => ApiError::bad("a person plays on the page, not through a player line"),
                "uci" | "htp" | "gtp" => refused("starts a program"),
                "openai" | "openai-mcts" => refused("calls another server"),
                "predictor" => refused("reads a file"),
                // What this page does not know may start anything.
                _ => ApiError::bad(format!("player '{kind}' is unknown or not for clients")),
            });
        }
        let names_file = spec.argument.as_deref().is_some_and(|argument| match kind {
            "lookahead" => false,
            "probs" => !self.nets.contains(&argument),
            _ => true,
        });
        let reserved = spec.options.keys().find(|key| RESERVED.contains(&key.as_str()));
        match reserved {
            Some(key) => Err(refused(&format!("sets '{key}'"))),
            None if names_file => Err(refused("names a program or file")),
            None => Ok(()),
        }
    }

    fn check_parts(&self, spec: &PlayerSpec, parts: &[&str], rules: Rules) -> Result<(), ApiError> {
        for &key in parts {
            let line = if key == "argument" { spec.argument.as_ref() } else { spec.options.get(key) };
            if let Some(line) = line {
                self.read(line, rules)?;
            }
        }
        match spec.options.contains_key("threads") {
            true => {
                Err(ApiError::NotAllowed(format!("player '{spec}' sets 'threads', which is the server's")))
            }
            false => Ok(()),
        }
    }
}

/// Whether an allowed player covers another: the same program, and at most another effort.
fn covers(allowed: &PlayerSpec, spec: &PlayerSpec) -> bool {
    let same = |(key, value): (&String, &String)| {
        EFFORT.contains(&key.as_str()) || allowed.options.get(key) == Some(value)
    };
    allowed.kind == spec.kind && allowed.argument == spec.argument && spec.options.iter().all(same)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]
mod tests {
    use super::*;

    fn check(allowed: &[&str], line: &str, rules: Rules, expected: bool) {
        let policy = Policy::new(allowed.iter().map(|line| line.parse().unwrap()).collect(), ["othello"]);
        assert_eq!(policy.permits(line, rules), expected, "{line} with {allowed:?}");
    }

    #[test]
    fn programs_files_and_servers_need_permission() {
        for line in [
            "uci:stockfish",
            "uci:/bin/sh,args=-c id",
            "gtp:sh",
            "htp:sh",
            "openai:http://10.0.0.1:80",
            "openai-mcts:http://[::1]:80",
            "mav:model=/etc/passwd",
            "mav-mcts:model=x,sims=3",
            "mav-is:breadth=3,context=65536",
            "scripted-mcts:memory=1000000",
            "mav:device=cuda",
            "predictor:x",
            "probs:/etc/shadow",
            "probs:./othello",
            "probs:othello,device=cuda",
            "mav:othello",
            "probs:device=cuda",
            "oracle:sh",
            "oracle",
            "oracle-mcts:sims=3",
            "mpc:evaluator={uci:sh}",
            "mpc:evaluator=mav,opponent={fresh:{uci:sh}}",
            "fresh:{gtp:sh}",
            "predicted:{mav:model=x}",
            "mpc:evaluator=mav,threads=200",
            "staged:{uci:sh}",
            "staged:mav,opening={gtp:sh}",
            "staged:mav,endgame={openai:http://10.0.0.1:80}",
            "staged:{mav:model=/etc/passwd}",
            "human",
            "unheard-of",
            "unheard-of:{uci:sh}",
        ] {
            check(&[], line, Rules::Chess, false);
        }
    }

    #[test]
    fn the_processor_is_free_and_allowed_lines_may_change_their_effort() {
        for line in [
            "random",
            "lookahead:2",
            "mcts:sims=10",
            "mav:temperature=0.1",
            "mav-mcts:sims=10,batch=4",
            "mav-is:breadth=3,depth=2",
            "mpc:evaluator=mav",
            "staged:mav-mcts,opening=mav,moves=4",
            "probs:expand=50",
            "probs:othello,expand=50",
        ] {
            check(&[], line, Rules::Chess, true);
        }
        check(&[], "oracle", Rules::Connect4, true);
        check(&["uci:stockfish"], "uci:stockfish,skill=3,nodes=10", Rules::Chess, true);
        check(&["uci:stockfish"], "uci:stockfish,SyzygyPath=/tmp", Rules::Chess, false);
        check(&["uci:stockfish"], "uci:sh", Rules::Chess, false);
        let injected = "uci:stockfish,temperature=0\nsetoption name Debug Log File value x";
        check(&["uci:stockfish"], injected, Rules::Chess, false);
        check(&["uci:stockfish"], "mpc:evaluator={uci:stockfish,nodes=10}", Rules::Chess, true);
        check(&["uci:stockfish"], "oracle:nodes=100", Rules::Chess, true);
        check(
            &["mav:model=a.safetensors"],
            "mav:model=a.safetensors,temperature=1",
            Rules::Hex { size: 7, swap: false },
            true,
        );
    }
}
