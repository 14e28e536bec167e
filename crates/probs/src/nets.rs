//! Nets that travel inside a program, by name.

use crate::{Model, Planes, ProbsError};
use mavis_game::FromRules;
use mavis_net::Device;
use std::path::Path;

/// The file of two nets in memory.
#[derive(Clone, Copy, Debug)]
pub struct BundledNet {
    /// What users call it, as in `probs:hex7`.
    pub name: &'static str,
    /// The game as users name it: `hex:size=7`.
    pub game: &'static str,
    /// What the option `expand` of a player is where nothing limits its search. `None` means the move at once.
    pub expand: Option<u32>,
    /// A model as `mavis probs train` writes it.
    pub bytes: &'static [u8],
}

/// All nets of a program.
pub type BundledNets = &'static [BundledNet];

impl BundledNet {
    /// The nets on a device.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn load<G: Planes + FromRules>(&self, device: Device) -> Result<Model, ProbsError> {
        Model::from_bytes::<G>(Path::new(self.name), self.bytes, device)
    }
}

/// The names, for help.
pub(crate) fn names(nets: BundledNets) -> String {
    nets.iter().map(|net| net.name).collect::<Vec<_>>().join(", ")
}

/// What players do that are given no limit, for help.
pub(crate) fn usual(nets: BundledNets) -> String {
    let searching =
        nets.iter().filter_map(|net| net.expand.map(|expand| format!("; {}: {expand}", net.name)));
    format!("none: the best q-value at once{}", searching.collect::<String>())
}

/// The names, for errors.
pub(crate) fn known(nets: BundledNets) -> String {
    format!("bundled: {}", names(nets))
}
