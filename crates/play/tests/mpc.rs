//! MPC-MC over doubles that count, solvers, weak searches and the real Stockfish.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

mod counting;
mod engines;
mod strength;

use mavis_game::{Game as _, Position, Rules};
use mavis_play::{
    Analysis, Limit, Player, PlayerError, PlayerSpec, Referee, Registry, Termination, Thought, Turn,
    add_engines, add_mpc, add_oracles,
};

fn registry() -> Registry {
    let mut registry = Registry::basic();
    let path = Some(mavis_testkit::engine_path());
    add_oracles(&mut registry, path.clone());
    add_engines(&mut registry, path);
    add_mpc(&mut registry);
    registry
}

fn build(spec: &str) -> Box<dyn Player> {
    registry().build(&spec.parse().unwrap(), 1).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn analyze(player: &mut dyn Player, position: &Position, limit: Limit) -> Result<Analysis, PlayerError> {
    let sink = &mut |_: &Thought| {};
    player.analyze(&mut Turn::alone(position, limit, sink))
}

#[test]
fn all_six_games_are_played_with_every_number_of_steps() {
    for rules in [
        Rules::Chess,
        Rules::Chess960,
        Rules::Connect4,
        Rules::Hex { size: 4, swap: true },
        Rules::Othello,
        Rules::Togyz,
    ] {
        for options in ["steps=half", "steps=1", "steps=2,p=2", "steps=1,fortified=true"] {
            let mut player = build(&format!("mpc:evaluator={{mcts:sims=3}},threads=2,{options}"));
            let mut other = build("random");
            let referee = Referee { max_plies: Some(4), ..Referee::default() };
            let record = referee.play(&Position::start(rules), [&mut *player, &mut *other]);
            let termination = record.verdict.unwrap().termination;
            assert!(matches!(termination, Termination::MaxLength), "{rules} {options}: {termination}");
            assert!(record.moves[0].thought.value.is_some());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_game_whatever_the_number_of_threads() {
    let game = |threads: u32| {
        let spec = format!("mpc:evaluator={{mcts:sims=20}},opponent={{mcts:sims=10}},threads={threads}");
        let mut player = build(&spec);
        let mut other = build("mcts:sims=20");
        player.reseed(7);
        other.reseed(8);
        Referee::default().play(&Position::start(Rules::Connect4), [&mut *player, &mut *other]).moves
    };
    let texts = |threads| game(threads).into_iter().map(|made| (made.text, made.thought.value)).collect();
    let one: Vec<_> = texts(1);
    assert_eq!(one, texts(5));
}

#[test]
fn one_line_and_a_table_name_the_same_player() {
    let table: toml::Value = toml::from_str(
        "[p]\nplayer = 'mpc'\nsteps = 2\np = 4\nfortified = true\nthreads = 2\n\
         evaluator = { player = 'mcts', sims = 5 }\nopponent = 'lookahead:1'",
    )
    .unwrap();
    let spec = PlayerSpec::try_from(&table["p"]).unwrap();
    let line = "mpc:evaluator={mcts:sims=5},opponent=lookahead:1,steps=2,p=4,fortified=true,threads=2";
    assert_eq!(spec, line.parse().unwrap());
    let player = registry().build(&spec, 0).unwrap();
    assert_eq!(player.name(), "mpc (mcts:sims=5 against lookahead:1, two steps, best 4, fortified)");
}

#[test]
fn what_cannot_be_built_is_one_line_with_the_reason() {
    for (spec, part) in [
        ("mpc", "name an evaluator, as in mpc:evaluator={uci:stockfish,nodes=1000}"),
        ("mpc:evaluator=random", "the evaluator 'random' gives no value of a position"),
        ("mpc:evaluator=mctz", "evaluator: unknown player 'mctz' (did you mean 'mcts'?)"),
        (
            "mpc:evaluator={mcts:simz=3}",
            "evaluator: player 'mcts' has no option 'simz' (did you mean 'sims'?)",
        ),
        ("mpc:evaluator={mcts:sims=x}", "evaluator: bad value 'x' for sims of player 'mcts'"),
        (
            "mpc:evaluator=mcts,opponent=uci:no-such-engine",
            "opponent: player 'uci': engine 'no-such-engine' not found",
        ),
        ("mpc:evaluator={mpc:evaluator=mcts}", "evaluator: mpc cannot be a part of mpc"),
        ("mpc:evaluator=mcts,steps=3", "bad value '3' for steps of player 'mpc' (half or 1 or 2)"),
        ("mpc:evaluator=mcts,p=0", "bad value '0' for p of player 'mpc'"),
        ("mpc:evaluator=mcts,threads=0", "bad value '0' for threads of player 'mpc'"),
        ("mpc:evaluator=mcts,threads=1000", "(a whole number from 1 to 256)"),
        ("mpc:evaluator=mcts,nodes=0", "bad value '0' for nodes of player 'mpc'"),
        ("mpc:evaluator=mcts,depth=0", "bad value '0' for depth of player 'mpc'"),
        ("mpc:evaluator=mcts,time=1e300", "bad value '1e300' for time of player 'mpc'"),
        ("mpc:evaluator={mcts,sims=3}", "evaluator: expected NAME:OPTION=VALUE,... such as 'mcts:sims=3'"),
        ("uci:stockfish,nodes=0", "bad value '0' for nodes of player 'uci'"),
        ("oracle:depth=0", "bad value '0' for depth of player 'oracle'"),
        ("mpc:evaluator=mcts,time=-1", "bad value '-1' for time of player 'mpc'"),
        ("mpc:evaluator=mcts,stepz=1", "player 'mpc' has no option 'stepz' (did you mean 'steps'?)"),
        ("predicted", "name a player, as in predicted:{uci:stockfish,nodes=1000}"),
        ("fresh", "name a player, as in fresh:{uci:stockfish,nodes=1000}"),
        ("predicted:mctz", "unknown player 'mctz'"),
        ("uci:stockfish,jitter=2", "bad value '2' for jitter of player 'uci'"),
    ] {
        let error = registry().build(&spec.parse().unwrap(), 0).err().expect(spec).to_string();
        assert!(error.contains(part) && error.lines().count() == 1, "{spec}: {error}");
    }
}

#[test]
fn a_foreign_game_is_refused_by_name() {
    let mut player = build("mpc:evaluator={uci:stockfish,nodes=10,patience=60000}");
    let error = analyze(&mut *player, &Position::start(Rules::Togyz), Limit::default()).unwrap_err();
    assert!(matches!(error, PlayerError::Unsupported { .. }), "{error}");
}

#[test]
fn only_the_moves_asked_for_are_tried() {
    let position = Position::start(Rules::Othello);
    let only = position.legal_moves()[1..3].to_vec();
    let mut player = build("mpc:evaluator={mcts:sims=10},fortified=true");
    let limit = Limit { only: only.clone(), ..Limit::default() };
    let analysis = analyze(&mut *player, &position, limit).unwrap();
    assert_eq!(analysis.moves.len(), 2);
    assert!(only.contains(&analysis.choice.mv));
}
