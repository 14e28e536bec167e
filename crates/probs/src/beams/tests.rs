use super::*;
use crate::{Head, Size};
use mavis_game::{Connect4, Othello, Togyz};
use mavis_net::{OptimizerSettings, TrainState, Weights, cpu::CpuConvNet};

/// Nets of a seed, untrained.
fn nets<G: Planes>(start: &G) -> [CpuConvNet; 2] {
    [(1, 7), (start.n_actions(), 8)].map(|(n_outputs, seed)| {
        let config = Size::S10k.config(start.shape(), start.n_actions(), (n_outputs, Head::Values), seed);
        let state = TrainState::new(config.initial_parameters().unwrap());
        CpuConvNet::new(config, OptimizerSettings::default(), state).unwrap()
    })
}

/// The states along a game of first legal moves, each third one.
fn states<G: Planes>(mut state: G) -> Vec<G> {
    let mut states = Vec::new();
    for ply in 0..18_u32 {
        if ply.is_multiple_of(3) {
            states.push(state.clone());
        }
        match state.random_move(ply.wrapping_mul(0x9e37_79b9)) {
            Some(mv) => state.play_unchecked(mv),
            None => break,
        }
    }
    states
}

/// Every search as a line: game, ply, expansions, depth, evaluations of both nets, and the q-values.
fn lines<G: Planes + Default>(lines: &mut Vec<String>) {
    let [value, action] = nets(&G::default());
    for settings in [BeamSettings { expansions: 12, depth: 99 }, BeamSettings { expansions: 40, depth: 3 }] {
        for state in states(G::default()) {
            let (v, q) = (Asker::new(&value, Weights::Live), Asker::new(&action, Weights::Live));
            let results = search_group(&[&state], &settings, &v, &q).unwrap();
            let moves: Vec<String> =
                results[0].iter().map(|(mv, q)| format!("{}:{q:.4}", state.move_text(*mv))).collect();
            lines.push(format!(
                "{} {} {} {} {} {} {}",
                state.rules(),
                state.ply(),
                settings.expansions,
                settings.depth,
                v.n_evaluations(),
                q.n_evaluations(),
                moves.join(" ")
            ));
        }
    }
}

#[test]
fn trees_of_seeded_nets_come_back_the_same() {
    let mut got = Vec::new();
    lines::<Connect4>(&mut got);
    lines::<Othello>(&mut got);
    lines::<Togyz>(&mut got);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/beams.txt");
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    if stored != got.join("\n") + "\n" {
        // A new file to look at, and to take over when the change is meant.
        let new = std::env::temp_dir().join("beams.txt");
        std::fs::write(&new, got.join("\n") + "\n").unwrap();
        panic!("{path} and {} differ", new.display());
    }
}

#[test]
fn many_searches_together_are_each_by_itself() {
    let [value, action] = nets(&Connect4::default());
    let all = states(Connect4::default());
    let (v, q) = (Asker::new(&value, Weights::Live), Asker::new(&action, Weights::Live));
    let settings = BeamSettings { expansions: 25, depth: 4 };
    let twice: Vec<&Connect4> = all.iter().chain(&all).collect();
    let together = search_all(&twice, &settings, &v, &q, &crate::Meter::default()).unwrap();
    for (state, found) in twice.iter().zip(&together) {
        let alone = search_group(&[*state], &settings, &v, &q).unwrap();
        assert_eq!(&alone[0], found);
    }
}
