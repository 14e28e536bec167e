//! Answers followed token by token.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, GAMES, random, random_play};
use mavis_lang::{AnswerProgress, ExampleBuilder, Request, Step, Variety, moves, parse_answer, vocabulary};
use rand::Rng;

#[test]
fn an_answer_is_done_at_its_last_token_and_not_before() {
    let mut rng = random(5);
    for rules in GAMES {
        for (position, previous) in random_play(rules, 120, 6) {
            let annotated = Annotated::random(position, previous, &mut rng);
            let tracking = annotated.previous.is_some();
            let commands = Variety::default().draw(rules, annotated.moves.len(), tracking, &mut rng);
            let example =
                ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
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
