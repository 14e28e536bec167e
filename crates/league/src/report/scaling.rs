//! Players that differ in one number only: how strength grows with it, as in figure 7 of paper 001.

use crate::numeric::Estimate;
use crate::ratings::Rating;
use crate::standings::Standings;
use crate::wire::{LeagueConfig, PlayerConfig};
use mavis_play::PlayerSpec;
use std::collections::BTreeMap;

/// The same player at several values of one option.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scaling {
    /// The option, `sims` for one.
    pub(super) option: String,
    /// The player without it.
    pub(super) player: String,
    /// The option's value and the rating there, from the lowest value up; at least three.
    pub(super) points: Vec<(f64, Estimate)>,
}

/// Every option in which three players or more differ, and in nothing else.
pub(super) fn scalings(standings: &Standings, config: &LeagueConfig) -> Vec<Scaling> {
    let mut found: BTreeMap<(String, String), Vec<(f64, Estimate)>> = BTreeMap::new();
    for (player, rating) in config.players.iter().zip(&standings.ratings.players) {
        let Ok(spec) = player.spec() else { continue };
        // Limits of its own make another player.
        let limits = player.limits.as_ref().map_or_else(String::new, |limits| format!("{limits:?}"));
        for (option, text) in &spec.options {
            let Ok(value) = text.parse::<f64>() else { continue };
            let mut rest: PlayerSpec = spec.clone();
            rest.options.remove(option);
            let key = (option.clone(), format!("{rest}{limits}"));
            found.entry(key).or_default().push((value, rating.elo));
        }
    }
    let tokens = ("tokens a move".to_owned(), "internal search".to_owned());
    found.insert(tokens, by_tokens(standings, config));
    found.retain(|_, points| points.len() >= 3);
    found
        .into_iter()
        .map(|((option, player), mut points)| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Scaling { option, player, points }
        })
        .collect()
}

/// Strength by the mean tokens of a move, figure 7b of paper 001: every player that searches in text, and the model without search at 0.
fn by_tokens(standings: &Standings, config: &LeagueConfig) -> Vec<(f64, Estimate)> {
    let players = config.players.iter().zip(&standings.ratings.players).zip(&standings.tokens);
    let point = |((player, rating), tokens): ((&PlayerConfig, &Rating), &Option<f64>)| {
        let is_plain = player.spec().is_ok_and(|spec| spec.kind == "mav");
        tokens.or(is_plain.then_some(0.0)).map(|tokens| (tokens, rating.elo))
    };
    players.filter_map(point).collect()
}
