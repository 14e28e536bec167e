//! How long a one-step move of MPC-MC takes, in times of a single call: with c calls at once and m legal moves at best
//! max(2, ceil(2m / c)). The player behind it is a double that sleeps, so that c may exceed the cores of this machine.
//!
//! `cargo bench -p mavis-play --bench mpc`

use mavis_game::{Game as _, Position, Rules};
use mavis_play::{Choice, Limit, Maker, MpcPlayer, MpcSettings, Player, PlayerError, Thought, Turn};
use std::{
    error::Error,
    io::Write as _,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// What one call takes.
const CALL: Duration = Duration::from_millis(50);
/// The share above the least possible that issue and documentation allow.
const ALLOWED: f64 = 1.15;

struct Sleeper;

impl Player for Sleeper {
    fn name(&self) -> String {
        "sleeper".to_owned()
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        thread::sleep(CALL);
        let mv = turn.position.legal_moves()[0];
        Ok(Choice { mv, thought: Thought { value: Some(0.5), ..Thought::default() } })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "one-step moves in times of one call of {} ms\n", CALL.as_millis())?;
    writeln!(out, "| legal moves | calls at once | measured | least possible | ratio | within {ALLOWED} |")?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    let wide = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
    for position in [
        Position::start(Rules::Connect4),
        Position::start(Rules::Chess),
        Position::parse(Rules::Chess, wide)?,
    ] {
        for threads in [2, 4, 8, 16, 64] {
            let maker: Maker = Arc::new(|_| Ok(Box::new(Sleeper) as Box<dyn Player>));
            let settings = MpcSettings { threads, ..MpcSettings::default() };
            let mut player = MpcPlayer::new(settings, maker, None, 0)?;
            let began = Instant::now();
            player.choose(&mut Turn::alone(&position, Limit::default(), &mut |_: &Thought| {}))?;
            let measured = began.elapsed().as_secs_f64() / CALL.as_secs_f64();
            let m = position.n_legal_moves();
            let least = (2 * m).div_ceil(threads).max(2);
            let ratio = measured / least as f64;
            let verdict = if ratio <= ALLOWED { "yes" } else { "no" };
            writeln!(out, "| {m} | {threads} | {measured:.2} | {least} | {ratio:.3} | {verdict} |")?;
        }
    }
    Ok(())
}
