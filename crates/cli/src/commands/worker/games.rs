//! Jobs of `mavis league run`.

use crate::commands::cluster::engines::Engines;
use crate::commands::cluster::players::engines_of;
use mavis_bundled::Surroundings;
use mavis_game::Position;
use mavis_league::{GameRunner, RunOptions, standard_judges};
use mavis_play::Registry;
use std::path::PathBuf;
use std::sync::Arc;

/// The players of this worker. Engines are found by the names that jobs use, in a folder of links of its own.
pub(super) struct Players {
    registry: Arc<Registry>,
    engines: Engines,
    folder: PathBuf,
}

impl Players {
    pub(super) fn new(engines: Engines) -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("mavis-worker-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        for (name, program) in engines.programs() {
            let link = folder.join(name);
            // Left by an earlier process of the same number.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(program, &link)?;
        }
        let surroundings = Surroundings::new(Some(folder.clone().into_os_string()), None);
        Ok(Self { registry: Arc::new(mavis_bundled::players(&surroundings)), engines, folder })
    }

    /// A runner of games for one thread.
    pub(super) fn runner(&self) -> GameRunner<Position> {
        let options = RunOptions { judges: standard_judges(), ..RunOptions::default() };
        let engines = self.engines.clone();
        GameRunner::new(Arc::clone(&self.registry), options, move |config| {
            match engines_of(config)?.iter().find(|name| !engines.has(name)) {
                Some(name) => Err(format!("this worker has no engine '{name}'")),
                None => Ok(()),
            }
        })
    }
}

impl Drop for Players {
    fn drop(&mut self) {
        // Links alone; what stays is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
