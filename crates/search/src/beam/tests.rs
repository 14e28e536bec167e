use super::*;
use mavis_game::Connect4;
use proptest::prelude::*;

/// A number from -1 to 1 that depends on the key alone.
fn hash(key: u64, salt: u64) -> f32 {
    let mut bits = (key ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits ^= bits >> 31;
    (bits.wrapping_mul(0x94D0_49BB_1331_11EB) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
}

fn q(state: &Connect4, mv: Move, salt: u64) -> f32 {
    hash(state.key() ^ u64::from(mv.0) << 50, salt)
}

fn v(state: &Connect4, salt: u64) -> f32 {
    hash(state.key(), salt + 1)
}

fn run(root: Connect4, settings: &BeamSettings, salt: u64) -> (Vec<(Move, f32)>, usize) {
    let mut beam = Beam::new(root, settings);
    let mut n_questions = 0;
    loop {
        n_questions += 1;
        match beam.ask() {
            Ask::Q(states) => {
                let answer = |state: &&Connect4| (0..7).map(|c| (Move(c), q(state, Move(c), salt))).collect();
                let answers = states.iter().map(answer).collect();
                beam.feed_q(answers);
            }
            Ask::V(states) => {
                let answers: Vec<f32> = states.iter().map(|state| v(state, salt)).collect();
                beam.feed_v(&answers);
            }
            Ask::Done(q_values) => return (q_values, n_questions),
        }
    }
}

/// Algorithm 1 line by line.
fn literal(root: Connect4, settings: &BeamSettings, salt: u64) -> Vec<(Move, f32)> {
    type Item = (Option<f32>, Connect4, Vec<(Move, usize)>);
    let mut tree: Vec<Item> = vec![(None, root, Vec::new())];
    let mut beam: Vec<(f32, usize, u32)> = vec![(f32::INFINITY, 0, 0)];
    for _ in 0..settings.expansions {
        let highest = beam.iter().map(|item| item.0).fold(f32::NEG_INFINITY, f32::max);
        let Some(place) = beam.iter().position(|item| item.0 == highest) else { break };
        let (_, index, depth) = beam.remove(place);
        let state = tree[index].1;
        let mut moves = Moves::new();
        state.legal_moves_into(&mut moves);
        for &mv in &moves {
            let mut next = state;
            next.play_unchecked(mv);
            let child = tree.len();
            tree[index].2.push((mv, child));
            tree.push((end_value(&next), next, Vec::new()));
            if next.outcome().is_none() && depth < settings.depth {
                let priority = if depth == 0 { f32::INFINITY } else { q(&state, mv, salt) };
                beam.push((priority, child, depth + 1));
            }
        }
    }
    for index in (0..tree.len()).rev() {
        if tree[index].0.is_none() {
            let children = tree[index].2.iter().map(|&(_, child)| -tree[child].0.unwrap());
            tree[index].0 = Some(children.reduce(f32::max).unwrap_or_else(|| v(&tree[index].1, salt)));
        }
    }
    tree[0].2.iter().map(|&(mv, child)| (mv, 0.0 - tree[child].0.unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn it_is_algorithm_1(
        start in prop::collection::vec(0_u16..7, 0..34),
        expansions in 1_u32..120,
        depth in 1_u32..6,
        salt in any::<u32>(),
    ) {
        let mut root = Connect4::default();
        for column in start {
            let mut next = root;
            if next.play(Move(column)).is_ok() && next.outcome().is_none() {
                root = next;
            }
        }
        let settings = BeamSettings { expansions, depth };
        let (q_values, _) = run(root, &settings, u64::from(salt));
        prop_assert_eq!(q_values, literal(root, &settings, u64::from(salt)));
    }
}

#[test]
fn certain_expansions_are_asked_for_together() {
    // The root needs no question, its seven children one, and the leaves one.
    let (_, n_questions) = run(Connect4::default(), &BeamSettings { expansions: 8, depth: 4 }, 1);
    assert_eq!(n_questions, 3);
}

#[test]
fn a_tree_of_finished_games_alone_needs_no_values() {
    // Seven cells are open: the whole tree ends, and its ends reach the root though no leaf asks for a value.
    let root = Connect4::parse("ox.o.oo/ox.x.xo/xo.x.oo/oxxx.xx/xoxooxx/xoxooxo o").unwrap();
    let settings = BeamSettings { expansions: 1000, depth: 50 };
    let (q_values, n_questions) = run(root, &settings, 3);
    assert_eq!(q_values, literal(root, &settings, 3));
    assert_eq!(q_values[0], (Move(2), -1.0));
    assert!(n_questions > 1, "{n_questions}");
}

#[test]
fn a_won_game_is_seen_and_a_finished_one_has_no_moves() {
    let mut root = Connect4::default();
    for column in [3, 0, 3, 0, 3, 0] {
        root.play(Move(column)).unwrap();
    }
    let (q_values, _) = run(root, &BeamSettings { expansions: 1, depth: 1 }, 5);
    assert_eq!(q_values[3], (Move(3), 1.0));
    root.play(Move(3)).unwrap();
    assert!(matches!(Beam::new(root, &BeamSettings::default()).ask(), Ask::Done(moves) if moves.is_empty()));
}
