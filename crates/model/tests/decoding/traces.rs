//! Internal search by a small network that was trained on a few traces of Hex 3x3.

use super::trained::{config, fit, model};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{
    Step, Top, check_trace, grow_trace,
    trace::{Evaluation, Order, Shape, TraceProgress, trace_example},
};
use mavis_model::{
    InputAttention::{Causal, Reread},
    MavModel,
    decode::{Grammar, MavDecoder, TraceDecodeSettings, TraceStream},
    pack::{LossSettings, PackedBatch, Packer},
};
use mavis_net::{Precision, initial_parameters};
use mavis_value::Scoring;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::LazyLock;

const RULES: Rules = Rules::Hex { size: 3, swap: false };
const N_STEPS: usize = 220;

/// Every shape the network has seen.
pub(crate) fn shapes() -> Vec<Shape> {
    let shape = |breadth, depth, compact, top| Shape {
        rules: RULES,
        breadth,
        depth,
        compact,
        top,
        order: Order::DepthFirst,
    };
    let deep = shape(2, 2, true, Top::All);
    vec![
        shape(2, 1, false, Top::All),
        deep,
        shape(2, 1, false, Top::Best(3)),
        Shape { order: Order::BreadthFirst, ..deep },
    ]
}

/// Positions it has seen, the last near the end of a game.
pub(crate) fn roots() -> Vec<Position> {
    [&[][..], &["a1"], &["b2", "a1", "b1"]]
        .into_iter()
        .map(|moves| {
            let mut position = Position::start(RULES);
            for mv in moves {
                position.play_text(mv).unwrap();
            }
            position
        })
        .collect()
}

fn evaluate(position: &Position) -> Evaluation {
    let value = |mv: Move| f32::from((mv.0 * 5 + 3 * position.ply() as u16) % 8) / 8.0;
    let moves: Vec<(Move, f32)> = position.legal_moves().into_iter().map(|mv| (mv, value(mv))).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    Evaluation { best: best.map(|(mv, _)| mv), moves }
}

/// A model that has learned its traces by heart, lists in an order drawn once for each.
pub(crate) fn searcher() -> &'static MavModel {
    static MODEL: LazyLock<MavModel> = LazyLock::new(train);
    &MODEL
}

fn train() -> MavModel {
    let packer = Packer { loss: LossSettings::default(), input: Reread };
    let unused =
        mavis_data::AnnotatedPosition { position: Position::start(RULES), moves: Vec::new(), best: None };
    let mut packed = PackedBatch::default();
    for shape in shapes() {
        for (seed, root) in roots().iter().enumerate() {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
            let trace = grow_trace(shape, root, &mut evaluate, &mut rng);
            packer.push_chain(&mut packed, &trace_example(&trace), &unused);
        }
    }
    packed.finish();
    fit(config(), Reread, N_STEPS, |_| packed.clone())
}

fn write(
    decoder: &mut MavDecoder,
    shape: Shape,
    root: &Position,
    drafting: bool,
    most: usize,
) -> TraceStream {
    decoder
        .write_trace(shape, root, TraceDecodeSettings { drafting, ..TraceDecodeSettings::new(most) })
        .unwrap()
}

#[test]
fn drafted_traces_are_those_of_plain_decoding_in_a_fifth_of_the_passes() {
    let mut decoder = MavDecoder::cpu(searcher(), Precision::Exact).unwrap();
    let (mut plain_passes, mut passes, mut n_faithful) = (0, 0, 0);
    for shape in shapes() {
        for root in roots() {
            let plain = write(&mut decoder, shape, &root, false, 2_000);
            let drafted = write(&mut decoder, shape, &root, true, 2_000);
            assert_eq!(plain.progress().tokens(), drafted.progress().tokens(), "{shape:?} {root}");
            let written = plain.progress().tokens().len() - plain.progress().prompt_len();
            assert_eq!(plain.n_passes(), written);
            plain_passes += plain.n_passes();
            passes += drafted.n_passes();
            let trace = drafted.progress().trace();
            n_faithful += usize::from(trace.is_ok_and(|trace| check_trace(&trace, None).is_ok()));
        }
    }
    assert!(n_faithful >= 8, "{n_faithful} of 9 learned traces are faithful");
    assert!(5 * passes < plain_passes, "{passes} passes with drafts, {plain_passes} without");
}

#[test]
fn mean_values_and_lists_without_repeats_are_the_same_with_and_without_drafts() {
    let mut decoder = MavDecoder::cpu(searcher(), Precision::Exact).unwrap();
    for shape in shapes() {
        for root in roots() {
            let settings = TraceDecodeSettings {
                scoring: Scoring::Mean,
                repeats: false,
                ..TraceDecodeSettings::new(1_000)
            };
            let drafted = decoder.write_trace(shape, &root, settings).unwrap();
            let settings = TraceDecodeSettings { drafting: false, ..settings };
            let plain = decoder.write_trace(shape, &root, settings).unwrap();
            assert_eq!(drafted.progress().tokens(), plain.progress().tokens(), "{shape:?} {root}");
        }
    }
}

#[test]
fn networks_that_know_no_traces_write_the_same_with_and_without_drafts_and_stop() {
    // One that speaks the language of lists only, and one that knows nothing; both break off, loop or are cut.
    let wild = initial_parameters(&config()).unwrap().iter().map(|x| x * 6.0).collect();
    let wild = MavModel { parameters: wild, input: Reread, ..model(Causal).clone() };
    for (model, rules) in [(model(Reread), Rules::Connect4), (&wild, Rules::Chess), (&wild, Rules::Togyz)] {
        let mut decoder = MavDecoder::cpu(model, Precision::Exact).unwrap();
        let shape =
            Shape { rules, breadth: 2, depth: 1, compact: false, top: Top::All, order: Order::DepthFirst };
        for most in [150, 400] {
            let root = Position::start(rules);
            let plain = write(&mut decoder, shape, &root, false, most);
            let drafted = write(&mut decoder, shape, &root, true, most);
            assert_eq!(plain.progress().tokens(), drafted.progress().tokens());
            assert!(plain.progress().tokens().len() <= most);
            assert_ne!(plain.progress().step(), Step::Done);
        }
    }
}

/// Whether the grammar demanded a token where the last one stands.
fn ends_where_one_is_demanded(stream: &TraceStream, root: &Position) -> bool {
    let written = stream.progress();
    let mut progress = TraceProgress::new(*written.shape(), root);
    let n_tokens = written.tokens().len();
    for &token in &written.tokens()[progress.prompt_len()..n_tokens - 1] {
        progress.push(token);
    }
    progress.demanded().is_some()
}

#[test]
fn traces_never_break_where_the_grammar_demands_a_token_with_drafts_and_without() {
    // Weights that are off by ever more: the networks know headers less and less, in the end nothing at all.
    let (mut n_mended, mut n_broken, mut n_nodes) = (0, 0, 0);
    for (seed, noise) in [0.0, 0.005, 0.01, 0.02, 0.3].into_iter().enumerate() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
        let parameters = searcher().parameters.iter().map(|x| x + noise * rng.random_range(-1.0..1.0_f32));
        let model = MavModel { parameters: parameters.collect(), ..searcher().clone() };
        let mut decoder = MavDecoder::cpu(&model, Precision::Exact).unwrap();
        // The same board under the name of another game, which the network has never seen, and one that it knows.
        let (unknown, known) = (Position::start(Rules::Hex { size: 3, swap: true }), &roots()[1]);
        for (shape, root) in shapes().into_iter().flat_map(|shape| [(shape, &unknown), (shape, known)]) {
            let shape = Shape { rules: root.rules(), ..shape };
            let free = TraceDecodeSettings {
                scoring: Scoring::Mean,
                repeats: false,
                ..TraceDecodeSettings::new(600)
            };
            let demanded = TraceDecodeSettings { grammar: Grammar::Demanded, ..free };
            let drafted = decoder.write_trace(shape, root, demanded).unwrap();
            let plain = TraceDecodeSettings { drafting: false, ..demanded };
            let plain = decoder.write_trace(shape, root, plain).unwrap();
            assert_eq!(drafted.progress().tokens(), plain.progress().tokens(), "{shape:?} {root} {noise}");
            assert_eq!(drafted.n_mended(), plain.n_mended());
            if drafted.progress().step() == Step::Broken {
                assert!(!ends_where_one_is_demanded(&drafted, root), "{shape:?} {root} {noise}");
                n_broken += 1;
            }
            let free = decoder.write_trace(shape, root, free).unwrap();
            assert_eq!(free.n_mended(), 0);
            if drafted.n_mended() == 0 {
                assert_eq!(free.progress().tokens(), drafted.progress().tokens());
            } else {
                assert!(free.progress().step() == Step::Broken && ends_where_one_is_demanded(&free, root));
                n_nodes += drafted.progress().nodes().len() - free.progress().nodes().len();
            }
            n_mended += drafted.n_mended();
        }
    }
    // Headers of children were mended, since some of those traces have nodes that they would not have had.
    assert!(n_mended > 10 && n_broken > 10 && n_nodes > 0, "{n_mended} {n_broken} {n_nodes}");
}

#[test]
fn traces_of_several_positions_share_their_passes() {
    let mut decoder = MavDecoder::cpu(searcher(), Precision::Exact).unwrap();
    let (shape, settings) = (shapes()[0], TraceDecodeSettings::new(2_000));
    let mut streams: Vec<TraceStream> =
        roots().iter().map(|root| decoder.open_trace(shape, root, settings).unwrap()).collect();
    let mut n_passes = 0;
    while streams.iter().any(TraceStream::is_open) {
        decoder.advance_traces(&mut streams.iter_mut().collect::<Vec<_>>()).unwrap();
        n_passes += 1;
    }
    let most = streams.iter().map(TraceStream::n_passes).max().unwrap();
    assert_eq!(n_passes, most);
    for (stream, root) in streams.iter().zip(roots()) {
        decoder.close_trace(stream);
        let alone = write(&mut decoder, shape, &root, true, 2_000);
        assert_eq!(alone.progress().tokens(), stream.progress().tokens());
    }
}
