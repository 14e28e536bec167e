//! Answers followed token by token.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, GAMES, random, random_play};
use mavis_game::{Game, Move, Position};
use mavis_lang::{
    AnswerProgress, Commands, Example, ExampleBuilder, Forms, Given, Request, Step, Variety, moves,
    parse_answer, parse_tracked, vocab::LINE_END, vocabulary,
};
use rand::Rng;

/// An example of a position with commands drawn for it.
fn drawn(position: Position, previous: Option<(Position, Move)>, rng: &mut impl Rng) -> (Commands, Example) {
    let rules = position.rules();
    let annotated = Annotated::random(position, previous, rng);
    let tracking = annotated.previous.is_some();
    let commands = Variety::default().draw(rules, annotated.moves.len(), tracking, rng);
    let example = ExampleBuilder::default().build(&annotated.as_annotation(), &commands, rng).unwrap();
    (commands, example)
}

#[test]
fn an_answer_is_done_at_its_last_token_and_not_before() {
    let mut rng = random(5);
    for rules in GAMES {
        for (position, previous) in random_play(rules, 120, 6) {
            let (commands, example) = drawn(position, previous, &mut rng);
            let output = example.output();
            let mut progress = AnswerProgress::new(&commands);
            let mut n_values = 0;
            for (at, &token) in output.iter().enumerate() {
                assert_eq!(progress.step(), Step::More);
                let forced = progress.forced();
                assert_eq!(forced[..], output[at..at + forced.len()], "{}", example.text());
                if let Some(mv) = progress.awaits_value() {
                    n_values += 1;
                    assert_eq!(moves::token_of(rules, mv), Some(output[at - 1]));
                }
                progress.push(token);
            }
            assert_eq!(progress.step(), Step::Done, "{}", example.text());
            assert_eq!(n_values, example.list.map_or(0, |list| list.n_moves));
            assert_eq!(
                progress.best(),
                example.best_at.and_then(|at| moves::move_of(rules, example.tokens[at]))
            );
        }
    }
}

#[test]
fn what_breaks_off_is_refused_by_the_parser_too() {
    let mut rng = random(7);
    let mut n_broken = 0;
    for rules in GAMES {
        for (position, previous) in random_play(rules, 60, 8) {
            let annotated = Annotated::random(position, previous, &mut rng);
            let commands =
                Variety::default().draw(rules, annotated.moves.len(), annotated.previous.is_some(), &mut rng);
            let example =
                ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
            let request = match &annotated.previous {
                Some((before, action)) if commands.is_tracking() => {
                    Request::after(before.clone(), *action, commands)
                }
                _ => Request::at(annotated.position.clone(), commands),
            };
            let mut output = example.output().to_vec();
            let at = rng.random_range(0..output.len());
            output[at] = rng.random_range(0..vocabulary().len() as u16);
            let mut progress = AnswerProgress::new(&commands);
            let n = output.iter().take_while(|&&token| progress.push(token) == Step::More).count() + 1;
            let written = &output[..n.min(output.len())];
            if progress.step() == Step::Broken {
                n_broken += 1;
                assert!(
                    parse_answer(&request, written).is_err(),
                    "{}",
                    vocabulary().decode(written).unwrap()
                );
            }
        }
    }
    assert!(n_broken > 100, "{n_broken}");
}

#[test]
fn fields_of_a_state_are_taken_at_once_as_they_are_one_by_one() {
    let mut rng = random(9);
    let mut n_states = 0;
    for rules in GAMES {
        for (position, previous) in random_play(rules, 60, 10) {
            let (commands, example) = drawn(position, previous, &mut rng);
            let output = example.output();
            let mut progress = AnswerProgress::new(&commands);
            for (at, &token) in output.iter().enumerate() {
                let (mut one, mut other) = (progress.clone(), progress.clone());
                // Some of the tokens, all up to the end of the answer, or with a line that ends too early.
                let mut rest = output[at..].to_vec();
                match rng.random_range(0..3) {
                    0 => rest.truncate(rng.random_range(0..=rest.len())),
                    1 => rest[0] = LINE_END,
                    _ => {}
                }
                let n = one.push_fields(&rest);
                assert!(n <= progress.fields_left());
                for &token in &rest[..n] {
                    assert_eq!(other.push(token), Step::More);
                }
                assert_eq!(format!("{one:?}"), format!("{other:?}"));
                if progress.opens_state() {
                    n_states += 1;
                    let (mut after, n_fields) = (progress.clone(), progress.fields_left());
                    for &token in &output[at..=at + n_fields] {
                        after.push(token);
                    }
                    assert_eq!(progress.forced_after_state(), after.forced());
                }
                progress.push(token);
            }
        }
    }
    assert!(n_states > 100, "{n_states}");
}

#[test]
fn a_tracked_position_is_read_as_in_a_whole_answer() {
    let mut rng = random(11);
    for rules in GAMES {
        for (_, previous) in random_play(rules, 40, 12) {
            let Some((before, action)) = previous else { continue };
            let forms = |commands: Commands| match commands.given {
                Given::Previous { forms, .. } if mavis_lang::state::has_fen(rules) => {
                    Given::Previous { forms, tracked: Forms::StateFen }
                }
                given => given,
            };
            let commands = Commands { top: None, best: false, next: None, ..Commands::tracking(rules) };
            let commands = Commands { given: forms(commands), ..commands };
            let request = Request::after(before, action, commands);
            let whole = mavis_lang::Answer { tracked: Some(request.current()), ..Default::default() };
            let mut tokens = whole.tokens(&commands);
            for _ in 0..8 {
                let read = parse_answer(&request, &tokens).map(|answer| answer.tracked);
                assert_eq!(parse_tracked(&commands, &tokens).map(Some), read);
                let at = rng.random_range(0..tokens.len());
                tokens[at] = rng.random_range(0..vocabulary().len() as u16);
            }
            tokens.push(LINE_END);
            assert!(parse_tracked(&commands, &tokens).is_err());
        }
    }
    assert!(parse_tracked(&Commands::top_all(GAMES[0]), &[]).is_err());
}
