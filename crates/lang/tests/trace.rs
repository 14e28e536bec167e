//! Traces of internal search: figure 6, random trees of every game, and every way to alter them.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{
    GAMES, random, random_play,
    traces::{evaluate, random_trace},
};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{
    Listing, Token, Top, check_trace, grow_trace, moves, read_trace,
    trace::{
        Evaluation, Order, SearchTree, Shape, TraceNode, played_move, read_trace_text, trace_example,
        trace_prompt,
    },
    value::{bucket_of, quoted_bucket_of, quoted_token, value_token},
    vocab, vocabulary, write_trace,
};
use mavis_value::{Bucket, Mistake};
use proptest::prelude::*;
use rand::{Rng, seq::IndexedRandom};

fn reference(position: &Position) -> Option<Evaluation> {
    Some(evaluate(position))
}

#[test]
fn figure_6_backs_up_as_printed() {
    let root = "2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b - - 0 1";
    let root = Position::parse(Rules::Chess, root).unwrap();
    // The values that the figure shows; those it leaves out are low here.
    let figure = |position: &Position| {
        let (printed, best): (&[(&str, u8)], &str) = match position.to_string().split(' ').next().unwrap() {
            "2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R" => {
                (&[("g3g6", 33), ("c2e2", 32), ("g3d6", 35)], "g3d6")
            }
            "2r3k1/p3p3/3qN1Pp/3Q4/8/5P2/PPr3P1/1K5R" => {
                (&[("d5d4", 18), ("d5b3", 23), ("d5d6", 32), ("a2a3", 11)], "d5d6")
            }
            "2r3k1/p3p3/4N1qp/3Q4/8/5P2/PPr3P1/1K5R" => (&[("d5c5", 1), ("e6f4", 22), ("b2b3", 1)], "e6f4"),
            "2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PP2r1P1/1K5R" => (&[("h1h6", 1), ("e6f4", 32), ("h1c1", 1)], "e6f4"),
            other => panic!("{other} is not in the figure"),
        };
        let value = |mv: Move| {
            let text = moves::move_text(Rules::Chess, mv).unwrap();
            let number = printed.iter().find(|(known, _)| *known == text).map_or(1, |(_, number)| *number);
            (mv, Bucket::new(number).unwrap().win_probability())
        };
        Evaluation {
            moves: position.legal_moves().into_iter().map(value).collect(),
            best: Some(position.parse_move(best).unwrap()),
        }
    };
    let shape = Shape {
        rules: Rules::Chess,
        breadth: 3,
        depth: 1,
        compact: false,
        top: Top::All,
        order: Order::DepthFirst,
    };
    let trace = grow_trace(shape, &root, &mut { figure }, &mut random(1));
    let text = vocabulary().decode(&write_trace(&trace)).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            !line.starts_with("[%state") && !line.starts_with("[%prev_state") && !line.starts_with("[%top")
        })
        .collect();
    let child_header = "<mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>";
    assert_eq!(
        lines,
        [
            "Minimax breadth=3 depth=1",
            "Evaluation for node: <root>",
            "<mav game=chess> %state %top_all %best_action </mav>",
            "[%best_action g3d6]",
            "Expand from node <root>:",
            "<root g3d6>",
            "<root g3g6>",
            "<root c2e2>",
            "Evaluation for node: <root g3d6>",
            child_header,
            "[%prev_action g3d6]",
            "[%best_action d5d6]",
            "Decision for node: <root g3d6>",
            "Selecting: d5d6 : \"<ctrl32>\"",
            "Evaluation for node: <root g3g6>",
            child_header,
            "[%prev_action g3g6]",
            "[%best_action e6f4]",
            "Decision for node: <root g3g6>",
            "Selecting: e6f4 : \"<ctrl22>\"",
            "Evaluation for node: <root c2e2>",
            child_header,
            "[%prev_action c2e2]",
            "[%best_action e6f4]",
            "Decision for node: <root c2e2>",
            "Selecting: e6f4 : \"<ctrl32>\"",
            "Decision for node: <root> g3d6 : \"<ctrl33>\" g3g6 : \"<ctrl43>\" c2e2 : \"<ctrl33>\"",
            "Selecting: g3g6 : \"<ctrl43>\"",
            "Playing g3g6!",
        ]
    );
    assert_eq!(check_trace(&trace, None), Ok(()));
    assert_eq!(read_trace_text(&text).as_ref(), Ok(&trace));
}

#[test]
fn random_trees_are_written_read_and_accepted() {
    let mut n_ends = 0;
    for rules in GAMES {
        for seed in 0..40 {
            let trace = random_trace(rules, seed);
            let tokens = write_trace(&trace);
            let text = vocabulary().decode(&tokens).unwrap();
            assert_eq!(vocabulary().encode(&text).as_ref(), Ok(&tokens));
            let read = read_trace(&tokens).unwrap();
            assert_eq!(write_trace(&read), tokens);
            assert_eq!(read.root.n_nodes(), trace.root.n_nodes());
            assert_eq!(check_trace(&read, Some(&reference)), Ok(()));
            assert_eq!(check_trace(&read, None), Ok(()));
            assert_eq!(played_move(rules, &tokens), trace.played);
            let example = trace_example(&trace);
            assert_eq!(example.input(), trace_prompt(&trace.shape, &trace.root.position));
            n_ends += text.matches("invalid : \"").count();
        }
    }
    assert!(n_ends > 100, "ends of games are met: {n_ends}");
}

#[test]
fn breadth_first_the_same_lines_stand_level_by_level() {
    let root = Position::start(Rules::Connect4);
    let shape = |order| Shape {
        rules: Rules::Connect4,
        breadth: 2,
        depth: 2,
        compact: true,
        top: Top::Best(3),
        order,
    };
    let lines = |order| {
        let trace = grow_trace(shape(order), &root, &mut evaluate, &mut random(4));
        let text = vocabulary().decode(&write_trace(&trace)).unwrap();
        assert_eq!(read_trace_text(&text).as_ref(), Ok(&trace));
        assert_eq!(check_trace(&trace, Some(&reference)), Ok(()));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut depth, mut breadth) = (lines(Order::DepthFirst), lines(Order::BreadthFirst));
    assert_eq!(
        (depth[0].as_str(), breadth[0].as_str()),
        ("Minimax breadth=2 depth=2 compact", "Minimax breadth=2 depth=2 compact b")
    );
    let lengths = |opening: &str| -> Vec<usize> {
        breadth
            .iter()
            .filter(|line| line.starts_with(opening))
            .map(|line| {
                let path = line.split_once('<').unwrap().1.split_once('>').unwrap().0;
                path.split(' ').count() - 1
            })
            .collect()
    };
    assert_eq!(lengths("Evaluation"), [0, 1, 1, 2, 2, 2, 2]);
    assert_eq!(lengths("Expand"), [0, 1, 1]);
    assert_eq!(lengths("Decision"), [2, 2, 2, 2, 1, 1, 0]);
    assert_eq!(depth.last(), breadth.last());
    depth[0].clone_from(&breadth[0]);
    depth.sort();
    breadth.sort();
    assert_eq!(depth, breadth);
}

#[test]
fn the_compact_variant_saves_the_parents_states() {
    let root = Position::start(Rules::Othello);
    let length = |compact| {
        let shape = Shape {
            rules: Rules::Othello,
            breadth: 3,
            depth: 2,
            compact,
            top: Top::All,
            order: Order::DepthFirst,
        };
        let trace = grow_trace(shape, &root, &mut evaluate, &mut random(1));
        (write_trace(&trace).len(), trace.root.n_nodes())
    };
    let ((full, n_nodes), (compact, _)) = (length(false), length(true));
    // A header command, the line's opening and closing, and 65 fields for every node but the root.
    assert_eq!(full - compact, (n_nodes - 1) * (1 + 2 + 65) - 1);
}

/// What kinds may follow when the token at `at` is altered, or `None` for tokens that are not altered here.
fn due_kinds(tokens: &[Token], at: usize, rules: Rules) -> Option<&'static [Mistake]> {
    let string = |idx: usize| vocabulary().string(tokens[idx]).unwrap();
    let opening = (0..at).rev().find(|&idx| {
        let text = string(idx);
        (text.starts_with('[') || text.starts_with("<root") || text.starts_with(char::is_uppercase))
            && text.len() > 2
    })?;
    let is_move = moves::move_of(rules, tokens[at]).is_some();
    let is_value = bucket_of(tokens[at]).is_some() || quoted_bucket_of(tokens[at]).is_some();
    let in_path = !(opening..at).any(|idx| string(idx) == ">");
    Some(match string(opening) {
        "[%top_all" | "[%top_" if is_value => &[Mistake::WrongValue],
        "[%top_all" | "[%top_" if is_move => {
            &[Mistake::IllegalMove, Mistake::RepeatedMove, Mistake::MissingMove, Mistake::WrongValue]
        }
        "[%best_action" if is_move => &[Mistake::WrongDecision, Mistake::IllegalMove],
        "[%prev_action" if is_move => &[Mistake::WrongExpansion],
        "[%state" | "[%prev_state" if string(at) != "]\n" => &[Mistake::WrongState, Mistake::Malformed],
        "Evaluation for node: <root" | "Expand from node <root" | "<root" if is_move => {
            &[Mistake::WrongExpansion]
        }
        "Decision for node: <root" if is_move && in_path => &[Mistake::WrongExpansion],
        "Decision for node: <root" | "Selecting:" | "Playing" if is_move || is_value => {
            &[Mistake::WrongDecision]
        }
        _ => return None,
    })
}

/// Another token of the same class.
fn altered(token: Token, rules: Rules, rng: &mut impl Rng) -> Token {
    let candidates: Vec<Token> = if let Some(value) = bucket_of(token) {
        (1..=64).map(|n| Bucket::new(n).unwrap()).filter(|other| *other != value).map(value_token).collect()
    } else if let Some(value) = quoted_bucket_of(token) {
        (1..=64).map(|n| Bucket::new(n).unwrap()).filter(|other| *other != value).map(quoted_token).collect()
    } else if moves::move_of(rules, token).is_some() {
        moves::move_tokens(rules).filter(|other| *other != token).collect()
    } else {
        let others = [" .", " x", " o", " -", " w", " b", " R", " p", " 3", " 0"];
        others
            .into_iter()
            .map(|text| vocabulary().token(text).unwrap())
            .filter(|other| *other != token)
            .collect()
    };
    *candidates.choose(rng).unwrap()
}

#[test]
fn any_one_alteration_is_refused_with_its_kind() {
    let mut met = [0; Mistake::ALL.len()];
    for rules in GAMES {
        for seed in 0..16 {
            let trace = random_trace(rules, 1_000 + seed);
            let tokens = write_trace(&trace);
            let output = trace_prompt(&trace.shape, &trace.root.position).len();
            let mut rng = random(seed);
            // Every trace is altered in five hundred places, which over all of them meet every kind of line often.
            for _ in 0..500 {
                let at = rng.random_range(output..tokens.len());
                let Some(kinds) = due_kinds(&tokens, at, rules) else { continue };
                let mut wrong = tokens.clone();
                wrong[at] = altered(tokens[at], rules, &mut rng);
                let result = read_trace(&wrong).and_then(|trace| check_trace(&trace, Some(&reference)));
                let mistake = result.expect_err("an altered trace is refused");
                assert!(
                    kinds.contains(&mistake.kind),
                    "{:?} for {:?} at {at}: {mistake}, not {kinds:?}\n{}",
                    vocabulary().string(wrong[at]),
                    vocabulary().string(tokens[at]),
                    vocabulary().decode(&wrong).unwrap()
                );
                met[mistake.kind as usize] += 1;
            }
        }
    }
    // Ends are altered below, and a move is missing only where one is taken away.
    let elsewhere = [Mistake::WrongEnd, Mistake::MissingMove];
    let here = Mistake::ALL.into_iter().filter(|kind| !elsewhere.contains(kind));
    assert!(here.into_iter().all(|kind| met[kind as usize] > 50), "{met:?}");
}

#[test]
fn a_move_taken_away_is_missed() {
    for rules in GAMES {
        let shape =
            Shape { rules, breadth: 2, depth: 1, compact: false, top: Top::All, order: Order::DepthFirst };
        let trace = grow_trace(shape, &Position::start(rules), &mut evaluate, &mut random(1));
        let text = vocabulary().decode(&write_trace(&trace)).unwrap();
        let last = text.match_indices(">]").last().unwrap().0;
        let first = text[..last].rfind(' ').unwrap();
        let wrong = format!("{}{}", &text[..first], &text[last + 1..]);
        let mistake = read_trace_text(&wrong).and_then(|trace| check_trace(&trace, None)).unwrap_err();
        assert_eq!(mistake.kind, Mistake::MissingMove, "{mistake}");
    }
}

#[test]
fn wrong_ends_are_refused() {
    let text = "......./......./......./x....../xo...../xo..... o";
    let mut root = Position::parse(Rules::Connect4, text).unwrap();
    root.play_text("2").unwrap();
    let shape = Shape {
        rules: Rules::Connect4,
        breadth: 7,
        depth: 1,
        compact: true,
        top: Top::All,
        order: Order::DepthFirst,
    };
    let trace = grow_trace(shape, &root, &mut evaluate, &mut random(1));
    let text = vocabulary().decode(&write_trace(&trace)).unwrap();
    assert!(text.contains("invalid : \"1-0\"]"), "{text}");
    assert!(text.contains("Selecting: invalid : \"<ctrl1>\""));
    let wrong = text.replacen("invalid : \"1-0\"]", "invalid : \"0-1\"]", 1);
    let mistake = read_trace_text(&wrong).and_then(|trace| check_trace(&trace, None)).unwrap_err();
    assert_eq!(mistake.kind, Mistake::WrongEnd);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn broken_traces_never_panic_and_never_print_differently(game in 0..GAMES.len(), seed: u64) {
        let mut tokens = write_trace(&random_trace(GAMES[game], seed % 20));
        let mut rng = random(seed);
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..tokens.len());
            match rng.random_range(0..3) {
                0 => drop(tokens.remove(at)),
                1 => tokens[at] = rng.random_range(0..vocabulary().len() as Token),
                _ => tokens[at] = *tokens.clone().choose(&mut rng).unwrap(),
            }
        }
        if let Ok(trace) = read_trace(&tokens) {
            prop_assert_eq!(write_trace(&trace), tokens);
            drop(check_trace(&trace, None));
        }
    }

    /// Also of traces that somebody altered: whatever the checker accepts decides by minimax over the values it wrote.
    #[test]
    fn what_the_checker_accepts_decides_by_minimax(game in 0..GAMES.len(), seed: u64, alter: bool) {
        let mut tokens = write_trace(&random_trace(GAMES[game], seed % 500));
        let mut rng = random(seed);
        let values: Vec<usize> = (0..tokens.len())
            .filter(|&at| bucket_of(tokens[at]).is_some() || quoted_bucket_of(tokens[at]).is_some())
            .collect();
        if alter && let Some(&at) = values.choose(&mut rng) {
            tokens[at] = altered(tokens[at], GAMES[game], &mut rng);
        }
        match read_trace(&tokens) {
            Ok(trace) if check_trace(&trace, None).is_ok() => {
                let (value, line) = minimax(&trace.root);
                prop_assert_eq!(trace.root.decision.value.number(), value);
                prop_assert_eq!(trace.played, line);
            }
            _ => prop_assert!(alter, "a true trace is accepted"),
        }
    }
}

/// What a node comes to and its move, by the listed values of the leaves alone.
fn minimax(node: &TraceNode) -> (u8, Option<Move>) {
    let moves = match &node.listing {
        Listing::Moves(moves) => moves,
        Listing::Over(outcome) => {
            let side = node.position.side_to_move();
            return (outcome.winner().map_or(33, |winner| if winner == side { 64 } else { 1 }), None);
        }
    };
    if node.children.is_empty() {
        let listed = moves.iter().find(|(mv, _)| Some(*mv) == node.best).unwrap();
        return (listed.1.number(), node.best);
    }
    let mut decided = (0, None);
    for (mv, child) in &node.children {
        let value = 65 - minimax(child).0;
        if value > decided.0 {
            decided = (value, Some(*mv));
        }
    }
    decided
}

#[test]
fn the_stop_token_is_no_part_of_a_trace() {
    let mut tokens = write_trace(&random_trace(Rules::Togyz, 1));
    tokens.push(vocab::END);
    assert_eq!(read_trace(&tokens).unwrap_err().kind, Mistake::Malformed);
}

/// Many sizes cut out of one tree: each is what it announces, and a position has the same values and children in all of them.
#[test]
fn one_tree_holds_the_traces_of_all_its_sizes() {
    let sizes: Vec<(u16, u16)> = vec![(2, 3), (4, 1), (3, 2), (5, 2)];
    for (seed, rules) in (0..).zip(GAMES) {
        let plays = random_play(rules, 40, seed);
        let mut tree = SearchTree::new(&plays[plays.len() / 2].0, &sizes);
        while tree.open().next().is_some() {
            // Few values, so that there are ties everywhere.
            let coarse = |position: &Position| {
                let Evaluation { moves, .. } = evaluate(position);
                let moves = moves.into_iter().map(|(mv, value)| (mv, (value * 3.0).floor() / 3.0)).collect();
                Evaluation { moves, best: None }
            };
            let evaluations: Vec<Evaluation> = tree.open().map(coarse).collect();
            tree.grow(evaluations);
        }
        let trace = |breadth, depth, top| {
            let shape = Shape { rules, breadth, depth, compact: false, top, order: Order::DepthFirst };
            tree.trace(shape, &mut random(seed))
        };
        for &(breadth, depth) in &sizes {
            for top in [Top::All, Top::Best(5)] {
                let trace = trace(breadth, depth, top).unwrap();
                assert_eq!(check_trace(&trace, None), Ok(()));
                assert_eq!(read_trace(&write_trace(&trace)).as_ref(), Ok(&trace));
            }
        }
        let (wide, narrow) = (trace(5, 2, Top::All).unwrap(), trace(3, 2, Top::All).unwrap());
        let moves = |node: &TraceNode| node.children.iter().map(|(mv, _)| *mv).take(3).collect::<Vec<Move>>();
        assert_eq!(moves(&wide.root), moves(&narrow.root));
        let full = wide.root.children.len() == 5;
        assert!(!full || trace(5, 3, Top::All).is_none(), "it was not grown for this one");
    }
}

/// The length is known before a trace is written, so that contexts which are too small are refused in time.
#[test]
fn the_length_of_a_shape_is_the_most_its_traces_take() {
    for (seed, rules) in (0..).zip(GAMES) {
        for (breadth, depth, compact) in [(2, 1, false), (3, 2, true), (2, 3, false), (4, 0, true)] {
            let shape = Shape { rules, breadth, depth, compact, top: Top::Best(4), order: Order::DepthFirst };
            let start = Position::start(rules);
            let trace = grow_trace(shape, &start, &mut evaluate, &mut random(seed));
            let (len, most) = (write_trace(&trace).len(), shape.n_tokens(4));
            // In Othello some nodes have fewer moves than they might list.
            let exact = rules != Rules::Othello;
            assert!(if exact { len == most } else { len <= most }, "{shape:?}: {len} of {most}");
        }
    }
}
