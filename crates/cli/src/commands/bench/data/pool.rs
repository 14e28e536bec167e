//! Engines in the annotation pool against the same engines alone.

use crate::commands::bench::usage::{own_seconds, waited_seconds};
use crate::input::OrBadInput;
use anyhow::{Context, anyhow};
use mavis_data::import::{Format, Importer};
use mavis_data::wire::PositionRow;
use mavis_data::{AnnotateSettings, TableReader, TableWriter, annotate, sample, unique};
use mavis_oracle::Oracle;
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::process::{find_engine, forget, watched};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

/// The share of the engines' own speed that was asked for, in percent.
const ASKED: f64 = 95.0;

pub(super) struct Setup<'a> {
    pub(super) engine: &'a str,
    pub(super) nodes: u64,
    pub(super) jobs: usize,
    pub(super) rounds: usize,
}

/// One way to judge the positions, summed over the rounds.
#[derive(Clone, Copy, Default, Serialize)]
struct Way {
    positions_per_second: f64,
    /// Processor seconds of the engines, without their start, and of this program.
    engine_seconds: f64,
    own_seconds: f64,
}

#[derive(Serialize)]
pub(super) struct Pool {
    engine: String,
    nodes: u64,
    jobs: usize,
    positions: u64,
    rounds: usize,
    alone: Way,
    pool: Way,
    /// Positions, and so nodes, a second of the pool by those of the engines alone.
    ratio: f64,
    /// The same by processor time.
    processor_ratio: f64,
}

impl Setup<'_> {
    pub(super) fn measure(&self, pgn: &Path, n: u64, folder: &Path) -> anyhow::Result<Pool> {
        let program = find_engine(self.engine, std::env::var_os("PATH").as_deref()).or_bad_input()?;
        let (table, fens) = positions(pgn, n, folder)?;
        let (mut alone, mut pool) = (Way::default(), Way::default());
        for round in 0..self.rounds {
            let (way, start_seconds) = self.alone(&program, &fens, folder)?;
            alone.add(way);
            let out = folder.join(format!("round-{round}"));
            let mut way = self.by_pool(&program, &table, &out, fens.len())?;
            way.engine_seconds -= start_seconds;
            pool.add(way);
        }
        let rounds = self.rounds as f64;
        for way in [&mut alone, &mut pool] {
            way.positions_per_second /= rounds;
        }
        let processor = |way: Way| way.engine_seconds + way.own_seconds;
        Ok(Pool {
            engine: self.engine.to_owned(),
            nodes: self.nodes,
            jobs: self.jobs,
            positions: fens.len() as u64,
            rounds: self.rounds,
            alone,
            pool,
            ratio: pool.positions_per_second / alone.positions_per_second,
            processor_ratio: processor(alone) / processor(pool),
        })
    }

    /// As many processes as jobs, each with its share of the positions as a file of commands; nobody reads the answers. What the start
    /// costs is measured with an empty share and taken off; its processor seconds are the second answer.
    fn alone(&self, program: &Path, fens: &[String], folder: &Path) -> anyhow::Result<(Way, f64)> {
        let before = waited_seconds();
        let start = self.processes(program, &[], folder)?;
        let between = waited_seconds();
        let work = self.processes(program, fens, folder)?;
        let after = waited_seconds();
        let speeds =
            work.iter().zip(&start).map(|((n, seconds), (_, start))| *n as f64 / (seconds - start).max(1e-9));
        let start_seconds = between - before;
        let engine_seconds = after - between - start_seconds;
        let way = Way { positions_per_second: speeds.sum(), engine_seconds, own_seconds: 0.0 };
        Ok((way, start_seconds))
    }

    /// Positions and seconds of each process.
    fn processes(&self, program: &Path, fens: &[String], folder: &Path) -> anyhow::Result<Vec<(usize, f64)>> {
        let mut processes = Vec::new();
        for share in 0..self.jobs {
            let mut text = "setoption name Hash value 1\nsetoption name MultiPV value 256\n".to_owned();
            let fens = fens.iter().skip(share).step_by(self.jobs);
            for fen in fens.clone() {
                writeln!(text, "ucinewgame\nposition fen {fen}\ngo nodes {}", self.nodes)?;
            }
            // `ucinewgame` waits for the last search, `quit` would cut it off.
            text.push_str("ucinewgame\nquit\n");
            let path = folder.join(format!("commands-{share}"));
            fs::write(&path, text)?;
            processes.push((path, fens.count()));
        }
        std::thread::scope(|scope| {
            let run = |path: PathBuf| -> anyhow::Result<f64> {
                let begin = Instant::now();
                let mut command = watched(program, &[])?;
                command.stdin(fs::File::open(path)?).stdout(Stdio::null());
                let mut engine =
                    command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
                engine.wait()?;
                forget(engine.id());
                Ok(begin.elapsed().as_secs_f64())
            };
            let threads: Vec<_> =
                processes.into_iter().map(|(path, n)| (n, scope.spawn(move || run(path)))).collect();
            let joined = threads
                .into_iter()
                .map(|(n, thread)| Ok((n, thread.join().map_err(|_| anyhow!("a thread panicked"))??)));
            joined.collect()
        })
    }

    /// The whole of `mavis data annotate`, from the table of positions to the table of annotations.
    fn by_pool(&self, program: &Path, table: &Path, out: &Path, n: usize) -> anyhow::Result<Way> {
        let engines = waited_seconds();
        let settings = EngineSettings::new(program.to_owned(), Limit::Nodes(self.nodes));
        let mut oracles: Vec<Box<dyn Oracle>> = Vec::new();
        for _ in 0..self.jobs {
            oracles.push(Box::new(UciOracle::start(settings.clone()).or_bad_input()?));
        }
        let settings = AnnotateSettings {
            positions: vec![table.to_owned()],
            out: out.to_owned(),
            shard_size: 10_000,
            stop: Arc::default(),
        };
        let (begin, own) = (Instant::now(), own_seconds());
        // The engines are gone when it returns.
        let done = annotate(&settings, oracles, |_| ())?;
        let (seconds, own_seconds) = (begin.elapsed().as_secs_f64(), own_seconds() - own);
        if done.n_rows != n as u64 {
            return Err(anyhow!("{} of {n} positions were annotated", done.n_rows));
        }
        Ok(Way {
            positions_per_second: n as f64 / seconds,
            engine_seconds: waited_seconds() - engines,
            own_seconds,
        })
    }
}

impl Way {
    fn add(&mut self, other: Self) {
        self.positions_per_second += other.positions_per_second;
        self.engine_seconds += other.engine_seconds;
        self.own_seconds += other.own_seconds;
    }
}

/// A table of unfinished positions from the games, and their FENs.
fn positions(pgn: &Path, n: u64, folder: &Path) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let [all, once, some] = ["all.parquet", "once.parquet", "some.parquet"].map(|name| folder.join(name));
    let mut importer = Importer { positions: Some(TableWriter::create(&all)?), ..Importer::default() };
    importer.import(pgn, Some(Format::Pgn)).or_bad_input()?;
    importer.finish()?;
    unique::<PositionRow, _>(&[&all], &once)?;
    sample::<PositionRow, _>(&[&once], &some, n, 1)?;
    let (mut writer, mut fens) = (TableWriter::create(&once)?, Vec::new());
    for row in TableReader::<PositionRow>::open(&[&some])? {
        let row = row?;
        // The last position of a game may be over; engines have nothing to say there.
        if row.played.is_some() && row.place.game == "chess" {
            fens.push(row.place.position.clone());
            writer.write(&row)?;
        }
    }
    writer.finish()?;
    Ok((once, fens))
}

impl Pool {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} positions, {} nodes and all moves, {} engines ({}), {} rounds\n\
             \x20          positions/s   nodes/s  engine s  own s\n",
            self.positions, self.nodes, self.jobs, self.engine, self.rounds
        );
        for (name, way) in [("alone", self.alone), ("pool", self.pool)] {
            text.push_str(&format!(
                "  {name:<8} {:>11.1} {:>9.0} {:>9.2} {:>6.2}\n",
                way.positions_per_second,
                way.positions_per_second * self.nodes as f64,
                way.engine_seconds,
                way.own_seconds
            ));
        }
        text + &format!(
            "  the pool reaches {:.1} % of the engines' own speed by the clock, {:.1} % by processor time ({ASKED:.0} % asked)\n",
            100.0 * self.ratio,
            100.0 * self.processor_ratio
        )
    }
}
