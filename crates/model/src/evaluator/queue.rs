//! One queue for the requests of all searches, and replies that wake a waiting search once a pass.

use super::Choice;
use mavis_eval::{EvalError, Reply};
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Work for the threads of a model.
#[derive(Debug)]
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<J> {
    jobs: VecDeque<J>,
    closed: bool,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        let state = State { jobs: VecDeque::new(), closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<J> Queue<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends jobs that are ready together; once the queue is closed they are dropped.
    pub(super) fn push(&self, jobs: impl IntoIterator<Item = J>) {
        let mut state = self.lock();
        if !state.closed {
            state.jobs.extend(jobs);
            drop(state);
            // One thread takes all it has room for; if something is left, it wakes the next.
            self.changed.notify_one();
        }
    }

    /// Waits for jobs and takes them from the front, as many as `fits` accepts and at least one; `None` once the queue is
    /// closed and empty. Jobs that are not `wanted` any more are dropped.
    pub(super) fn take(
        &self,
        wanted: impl Fn(&J) -> bool,
        mut fits: impl FnMut(&J) -> bool,
    ) -> Option<Vec<J>> {
        let mut state = self.lock();
        loop {
            let mut taken = Vec::new();
            while let Some(job) = state.jobs.front() {
                if !wanted(job) {
                    state.jobs.pop_front();
                } else if fits(job) || taken.is_empty() {
                    taken.extend(state.jobs.pop_front());
                } else {
                    break;
                }
            }
            if !state.jobs.is_empty() {
                self.changed.notify_one();
            }
            if !taken.is_empty() {
                return Some(taken);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nobody does the jobs any more: those that wait, and all that come, are dropped.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        // Each wakes whoever waits for it.
        drop(jobs);
        self.changed.notify_all();
    }

    /// No more jobs will come; those that wait are still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// What a thread of the model hands back.
#[derive(Debug)]
pub(super) enum JobOutput {
    /// An answer that is finished.
    Reply(Reply),
    /// Logits that the waiting search reads, on its own thread.
    Logits(crate::fan_out::ValueLogits),
    /// A choice among listed moves.
    Best(Choice),
}

/// The places of answers to jobs that were pushed together.
#[derive(Debug)]
struct Group(Mutex<Vec<Place>>);

#[derive(Debug)]
enum Place {
    /// Nobody has asked for it since it was made.
    Open,
    /// Somebody waits for it.
    Awaited(Waker),
    Filled(JobOutput),
    /// Taken, or not wanted any more.
    Done,
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, Vec<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an answer comes out; dropping it says that nobody wants it.
#[derive(Debug)]
pub(super) struct Awaited {
    group: Arc<Group>,
    at: usize,
}

/// Where an answer goes in; dropping it says that there will be none.
#[derive(Debug)]
pub(super) struct Slot {
    group: Arc<Group>,
    at: usize,
    is_filled: bool,
}

/// Both ends of one answer.
pub(super) fn place() -> (Slot, Awaited) {
    ends(&Arc::new(Group(Mutex::new(vec![Place::Open]))), 0)
}

/// Both ends of `n` answers.
pub(super) fn places(n: usize) -> impl Iterator<Item = (Slot, Awaited)> {
    let group = Arc::new(Group(Mutex::new((0..n).map(|_| Place::Open).collect())));
    (0..n).map(move |at| ends(&group, at))
}

fn ends(group: &Arc<Group>, at: usize) -> (Slot, Awaited) {
    (Slot { group: group.clone(), at, is_filled: false }, Awaited { group: group.clone(), at })
}

impl Slot {
    /// Whether somebody still waits.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self.group.lock()[self.at], Place::Done)
    }

    /// Puts the answer in place; returns whom to wake, so that one who waits for many is woken when all are there.
    pub(super) fn fill(mut self, answer: JobOutput) -> Option<Waker> {
        self.put(answer)
    }

    fn put(&mut self, answer: JobOutput) -> Option<Waker> {
        self.is_filled = true;
        let place = &mut self.group.lock()[self.at];
        match std::mem::replace(place, Place::Done) {
            Place::Done => None,
            before => {
                *place = Place::Filled(answer);
                if let Place::Awaited(waker) = before { Some(waker) } else { None }
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_filled {
            let gone = EvalError::Broken("the model's thread has stopped".to_owned());
            if let Some(waker) = self.put(JobOutput::Reply(Err(gone))) {
                waker.wake();
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.group.lock()[self.at] = Place::Done;
    }
}

impl Future for Awaited {
    type Output = JobOutput;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<JobOutput> {
        let place = &mut self.group.lock()[self.at];
        match std::mem::replace(place, Place::Done) {
            Place::Filled(answer) => Poll::Ready(answer),
            _ => {
                *place = Place::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Wakes everybody once.
pub(super) fn wake(wakers: impl IntoIterator<Item = Waker>) {
    let mut woken: Vec<Waker> = Vec::new();
    for waker in wakers {
        // Answers of one search lie side by side.
        if !woken.iter().rev().take(4).any(|known| known.will_wake(&waker)) {
            woken.push(waker);
        }
    }
    woken.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_taken_in_order_as_far_as_they_fit_and_are_wanted() {
        let queue = Queue::default();
        queue.push([1, 2, 30, 4, 5]);
        let mut room = 3;
        let mut fits = |job: &i32| {
            room -= job;
            room >= 0
        };
        assert_eq!(queue.take(|_| true, &mut fits), Some(vec![1, 2]));
        assert_eq!(queue.take(|job| *job != 4, |_| false), Some(vec![30]), "one at least");
        assert_eq!(queue.take(|job| *job != 4, |_| true), Some(vec![5]));
        queue.push([6]);
        queue.close();
        queue.push([7]);
        assert_eq!(queue.take(|_| true, |_| true), Some(vec![6]), "what waits is still done");
        assert_eq!(queue.take(|_| true, |_| true), None);
        let queue = Queue::default();
        queue.push([1, 2]);
        queue.abandon();
        queue.push([3]);
        assert_eq!(queue.take(|_| true, |_| true), None, "nothing is done after that");
    }

    #[test]
    fn a_slot_that_is_dropped_fails_and_an_answer_nobody_wants_is_not_wanted() {
        let mut both: Vec<(Slot, Awaited)> = places(2).collect();
        let (slot, awaited) = both.remove(0);
        drop(slot);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(matches!(runtime.block_on(awaited), JobOutput::Reply(Err(EvalError::Broken(_)))));
        let (slot, awaited) = both.remove(0);
        assert!(slot.is_wanted());
        drop(awaited);
        assert!(!slot.is_wanted());
        assert!(slot.fill(JobOutput::Best(Ok(None))).is_none());
    }
}
