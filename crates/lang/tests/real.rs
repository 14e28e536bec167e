//! 10,000 positions of real games for every game: text, tokens and meaning are one thing.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{
    Annotated,
    games::{COLLECTIONS, Played},
    random,
};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{
    ExampleBuilder, Start, Top, Variety, check_answer, check_trace, grow_trace, parse_example, read_trace,
    state,
    trace::{Evaluation, Order, Shape},
    vocabulary, write_trace,
};
use rand::Rng;
use std::path::Path;

const N: usize = 10_000;

#[test]
fn samples_of_real_games_hold() {
    for collection in COLLECTIONS {
        check_examples(collection.rules, collection.sampled(N));
        check_traces(collection.rules, &collection.sampled(40));
    }
}

#[test]
#[ignore = "needs the whole collections, whose folder MAVIS_REAL_DATA names"]
fn whole_collections_hold() {
    let folder = std::env::var_os("MAVIS_REAL_DATA").expect("MAVIS_REAL_DATA names the folder");
    for collection in COLLECTIONS {
        check_examples(collection.rules, collection.gathered(Path::new(&folder), N));
        check_traces(collection.rules, &collection.gathered(Path::new(&folder), 400));
    }
}

fn check_examples(rules: Rules, positions: Vec<Played>) {
    assert_eq!(positions.len(), N);
    let mut rng = random(21);
    let mut builder = ExampleBuilder::default();
    for (position, previous) in positions {
        let annotated = Annotated::random(position, previous, &mut rng);
        let has_previous = annotated.previous.is_some();
        let commands = Variety::default().draw(rules, annotated.moves.len(), has_previous, &mut rng);
        let example = builder.build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
        let text = example.text();
        assert_eq!(vocabulary().encode(&text).as_ref(), Ok(&example.tokens), "{text}");
        let (request, answer) = parse_example(&example.tokens).unwrap();
        assert_eq!(request.prompt_text() + &answer.text(&commands), text);
        let given = match &request.start {
            Start::At(position) => position.clone(),
            Start::After { .. } => answer.tracked.clone().unwrap(),
        };
        assert!(state::same_state(&given, &annotated.position), "{text}");
        assert_eq!(given, annotated.position);
        let check = check_answer(&request, &answer);
        assert!(check.is_right(), "{:?}\n{text}", check.mistakes);
    }
}

fn check_traces(rules: Rules, positions: &[Played]) {
    let mut rng = random(22);
    let evaluate = |position: &Position| {
        let mut rng = random(position.key());
        let moves: Vec<(Move, f32)> =
            position.legal_moves().into_iter().map(|mv| (mv, rng.random())).collect();
        let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
        Evaluation { best: best.map(|(mv, _)| mv), moves }
    };
    for (position, _) in positions {
        let shape = Shape {
            rules,
            breadth: rng.random_range(2..4),
            depth: rng.random_range(1..3),
            compact: rng.random(),
            order: Order::DepthFirst,
            top: Top::All,
        };
        let tokens = write_trace(&grow_trace(shape, position, &mut { evaluate }, &mut rng));
        let text = vocabulary().decode(&tokens).unwrap();
        assert_eq!(vocabulary().encode(&text).as_ref(), Ok(&tokens));
        let trace = read_trace(&tokens).unwrap();
        assert_eq!(write_trace(&trace), tokens);
        assert_eq!(check_trace(&trace, Some(&|position: &Position| Some(evaluate(position)))), Ok(()));
    }
}
