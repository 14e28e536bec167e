//! Traces followed while they are written: the same check as the strict reader, and the tree at every moment.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{
    GAMES, random, random_play,
    traces::{evaluate, random_trace},
};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{
    Listing, Step, Token, Top, Trace, check_trace, grow_trace, read_trace,
    trace::{Due, Order, Shape, TraceNode, TraceProgress, most_moves, trace_len, trace_prompt, usual_moves},
    vocabulary, write_trace,
};
use mavis_value::{Bucket, Mistake};
use proptest::prelude::*;
use rand::{Rng, seq::IndexedRandom};

/// Follows the tokens after the prompt; the progress and how many of them it took.
fn follow(trace: &Trace, tokens: &[Token]) -> (TraceProgress, usize) {
    let mut progress = TraceProgress::new(trace.shape, &trace.root.position);
    let mut taken = progress.prompt_len();
    for &token in &tokens[taken..] {
        if progress.step() != Step::More {
            break;
        }
        progress.push(token);
        taken += 1;
    }
    (progress, taken)
}

/// The value of a node by plain minimax over the values that stand at its leaves.
fn minimax(node: &TraceNode) -> Bucket {
    match &node.listing {
        Listing::Moves(listed) if node.children.is_empty() => {
            listed.iter().find(|(mv, _)| Some(*mv) == node.best).unwrap().1
        }
        Listing::Moves(_) => node.children.iter().map(|(_, child)| minimax(child).flipped()).max().unwrap(),
        Listing::Over(_) => node.decision.value,
    }
}

/// Whether the best action of every node is one of its list, which the counts do not ask for by itself.
fn listed(node: &TraceNode) -> bool {
    let here = match &node.listing {
        Listing::Moves(listed) => listed.iter().any(|(mv, _)| Some(*mv) == node.best),
        Listing::Over(_) => true,
    };
    here && node.children.iter().all(|(_, child)| listed(child))
}

#[test]
fn every_token_of_a_faithful_trace_is_due() {
    let mut n_open = 0;
    for rules in GAMES {
        for seed in 0..40 {
            let trace = random_trace(rules, seed);
            let tokens = write_trace(&trace);
            let mut progress = TraceProgress::new(trace.shape, &trace.root.position);
            for &token in &tokens[progress.prompt_len()..] {
                match progress.due().unwrap() {
                    Due::Token(due) => {
                        let text = |token| vocabulary().string(token).unwrap();
                        assert_eq!(text(due), text(token), "{rules} {seed}");
                    }
                    Due::Unknown => panic!("nothing is known in {rules} {seed}"),
                    Due::Listed | Due::Value(_) | Due::Best | Due::Child => n_open += 1,
                }
                progress.push(token);
            }
            assert_eq!((progress.step(), progress.due()), (Step::Done, None));
            assert_eq!(progress.trace().as_ref(), Ok(&read_trace(&tokens).unwrap()));
            assert_eq!(progress.played(), trace.played);
            assert_eq!(progress.nodes().len(), trace.root.n_nodes());
            assert_eq!(progress.nodes()[0].decision.as_ref(), Some(&trace.root.decision));
            let counts = progress.counts();
            assert!(counts.faithful, "{counts:?}");
            for share in [counts.states, counts.moves, counts.lists, counts.expansions, counts.decisions] {
                assert_eq!(share.right, share.all, "{counts:?}");
            }
            assert_eq!(counts.decisions.all, trace.root.n_nodes());
            // The decision of a faithful trace is minimax over what it wrote.
            assert_eq!(trace.root.decision.value, minimax(&trace.root));
        }
    }
    assert!(n_open > 1_000);
}

#[test]
fn what_is_demanded_is_the_only_token_that_the_grammar_takes() {
    let (mut n_demanded, mut n_open) = (0, 0);
    for rules in GAMES {
        for seed in [1, 2] {
            let trace = random_trace(rules, seed);
            let mut rng = random(seed);
            let mut progress = TraceProgress::new(trace.shape, &trace.root.position);
            for &token in &write_trace(&trace)[progress.prompt_len()..] {
                let demanded = progress.demanded();
                assert!(demanded.is_none_or(|demanded| demanded == token), "{rules} {seed}");
                // At some places every token of the vocabulary is tried. Not in states: their last field is refused by what they say.
                let in_state = demanded.is_none() && progress.current().position.is_none();
                if rng.random_range(0..6) == 0 && !in_state {
                    let fits = |&token: &Token| progress.clone().push(token) != Step::Broken;
                    let taken: Vec<Token> = (0..vocabulary().len() as Token).filter(fits).collect();
                    match demanded {
                        Some(demanded) => assert_eq!(taken, [demanded]),
                        // The end of a list of all moves is left to the model, in Connect Four even where the list has all columns.
                        None => assert!(taken.len() > 1 || progress.listed().is_some(), "{rules} {seed}"),
                    }
                    n_demanded += usize::from(demanded.is_some());
                    n_open += usize::from(demanded.is_none());
                }
                progress.push(token);
            }
            assert_eq!(progress.demanded(), None);
        }
    }
    assert!(n_demanded > 100 && n_open > 100, "{n_demanded} {n_open}");
}

#[test]
fn an_expansion_names_a_child_in_both_orders() {
    let word = |text: &str| vocabulary().token(text).unwrap();
    for seed in 0..40 {
        let trace = random_trace(Rules::Connect4, seed);
        let mut tokens = write_trace(&trace);
        let Some(last) = tokens.iter().rposition(|&token| token == word(">:\n")) else { continue };
        tokens.truncate(last + 1);
        let (mut progress, _) = follow(&trace, &tokens);
        assert_eq!(progress.demanded(), Some(word("<root")));
        assert_eq!(progress.push(word("Evaluation for node: <root")), Step::Broken, "{:?}", trace.shape);
    }
}

#[test]
fn the_tree_is_known_at_every_moment() {
    let trace = random_trace(Rules::Othello, 8);
    assert!(trace.root.children.len() > 1, "a tree");
    let tokens = write_trace(&trace);
    let mut progress = TraceProgress::new(trace.shape, &trace.root.position);
    let (mut decided, mut n_listed) = (0, 0);
    for &token in &tokens[progress.prompt_len()..] {
        if let Some(listed) = progress.listed() {
            n_listed += 1;
            assert!(listed.iter().eq(progress.current().moves.iter().map(|(mv, _)| mv)));
        }
        progress.push(token);
        let now = progress.nodes().iter().filter(|node| node.decision.is_some()).count();
        assert!(now == decided || now == decided + 1);
        decided = now;
    }
    assert_eq!(decided, trace.root.n_nodes());
    let n_places: usize = progress.nodes().iter().map(|node| node.moves.len() + 1).sum();
    assert_eq!(n_listed, n_places, "a place for each move and for the end of each list");
    let first = progress.nodes()[0].children[0];
    assert_eq!(first.0, trace.root.children[0].0);
    assert_eq!(
        progress.nodes()[first.1.unwrap()].decision.as_ref(),
        Some(&trace.root.children[0].1.decision)
    );
}

#[test]
fn lengths_are_known_beforehand() {
    let start = Position::start(Rules::Connect4);
    for (breadth, depth) in [(1, 0), (2, 1), (3, 2), (5, 3), (9, 1)] {
        for (compact, top, order) in [
            (false, Top::All, Order::DepthFirst),
            (true, Top::All, Order::BreadthFirst),
            (false, Top::Best(3), Order::BreadthFirst),
            (true, Top::Best(12), Order::DepthFirst),
        ] {
            let shape = Shape { rules: Rules::Connect4, breadth, depth, compact, top, order };
            let trace = grow_trace(shape, &start, &mut evaluate, &mut random(1));
            assert_eq!(write_trace(&trace).len(), trace_len(&shape, 7), "{shape:?}");
        }
    }
    for rules in GAMES {
        assert!(usual_moves(rules) <= most_moves(rules));
        for (position, _) in random_play(rules, 200, 3) {
            assert!(position.legal_moves().len() <= most_moves(rules));
        }
    }
}

/// What the progress and the reader make of a trace that was altered at random.
fn agree(rules: Rules, seed: u64) -> Result<(), TestCaseError> {
    let trace = random_trace(rules, seed % 20);
    let mut tokens = write_trace(&trace);
    let prompt = trace_prompt(&trace.shape, &trace.root.position).len();
    let mut rng = random(seed);
    for _ in 0..rng.random_range(1..3) {
        let at = rng.random_range(prompt..tokens.len());
        match rng.random_range(0..4) {
            0 => drop(tokens.remove(at)),
            1 => tokens[at] = rng.random_range(0..vocabulary().len() as Token),
            2 => tokens.truncate(at.max(prompt)),
            _ => tokens[at] = *tokens.clone().choose(&mut rng).unwrap(),
        }
        if tokens.len() <= prompt {
            break;
        }
    }
    let (progress, taken) = follow(&trace, &tokens);
    match read_trace(&tokens) {
        Ok(read) => {
            prop_assert_eq!(progress.step(), Step::Done);
            prop_assert_eq!(taken, tokens.len());
            // What reads but is not faithful is refused by the checker; what it accepts is minimax.
            let counts = progress.counts();
            let shares = [counts.states, counts.moves, counts.lists, counts.expansions, counts.decisions];
            let all_right = counts.faithful && shares.iter().all(|share| share.right == share.all);
            prop_assert_eq!(
                check_trace(&read, None).is_ok(),
                all_right && listed(&read.root),
                "{:?}",
                counts
            );
            if check_trace(&read, None).is_ok() {
                prop_assert_eq!(read.root.decision.value, minimax(&read.root));
                prop_assert_eq!(read.played, read.root.decision.selected);
            }
        }
        Err(mistake) => match progress.step() {
            Step::More => prop_assert_eq!((taken, mistake.kind), (tokens.len(), Mistake::Malformed)),
            Step::Done => prop_assert!(taken < tokens.len(), "{}", mistake),
            Step::Broken => {
                let ours = progress.trace().unwrap_err();
                prop_assert!(ours.at < progress.tokens().len());
                prop_assert!([mistake.kind, Mistake::Malformed].contains(&ours.kind), "{} {}", ours, mistake);
            }
        },
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_progress_and_the_reader_agree_on_broken_traces(game in 0..GAMES.len(), seed: u64) {
        agree(GAMES[game], seed)?;
    }
}

#[test]
fn a_trace_that_ends_with_an_impossible_state_is_refused_there() {
    agree(GAMES[2], 703_279_464_960_785_292).unwrap();
}
