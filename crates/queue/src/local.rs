//! The queue of one process: work spread over threads, results in order.

use crate::{Beat, JobKind, Queue, QueueError, Runner};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Runs jobs on threads of this process, one runner each; inputs and results are handed over as they are.
pub struct Local<R> {
    runners: Vec<R>,
}

impl<R> Local<R> {
    /// A queue with one thread for each runner.
    #[must_use]
    pub fn new(runners: Vec<R>) -> Self {
        Self { runners }
    }
}

impl<K: JobKind, R: Runner<K>> Queue<K> for Local<R> {
    fn run<T: Send, E: From<QueueError> + Send>(
        &mut self,
        jobs: impl Iterator<Item = Result<(T, K::Input), E>> + Send,
        mut sink: impl FnMut(T, K::Output) -> Result<(), E>,
    ) -> Result<(), E> {
        let beat = Beat::default();
        ordered(
            self.runners.iter_mut().collect(),
            jobs,
            |runner: &mut &mut R, job| {
                let (tag, input) = job?;
                let failed = |reason| QueueError::Failed { kind: K::NAME.to_owned(), reason };
                Ok::<_, E>((tag, runner.run(input, &beat).map_err(failed)?))
            },
            |done| {
                let (tag, output) = done?;
                sink(tag, output)
            },
        )
    }
}

/// Applies `work` to every item, one worker a thread, and hands the results to `sink` in the order of the items on the calling
/// thread. Workers run ahead of the oldest unfinished item by a bounded number, so memory stays flat. When `sink` fails no
/// further item is drawn, and its error is returned after the ones in work.
pub fn ordered<W, I, O, E>(
    workers: Vec<W>,
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(&mut W, I) -> O + Sync,
    mut sink: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E>
where
    W: Send,
    I: Send,
    O: Send,
{
    let n_ahead = 16 * workers.len().max(1) as u64;
    let stream = Mutex::new(Some((0_u64..).zip(items)));
    // Tickets bound how far ahead workers run; the sink hands one back with every result it takes.
    let (tickets, ticket) = mpsc::sync_channel::<()>(n_ahead as usize);
    for _ in 0..n_ahead {
        // The channel holds exactly that many.
        let _ = tickets.try_send(());
    }
    let ticket = Mutex::new(ticket);
    let next = || {
        // No ticket comes once the sink is gone.
        ticket.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()?;
        stream.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Iterator::next)
    };
    thread::scope(|scope| {
        let (results, finished) = mpsc::channel();
        for mut worker in workers {
            let (results, next, work) = (results.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((number, item)) = next() {
                    if results.send((number, work(&mut worker, item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(results);
        let mut waiting = BTreeMap::new();
        let mut expected = 0;
        let mut tickets = Some(tickets);
        let mut outcome = Ok(());
        for (number, result) in finished {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&expected) {
                expected += 1;
                if outcome.is_ok() {
                    outcome = sink(result);
                }
                match (&tickets, outcome.is_ok()) {
                    (Some(tickets), true) => {
                        // Room is there: a ticket was taken for this result.
                        let _ = tickets.try_send(());
                    }
                    _ => {
                        *stream.lock().unwrap_or_else(PoisonError::into_inner) = None;
                        tickets = None;
                    }
                }
            }
        }
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn results_come_in_order_and_no_worker_runs_far_ahead() {
        let drawn = AtomicU64::new(0);
        let items = (0..500_u64).inspect(|_| {
            drawn.fetch_add(1, Ordering::SeqCst);
        });
        let mut taken = Vec::new();
        let result: Result<(), ()> = ordered(
            vec![(); 3],
            items,
            |(), item| {
                if item == 7 {
                    thread::sleep(std::time::Duration::from_millis(30));
                }
                item * item
            },
            |square| {
                assert!(drawn.load(Ordering::SeqCst) <= taken.len() as u64 + 48);
                taken.push(square);
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        assert_eq!(taken, (0..500).map(|item| item * item).collect::<Vec<u64>>());
    }

    #[test]
    fn a_failing_sink_stops_the_work() {
        let drawn = AtomicU64::new(0);
        let items = (0..10_000_u64).inspect(|_| {
            drawn.fetch_add(1, Ordering::SeqCst);
        });
        let result =
            ordered(vec![(); 2], items, |(), item| item, |item| if item == 5 { Err(item) } else { Ok(()) });
        assert_eq!(result, Err(5));
        assert!(drawn.load(Ordering::SeqCst) < 200);
    }
}
