//! The model that travels inside the program.

use mavis_model::MavModel;

/// Averaged weights in bf16; `models/README.md` is its card.
const MODEL: &[u8] = include_bytes!("../../../models/mavis-9m.safetensors");

/// The bundled model.
///
/// # Errors
/// When it does not fit the language of this build, which a test would have shown.
pub fn model() -> Result<MavModel, String> {
    MavModel::from_bytes("the bundled model", MODEL).map_err(|error| error.to_string())
}

/// The size of its file.
#[must_use]
pub fn model_bytes() -> u64 {
    MODEL.len() as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bundled_model_fits_the_language_of_this_build() {
        assert!(super::model().expect("a model").config.vocab >= mavis_lang::vocabulary().len());
    }
}
