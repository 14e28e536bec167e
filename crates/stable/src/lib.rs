//! What must survive a kill, or come out the same on every machine and in every release.
//!
//! - [`folder_lock`]: one process at a time writes to a folder.
//! - [`kill_safe`]: files that hold their old or their new content at any moment, never a part of it.
//! - [`seed`]: hash mixing, and many independent seeds from one.
//! - [`time`]: durations from text and numbers, seconds since 1970, calendar dates.
//!
//! It is the lowest crate: every other may use it, and it uses none of them.
//! A function belongs here if at least two crates need it, it knows nothing of games, and its result is something that
//! others store or repeat. Everything else has a better place: what is about values goes to `mavis-value`, generators of
//! random numbers to the crate that draws, formats of files to the `wire` module of the crate that owns them.
//!
//! ```
//! use mavis_stable::{kill_safe::replace_file, seed, time};
//!
//! let path = std::env::temp_dir().join(format!("mavis-stable-{}", std::process::id()));
//! replace_file(&path, |file| file.write_all(b"whole"))?;
//! assert_eq!(std::fs::read(&path)?, b"whole");
//! std::fs::remove_file(&path)?;
//!
//! assert_ne!(seed::derive(1, &[2, 3]), seed::derive(1, &[3, 2]));
//! assert_eq!(time::parse_seconds("0.5")?.as_millis(), 500);
//! assert!(time::parse_seconds("1e19").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod folder_lock;
pub mod kill_safe;
pub mod seed;
pub mod time;

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
