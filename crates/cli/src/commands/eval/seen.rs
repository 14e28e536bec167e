//! `mavis eval seen`: how much of its games a model knows by heart, figure 8 of paper 001.

use crate::commands::league::store_failure;
use crate::commands::note;
use crate::commands::{answer, answer_json};
use crate::input::{BadInput, OrBadInput};
use crate::positions;
use clap::Args;
use mavis_data::PositionReader;
use mavis_game::Position;
use mavis_league::metrics::{SeenSample, metric_table, metrics_json, positions_seen, seen};
use mavis_league::wire::{LeagueStore, MetricJson};
use serde::Serialize;
use std::collections::HashSet;
use std::path::PathBuf;

/// Counts which positions of a player's league games are in the tables a model was trained on, by move number.
///
/// Two positions are the same if board, side to move and rights are equal; move counters are ignored. Opening moves do not count.
///
/// Example: mavis eval seen --league league --player mav --input train.parquet
#[derive(Args)]
pub(crate) struct Seen {
    /// The league's folder
    #[arg(long)]
    league: PathBuf,
    /// A player's name in the league. Default: all players
    #[arg(long)]
    player: Option<String>,
    /// The training data: tables of positions or annotations, or pairs NAME.fen.zst and NAME.val.zst; repeatable
    #[arg(long, required = true)]
    input: Vec<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    players: Vec<String>,
    n_trained: usize,
    n: usize,
    metrics: Vec<MetricJson>,
}

impl Seen {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (config, games) = LeagueStore::read(&self.league).map_err(store_failure)?;
        let rules = config.rules().or_bad_input()?;
        let names = config.names();
        let players = match &self.player {
            None => names,
            Some(name) if names.contains(name) => vec![name.clone()],
            Some(name) => {
                return Err(BadInput::new(format!(
                    "no player '{name}' in the league (known: {})",
                    names.join(", ")
                ))
                .into());
            }
        };
        let mut reader = PositionReader::default();
        let game = rules.to_string();
        let trained = self.trained(&game, &mut reader)?;
        let mut samples: Vec<SeenSample> = Vec::new();
        let mut known = |position: &Position| {
            // A position prints as text that its own game reads.
            reader.key(&game, &position.to_string()).is_ok_and(|key| trained.contains(&key))
        };
        for stored in &games {
            for player in &players {
                samples.extend(positions_seen(stored, rules, player, &mut known).or_bad_input()?);
            }
        }
        let metrics = seen(&samples);
        if self.json {
            let (n_trained, n, metrics) = (trained.len(), samples.len(), metrics_json(&metrics));
            return answer_json(&Shown { players, n_trained, n, metrics });
        }
        answer(&metric_table(&metrics))
    }

    /// Keys of all positions of this game that were trained on.
    fn trained(&self, game: &str, reader: &mut PositionReader) -> anyhow::Result<HashSet<u64>> {
        let (mut keys, mut n_bad) = (HashSet::new(), 0_u64);
        for path in &self.input {
            positions::for_each(path, &mut |its_game, text| {
                if its_game == game {
                    match reader.key(its_game, text) {
                        Ok(key) => drop(keys.insert(key)),
                        Err(_) => n_bad += 1,
                    }
                }
            })?;
        }
        if n_bad > 0 {
            note(&format!("{n_bad} rows hold no position of {game}"));
        }
        if keys.is_empty() {
            let inputs: Vec<_> = self.input.iter().map(|path| path.display().to_string()).collect();
            let inputs = inputs.join(", ");
            return Err(
                BadInput::new(format!("no position of {game}, the league's game, in {inputs}")).into()
            );
        }
        Ok(keys)
    }
}
