//! Matches of the greedy player against the agents of paper 004.

use crate::{
    AGENTS, Meter, Phase, Planes, ProbsError, ProbsSettings,
    batch::Asker,
    rating::rating,
    self_play::{Purpose, random},
    wire::{AgentLine, EvaluationLine},
};
use mavis_game::{Outcome, Side};
use mavis_league::Tally;
use mavis_net::{ConvNet, Weights};
use mavis_play::{Limit, Lookahead, Player, PlayerError, RandomPlayer, Turn};
use rayon::prelude::*;

/// A game longer than this counts as drawn; only Togyz Kumalak and chess could go on for so long.
const LONGEST: u32 = 1000;

/// Rates the move of greatest output of the averaged action net after some rounds, in games from `start`.
///
/// # Errors
/// When the net or an agent fails.
pub fn evaluate<G: Planes>(
    net: &dyn ConvNet,
    start: &G,
    settings: &ProbsSettings,
    round: u32,
    meter: &Meter,
) -> Result<EvaluationLine, ProbsError> {
    let q = Asker::new(net, Weights::Average);
    let n_agents = 1 + settings.evaluation.plies as usize;
    let n_games = settings.evaluation.games as usize * n_agents.min(AGENTS.len());
    meter.begin(round, Phase::Rating, n_games);
    let mut agents = Vec::new();
    for (plies, (name, anchor)) in AGENTS.iter().enumerate().take(n_agents) {
        let mut tables = tables(start, settings, round, plies as u32);
        let mut n_over = 0;
        while n_over < tables.len() {
            greedy_moves(&mut tables, &q)?;
            tables.par_iter_mut().try_for_each(Table::agent_move)?;
            let n_now = tables.iter().filter(|table| table.outcome.is_some()).count();
            meter.add(n_now - std::mem::replace(&mut n_over, n_now));
        }
        let mut tally = Tally::default();
        tables.iter().for_each(|table| tally.add(table.points()));
        agents.push(AgentLine {
            name: (*name).to_owned(),
            anchor: *anchor,
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
        });
    }
    let games: Vec<(f64, Tally)> = agents
        .iter()
        .map(|agent| (agent.anchor, Tally { wins: agent.wins, draws: agent.draws, losses: agent.losses }))
        .collect();
    let elo = rating(&games);
    Ok(EvaluationLine {
        round,
        elo: elo.value,
        low: elo.low,
        high: elo.high,
        agents,
        evaluations: 0,
        seconds: 0.0,
    })
}

/// One game of the net against an agent.
struct Table<G: Planes> {
    position: G,
    n_plies: u32,
    /// The net's side.
    side: Side,
    agent: Box<dyn Player<G>>,
    outcome: Option<Outcome>,
}

fn tables<G: Planes>(start: &G, settings: &ProbsSettings, round: u32, plies: u32) -> Vec<Table<G>> {
    let table = |number: u32| {
        let name = u64::from(plies) << 32 | u64::from(number);
        let mut stream = random(settings.seed, Purpose::Agents, round, name);
        let seed = u64::from(stream.bits()) << 32 | u64::from(stream.bits());
        let agent: Box<dyn Player<G>> = match Lookahead::new(plies, seed) {
            Some(agent) => Box::new(agent),
            None => Box::new(RandomPlayer::new(seed)),
        };
        let side = if number.is_multiple_of(2) { Side::First } else { Side::Second };
        Table { position: start.clone(), n_plies: 0, side, agent, outcome: None }
    };
    (0..settings.evaluation.games).map(table).collect()
}

/// The net moves wherever it is its turn.
fn greedy_moves<G: Planes>(tables: &mut [Table<G>], q: &Asker<'_>) -> Result<(), ProbsError> {
    let mut own: Vec<&mut Table<G>> = tables.iter_mut().filter(|table| table.is_turn_of_net()).collect();
    let positions: Vec<&G> = own.iter().map(|table| &table.position).collect();
    let answers = q.ask(&positions)?;
    for (index, table) in own.iter_mut().enumerate() {
        let moves = answers.moves(index, &table.position);
        // The first of equals, so that the game does not depend on anything else.
        let best = moves.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        if let Some((mv, _)) = best {
            table.play(mv);
        }
    }
    Ok(())
}

impl<G: Planes> Table<G> {
    fn is_turn_of_net(&self) -> bool {
        self.outcome.is_none() && self.position.side_to_move() == self.side
    }

    fn agent_move(&mut self) -> Result<(), PlayerError> {
        if self.outcome.is_some() || self.is_turn_of_net() {
            return Ok(());
        }
        let choice = self.agent.choose(&mut Turn::alone(&self.position, Limit::default(), &mut |_| {}))?;
        self.play(choice.mv);
        Ok(())
    }

    fn play(&mut self, mv: mavis_game::Move) {
        self.position.play_unchecked(mv);
        self.n_plies += 1;
        self.outcome = crate::episode::end(&self.position)
            .or_else(|| (self.n_plies >= LONGEST).then_some(Outcome::Draw));
    }

    /// Points of the net.
    fn points(&self) -> f64 {
        match self.outcome.and_then(Outcome::winner) {
            Some(winner) => f64::from(u8::from(winner == self.side)),
            None => 0.5,
        }
    }
}
