//! [`Decoder`] on CPU.

use std::collections::HashMap;

use super::inference::{Inference, Memory};
use super::rotary::Rotary;
use super::session::{CacheShape, Session};
use crate::batch::Batch;
use crate::config::TransformerConfig;
use crate::decoder::{Decoder, Logits, Precision, SessionId, Want};
use crate::error::NetError;

/// Passes of so few tokens stay on the thread that asks.
const FEW_TOKENS: usize = 6;

/// A transformer with fixed parameters on CPU.
pub struct CpuDecoder {
    inference: Inference,
    rotary: Rotary,
    sessions: HashMap<SessionId, Session>,
    /// Ids are never used twice, so that a closed session cannot be mistaken for a new one.
    next_id: u64,
    /// Closed sessions whose memory the next ones take over.
    spare: Vec<Session>,
    memory: Memory,
}

impl CpuDecoder {
    /// A decoder of a flat parameter buffer in the layout of the shape.
    ///
    /// # Errors
    /// When the shape is refused or the buffer has another length.
    pub fn new(
        config: TransformerConfig,
        parameters: &[f32],
        precision: Precision,
    ) -> Result<Self, NetError> {
        Ok(Self {
            rotary: Rotary::new(&config),
            inference: Inference::new(config, parameters, precision)?,
            sessions: HashMap::new(),
            next_id: 0,
            spare: Vec::new(),
            memory: Memory::default(),
        })
    }

    /// Bytes of all matrices as stored: what is read for a single token.
    pub fn n_weight_bytes(&self) -> usize {
        self.inference.n_bytes()
    }

    fn fresh(&mut self) -> Session {
        let mut session =
            self.spare.pop().unwrap_or_else(|| Session::new(CacheShape::new(self.inference.config())));
        session.reserve(0);
        session.set_len(0);
        session
    }

    fn recycle(&mut self, session: Session) {
        // More than a batch's worth of spare memory would never be used.
        if self.spare.len() < 256 {
            self.spare.push(session);
        }
    }

    fn insert(&mut self, session: Session) -> SessionId {
        let id = SessionId(self.next_id);
        self.next_id += 1;
        self.sessions.insert(id, session);
        id
    }

    fn session(&self, id: SessionId) -> Result<&Session, NetError> {
        self.sessions.get(&id).ok_or(NetError::Session(id))
    }

    /// Runs a validated batch; the sessions grow by it.
    fn pass(&mut self, sessions: &mut [Session], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        let columns = want.validate(batch.len(), self.config().n_outputs())?;
        self.rotary.reserve(&batch.positions);
        for (sequence_idx, session) in sessions.iter_mut().enumerate() {
            session.reserve(session.len() + batch.sequence(sequence_idx).len());
        }
        let Self { inference, rotary, memory, .. } = self;
        let pass = |sessions: &mut [Session]| {
            inference.trunk(batch, &want.rows, rotary, sessions, memory);
            inference.head(columns, memory)
        };
        // Inside the pool the threads hand pieces to each other without waking the one that asks.
        let logits = if batch.len() > FEW_TOKENS { rayon::scope(|_| pass(sessions)) } else { pass(sessions) };
        for (sequence_idx, session) in sessions.iter_mut().enumerate() {
            session.set_len(session.len() + batch.sequence(sequence_idx).len());
        }
        Ok(logits)
    }
}

impl Decoder for CpuDecoder {
    fn config(&self) -> &TransformerConfig {
        self.inference.config()
    }

    fn open(&mut self) -> Result<SessionId, NetError> {
        let session = self.fresh();
        Ok(self.insert(session))
    }

    fn fork(&mut self, session: SessionId, len: usize) -> Result<SessionId, NetError> {
        let from = self.session(session)?;
        if len > from.len() {
            return Err(NetError::SessionUse { session, reason: "a fork cannot be longer than its origin" });
        }
        let fork = from.fork(len);
        Ok(self.insert(fork))
    }

    fn close(&mut self, session: SessionId) {
        if let Some(session) = self.sessions.remove(&session) {
            self.recycle(session);
        }
    }

    fn session_len(&self, session: SessionId) -> Result<usize, NetError> {
        self.session(session).map(Session::len)
    }

    fn truncate(&mut self, session: SessionId, len: usize) -> Result<(), NetError> {
        let entry = self.sessions.get_mut(&session).ok_or(NetError::Session(session))?;
        if len > entry.len() {
            return Err(NetError::SessionUse { session, reason: "a truncation cannot lengthen it" });
        }
        entry.set_len(len);
        Ok(())
    }

    fn extend(&mut self, sessions: &[SessionId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        if sessions.len() != batch.n_sequences() {
            let (expected, got) = (batch.n_sequences(), sessions.len());
            return Err(NetError::Length { what: "sessions", expected, got });
        }
        let mut lengths = Vec::with_capacity(sessions.len());
        for (i, id) in sessions.iter().enumerate() {
            lengths.push(self.session(*id)?.len());
            if sessions[..i].contains(id) {
                return Err(NetError::SessionUse { session: *id, reason: "used twice in one batch" });
            }
        }
        batch.validate_for(self.config(), |sequence_idx| lengths[sequence_idx])?;
        want.validate(batch.len(), self.config().n_outputs())?;
        let mut taken: Vec<Session> = sessions.iter().filter_map(|id| self.sessions.remove(id)).collect();
        let logits = self.pass(&mut taken, batch, want);
        self.sessions.extend(sessions.iter().copied().zip(taken));
        logits
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        batch.validate_for(self.config(), |_| 0)?;
        let mut sessions: Vec<Session> = (0..batch.n_sequences()).map(|_| self.fresh()).collect();
        let logits = self.pass(&mut sessions, batch, want);
        sessions.into_iter().for_each(|session| self.recycle(session));
        logits
    }
}
