//! The models that travel inside the program.

use mavis_model::MavModel;

/// Averaged weights in bf16; `models/README.md` is its card.
const MODEL: &[u8] = include_bytes!("../../../models/mavis-9m.safetensors");
/// The same shape, trained further on traces of internal search, which costs plain answers too much to be the only model.
const SEARCH: &[u8] = include_bytes!("../../../models/mavis-9m-search.safetensors");

/// The bundled model.
///
/// # Errors
/// When it does not fit the language of this build, which a test would have shown.
pub fn model() -> Result<MavModel, String> {
    MavModel::from_bytes("the bundled model", MODEL).map_err(|error| error.to_string())
}

/// The bundled model that has learned to search by itself.
///
/// # Errors
/// As [`model`].
pub fn search_model() -> Result<MavModel, String> {
    MavModel::from_bytes("the bundled model that searches", SEARCH).map_err(|error| error.to_string())
}

/// The size of its file.
#[must_use]
pub fn model_bytes() -> u64 {
    MODEL.len() as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bundled_models_fit_the_language_of_this_build() {
        for model in [super::model(), super::search_model()] {
            assert!(model.expect("a model").config.vocab >= mavis_lang::vocabulary().len());
        }
    }
}
