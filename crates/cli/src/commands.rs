//! One module a command.

mod analyze;
mod bench;
#[cfg(feature = "cluster")]
mod cluster;
mod completions;
mod data;
mod duel;
mod eval;
mod gtp;
mod help;
mod lang;
mod league;
mod mcp;
mod model;
mod mpc;
mod perft;
mod plan;
mod play;
mod players;
mod probs;
#[cfg(feature = "cluster")]
mod queue;
mod serve;
mod show;
mod solve;
mod train;
mod tree;
mod uci;
#[cfg(feature = "cluster")]
mod worker;

use clap::Subcommand;
use std::io::Write;

pub(crate) use play::main_job;

/// What the user asked for.
#[derive(Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Data(data::Data),
    Perft(perft::Perft),
    Show(show::Show),
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Players(players::Players),
    Play(play::Play),
    Match(duel::Match),
    Solve(solve::Solve),
    Lang(lang::Lang),
    Train(train::Train),
    #[command(subcommand)]
    Probs(probs::Probs),
    Model(model::Model),
    Bench(bench::Bench),
    Plan(plan::PlanCommand),
    Uci(uci::Uci),
    Gtp(gtp::Gtp),
    Analyze(analyze::Analyze),
    #[command(subcommand)]
    Tree(tree::Tree),
    #[command(subcommand)]
    League(league::League),
    #[command(subcommand)]
    Eval(eval::Eval),
    #[command(subcommand)]
    Mpc(mpc::Mpc),
    #[cfg(feature = "cluster")]
    Worker(worker::Worker),
    #[cfg(feature = "cluster")]
    #[command(subcommand)]
    Queue(queue::Queue),
    Completions(completions::Completions),
    Help(help::Help),
    Manual(completions::Manual),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Data(command) => command.run(),
            Self::Perft(command) => command.run(),
            Self::Show(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Mcp(command) => command.run(),
            Self::Players(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Help(command) => command.run(),
            Self::Manual(command) => command.run(),
            Self::Play(command) => command.run(),
            Self::Match(command) => command.run(),
            Self::Solve(command) => command.run(),
            Self::Lang(command) => command.run(),
            Self::Train(command) => command.run(),
            Self::Probs(command) => command.run(),
            Self::Model(command) => command.run(),
            Self::Bench(command) => command.run(),
            Self::Plan(command) => command.run(),
            Self::Uci(command) => command.run(),
            Self::Gtp(command) => command.run(),
            Self::Analyze(command) => command.run(),
            Self::Tree(command) => command.run(),
            Self::League(command) => command.run(),
            Self::Eval(command) => command.run(),
            Self::Mpc(command) => command.run(),
            #[cfg(feature = "cluster")]
            Self::Worker(command) => command.run(),
            #[cfg(feature = "cluster")]
            Self::Queue(command) => command.run(),
        }
    }
}

/// Writes an answer to stdout, where only answers go.
pub(crate) fn answer(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Tells something beside the answers, which belongs on stderr.
fn note(text: &str) {
    #[expect(clippy::print_stderr, reason = "stdout is for answers")]
    {
        eprintln!("{text}");
    }
}

/// Says which file or folder a command wrote.
fn wrote(path: &std::path::Path) {
    note(&format!("wrote {}", path.display()));
}

/// Writes an answer as one line of JSON.
fn answer_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    answer(&serde_json::to_string(value)?)
}
