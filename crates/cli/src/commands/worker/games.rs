//! Jobs of `mavis league run`.

use crate::commands::cluster::engines::Engines;
use crate::commands::cluster::players::{parts_of, renamed};
use mavis_bundled::Surroundings;
use mavis_game::Position;
use mavis_league::{GameRunner, RunOptions, standard_judges};
use mavis_play::Registry;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The players of this worker. Engines are found by the names that jobs use, in a folder of links of its own.
pub(super) struct Players {
    registry: Arc<Registry>,
    engines: Engines,
    models: Arc<BTreeMap<String, PathBuf>>,
    folder: PathBuf,
}

impl Players {
    /// `models` are files of weights by their hashes.
    pub(super) fn new(engines: Engines, models: BTreeMap<String, PathBuf>) -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("mavis-worker-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        for (name, program) in engines.programs() {
            let link = folder.join(name);
            // Left by an earlier process of the same number.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(program, &link)?;
        }
        let surroundings = Surroundings::new(Some(folder.clone().into_os_string()), None);
        let (registry, models) = (Arc::new(mavis_bundled::players(&surroundings)), Arc::new(models));
        Ok(Self { registry, engines, models, folder })
    }

    /// A runner of games for one thread.
    pub(super) fn runner(&self) -> GameRunner<Position> {
        let options = RunOptions { judges: standard_judges(), ..RunOptions::default() };
        let (engines, models) = (self.engines.clone(), Arc::clone(&self.models));
        GameRunner::new(Arc::clone(&self.registry), options, move |config| {
            if let Some(name) = parts_of(config)?.engines.iter().find(|name| !engines.has(name)) {
                return Err(format!("this worker has no engine '{name}'"));
            }
            renamed(config, |hash| match models.get(hash) {
                Some(file) => Ok(file.display().to_string()),
                None => Err(format!("this worker has no model {hash}")),
            })
        })
    }
}

impl Drop for Players {
    fn drop(&mut self) {
        // Links alone; what stays is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
