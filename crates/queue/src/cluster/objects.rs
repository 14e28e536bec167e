//! Results and files, packed, in messages or in the object store.

use super::streams::{MOST_BYTES, OBJECT, Streams, persist};
use crate::{Files, JobId, QueueError, content_hash};
use async_nats::HeaderMap;
use async_nats::jetstream::object_store::{DeleteErrorKind, GetErrorKind, ObjectStore};
use bytes::Bytes;
use std::io::Read;
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;

/// Results up to this size travel in their message; the object store takes several messages for each.
const INLINE: usize = 128 * 1024;
/// The most that unpacking yields, so that a hostile message cannot fill the memory.
const MOST_UNPACKED: u64 = 1 << 30;

/// Packs bytes for the queue.
pub(super) fn pack(bytes: &[u8]) -> Result<Bytes, QueueError> {
    let packed =
        zstd::bulk::compress(bytes, 1).map_err(|error| QueueError::server("cannot compress", error))?;
    Ok(packed.into())
}

/// Packs a job, which must fit into one message.
pub(super) fn pack_job(bytes: &[u8]) -> Result<Bytes, QueueError> {
    let packed = pack(bytes)?;
    if packed.len() > MOST_BYTES {
        let n = packed.len();
        return Err(QueueError::Settings(format!(
            "a job of {n} bytes does not fit into a message of {MOST_BYTES}; make jobs smaller"
        )));
    }
    Ok(packed)
}

/// Reads packed bytes.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let decoder = zstd::stream::read::Decoder::new(packed).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    decoder.take(MOST_UNPACKED + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_UNPACKED {
        return Err(format!("more than {MOST_UNPACKED} bytes unpacked"));
    }
    Ok(bytes)
}

/// A result ready for its message: the payload, and the object's name where it is too large for one.
pub(super) async fn store(
    streams: &Streams,
    id: &JobId,
    output: &[u8],
) -> Result<(HeaderMap, Bytes), QueueError> {
    let packed = pack(output)?;
    let mut headers = HeaderMap::new();
    if packed.len() <= INLINE {
        return Ok((headers, packed));
    }
    // A name of its own: another worker may have the same job, and only one of the two results is kept.
    let unique = streams.context.client().new_inbox();
    let name = format!("{id}-{}", unique.rsplit('.').next().unwrap_or_default());
    put(&streams.results, &name, &packed).await?;
    headers.insert(OBJECT, name.as_str());
    Ok((headers, Bytes::new()))
}

/// The packed result that a message holds or names.
pub(super) async fn fetch(
    streams: &Streams,
    headers: &HeaderMap,
    payload: Bytes,
) -> Result<Bytes, QueueError> {
    match headers.get(OBJECT) {
        None => Ok(payload),
        Some(name) => get(&streams.results, name.as_str()).await,
    }
}

async fn put(bucket: &ObjectStore, name: &str, bytes: &Bytes) -> Result<(), QueueError> {
    persist("cannot store an object", || async { bucket.put(name, &mut bytes.as_ref()).await }).await?;
    Ok(())
}

async fn get(bucket: &ObjectStore, name: &str) -> Result<Bytes, QueueError> {
    let found = persist("cannot read an object", || async {
        let mut object = match bucket.get(name).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut bytes = Vec::new();
        object.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
        Ok(Some(bytes.into()))
    });
    found.await?.ok_or_else(|| QueueError::server("an object is not there (any more)", name))
}

/// Files that jobs name by their content, such as weights of a model in training.
#[derive(Clone)]
pub struct Blobs {
    runtime: Handle,
    streams: Streams,
}

impl Blobs {
    pub(super) fn new(runtime: Handle, streams: Streams) -> Self {
        Self { runtime, streams }
    }
}

impl Files for Blobs {
    fn put(&self, bytes: &[u8]) -> Result<String, QueueError> {
        let name = content_hash(&[bytes]);
        self.runtime.block_on(async {
            // What was removed leaves a mark.
            if self.streams.results.info(&name).await.is_ok_and(|info| !info.deleted) {
                return Ok(());
            }
            put(&self.streams.results, &name, &pack(bytes)?).await
        })?;
        Ok(name)
    }

    fn get(&self, name: &str) -> Result<Vec<u8>, QueueError> {
        let packed = self.runtime.block_on(get(&self.streams.results, name))?;
        let bytes = unpack(&packed).map_err(|reason| QueueError::server("cannot unpack a file", reason))?;
        if content_hash(&[&bytes]) != name {
            return Err(QueueError::server("a file is not what its name says", name));
        }
        Ok(bytes)
    }

    fn remove(&self, name: &str) -> Result<(), QueueError> {
        self.runtime.block_on(persist("cannot remove an object", || async {
            match self.streams.results.delete(name).await {
                Err(error) if error.kind() != DeleteErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }))
    }
}
