//! Every target over its corpus, and over seeded damage to it.

use mavis_fuzz::{Mutator, TARGETS};

/// Inputs for each target; the program of this crate runs more.
const N_INPUTS: u64 = 10_000;

#[test]
fn no_input_stops_a_reader() {
    std::thread::scope(|scope| {
        // Two at once: the usual machine has two cores.
        for half in [0, 1] {
            scope.spawn(move || {
                for target in TARGETS.iter().skip(half).step_by(2) {
                    let corpus = target.corpus().expect("a corpus in the repository");
                    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
                    corpus.iter().for_each(|input| (target.run)(input));
                    let mut inputs = Mutator::new(corpus, 7);
                    for _ in 0..N_INPUTS {
                        let input = inputs.input();
                        let run = std::panic::AssertUnwindSafe(|| (target.run)(&input));
                        if std::panic::catch_unwind(run).is_err() {
                            let text = input.escape_ascii();
                            panic!("{} stops at {text}", target.name);
                        }
                    }
                }
            });
        }
    });
}

/// The corpus holds what it should: inputs that are accepted, so that damage to them goes deep.
#[test]
fn the_corpus_holds_valid_inputs() {
    let read = |name: &str, file: &str| {
        let folder = mavis_fuzz::target(name).expect("a target").corpus_folder();
        std::fs::read(folder.join(file)).expect("in the repository")
    };
    let text = |name: &str, file: &str| String::from_utf8(read(name, file)).expect("text");
    let weights = read("safetensors", "tiny");
    let path = std::path::Path::new("tiny");
    assert!(
        mavis_net::SmallCheckpoint::<mavis_net::TransformerConfig>::from_bytes(path, &weights, None).is_ok()
    );
    let net = mavis_fuzz::with_header(&read("safetensors", "convnet_header"));
    assert!(mavis_net::SmallCheckpoint::<mavis_net::ConvNetConfig>::from_bytes(path, &net, None).is_ok());
    assert!(mavis_search::wire::SavedTree::from_json(&text("tree", "small")).is_ok());
    assert!(mavis_lang::trace::read_trace_text(&text("trace", "compact")).is_ok());
    let config = mavis_league::wire::LeagueConfig::from_toml(&text("league_config", "full"));
    assert!(config.is_ok(), "{config:?}");
    assert!(mavis_lang::parse_example_text(&text("mav", "hex")).is_ok());
    let positions = mavis_fuzz::target("table").expect("a target").corpus_folder().join("positions");
    assert_eq!(mavis_data::table::n_rows(&[positions]).ok(), Some(4));
    let traces = mavis_fuzz::target("table").expect("a target").corpus_folder().join("traces");
    assert_eq!(mavis_data::table::table_kind(&[&traces]).ok().as_deref(), Some("traces"));
    let rows = mavis_data::TableReader::<mavis_data::wire::TraceRow>::open(&[&traces]).expect("a table");
    assert_eq!(rows.filter(Result::is_ok).count(), 2);
}
