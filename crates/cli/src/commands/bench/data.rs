//! `mavis bench data`: oracles and tables.

mod games;
mod import;
mod memory;
mod pool;
mod solver;

use super::machine;
use crate::commands::{answer, answer_json};
use crate::input::BadInput;
use clap::{Args, ValueEnum};
use import::Imported;
use memory::Peak;
use pool::Pool;
use serde::Serialize;
use solver::Solved;
use std::path::{Path, PathBuf};

/// Measures what makes tables: engines in the annotation pool against the same engines alone, the import of games, the Connect Four
/// solver, and the memory of commands when their input grows tenfold.
///
/// Engines alone get the same positions as a file of commands and their answers are not read, which gives their maximum speed. All is
/// measured in one run, in turns; on Linux processor time is given too, which a busy machine disturbs less than the clock.
///
/// Example: mavis bench data --pgn games.pgn.zst
#[derive(Args)]
pub(crate) struct BenchData {
    /// Games to import and to take positions from. Default: random ones from the openings of paper 001
    #[arg(long)]
    pgn: Option<PathBuf>,
    /// A UCI engine
    #[arg(long, default_value = "stockfish")]
    engine: String,
    /// Nodes per position
    #[arg(long, default_value_t = 5_000)]
    nodes: u64,
    /// Engines at work
    #[arg(long, short, default_value_t = 2, value_parser = crate::input::at_once)]
    jobs: usize,
    /// Positions to annotate
    #[arg(long, default_value_t = 600)]
    positions: u64,
    /// How often the engines alone and the pool take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// What to measure. Default: all
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Pool,
    Import,
    Solver,
    Memory,
}

#[derive(Serialize)]
struct Measured {
    machine: String,
    /// Programs that wanted a core when the run began and when it ended, averaged over a minute.
    load: [Option<f64>; 2],
    pool: Option<Pool>,
    import: Option<Imported>,
    solver: Option<Vec<Solved>>,
    memory: Option<Vec<Peak>>,
}

impl BenchData {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if self.jobs == 0 || self.positions == 0 || self.rounds == 0 {
            return Err(BadInput::new("--jobs, --positions and --rounds must be at least 1").into());
        }
        let folder = Folder::new()?;
        let wanted = |part: Part| self.only.is_empty() || self.only.contains(&part);
        let before = load();
        let pgn = match &self.pgn {
            Some(pgn) => pgn.clone(),
            None => games::write_chess(&folder.0.join("random.pgn"), 2_000)?,
        };
        let measured = Measured {
            machine: machine(),
            pool: wanted(Part::Pool).then(|| self.pool(&pgn, &folder.0)).transpose()?,
            import: wanted(Part::Import).then(|| Imported::measure(&pgn, &folder.0)).transpose()?,
            solver: wanted(Part::Solver).then(solver::measure),
            memory: wanted(Part::Memory).then(|| memory::measure(&folder.0)).transpose()?,
            load: [before, load()],
        };
        if self.json { answer_json(&measured) } else { answer(&measured.text()) }
    }

    fn pool(&self, pgn: &Path, folder: &Path) -> anyhow::Result<Pool> {
        pool::Setup { engine: &self.engine, nodes: self.nodes, jobs: self.jobs, rounds: self.rounds }.measure(
            pgn,
            self.positions,
            folder,
        )
    }
}

impl Measured {
    fn text(&self) -> String {
        let number = |load: Option<f64>| load.map_or("-".to_owned(), |load| format!("{load:.1}"));
        let mut text =
            format!("{}, load {} to {}\n", self.machine, number(self.load[0]), number(self.load[1]));
        text.extend(self.pool.iter().map(Pool::text));
        text.extend(self.import.iter().map(Imported::text));
        text.extend(self.solver.iter().map(|sets| solver::text(sets)));
        text.extend(self.memory.iter().map(|peaks| memory::text(peaks)));
        text
    }
}

/// A folder among the temporary files that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("mavis-bench-data-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind among temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
