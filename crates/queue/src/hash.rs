//! Names that follow from content.

use ring::digest::{Context, SHA256};
use std::fmt;

/// The name of a job: a hash of its kind, its needs and its input, so that the same job has the same name wherever it is submitted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId(String);

impl JobId {
    /// The name of a job of a class.
    #[must_use]
    pub fn new(class: &str, input: &[u8]) -> Self {
        let mut id = content_hash(&[class.as_bytes(), input]);
        id.truncate(32);
        Self(id)
    }

    /// The last part of a subject that names a job.
    #[cfg(feature = "cluster")]
    pub(crate) fn of_subject(subject: &str) -> Self {
        Self(subject.rsplit('.').next().unwrap_or_default().to_owned())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 of parts, each with its length before it, in hexadecimal.
#[must_use]
pub fn content_hash(parts: &[&[u8]]) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_all_of_its_content_and_where_its_parts_end() {
        assert_eq!(JobId::new("a", b"bc"), JobId::new("a", b"bc"));
        assert_ne!(JobId::new("a", b"bc"), JobId::new("ab", b"c"));
        assert_ne!(JobId::new("a", b"bc"), JobId::new("a", b"bd"));
        assert_eq!(JobId::new("a", b"bc").to_string().len(), 32);
    }
}
