//! The embedded model as a writer of text, on a thread of its own.

use crate::ApiError;
use mavis_lang::Token;
use mavis_model::decode::{MavDecoder, TextSettings, WrittenToken};
use mavis_net::{Device, Precision};
use mavis_play::DefaultModel;
use std::{
    sync::{
        OnceLock,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    time::Instant,
};
use tokio::sync::mpsc::UnboundedSender;

/// Jobs that may wait for the model.
const MOST_WAITING: usize = 32;

/// The stub of the writer; its thread starts with the first job.
pub(crate) struct Writer {
    model: DefaultModel,
    jobs: OnceLock<Result<SyncSender<Job>, String>>,
}

/// Prompts to continue.
pub(crate) struct Job {
    pub(crate) prompts: Vec<Vec<Token>>,
    pub(crate) settings: TextSettings,
    pub(crate) deadline: Instant,
    /// Gets each token with the number of its prompt; dropping the other end stops the job. The number of tokens is
    /// bounded by the settings, and so is the channel.
    pub(crate) written: UnboundedSender<Result<(usize, WrittenToken), String>>,
}

impl Writer {
    pub(crate) fn new(model: DefaultModel) -> Self {
        Self { model, jobs: OnceLock::new() }
    }

    /// Starts a job. The first one blocks while the model loads.
    pub(crate) fn start(&self, job: Job) -> Result<(), ApiError> {
        let jobs = self.jobs.get_or_init(|| start_thread(self.model)).as_ref();
        let jobs = jobs.map_err(|reason| ApiError::Failed(reason.clone()))?;
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::Busy("the model is busy; try again".to_owned()),
            TrySendError::Disconnected(_) => ApiError::Failed("the model's thread has stopped".to_owned()),
        })
    }
}

fn start_thread(model: DefaultModel) -> Result<SyncSender<Job>, String> {
    let decoder = MavDecoder::open(&model()?, Precision::default(), Device::default())
        .map_err(|error| error.to_string())?;
    let (sender, receiver) = sync_channel(MOST_WAITING);
    std::thread::Builder::new()
        .name("mavis-writer".to_owned())
        .spawn(move || run(decoder, &receiver))
        .map_err(|error| format!("no thread for the model: {error}"))?;
    Ok(sender)
}

fn run(mut decoder: MavDecoder, jobs: &Receiver<Job>) {
    while let Ok(Job { prompts, settings, deadline, written }) = jobs.recv() {
        let result = decoder.write_text(&prompts, &settings, &mut |index, token| {
            written.send(Ok((index, token.clone()))).is_ok() && Instant::now() < deadline
        });
        if let Err(error) = result {
            // Whoever left does not need to know.
            let _ = written.send(Err(error.to_string()));
        }
    }
}
