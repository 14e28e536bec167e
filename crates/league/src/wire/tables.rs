//! Leagues into tables.

use super::LeagueStore;
use mavis_data::import::{ImportError, Importer};
use std::path::Path;

/// Takes the games of a league's folder into tables, in the order of the schedule; also while the league runs.
///
/// # Errors
/// When the folder holds no league of one of the six games, or a table cannot be written.
pub fn import_league(importer: &mut Importer, folder: &Path) -> Result<(), ImportError> {
    let misfit = |reason: String| ImportError::Misfit { path: folder.to_owned(), reason };
    if !LeagueStore::is_in(folder) {
        return Err(misfit(
            "a folder without a league; expected a file, or a folder of mavis league run".to_owned(),
        ));
    }
    let (config, mut games) = LeagueStore::read(folder).map_err(|error| misfit(error.to_string()))?;
    let rules = config.rules().map_err(|error| misfit(error.to_string()))?;
    games.sort_by_key(|game| game.game);
    for game in &games {
        match game.record(&config.name, rules) {
            Ok(record) => importer.game(record)?,
            Err(error) => importer.refuse(game.id(&config.name), error),
        }
    }
    Ok(())
}
