//! Standings for programs.

use crate::standings::Standings;
use crate::wire::{EstimateJson, FaultJson, PlayerJson, SprtJson, StandingsJson};

/// The standings in the form that `--json` prints.
#[must_use]
pub fn json(standings: &Standings) -> StandingsJson {
    let ratings = &standings.ratings;
    let players = standings
        .order
        .iter()
        .enumerate()
        .map(|(rank, &idx)| {
            let rating = &ratings.players[idx];
            PlayerJson {
                rank: rank + 1,
                name: rating.name.clone(),
                elo: rating.elo.into(),
                external: standings.external.as_ref().map(|list| list[idx].into()),
                games: rating.tally.n_games(),
                wins: rating.tally.wins,
                draws: rating.tally.draws,
                losses: rating.tally.losses,
                forfeits: standings.n_forfeits(idx),
                score: rating.tally.share(),
                opponents: rating.opponents,
                seconds: standings.seconds[idx],
                tokens: standings.tokens[idx],
            }
        })
        .collect();
    let sorted = |table: &dyn Fn(usize, usize) -> [f64; 3]| {
        standings
            .order
            .iter()
            .map(|&row| standings.order.iter().map(|&column| table(row, column)).collect())
            .collect()
    };
    StandingsJson {
        name: standings.name.clone(),
        game: standings.game.clone(),
        finished: standings.finished,
        planned: standings.planned,
        players,
        first_advantage: ratings.first_advantage.into(),
        draw_rate: ratings.draw_rate,
        superiority: standings
            .order
            .iter()
            .map(|&row| standings.order.iter().map(|&column| ratings.superiority[row][column]).collect())
            .collect(),
        cross: sorted(&|row, column| {
            let tally = standings.cross[row][column];
            [tally.wins, tally.draws, tally.losses].map(|n| n as f64)
        }),
        ends: standings.ends.iter().map(|(kind, n)| (kind.to_string(), *n)).collect(),
        faults: standings
            .faults
            .iter()
            .map(|((player, kind), n)| FaultJson { player: player.clone(), kind: *kind, games: *n })
            .collect(),
        notes: standings.notes(),
        sprt: standings.test.as_ref().map(|test| SprtJson {
            verdict: test.state.decision.to_string(),
            llr: test.state.llr,
            lower: test.state.lower,
            upper: test.state.upper,
            pairs: test.pairs.0,
            elo: test.state.elo.into(),
            normalized_elo: test.state.normalized_elo.into(),
        }),
    }
}

impl From<crate::numeric::Estimate> for EstimateJson {
    fn from(estimate: crate::numeric::Estimate) -> Self {
        // JSON has no infinity: an unbounded end is left out.
        let finite = |x: f64| x.is_finite().then_some(x);
        Self { value: finite(estimate.value), low: finite(estimate.low), high: finite(estimate.high) }
    }
}
