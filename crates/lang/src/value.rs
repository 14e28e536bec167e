//! Values as tokens.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::vocab::{QUOTED, Token, VALUES};
use mavis_value::Bucket;

/// The token after a listed move, `:<ctrl28>`.
#[must_use]
pub fn value_token(bucket: Bucket) -> Token {
    VALUES.start + Token::from(bucket.number()) - 1
}

/// The bucket of a token after a listed move.
#[must_use]
pub fn bucket_of(token: Token) -> Option<Bucket> {
    VALUES.place(token).and_then(|place| Bucket::new(place as u8 + 1))
}

/// The token in a trace's decision, ` : "<ctrl28>"`.
#[must_use]
pub fn quoted_token(bucket: Bucket) -> Token {
    QUOTED.start + Token::from(bucket.number()) - 1
}

/// The bucket of a token in a trace's decision.
#[must_use]
pub fn quoted_bucket_of(token: Token) -> Option<Bucket> {
    QUOTED.place(token).and_then(|place| Bucket::new(place as u8 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_comes_back_from_its_tokens() {
        for bucket in (1..=64).filter_map(Bucket::new) {
            assert_eq!(bucket_of(value_token(bucket)), Some(bucket));
            assert_eq!(quoted_bucket_of(quoted_token(bucket)), Some(bucket));
            assert_eq!(
                (bucket_of(quoted_token(bucket)), quoted_bucket_of(value_token(bucket))),
                (None, None)
            );
        }
    }
}
