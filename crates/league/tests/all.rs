//! Leagues, ratings, metrics and reports against published numbers and engines. One binary, since every binary is linked, and its generic code compiled, by itself.

mod engines;
mod kill;
mod metrics;
mod ratings;
mod report;
mod sprt;
