//! Traces by real oracles: true to the rules and to the oracle, the same for a seed, whatever was stopped when.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::{rows, write};
use mavis_data::job::{JobError, JobEvent};
use mavis_data::wire::TraceRow;
use mavis_data::{TableError, TracePlan, TraceSettings, TraceTable, Traced, traces};
use mavis_game::{Game, Position, Rules};
use mavis_lang::trace::{Evaluation, TraceNode, trace_spans};
use mavis_lang::{Token, Top, check_trace, read_trace};
use mavis_oracle::connect4::Connect4Solver;
use mavis_oracle::hex::{HexOracle, HexSettings};
use mavis_oracle::togyz::TogyzOracle;
use mavis_oracle::{Effort, Oracle};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Running positions some plies into random games.
fn roots(rules: Rules, n: usize, n_plies: u32) -> Vec<Position> {
    let mut random = 7_u32;
    let mut roots = Vec::new();
    while roots.len() < n {
        let mut position = Position::start(rules);
        for _ in 0..n_plies {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let Some(mv) = position.random_move(random) else { break };
            position.play_unchecked(mv);
        }
        if position.outcome().is_none() {
            roots.push(position);
        }
    }
    roots
}

fn solvers(n: usize) -> Vec<Box<dyn Oracle>> {
    (0..n).map(|_| Box::new(Connect4Solver::default()) as Box<dyn Oracle>).collect()
}

fn settings(out: &Path) -> TraceSettings {
    TraceSettings {
        input: "test".to_owned(),
        plan: TracePlan::default(),
        seed: 5,
        shard_size: 3,
        out: out.to_owned(),
        stop: Arc::new(AtomicBool::new(false)),
    }
}

fn made(settings: &TraceSettings, roots: &[Position], oracles: Vec<Box<dyn Oracle>>) -> Traced {
    traces(settings, roots, oracles, |_| {}).unwrap()
}

fn tokens(row: &TraceRow) -> Vec<Token> {
    row.tokens.iter().map(|&token| Token::try_from(token).unwrap()).collect()
}

#[test]
fn traces_of_the_solver_are_true_to_it_and_the_same_for_a_seed() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    // Near the end, so that trees hold ends of games.
    let roots = roots(Rules::Connect4, 10, 30);
    let one = made(&settings(&first), &roots, solvers(1));
    assert_eq!(one, Traced { n_traces: 40, n_left: 0, n_aside: 0 });
    made(&settings(&second), &roots, solvers(3));
    let table: Vec<TraceRow> = rows(&first);
    assert_eq!(table, rows(&second), "threads change nothing");
    let mut n_ends = 0;
    for row in &table {
        let trace = read_trace(&tokens(row)).unwrap();
        let reference = |position: &Position| {
            let ranking = Connect4Solver::default().evaluate(position).ok()?;
            Some(Evaluation {
                best: ranking.moves.first().map(|entry| entry.mv),
                moves: ranking.moves.iter().map(|entry| (entry.mv, entry.win_probability)).collect(),
            })
        };
        assert_eq!(check_trace(&trace, Some(&reference)), Ok(()));
        assert_eq!((row.breadth, row.depth), (trace.shape.breadth.into(), trace.shape.depth.into()));
        assert_eq!(row.n_nodes as usize, trace.root.n_nodes());
        assert_eq!((row.top, row.compact), (Some(5), i32::from(trace.shape.compact)));
        assert_eq!(row.position, trace.root.position.to_string());
        n_ends += trace.root.children.iter().filter(|(_, child)| child.best.is_none()).count();
    }
    assert!(n_ends > 0, "games end within these trees");
    let third = folder.path().join("third");
    made(&TraceSettings { seed: 6, ..settings(&third) }, &roots, solvers(2));
    assert_ne!(rows::<TraceRow>(&third), table, "another seed, other traces");
}

#[test]
fn every_token_of_a_response_is_in_one_part() {
    let folder = tempfile::tempdir().unwrap();
    let roots = roots(Rules::Connect4, 4, 30);
    let plan = TracePlan { tops: vec![Top::All, Top::Best(3)], ..TracePlan::default() };
    made(&TraceSettings { plan, ..settings(folder.path()) }, &roots, solvers(1));
    let table = TraceTable::open(&[folder.path()], |_| true).unwrap();
    assert_eq!((table.len(), table.n_refused()), (16, 0));
    for (idx, row) in rows::<TraceRow>(folder.path()).iter().enumerate() {
        let stored = table.get(idx).unwrap();
        assert_eq!(stored.tokens, tokens(row));
        let spans = trace_spans(stored.tokens, stored.loss_start);
        assert_eq!(spans.n_nodes, row.n_nodes as usize);
        let mut places = [spans.best.clone(), spans.search, spans.text].concat();
        places.extend(spans.lists.iter().flat_map(|list| list.start..=list.end()));
        places.sort_unstable();
        assert_eq!(places, (stored.loss_start..stored.tokens.len()).collect::<Vec<usize>>());
        let trace = read_trace(stored.tokens).unwrap();
        assert_eq!(
            spans.best.len(),
            spans.lists.len() + 1,
            "a best action with each list, and the move played"
        );
        assert!(spans.lists.len() <= trace.root.n_nodes());
    }
}

#[test]
fn a_trace_with_a_position_that_is_not_to_be_kept_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    made(&settings(folder.path()), &roots(Rules::Connect4, 4, 30), solvers(1));
    let rows = rows::<TraceRow>(folder.path());
    let traces: Vec<_> = rows.iter().map(|row| read_trace(&tokens(row)).unwrap()).collect();
    // A position below a root, as deep as the first trace has one.
    let mut node = &traces[0].root;
    while let Some((_, child)) = node.children.first() {
        node = child;
    }
    let unwanted = node.position.to_string();
    assert!(rows.iter().all(|row| row.position != unwanted));
    fn holds(node: &TraceNode, position: &str) -> bool {
        node.position.to_string() == position || node.children.iter().any(|(_, child)| holds(child, position))
    }
    let n_kept = traces.iter().filter(|trace| !holds(&trace.root, &unwanted)).count();
    let table = TraceTable::open(&[folder.path()], |position| position != unwanted).unwrap();
    assert_eq!((table.len(), table.n_refused()), (n_kept, 0));
    assert!(n_kept < traces.len());
}

#[test]
fn a_stop_loses_at_most_the_shard_in_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));
    // More than a thread runs ahead by.
    let roots = roots(Rules::Connect4, 60, 30);
    made(&settings(&whole), &roots, solvers(1));
    let settings = settings(&stopped);
    let mut n_shards = 0;
    let watch = |event: JobEvent<'_>| {
        if let JobEvent::Shard(_) = event {
            n_shards += 1;
            settings.stop.store(true, Ordering::Relaxed);
        }
    };
    let early = traces(&settings, &roots, solvers(1), watch).unwrap();
    assert!((1..60).contains(&early.n_left), "{early:?}");
    assert!(n_shards >= 1);
    settings.stop.store(false, Ordering::Relaxed);
    let end = made(&settings, &roots, solvers(2));
    assert_eq!((end.n_left, end.n_traces), (0, 240));
    assert_eq!(rows::<TraceRow>(&stopped), rows::<TraceRow>(&whole));
    let other = TraceSettings { seed: 6, ..settings };
    let refused = traces(&other, &roots, solvers(1), |_| {}).unwrap_err();
    assert!(matches!(refused, JobError::OtherJob { .. }), "{refused}");
}

#[test]
fn other_games_and_sizes_of_hex_share_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let hex = |size| Rules::Hex { size, swap: false };
    let boards = [roots(hex(5), 3, 6), roots(hex(7), 3, 6)].concat();
    let oracle = HexSettings { playouts: 50, solver_nodes: 0, seed: 0, ..HexSettings::default() };
    let [out, togyz] = ["hex", "togyz"].map(|name| folder.path().join(name));
    made(&settings(&out), &boards, vec![Box::new(HexOracle::new(oracle))]);
    let effort = Effort { depth: 1, nodes: 50 };
    made(&settings(&togyz), &roots(Rules::Togyz, 3, 12), vec![Box::new(TogyzOracle::new(effort))]);
    for path in [&out, &togyz] {
        for row in rows::<TraceRow>(path) {
            let trace = read_trace(&tokens(&row)).unwrap();
            assert_eq!(check_trace(&trace, None), Ok(()));
            assert_eq!(row.game, trace.shape.rules.to_string());
            assert!(row.tokens.len() <= 8_192);
        }
    }
}

#[test]
fn a_context_that_is_too_small_is_refused_before_the_first_root() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("none");
    let plan = TracePlan { context: 60, ..TracePlan::default() };
    let settings = TraceSettings { plan, ..settings(&out) };
    let refused = traces(&settings, &roots(Rules::Connect4, 1, 30), solvers(1), |_| {}).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("a context of 60 tokens is too small") && text.contains("takes 350"), "{text}");
    assert!(!out.exists(), "nothing was begun");
}

#[test]
fn altered_rows_and_foreign_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made_at = folder.path().join("made");
    made(&settings(&made_at), &roots(Rules::Connect4, 2, 30), solvers(1));
    let table: Vec<TraceRow> = rows(&made_at);
    // Written by somebody who does not name the vocabulary.
    let foreign = folder.path().join("foreign.parquet");
    write(&foreign, &table);
    let refused = TraceTable::open(&[&foreign], |_| true).unwrap_err();
    assert!(matches!(refused, TableError::Kind { .. }), "{refused}");
    let altered = folder.path().join("altered.parquet");
    let mut rows = table;
    rows[1].tokens[7] += 1;
    rows[2].tokens[3] = 70_000;
    rows[3].loss_start += 1;
    rows[4].tokens.pop();
    let mut writer = mavis_data::TableWriter::create(&altered).unwrap();
    writer.describe("mavis.vocabulary", &mavis_lang::vocabulary_hash());
    rows.iter().for_each(|row| writer.write(row).unwrap());
    writer.finish().unwrap();
    let table = TraceTable::open(&[&altered], |_| true).unwrap();
    assert_eq!((table.len(), table.n_refused()), (4, 4));
    assert_eq!(table.first_refused().unwrap().idx, 1);
}
