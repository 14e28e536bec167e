//! Results of a cluster in the order of their jobs.

use super::{Cluster, Collector};
use crate::{JobKind, Queue, QueueError, Submitter};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// A job on its way: its tag, and its result once there is one.
struct Slot<T, O> {
    tag: T,
    output: Option<O>,
    aside: Option<String>,
}

impl<K: JobKind> Queue<K> for Cluster {
    fn run<T: Send, E: From<QueueError> + Send>(
        &mut self,
        jobs: impl Iterator<Item = Result<(T, K::Input), E>> + Send,
        mut sink: impl FnMut(T, K::Output) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut collector = Collector::<K>::new(self)?;
        let mut jobs = (0_u64..).zip(jobs).fuse().peekable();
        let mut slots: BTreeMap<u64, Slot<T, K::Output>> = BTreeMap::new();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(collector.withdraw()?);
            }
            while slots.len() < self.settings.window.max(1)
                && let Some((number, job)) = jobs.next()
            {
                let (tag, input) = job?;
                collector.submit(number, &input)?;
                slots.insert(number, Slot { tag, output: None, aside: None });
            }
            while let Some(mut first) = slots.first_entry()
                && let Some(output) = first.get_mut().output.take()
            {
                let Slot { tag, .. } = first.remove();
                sink(tag, output)?;
            }
            if slots.is_empty() {
                match jobs.peek() {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            }
            let aside: Vec<&String> = slots.values().filter_map(|slot| slot.aside.as_ref()).collect();
            // The rest goes on; what was set aside ends the run only when nothing else is left to wait for.
            if let [first, ..] = aside[..]
                && aside.len() == collector.n_open()
            {
                let (n, kind, reason) = (aside.len(), K::NAME.to_owned(), first.clone());
                return Err(QueueError::SetAside { n, kind, reason }.into());
            }
            for finished in collector.wait(LOOK)? {
                let Some(slot) = slots.get_mut(&finished.number) else { continue };
                match finished.result {
                    Ok(output) => {
                        slot.output = Some(output);
                        slot.aside = None;
                    }
                    Err(reason) => slot.aside = Some(reason),
                }
            }
        }
    }
}
