//! Internal search by the model that ships, and by traces that end anywhere.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{
    Step, Top, Trace, grow_trace,
    trace::{Evaluation, Order, Shape, TraceProgress},
    write_trace,
};
use mavis_model::MavModel;
use mavis_play::{
    Analysis, InternalPlayerSettings, Limit, PlayerError, Referee, Registry, Source, Thought, Turn,
    add_models, add_mpc, choose, saved_tree,
};
use mavis_search::wire::SavedTree;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;

fn shipped() -> Result<MavModel, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mavis-9m.safetensors");
    MavModel::load(&path).map_err(|error| error.to_string())
}

/// The causal twin has not learned to search, so that its traces break.
fn not_searching() -> Result<MavModel, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mavis-9m-causal.safetensors");
    MavModel::load(&path).map_err(|error| error.to_string())
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    add_models(&mut registry, shipped);
    registry
}

fn evaluate(position: &Position) -> Evaluation {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(position.key());
    let moves: Vec<(Move, f32)> = position.legal_moves().into_iter().map(|mv| (mv, rng.random())).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    Evaluation { best: best.map(|(mv, _)| mv), moves }
}

fn trace(rules: Rules, order: Order) -> Trace {
    let shape = Shape { rules, breadth: 3, depth: 2, compact: true, top: Top::Best(5), order };
    grow_trace(shape, &Position::start(rules), &mut evaluate, &mut Xoshiro256PlusPlus::seed_from_u64(1))
}

#[test]
fn wherever_a_trace_ends_its_move_is_legal_and_its_tree_can_be_drawn() {
    let orders = [Order::DepthFirst, Order::BreadthFirst];
    for (rules, order) in Rules::ALL.into_iter().flat_map(|rules| orders.map(|order| (rules, order))) {
        let start = Position::start(rules);
        let trace = trace(rules, order);
        let tokens = write_trace(&trace);
        let mut progress = TraceProgress::new(trace.shape, &start);
        let legal = |mv: Move| start.is_legal(mv);
        assert_eq!(choose(&progress, legal), None, "nothing is written yet");
        let mut n_children = 0;
        for &token in &tokens[progress.prompt_len()..] {
            progress.push(token);
            let root = &progress.nodes()[0];
            if root.moves.is_empty() {
                continue;
            }
            let chosen = choose(&progress, legal).unwrap();
            assert!(start.is_legal(chosen.mv));
            let decided =
                |child: Option<usize>| Some(progress.nodes()[child?].decision.as_ref()?.value.flipped());
            n_children = root.children.iter().filter(|(_, child)| decided(*child).is_some()).count();
            // Children that are not decided yet count by their value in the list.
            let known = root.children.iter().map(|&(mv, child)| {
                let listed = || root.moves.iter().find(|(other, _)| *other == mv).unwrap().1;
                (mv, decided(child).unwrap_or_else(listed))
            });
            let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
            if let Some((mv, value)) = best.filter(|_| n_children > 0) {
                assert_eq!((chosen.mv, chosen.value), (mv, Some(value.win_probability())), "{rules}");
            } else {
                assert_eq!(chosen.source, Source::List, "{rules}");
            }
            // Trees are checked when they are read: every node behind one move, after its parent.
            let json = saved_tree(&progress, &start, "test").to_json().unwrap();
            SavedTree::from_json(&json).unwrap();
        }
        assert_eq!((n_children, progress.step()), (3, Step::Done));
        let chosen = choose(&progress, legal).unwrap();
        assert!(chosen.source.is_played());
        assert_eq!(Some(chosen.mv), trace.played);
        assert_eq!(saved_tree(&progress, &start, "test").nodes.len(), 13);
        // A choice that may not be played is passed over for the next best thing.
        let other = choose(&progress, |mv| mv != chosen.mv && start.is_legal(mv)).unwrap();
        assert!(other.mv != chosen.mv && start.is_legal(other.mv));
    }
}

#[test]
fn garbage_and_loops_leave_what_stood_before_them() {
    let start = Position::start(Rules::Connect4);
    let trace = trace(Rules::Connect4, Order::DepthFirst);
    let tokens = write_trace(&trace);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..200 {
        let mut progress = TraceProgress::new(trace.shape, &start);
        let good = rng.random_range(progress.prompt_len()..tokens.len());
        for &token in &tokens[progress.prompt_len()..good] {
            progress.push(token);
        }
        let before = choose(&progress, |mv| start.is_legal(mv));
        let looping = rng.random_range(0..mavis_lang::vocabulary().len() as u16);
        for _ in 0..50 {
            progress.push(looping);
        }
        assert_ne!(progress.step(), Step::Done);
        let after = choose(&progress, |mv| start.is_legal(mv));
        if before.is_some() {
            assert!(after.is_some(), "what was known is not lost");
        }
    }
}

#[test]
fn the_model_that_ships_always_moves_and_says_why_in_every_game() {
    let registry = registry();
    for rules in Rules::ALL {
        let mut player = registry.build(&"mav-is:breadth=2,depth=1,threads=2".parse().unwrap(), 1).unwrap();
        player.ready_for(rules).unwrap();
        let start = Position::start(rules);
        let mut n_told = 0;
        let analysis =
            player.analyze(&mut Turn::alone(&start, Limit::default(), &mut |thought: &Thought| {
                n_told += 1;
                assert!(thought.tree.is_some() || thought.tokens.is_none());
            }));
        let analysis = analysis.unwrap();
        let thought = &analysis.choice.thought;
        assert!(start.is_legal(analysis.choice.mv), "{rules}");
        assert!(thought.tokens.unwrap() >= 1 && thought.passes.unwrap() >= 1 && n_told > 0);
        let most = InternalPlayerSettings { breadth: 2, ..Default::default() }.max_tokens(rules).unwrap();
        assert!(thought.tokens.unwrap() < most as u64);
        // It either came to the last line or says what was played instead.
        assert!(thought.note.is_none() || thought.note.as_ref().unwrap().contains("played"), "{thought:?}");
    }
}

#[test]
fn what_a_broken_trace_leaves_open_is_played_by_the_same_weights() {
    let mut registry = Registry::default();
    add_models(&mut registry, not_searching);
    for rules in Rules::ALL {
        let start = Position::start(rules);
        let analyze = |spec: &str| {
            let mut player = registry.build(&spec.parse().unwrap(), 1).unwrap();
            player.analyze(&mut Turn::alone(&start, Limit::default(), &mut |_: &Thought| {})).unwrap().choice
        };
        let (broken, plain) = (analyze("mav-is:breadth=2,depth=1,threads=2"), analyze("mav:threads=2"));
        assert!(broken.thought.note.unwrap().contains("played without search"), "{rules}");
        assert_eq!((broken.mv, broken.thought.value), (plain.mv, plain.thought.value), "{rules}");
    }
}

#[test]
fn a_context_that_is_too_small_is_refused_before_the_first_token() {
    let registry = registry();
    let spec = "mav-is:breadth=4,depth=2,top=all,compact=false".parse().unwrap();
    let mut player = registry.build(&spec, 1).unwrap();
    let Err(PlayerError::Failed(reason)) = player.ready_for(Rules::HEX) else { panic!("refused") };
    assert!(
        reason.starts_with("breadth=4, depth=2 needs ") && reason.contains("the context has 8192"),
        "{reason}"
    );
    player.ready_for(Rules::Connect4).unwrap();
    let tight = registry
        .build(&"mav-is:breadth=3,depth=1,context=200".parse().unwrap(), 1)
        .unwrap()
        .ready_for(Rules::Chess);
    assert!(tight.unwrap_err().to_string().contains("the context has 200"));
    assert!(registry.build(&"mav-is:depth=65".parse().unwrap(), 1).is_err());
    assert!(registry.build(&"mav-is:top=0".parse().unwrap(), 1).is_err());
    // Depth 0 is the model without search.
    assert_eq!(registry.build(&"mav-is:depth=0".parse().unwrap(), 1).unwrap().name(), "mav");
}

#[test]
fn whole_games_are_played_and_repeat() {
    let registry = registry();
    let play = || {
        let build =
            |seed| registry.build(&"mav-is:breadth=2,depth=1,threads=1".parse().unwrap(), seed).unwrap();
        let (mut first, mut second) = (build(1), build(2));
        let referee = Referee { max_plies: Some(6), ..Referee::default() };
        let record = referee.play(&Position::start(Rules::Connect4), [&mut *first, &mut *second]);
        record.moves.iter().map(|made| (made.mv, made.thought.tokens)).collect::<Vec<_>>()
    };
    let one = play();
    assert_eq!(one.len(), 6);
    assert_eq!(one, play());
}

#[test]
fn empty_boards_give_whole_trees_with_or_without_the_grammar() {
    let registry = registry();
    for rules in [Rules::Connect4, Rules::Hex { size: 7, swap: false }] {
        let start = Position::start(rules);
        let analyze = |spec: &str| {
            let mut player = registry.build(&spec.parse().unwrap(), 1).unwrap();
            player.analyze(&mut Turn::alone(&start, Limit::default(), &mut |_: &Thought| {})).unwrap()
        };
        for (breadth, n_nodes) in [(2, 3), (3, 4)] {
            let mended = analyze(&format!("mav-is:breadth={breadth},depth=1,threads=2,grammar=demanded"));
            let thought = &mended.choice.thought;
            assert_eq!((&thought.note, thought.broken), (&None, None), "{rules} {breadth}");
            assert_eq!(thought.tree.as_ref().unwrap().nodes.len(), n_nodes, "{rules}");
            assert_eq!(mended.moves.iter().filter(|entry| entry.visits.is_some()).count(), n_nodes - 1);
        }
        // What the model writes by itself is the same text where it errs in no token that the grammar demands.
        let of = |grammar: &str| {
            let choice = analyze(&format!("mav-is:breadth=3,depth=1,threads=2,grammar={grammar}")).choice;
            (choice.mv, choice.thought.tokens, choice.thought.passes, choice.thought.broken)
        };
        assert_eq!(of("free"), of("demanded"), "{rules}");
    }
}

#[test]
fn searches_outside_take_the_values_of_the_search_inside() {
    let mut registry = registry();
    add_mpc(&mut registry);
    let mut position = Position::start(Rules::Connect4);
    for mv in ["4", "4", "3", "5", "3"] {
        position.play_text(mv).unwrap();
    }
    let analyze = |spec: &str| {
        let mut player = registry.build(&spec.parse().unwrap(), 1).unwrap();
        player.analyze(&mut Turn::alone(&position, Limit::default(), &mut |_: &Thought| {})).unwrap()
    };
    let inside = analyze("mav-is:breadth=2,depth=1,threads=2");
    let alone = analyze("mav:threads=2");
    // One simulation asks for the values of the root.
    let outside = analyze("mav-mcts:sims=1,internal=2x1,threads=2");
    let mut n_searched = 0;
    for entry in &outside.moves {
        let of = |analysis: &Analysis| analysis.moves.iter().find(|other| other.mv == entry.mv).cloned();
        let by_search = of(&inside).filter(|entry| entry.visits.is_some()).and_then(|entry| entry.value);
        let expected = by_search.or(of(&alone).and_then(|entry| entry.value)).unwrap();
        let difference = (entry.model_value.unwrap() - expected).abs();
        assert!(difference < 1e-5, "{:?}: {difference}", entry.mv);
        n_searched += usize::from(by_search.is_some());
    }
    assert_eq!((outside.moves.len(), n_searched), (7, 2));
    let played = analyze("mpc:evaluator={mav-is:breadth=2,depth=1,threads=2},steps=half,threads=2").choice;
    assert!(position.is_legal(played.mv) && played.thought.value.is_some());
    for (spec, part) in [
        ("mav-mcts:internal=0x1", "bad value '0x1' for internal"),
        ("mav-mcts:internal=2", "bad value '2' for internal"),
        ("mav-mcts:internal=2x1,world=model", "internal needs world=rules"),
    ] {
        let error = registry.build(&spec.parse().unwrap(), 1).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}
