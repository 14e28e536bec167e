//! `mavis mcp`: tools for other programs' language models.

use super::serve::allowed_players;
use crate::{bundled, input::BadInput, input::time, registry};
use anyhow::Context as _;
use clap::Args;
use mavis_web::{Limits, Policy, WebSettings};

/// Serves tools for language models over the Model Context Protocol on stdin and stdout.
///
/// The tools are legal_moves, play_move, best_move, analyze, solve and compare_moves. A client (an editor, an assistant)
/// starts it as the command `mavis` with the argument `mcp`. Example: mavis mcp --allow uci:stockfish
#[derive(Args)]
pub(crate) struct Mcp {
    /// A player that the client may name although it starts a program, reads a file or calls a server; may be repeated
    #[arg(long, value_name = "PLAYER")]
    allow: Vec<String>,
    /// The most seconds a player may think about one call
    #[arg(long, default_value_t = 60.0)]
    max_seconds: f64,
}

impl Mcp {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let registry = registry::players();
        let allowed = allowed_players(&registry, &self.allow)?;
        let thinking = time("--max-seconds", self.max_seconds)?;
        if thinking.is_zero() {
            return Err(BadInput::new("--max-seconds must be above 0").into());
        }
        let settings = WebSettings {
            registry,
            model: bundled::model,
            policy: Policy::new(allowed, bundled::NETS.iter().map(|net| net.name)),
            limits: Limits { thinking, ..Limits::default() },
            hosts: Vec::new(),
            folders: Vec::new(),
            queue: None,
            token: None,
        };
        mavis_web::run_tools(settings).context("the tool server stopped")
    }
}
