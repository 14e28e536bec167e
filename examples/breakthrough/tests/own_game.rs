//! Everything Mavis does with a game outside the six: rules, a search, a league, PROBS.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use breakthrough::{Breakthrough, BreakthroughRules, settings};
use mavis_eval::Scripted;
use mavis_game::{FromRules as _, Game as _, Outcome, Side, perft};
use mavis_league::{
    Intervals, RunOptions, run, standings,
    wire::{LeagueConfig, LeagueStore},
};
use mavis_net::Device;
use mavis_play::{Lookahead, Player, Referee, Registry};
use mavis_probs::{Effort, Meter, Model, ProbsPlayer, train_game};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
};
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

fn start() -> Breakthrough {
    Breakthrough::start(BreakthroughRules)
}

/// Counted by hand at depth 1: 6 pawns in front, of which the 4 inner ones have 3 moves and the outer ones 2.
#[test]
fn the_rules_hold_along_random_games() {
    assert_eq!((perft(&start(), 1), perft(&start(), 2)), (16, 16 * 16));
    for seed in 0..50_u32 {
        let (mut position, mut random) = (start(), seed);
        while position.outcome().is_none() {
            assert_eq!(Breakthrough::parse(BreakthroughRules, &position.to_string()).unwrap(), position);
            for mv in position.legal_moves() {
                assert_eq!(position.parse_move(&position.move_text(mv)), Ok(mv));
            }
            random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let mv = position.random_move(random).expect("the side to move can always move");
            position.play(mv).unwrap();
        }
        assert!(position.end_reason().is_some() && position.legal_moves().is_empty());
    }
    assert!(start().play_text("a2a4").is_err() && start().play_text("hello").is_err());
    assert!(Breakthrough::parse(BreakthroughRules, "xxxxxx x").is_err());
    assert!(Breakthrough::parse(BreakthroughRules, "x...../....../....../....../....../.....o x").is_err());
}

/// The first player is one step from the far row; any search sees that.
#[test]
fn a_search_proves_the_win_and_goes_on_from_its_saved_tree() {
    let position =
        Breakthrough::parse(BreakthroughRules, "o...../..x.oo/....../....../.x..../x...x. x").unwrap();
    let settings = MctsSettings { simulations: 200, ..MctsSettings::default() };
    let mut search = Search::new(position, Arc::new(Scripted::new(1)), settings.clone());
    let report = search.run_blocking(&Stop::never()).unwrap();
    let mut after = position;
    after.play(report.best.unwrap()).unwrap();
    assert_eq!(
        after.outcome(),
        Some(Outcome::Win(Side::First)),
        "{}",
        position.move_text(report.best.unwrap())
    );
    let saved = search.snapshot();
    assert_eq!(saved.game, "breakthrough");
    let restored = Search::<Breakthrough>::restore(&saved, Arc::new(Scripted::new(1)), settings).unwrap();
    assert_eq!(restored.snapshot(), saved);
}

/// Points of the first of two players in so many games with sides swapped.
fn points(one: &mut dyn Player<Breakthrough>, two: &mut dyn Player<Breakthrough>, n_games: u64) -> f64 {
    let mut points = 0.0;
    for game in 0..n_games {
        one.reseed(2 * game);
        two.reseed(2 * game + 1);
        let side = if game % 2 == 0 { Side::First } else { Side::Second };
        let record = match side {
            Side::First => Referee::default().play(&start(), [&mut *one, &mut *two]),
            Side::Second => Referee::default().play(&start(), [&mut *two, &mut *one]),
        };
        points += f64::from(u8::from(record.verdict.unwrap().outcome.winner() == Some(side)));
    }
    points
}

#[test]
fn a_league_is_played_logged_and_rated() {
    let mut text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/league.toml")).unwrap();
    text.push_str("[[players]]\nplayer = 'scripted-mcts:sims=50'\n");
    let config = LeagueConfig::from_toml_for::<Breakthrough>(&text).unwrap();
    assert!(LeagueConfig::from_toml(&text).unwrap_err().to_string().contains("unknown game 'breakthrough'"));
    let mut registry = Registry::<Breakthrough>::rules_only();
    mavis_play::add_scripted(&mut registry);
    let folder = tempfile::tempdir().unwrap();
    let play = || {
        run(
            &config,
            folder.path(),
            Path::new("."),
            &Arc::new(registry.clone()),
            &RunOptions::default(),
            &mut |_| {},
        )
    };
    assert_eq!(play().unwrap().played, 120, "ten pairs of each of six pairings");
    assert_eq!(play().unwrap().played, 0, "a league that is complete plays nothing");
    let (config, games) = LeagueStore::read(folder.path()).unwrap();
    let replay = games[0].positions::<Breakthrough>(BreakthroughRules).unwrap();
    let (mut last, mv) = *replay.last().unwrap();
    last.play(mv).unwrap();
    assert_eq!(last.outcome(), Some(games[0].result.into()));
    let standings = standings(&config, &games, Intervals::Sandwich).unwrap();
    let elo = |name: &str| {
        let names = config.names();
        standings.ratings.players[names.iter().position(|known| known == name).unwrap()].elo.value
    };
    assert!(elo("mcts:sims=500") > elo("lookahead:2") && elo("lookahead:2") > elo("random"), "{standings:?}");
}

/// A minute of PROBS on two cores; `cargo test -p breakthrough -- --ignored`.
#[test]
#[ignore = "learns for a minute"]
fn probs_learns_to_beat_two_plies_of_lookahead() {
    let folder = tempfile::tempdir().unwrap();
    let options = mavis_probs::RunOptions {
        device: Device::Cpu,
        stop: &AtomicBool::new(false),
        deadline: None,
        watch: &mut |_| {},
        elsewhere: None,
        meter: Arc::new(Meter::default()),
    };
    train_game(start(), &settings(), folder.path(), options).unwrap();
    let model = Model::load_for::<Breakthrough>(&folder.path().join("best.safetensors")).unwrap();
    let mut learned = ProbsPlayer::new("learned".to_owned(), Arc::new(model), Effort::default()).unwrap();
    let points = points(&mut learned, &mut Lookahead::new(2, 1).unwrap(), 100);
    assert!(points > 60.0, "{points} of 100 points");
}
