//! The least a match runner can do: pipes.

use super::Pace;
use anyhow::{Context, anyhow};
use mavis_league::wire::StoredGame;
use mavis_oracle::process::{forget, watched};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Repeats games that are known: every position is sent, every answer awaited, the known move played.
pub(super) struct Bare {
    pub(super) program: PathBuf,
    pub(super) pace: Pace,
    pub(super) concurrency: usize,
}

/// One engine.
struct Engine {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Bare {
    /// Plays all games again; the processor seconds of each engine process.
    pub(super) fn replay(&self, games: &[StoredGame]) -> anyhow::Result<Vec<f64>> {
        let next = AtomicUsize::new(0);
        let work = || -> anyhow::Result<Vec<f64>> {
            let mut engines = [Engine::start(&self.program)?, Engine::start(&self.program)?];
            while let Some(game) = games.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.game(&mut engines, game)?;
            }
            engines.into_iter().map(Engine::end).collect()
        };
        std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..self.concurrency).map(|_| scope.spawn(work)).collect();
            let mut seconds = Vec::new();
            for worker in workers {
                seconds.extend(worker.join().map_err(|_| anyhow!("a thread of the bare loop panicked"))??);
            }
            Ok(seconds)
        })
    }

    fn game(&self, engines: &mut [Engine; 2], game: &StoredGame) -> anyhow::Result<()> {
        for engine in engines.iter_mut() {
            engine.send("ucinewgame\nisready\n")?;
            engine.await_word("readyok")?;
        }
        let start = game.start.as_ref().map_or_else(|| "startpos".to_owned(), |fen| format!("fen {fen}"));
        let mut line = format!("position {start} moves");
        game.opening.iter().for_each(|text| line.push_str(&format!(" {text}")));
        for (ply, made) in game.moves.iter().enumerate() {
            let engine = &mut engines[ply % 2];
            engine.send(&format!("{line}\n{}\n", self.pace.go()))?;
            engine.await_word("bestmove")?;
            line.push_str(&format!(" {}", made.text));
        }
        Ok(())
    }
}

impl Engine {
    fn start(program: &Path) -> anyhow::Result<Self> {
        // Killed with this program like the engines of a league, also in the middle of a long search.
        let mut child = watched(program, &[])?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let to = child.stdin.take().context("an engine without input")?;
        let from = BufReader::new(child.stdout.take().context("an engine without output")?);
        let mut engine = Self { child, to, from };
        engine.send("uci\n")?;
        engine.await_word("uciok")?;
        Ok(engine)
    }

    fn send(&mut self, text: &str) -> std::io::Result<()> {
        self.to.write_all(text.as_bytes())
    }

    /// Reads up to the line that begins with a word.
    fn await_word(&mut self, word: &str) -> anyhow::Result<()> {
        let mut line = String::new();
        while !line.starts_with(word) {
            line.clear();
            if self.from.read_line(&mut line)? == 0 {
                return Err(anyhow!("the engine exited before '{word}'"));
            }
        }
        Ok(())
    }

    /// Ends the engine; how many seconds of processor time it took.
    fn end(mut self) -> anyhow::Result<f64> {
        let seconds = super::super::usage::processor_seconds(self.child.id()).unwrap_or(0.0);
        self.send("quit\n")?;
        self.child.wait()?;
        forget(self.child.id());
        Ok(seconds)
    }
}
