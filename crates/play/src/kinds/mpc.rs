//! Kinds of player made of other players.

use crate::{
    BuildError, Fresh, Key, Kind, Limit, Maker, MpcPlayer, MpcSettings, Options, Player, PlayerSpec,
    Predicted, Registry, Staged, Steps,
};
use mavis_search::tunable::{Range, Tunable};
use std::sync::Arc;

/// The most calls at once; each has processes of its own.
const MOST_THREADS: usize = 256;
/// The most moves a second step may look into: more than any position has.
const MOST_WIDTH: usize = 1000;

/// Adds `mpc`, `fresh`, `predicted` and `staged`, which are made of the players known so far.
pub fn add_mpc(registry: &mut Registry) {
    let known = registry.clone();
    registry.add(Kind {
        name: "mpc",
        help: "MPC-MC: tries every move, lets a nominal opponent reply, and asks an evaluator (docs/mpc.md)",
        keys: keys(),
        open: false,
        build: Box::new(move |options, seed| {
            let settings = settings(options)?;
            let evaluator = part(options, &known, "evaluator")?.ok_or_else(|| {
                unavailable("mpc", "name an evaluator, as in mpc:evaluator={uci:stockfish,nodes=1000}")
            })?;
            let opponent = part(options, &known, "opponent")?;
            // One player plays both parts where they are the same.
            let opponent = opponent.filter(|opponent| *opponent != evaluator);
            let maker = |spec| maker(spec, &known);
            MpcPlayer::new(settings, maker(evaluator), opponent.map(maker), seed)
                .map(|player| Box::new(player) as Box<dyn Player>)
                .map_err(|reason| unavailable("mpc", &reason))
        }),
    });
    let known = registry.clone();
    registry.add(Kind {
        name: "fresh",
        help: "a player that forgets everything before each move: no stored hash, no kept tree",
        keys: vec![Key::new("argument", "the player, in braces if it has options")],
        open: false,
        build: Box::new(move |options, seed| Ok(Box::new(Fresh::new(inner(options, &known, seed)?, seed)))),
    });
    let known = registry.clone();
    registry.add(Kind {
        name: "predicted",
        help: "plays the reply its opponent predicts: the other side of a deterministic match with mpc",
        keys: vec![Key::new(
            "argument",
            "the player that moves where nothing is predicted, in braces if it has options",
        )],
        open: false,
        build: Box::new(move |options, seed| Ok(Box::new(Predicted::new(inner(options, &known, seed)?)))),
    });
    add_staged(registry);
}

/// Adds `staged`, a player with others for the beginning and the end of the game.
fn add_staged(registry: &mut Registry) {
    let known = registry.clone();
    registry.add(Kind {
        name: "staged",
        help: "a player that leaves the first moves of a game and its endgame to others",
        keys: vec![
            Key::new("argument", "the player of the middle game, in braces if it has options"),
            Key::new("opening", "the player of the first moves, in braces if it has options (default: none)"),
            Key::new("moves", "moves of each side in the opening (default 12)"),
            Key::new("endgame", "the player of the endgame; chess only (default: none)"),
            Key::new(
                "pieces",
                "pieces, kings and pawns included, with which the endgame begins (default 12)",
            ),
        ],
        open: false,
        build: Box::new(move |options, seed| {
            let middle = inner(options, &known, seed)?;
            let other = |options: &mut Options<'_>, key: &str, count: &str| {
                let spec = part(options, &known, key)?;
                let n: u32 = options.positive(count)?.unwrap_or(12);
                spec.map(|spec| Ok((known.build(&spec, seed)?, n))).transpose()
            };
            let opening = other(options, "opening", "moves")?;
            let endgame = other(options, "endgame", "pieces")?;
            Ok(Box::new(Staged { middle, opening, endgame }))
        }),
    });
}

/// The player inside a player.
fn inner(options: &mut Options<'_>, known: &Registry, seed: u64) -> Result<Box<dyn Player>, BuildError> {
    let kind = options.kind();
    let line = options.argument::<String>()?.ok_or_else(|| {
        unavailable(kind, &format!("name a player, as in {kind}:{{uci:stockfish,nodes=1000}}"))
    })?;
    let fault = |error: crate::SpecError| unavailable(kind, &error.to_string());
    known.build(&line.parse().map_err(fault)?, seed)
}

fn keys() -> Vec<Key> {
    let default = MpcSettings::default();
    let tunable = |name, range, default: String, help| Key::from(Tunable { name, range, default, help });
    vec![
        Key::new("evaluator", "the player that evaluates positions, in braces if it has options"),
        Key::new("opponent", "the player who replies (default the evaluator)"),
        tunable("steps", Range::Choice(Steps::WORDS), default.steps.to_string(), "Steps of lookahead"),
        tunable(
            "p",
            Range::Integer(1, MOST_WIDTH as u64),
            default.width.to_string(),
            "Moves that a second step searches",
        ),
        tunable(
            "fortified",
            Range::Switch,
            default.fortified.to_string(),
            "Plays the evaluator's own move if the evaluator values the position higher than mpc's move",
        ),
        Key::new(
            "time",
            "seconds of each call of a player (default a share of the move's time, if that is limited)",
        ),
        Key::new("nodes", "nodes of each call of a player (default its own)"),
        Key::new("depth", "depth of each call of a player (default its own)"),
        tunable(
            "threads",
            Range::Integer(1, MOST_THREADS as u64),
            default.threads.to_string(),
            "Concurrent calls, each with its own players; default one per core",
        ),
    ]
}

fn settings(options: &mut Options<'_>) -> Result<MpcSettings, BuildError> {
    let default = MpcSettings::default();
    let per_call = Limit {
        time: options.seconds("time")?,
        nodes: options.positive("nodes")?,
        depth: options.positive("depth")?,
        ..Limit::default()
    };
    let up_to = |most: usize, key, number: usize| {
        if number <= most { Ok(number) } else { Err(BuildError::value("mpc", key, &number.to_string())) }
    };
    let width = up_to(MOST_WIDTH, "p", options.positive("p")?.unwrap_or(default.width))?;
    let threads = up_to(MOST_THREADS, "threads", options.positive("threads")?.unwrap_or(default.threads))?;
    Ok(MpcSettings {
        steps: options.value("steps")?.unwrap_or(default.steps),
        width,
        fortified: options.value("fortified")?.unwrap_or(default.fortified),
        per_call,
        threads,
    })
}

/// The player named by an option, checked as far as that goes without making it.
fn part(options: &mut Options<'_>, known: &Registry, key: &str) -> Result<Option<PlayerSpec>, BuildError> {
    let Some(line) = options.value::<String>(key)? else { return Ok(None) };
    let kind = options.kind().to_owned();
    let fault = |reason: String| unavailable(&kind, &format!("{key}: {reason}"));
    let spec: PlayerSpec = line.parse().map_err(|error: crate::SpecError| fault(error.to_string()))?;
    if kind == "mpc" && spec.kind == "mpc" {
        return Err(fault("mpc cannot be a part of mpc".to_owned()));
    }
    known.check(&spec).map_err(|error| fault(error.to_string()))?;
    Ok(Some(spec))
}

fn maker(spec: PlayerSpec, known: &Registry) -> Maker {
    let known = known.clone();
    Arc::new(move |seed| known.build(&spec, seed).map_err(|error| error.to_string()))
}

fn unavailable(player: &str, reason: &str) -> BuildError {
    BuildError::Unavailable { player: player.to_owned(), reason: reason.to_owned() }
}
