//! The properties the fuzz targets check; the same file drives the random test of `mavis-game` on a plain compiler.

#[path = "../../crates/game/tests/parsers/property.rs"]
pub mod property;
