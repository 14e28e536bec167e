//! Plays Breakthrough in the terminal, runs a league of it, or learns it.

use anyhow::bail;
use breakthrough::{Breakthrough, BreakthroughRules};
use mavis_game::{FromRules as _, Game as _};
use mavis_league::{
    Intervals, RunOptions, report, run, standings,
    wire::{LeagueConfig, LeagueStore},
};
use mavis_net::Device;
use mavis_play::{Human, Kind, MoveRecord, Referee, Registry};
use mavis_probs::{Meter, add_probs, train_game, wire::Line};
use std::{
    io::Write as _,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

const USAGE: &str = "usage: breakthrough play FIRST SECOND | league CONFIG.toml FOLDER | learn FOLDER";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["play", first, second] => play(first, second),
        ["league", config, folder] => league(Path::new(config), Path::new(folder)),
        ["learn", folder] => learn(Path::new(folder)),
        _ => bail!(USAGE),
    }
}

/// Everyone who plays: `random`, `lookahead:2`, `mcts:sims=500`, `probs:FOLDER/best.safetensors`, `human`.
fn players() -> Registry<Breakthrough> {
    let mut registry = Registry::rules_only();
    add_probs(&mut registry);
    registry.add(Kind {
        name: "human",
        help: "you, at the terminal",
        keys: Vec::new(),
        open: false,
        build: Box::new(|_, _| Ok(Box::new(Human))),
    });
    registry
}

fn play(first: &str, second: &str) -> anyhow::Result<()> {
    let registry = players();
    let mut first = registry.build(&first.parse()?, 1)?;
    let mut second = registry.build(&second.parse()?, 2)?;
    let start = Breakthrough::start(BreakthroughRules);
    let mut out = std::io::stdout();
    writeln!(out, "{}", start.drawing())?;
    let mut show = |made: &MoveRecord, position: &Breakthrough| {
        // A closed stdout does not stop the game.
        let _ = writeln!(out, "{}\n{}", made.text, position.drawing());
    };
    let record = Referee::default().play_observed(&start, [&mut *first, &mut *second], &mut show);
    if let Some(verdict) = record.verdict {
        writeln!(out, "{} ({})", verdict.outcome, verdict.termination)?;
    }
    Ok(())
}

fn league(config: &Path, folder: &Path) -> anyhow::Result<()> {
    let base = config.parent().unwrap_or(Path::new("."));
    let config = LeagueConfig::from_toml_for::<Breakthrough>(&std::fs::read_to_string(config)?)?;
    run(&config, folder, base, &Arc::new(players()), &RunOptions::default(), &mut |_| {})?;
    let (config, games) = LeagueStore::read(folder)?;
    let standings = standings(&config, &games, Intervals::Sandwich)?;
    Ok(writeln!(std::io::stdout(), "{}", report::table(&standings))?)
}

fn learn(folder: &Path) -> anyhow::Result<()> {
    let start = Breakthrough::start(BreakthroughRules);
    let settings = breakthrough::settings();
    let mut watch = |line: &Line| {
        if let Line::Evaluation(line) = line {
            // Progress is for the eye only.
            let _ = writeln!(std::io::stderr(), "round {}: Elo {:.0}", line.round, line.elo);
        }
    };
    let options = mavis_probs::RunOptions {
        device: Device::Cpu,
        stop: &AtomicBool::new(false),
        deadline: None,
        watch: &mut watch,
        meter: Arc::new(Meter::default()),
        elsewhere: None,
    };
    train_game(start, &settings, folder, options)?;
    Ok(())
}
