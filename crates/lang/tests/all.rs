//! The language against its definition, real positions and other tokenizers. One binary, since every binary is linked, and its generic code compiled, by itself.

mod docs;
mod examples;
mod parser;
mod peers;
mod progress;
mod real;
mod report;
mod support;
mod trace;
mod trace_progress;
