//! The small nets of PROBS that travel inside the program.

use mavis_probs::{BundledNet, BundledNets};

/// Averaged weights in bf16; `models/README.md` has their cards and `recipes/probs.sh` makes them.
pub const NETS: BundledNets = &[
    BundledNet {
        name: "connect4",
        game: "connect4",
        expand: None,
        bytes: include_bytes!("../../../models/probs-connect4.safetensors"),
    },
    BundledNet {
        name: "hex11",
        game: "hex",
        expand: Some(400),
        bytes: include_bytes!("../../../models/probs-hex11.safetensors"),
    },
    BundledNet {
        name: "hex7",
        game: "hex:size=7",
        expand: None,
        bytes: include_bytes!("../../../models/probs-hex7.safetensors"),
    },
    BundledNet {
        name: "othello",
        game: "othello",
        expand: None,
        bytes: include_bytes!("../../../models/probs-othello.safetensors"),
    },
    BundledNet {
        name: "togyz",
        game: "togyz",
        expand: None,
        bytes: include_bytes!("../../../models/probs-togyz.safetensors"),
    },
];

#[cfg(test)]
mod tests {
    use super::NETS;
    use mavis_game::Position;
    use mavis_net::Device;

    #[test]
    fn every_bundled_net_plays_the_game_it_is_listed_for_and_is_small() {
        for net in NETS {
            let model = net.load::<Position>(Device::Cpu).expect(net.name);
            assert_eq!(model.config.game, net.game, "{}", net.name);
            assert!(net.bytes.len() < 2_000_000, "{}: {} bytes", net.name, net.bytes.len());
        }
    }
}
