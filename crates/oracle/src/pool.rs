//! Many oracles at work on one stream of positions.

use crate::{Oracle, OracleError, Ranking};
use mavis_game::Position;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// What became of one position.
#[derive(Debug)]
pub struct PoolResult {
    /// Its place in the stream, from 0.
    pub number: usize,
    /// The position.
    pub position: Position,
    /// The ranking, or why the position was set aside.
    pub result: Result<Ranking, OracleError>,
}

/// Judges every position, one oracle per thread, and hands each result to `sink` on the calling thread as it comes.
///
/// Results come in the order they are finished; [`PoolResult::number`] gives the stream's order. Memory stays flat: a
/// position is drawn only when an oracle is free. When `sink` answers `false` no further position is drawn, and the
/// call returns after the ones in work.
pub fn evaluate_all<O, I>(oracles: &mut [O], positions: I, mut sink: impl FnMut(PoolResult) -> bool)
where
    O: Oracle,
    I: Iterator<Item = Position> + Send,
{
    let stream = Mutex::new(Some(positions.enumerate()));
    // A panic of the caller's iterator reaches the caller through the scope; others only stop drawing.
    let next = || stream.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Iterator::next);
    let (results, judged) = mpsc::sync_channel(oracles.len() * 2);
    thread::scope(|scope| {
        for oracle in oracles.iter_mut() {
            let (results, next) = (results.clone(), &next);
            scope.spawn(move || {
                while let Some((number, position)) = next() {
                    let result = oracle.evaluate(&position);
                    if results.send(PoolResult { number, position, result }).is_err() {
                        break;
                    }
                }
            });
        }
        drop(results);
        for judged in judged {
            if !sink(judged) {
                *stream.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
        }
    });
}
