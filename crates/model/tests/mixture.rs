//! What batches hold: layouts of every kind of example, in every game.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_data::{AnnotatedPosition, Annotations};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{state, vocab, vocabulary};
use mavis_model::{
    loader::Batches,
    mixture::{BatchSettings, ExampleSettings, Mixture, MixtureSettings},
    pack::{LossSettings, PackedBatch, tag},
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Positions of random games with values that only serve to be told apart.
fn annotated(rules: Rules, n: usize) -> Vec<AnnotatedPosition> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut records = Vec::new();
    while records.len() < n {
        let mut position = Position::start(rules);
        position.playout(random.random_range(3..30), || random.random());
        let moves: Vec<_> = position.legal_moves().into_iter().map(|mv| (mv, random.random())).collect();
        if let Some(&(best, _)) = moves.first() {
            records.push(AnnotatedPosition { position, moves, best: Some(best) });
        }
    }
    records
}

fn mixture(rules: Rules, examples: ExampleSettings) -> Mixture {
    let set: Arc<dyn Annotations> = Arc::new(annotated(rules, 200));
    let batch = BatchSettings { examples: 100, tokens: 60_000, sequence: 2_048 };
    let settings = MixtureSettings {
        seed: 3,
        batch,
        examples,
        loss: LossSettings { in_turn: 4.0, ..LossSettings::default() },
        input: mavis_model::InputAttention::Full,
    };
    Mixture::new(vec![(set, 1.0)], settings).unwrap()
}

fn of_kind(rules: Rules, kind: &str) -> PackedBatch {
    let base = ExampleSettings { ended: 0.0, star: 0.0, ..ExampleSettings::default() };
    let (_, examples) = base.kinds().into_iter().find(|(name, _)| *name == kind).unwrap();
    let mut packed = PackedBatch::default();
    mixture(rules, examples).fill(7, &mut packed).unwrap();
    assert_eq!(packed.n_examples, 100, "{rules} {kind}");
    packed.batch.validate(2816, |_| 0).unwrap();
    packed.rows.validate(packed.batch.len(), 2816).unwrap();
    packed
}

const GAMES: [Rules; 6] = Rules::ALL;

/// The tokens of a sequence before its first branch: branches share one position.
fn trunk(packed: &PackedBatch, sequence: usize) -> std::ops::Range<usize> {
    let range = packed.batch.sequence(sequence);
    let len = range.clone().zip(0..).take_while(|&(at, i)| packed.batch.positions[at] == i).count();
    // The first branch stands where the next token of the trunk would.
    let has_branches = range.len() > len || packed.batch.branch_start[range.start + len - 1] > 0;
    range.start..range.start + len - usize::from(has_branches)
}

#[test]
fn tracked_stars_hold_a_state_between_input_and_branches() {
    for rules in GAMES {
        let packed = of_kind(rules, "tracked");
        let (mut n_tracked, mut n_text) = (0, 0);
        for sequence in 0..packed.batch.n_sequences() {
            let trunk = trunk(&packed, sequence);
            let tokens: Vec<u16> =
                packed.batch.tokens[trunk.clone()].iter().map(|&token| token as u16).collect();
            let text = vocabulary().decode(&tokens).unwrap();
            let input_end = trunk.start + packed.batch.prefix_end[trunk.start] as usize;
            let is_tracked = text.contains("[%prev_");
            n_tracked += usize::from(is_tracked);
            // Every token of the chain is learned, and every branch sees all of the trunk.
            let rows: Vec<usize> = (0..packed.rows.len())
                .filter(|&row| trunk.contains(&(packed.rows.rows[row] as usize)))
                .collect();
            let text_rows = rows.iter().filter(|&&row| packed.rows.tags[row] == tag::TEXT).count();
            assert_eq!(text_rows, trunk.end - input_end, "{text}");
            n_text += text_rows;
            for at in trunk.end..packed.batch.sequence(sequence).end {
                assert_eq!(packed.batch.prefix_end[at] as usize, trunk.len(), "{text}");
            }
            if let Some(at) = text.rfind("[%state ").filter(|_| is_tracked && !text.contains("FEN")) {
                check_follows(rules, &text, at);
            }
        }
        assert!(n_tracked >= 95, "{rules}: {n_tracked}");
        assert!(n_text > 95 * state::state_len(rules) / 2, "{rules}: {n_text}");
    }
}

/// The state at `at` of a text is the one after the previous action in the previous state.
fn check_follows(rules: Rules, text: &str, at: usize) {
    let line = |open: &str, from: usize| {
        let start = text[from..].find(open).unwrap() + from + open.len();
        let end = text[start..].find("]\n").unwrap() + start;
        vocabulary().encode(&text[start..end]).unwrap()
    };
    let before = state::read_state(rules, &line("[%prev_state", 0)).unwrap();
    let mv = mavis_lang::moves::move_of(rules, line("[%prev_action", 0)[0]).unwrap();
    let mut after = before.clone();
    after.play(mv).unwrap();
    let tracked = state::read_state(rules, &line("[%state", at)).unwrap();
    assert!(state::same_state(&after, &tracked), "{text}");
}

#[test]
fn text_learns_every_token_it_writes() {
    for rules in GAMES {
        let packed = of_kind(rules, "text");
        let mut n_best = 0;
        for sequence in 0..packed.batch.n_sequences() {
            let range = packed.batch.sequence(sequence);
            let input_len = packed.batch.prefix_end[range.start] as usize;
            let rows = packed.rows.rows.iter().filter(|&&row| range.contains(&(row as usize))).count();
            assert_eq!(rows, range.len() - input_len + 1);
            n_best +=
                packed.batch.tokens[range].iter().filter(|&&t| t == u32::from(vocab::BEST_ACTION)).count();
        }
        assert!((40..80).contains(&n_best), "{rules}: {n_best}");
        let weight = |kind: u8| -> f32 {
            let rows = (0..packed.rows.len()).filter(|&row| packed.rows.tags[row] == kind);
            rows.map(|row| packed.rows.weights[row]).sum()
        };
        for kind in [tag::MOVE, tag::VALUE, tag::TEXT] {
            assert!((weight(kind) - 100.0).abs() < 0.5, "{rules} {kind}: {}", weight(kind));
        }
    }
}

/// In a list in turn any move may come first and one move may follow.
#[test]
fn lists_in_turn_have_one_next_move_in_games_with_many_moves() {
    let both = GAMES.into_iter().flat_map(|rules| [(rules, 0), (rules, 66)]);
    for (rules, in_turn_from) in both {
        let has_many = matches!(rules, Rules::Chess | Rules::Chess960 | Rules::Hex { .. });
        let examples = ExampleSettings {
            plain: 0.0,
            tracked: 0.0,
            random_play: 0.0,
            star: 0.0,
            ended: 0.0,
            in_turn: 1.0,
            in_turn_from,
            ..ExampleSettings::default()
        };
        let mut packed = PackedBatch::default();
        mixture(rules, examples).fill(7, &mut packed).unwrap();
        let n_targets = |row: usize| packed.rows.target_starts[row + 1] - packed.rows.target_starts[row];
        let mut n_in_turn = 0;
        for sequence in 0..packed.batch.n_sequences() {
            let range = packed.batch.sequence(sequence);
            let rows: Vec<usize> = (0..packed.rows.len())
                .filter(|&row| {
                    packed.rows.tags[row] == tag::MOVE && range.contains(&(packed.rows.rows[row] as usize))
                })
                .collect();
            let lists: Vec<u32> = rows.iter().map(|&row| n_targets(row)).collect();
            let weight: f32 = rows.iter().map(|&row| packed.rows.weights[row]).sum();
            // The last row is the end of the list.
            let n_moves = lists.len() as u32 - 1;
            let is_in_turn = lists[0] == n_moves && lists[1..].iter().all(|&n| n == 1);
            let is_random = lists.iter().zip((1..=n_moves).rev()).all(|(&n, left)| n == left);
            assert!(is_in_turn || is_random, "{rules}: {lists:?}");
            // With two moves both kinds look alike.
            if n_moves > 2 {
                let expected = if is_in_turn { 4.0 } else { 1.0 };
                assert!((weight - expected).abs() < 1e-3, "{rules}: {weight}");
            }
            n_in_turn += u32::from(is_in_turn && n_moves > 2);
        }
        // Two thirds of the lists have all moves.
        let is_expected = if in_turn_from == 0 || has_many { n_in_turn > 40 } else { n_in_turn == 0 };
        assert!(is_expected, "{rules}: {n_in_turn} from {in_turn_from} moves on");
    }
}

#[test]
fn random_play_learns_rules_and_no_values() {
    for rules in GAMES {
        let packed = of_kind(rules, "random play");
        let n = |kind: u8| packed.rows.tags.iter().filter(|&&tag| tag == kind).count();
        assert_eq!((n(tag::VALUE), n(tag::BEST)), (0, 0), "{rules}");
        assert!(n(tag::MOVE) > 30 && n(tag::TEXT) > 1_000, "{rules}: {} {}", n(tag::MOVE), n(tag::TEXT));
    }
}

#[test]
fn the_same_number_gives_the_same_batch() {
    let mixture = mixture(Rules::Chess, ExampleSettings::default());
    let fill = |number| {
        let mut packed = PackedBatch::default();
        mixture.fill(number, &mut packed).unwrap();
        (packed.batch, packed.rows)
    };
    assert_eq!(fill(11), fill(11));
    assert_ne!(fill(11).0, fill(12).0);
}

/// The room of a batch is that of the device it goes to.
#[test]
fn no_batch_is_larger_than_its_settings() {
    for rules in GAMES {
        let set: Arc<dyn Annotations> = Arc::new(annotated(rules, 50));
        let batch = BatchSettings { examples: 40, tokens: 2_000, sequence: 1_024 };
        // Random play that reaches ends of games has the most ways to be laid out.
        let examples = ExampleSettings { random_play: 0.5, ended: 0.1, ..ExampleSettings::default() };
        let settings = MixtureSettings { seed: 9, batch, examples, ..MixtureSettings::default() };
        let mixture = Mixture::new(vec![(set, 1.0)], settings).unwrap();
        let mut packed = PackedBatch::default();
        for number in 0..400 {
            mixture.fill(number, &mut packed).unwrap();
            assert!(packed.batch.len() <= batch.tokens, "{rules} {number}: {}", packed.batch.len());
        }
    }
}

/// Where not all examples of a batch find room, those that do are of every set, by its weight.
#[test]
fn a_full_batch_leaves_out_no_set() {
    let sets: Vec<(Arc<dyn Annotations>, f32)> = [Rules::Chess, Rules::Othello, Rules::Togyz]
        .map(|rules| (Arc::new(annotated(rules, 200)) as Arc<dyn Annotations>, 1.0))
        .to_vec();
    let batch = BatchSettings { examples: 120, tokens: 8_000, sequence: 2_048 };
    let settings = MixtureSettings { seed: 3, batch, ..MixtureSettings::default() };
    let mixture = Mixture::new(sets, settings).unwrap();
    assert!((0.2..0.8).contains(&mixture.left_out().unwrap()), "most of them, but not all");
    let mut packed = PackedBatch::default();
    let mut of_game = std::collections::BTreeMap::<u32, usize>::new();
    for number in 0..40 {
        mixture.fill(number, &mut packed).unwrap();
        for sequence in 0..packed.batch.n_sequences() {
            // The first word names the game.
            *of_game.entry(packed.batch.tokens[packed.batch.sequence(sequence).start]).or_default() += 1;
        }
    }
    let counts: Vec<usize> = of_game.into_values().collect();
    assert_eq!(counts.len(), 3);
    let mean = counts.iter().sum::<usize>() / 3;
    assert!(counts.iter().all(|n| n.abs_diff(mean) * 6 < mean), "{counts:?}");
}
