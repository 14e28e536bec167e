//! What `mavis lang` shows.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::GAMES;
use mavis_game::Rules;
use mavis_lang::{Variety, report, vocabulary};
use mavis_value::Mistake;

const FIGURE_1: &str = include_str!("data/figure1.mav");

#[test]
fn tokenize_shows_index_id_and_string() {
    let report = report::tokenize("[%best_action f6f5]\n").unwrap();
    let strings: Vec<&str> = report.tokens.iter().map(|(_, string)| *string).collect();
    assert_eq!(strings, ["[%best_action", " f6f5", "]\n"]);
    let id = vocabulary().token(" f6f5").unwrap();
    assert!(report.to_string().contains(&format!("     1  {id} \" f6f5\"\n")), "{report}");
    assert!(report::tokenize("hello").is_err());
}

#[test]
fn samples_are_the_same_for_a_seed_and_right() {
    for rules in GAMES {
        let mut text = String::new();
        for seed in 0..8 {
            let example = report::sample_example(rules, seed, &Variety::default()).unwrap();
            assert_eq!(example, report::sample_example(rules, seed, &Variety::default()).unwrap());
            text.push_str(&example.text());
            text.push('\n');
        }
        let report = report::check(&text);
        assert_eq!((report.metrics.n_answers, report.metrics.n_right), (8, 8), "{report}");
    }
}

#[test]
fn check_judges_every_record_by_kind() {
    let illegal = FIGURE_1.replace("f8h8:", "f8h6:");
    let foreign = FIGURE_1.replace("[%best_action f6f5]", "[%best_action Nf6]");
    let unreadable = FIGURE_1.replace("<mav game=chess>", "<mav game=go>");
    let missing = FIGURE_1.replace(" f8h8:<ctrl29>", "");
    let trace = "Minimax breadth=3 depth=1\nnonsense\n";
    let text = [FIGURE_1, &illegal, &foreign, &unreadable, &missing, trace].join("\n");
    let report = report::check(&text);
    let found: Vec<(usize, usize, Mistake)> =
        report.failures.iter().map(|failure| (failure.record, failure.line, failure.mistake.kind)).collect();
    assert_eq!(
        found,
        [
            (2, 15, Mistake::IllegalMove),
            (2, 15, Mistake::MissingMove),
            (3, 25, Mistake::Malformed),
            (4, 28, Mistake::Malformed),
            (5, 42, Mistake::MissingMove),
            (6, 47, Mistake::Malformed),
        ]
    );
    let metrics = report.metrics;
    assert_eq!((metrics.n_answers, metrics.n_right, report.n_unreadable), (6, 1, 1));
    assert_eq!(metrics.mistakes.of(Mistake::Malformed), 3);
    assert_eq!(metrics.mistakes.of(Mistake::MissingMove), 2);
    // 1, 4 of 5, 0 and 1 over the four lists asked for.
    assert!((metrics.lists.precision().unwrap() - (1.0 + 0.8 + 0.0 + 1.0) / 4.0).abs() < 1e-9);
    assert!((metrics.lists.recall().unwrap() - (1.0 + 0.8 + 0.0 + 0.8) / 4.0).abs() < 1e-9);
    assert_eq!(metrics.lists.whole(), Some(0.25));
    let shown = report.to_string();
    assert!(shown.contains("line 15, record 2: illegal move"), "{shown}");
    assert!(shown.contains("whole sets       0.2500"), "{shown}");
}

#[test]
fn an_empty_file_has_no_answers() {
    assert_eq!(report::check("\n\n").metrics.n_answers, 0);
    assert_eq!(report::sample_example(Rules::HEX, 3, &Variety::default()).unwrap().tokens[0], {
        vocabulary().token("<mav game=hex size=11>").unwrap()
    });
}
