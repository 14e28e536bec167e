//! Runs a league of the basic players: `cargo run --example league -- CONFIG.toml FOLDER`.
//!
//! The folder keeps every game; run it again after a stop and it finishes the rest. Writes `report.html` there.

use mavis_league::wire::{LeagueConfig, LeagueStore};
use mavis_league::{Event, Intervals, RunOptions, report, run, standings};
use mavis_play::Registry;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: league CONFIG.toml FOLDER".into());
    };
    let (path, folder) = (Path::new(&path), Path::new(&folder));
    let config = LeagueConfig::from_toml(&std::fs::read_to_string(path)?)?;
    let base = path.parent().unwrap_or(Path::new("."));
    let registry = Arc::new(Registry::basic());
    let summary = run(&config, folder, base, &registry, &RunOptions::default(), &mut |event| {
        if let Event::Finished { finished, planned, .. } = event
            && finished % 100 == 0
        {
            // Progress is for the eye only; a closed stderr must not stop a league.
            let _ = writeln!(std::io::stderr(), "{finished}/{planned}");
        }
    })?;
    let (config, games) = LeagueStore::read(folder)?;
    let standings = standings(&config, &games, Intervals::Sandwich)?;
    std::fs::write(folder.join("report.html"), report::html(&standings, &config)?)?;
    writeln!(std::io::stdout(), "{}\n{}", report::table(&standings), report::cross_table(&standings))?;
    writeln!(std::io::stdout(), "{} games played in this run", summary.played)?;
    Ok(())
}
