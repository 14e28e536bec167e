//! The asynchronous search against evaluators in every kind of trouble.

use super::{Collision, MctsSettings, Order, Proof, Report, Search, Stopped, VirtualValue, tree::NodeIdx};
use crate::{Cancel, Stop};
use mavis_eval::{
    EndOrMoves, EvalError, Evaluation, Evaluator, Faults, Faulty, Free, Mistaken, Mistakes, OneReply,
    Recorder, Replies, Request, Scripted, ready,
};
use mavis_game::{Game as _, Move, Outcome, Position, Rules};
use mavis_value::Mistake;
use proptest::prelude::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

fn start(rules: Rules) -> Position {
    Position::start(rules)
}

fn search(evaluator: impl Evaluator + 'static, settings: &str) -> Search {
    Search::new(start(Rules::Connect4), Arc::new(evaluator), settings.parse().unwrap())
}

/// Runs on a runtime whose clock jumps, so that latencies cost nothing.
fn run(search: &mut Search, stop: &Stop) -> Report {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(search.run(stop))
}

fn check_counts(search: &Search, report: &Report) {
    let counts = &report.counts;
    let gone = counts.failed + counts.timed_out + counts.cancelled + counts.n_hallucinations();
    assert_eq!(counts.simulations, counts.completed + gone, "{counts:?}");
    let tree = search.tree();
    assert_eq!(tree.node(NodeIdx::ROOT).visits, counts.completed);
    assert!(tree.nodes.iter().all(|node| node.virtual_visits == 0));
    assert!(tree.stats.iter().all(|stat| stat.virtual_visits == 0));
    assert!(tree.links.iter().all(|link| link.fate != super::proof::Fate::Pending));
}

#[test]
fn a_batch_is_always_in_flight() {
    let latency = Duration::from_millis(10);
    let faults = Faults { least_latency: latency, most_latency: latency, ..Default::default() };
    let mut search = search(Faulty::new(Scripted::new(1), faults), "sims=320,batch=16,solver=false,c_puct=6");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let begun = Instant::now();
        let report = search.run(&Stop::never()).await;
        assert_eq!(report.counts.completed, 320);
        check_counts(&search, &report);
        // The root, then 7 moves at first (no more leaves are there), then full batches of 16.
        let rounds = begun.elapsed().as_millis() / 11 + 1;
        assert!((21..=24).contains(&rounds), "{rounds} rounds");
    });
}

/// [`Free`] for searches that have to wait for it.
struct Waited;

impl Evaluator for Waited {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        Free.evaluate(requests)
    }

    fn describe(&self) -> String {
        Evaluator::<Position>::describe(&Free)
    }
}

#[test]
fn values_that_are_there_at_once_grow_the_same_tree() {
    let games = [Rules::Connect4, Rules::Othello, Rules::Hex { size: 5, swap: false }, Rules::Chess];
    let settings = [
        "sims=3000,batch=16",
        "sims=2500,batch=1,solver=false",
        "sims=700,batch=40,virtual=dynamic,virtual_value=loss,collision=elsewhere,seed=3",
        "sims=500,batch=7,order=arrival,noise=0.25,unvisited=model,seed=9",
        "sims=900,nodes=400",
    ];
    for (rules, settings) in games.into_iter().flat_map(|rules| settings.map(|settings| (rules, settings))) {
        let grow = |evaluator: Arc<dyn Evaluator>| {
            let mut search = Search::new(start(rules), evaluator, settings.parse().unwrap());
            let mut n_reports = 0;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let report = runtime.block_on(search.run_with(&Stop::never(), &mut |_| n_reports += 1));
            check_counts(&search, &report);
            // On with the part below the move, with the same random numbers.
            search.advance(report.best.unwrap()).unwrap();
            let next = runtime.block_on(search.run(&Stop::never()));
            (report, n_reports, next, search.snapshot().to_json().unwrap())
        };
        assert_eq!(grow(Arc::new(Free)), grow(Arc::new(Waited)), "{rules} {settings}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_add_up_whatever_fails(
        seed in any::<u64>(),
        batch in 1_u16..40,
        failures in 0.0..0.4,
        hallucinations in 0.0..0.4,
        hangs in 0.0..0.3,
        model in any::<bool>(),
        (order, virtual_value, collision, groups) in (0..2_usize, 0..3_usize, 0..2_usize, 0..4_u16),
        limit in prop::option::of(1_u64..400),
    ) {
        let faults = Faults {
            least_latency: Duration::from_millis(1),
            most_latency: Duration::from_millis(30),
            failures,
            hallucinations,
            hangs,
            breaks_after: None,
            seed,
        };
        let world = if model { "model" } else { "rules" };
        let settings = format!(
            "sims=150,timeout=20,batch={batch},groups={groups},world={world},order={},virtual_value={},collision={}",
            Order::WORDS[order], VirtualValue::WORDS[virtual_value], Collision::WORDS[collision]
        );
        let mut search = search(Faulty::new(Scripted::new(seed), faults), &settings);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let report = runtime.block_on(async {
            // The clock of the runtime is a paused one; a deadline is counted from where it stands.
            let cancel = Cancel::new();
            let timer = cancel.clone();
            if let Some(limit) = limit {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(limit)).await;
                    timer.cancel();
                });
            }
            search.run(&Stop::on(&cancel)).await
        });
        prop_assert!(search.position().is_legal(report.best.unwrap()));
        if report.stopped != Stopped::NoRoot {
            check_counts(&search, &report);
        }
    }
}

#[test]
fn a_search_that_gets_no_answer_plays_a_legal_move() {
    let faults = Faults { hangs: 1.0, ..Default::default() };
    let mut hanging = search(Faulty::new(Scripted::new(1), faults), "timeout=50");
    let report = run(&mut hanging, &Stop::never());
    assert_eq!((report.best, report.fallback, report.stopped), (Some(Move(0)), true, Stopped::NoRoot));
    let cancel = Cancel::new();
    cancel.cancel();
    let mut cancelled = search(Faulty::new(Scripted::new(1), faults), "");
    assert_eq!(run(&mut cancelled, &Stop::on(&cancel)).best, Some(Move(0)));
}

/// [`Scripted`] after a time that may change between runs.
struct Slow(Scripted, AtomicU64);

impl Slow {
    fn new(milliseconds: u64) -> Arc<Self> {
        Arc::new(Self(Scripted::new(1), AtomicU64::new(milliseconds)))
    }
}

impl Evaluator for Slow {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let (time, replies) = (self.1.load(Ordering::Relaxed), self.0.evaluate(requests));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(time)).await;
            replies.await
        })
    }

    fn describe(&self) -> String {
        Evaluator::<Position>::describe(&self.0)
    }
}

/// A run that ends after some milliseconds of a clock that jumps, and may wait longer for the root.
fn run_for(search: &mut Search, milliseconds: u64, root: Option<u64>) -> Report {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let after = |time| Instant::now().into_std() + Duration::from_millis(time);
        search.wait_for_root(root.map(after));
        search.run(&Stop { deadline: Some(after(milliseconds)), cancel: Cancel::new() }).await
    })
}

#[test]
fn no_evaluation_is_begun_that_would_come_after_the_deadline() {
    let settings: MctsSettings = "sims=100000,batch=1,solver=false".parse().unwrap();
    let [slow, fast] = [190, 2].map(|time| {
        let mut search = Search::new(start(Rules::Connect4), Slow::new(time), settings.clone());
        let report = run_for(&mut search, 1000, None);
        check_counts(&search, &report);
        assert_eq!((report.stopped, report.counts.cancelled), (Stopped::Limit, 0), "{time} ms");
        report.counts.evaluations
    });
    assert_eq!(slow, 5);
    assert!((300..=500).contains(&fast), "{fast}");
}

#[test]
fn a_search_learns_that_evaluations_have_become_slower_and_faster_again() {
    let evaluator = Slow::new(10);
    let settings: MctsSettings = "sims=100000,batch=1,solver=false".parse().unwrap();
    let mut search = Search::new(start(Rules::Connect4), evaluator.clone(), settings);
    let evaluations = |search: &mut Search| {
        let counts = run_for(search, 100, None).counts;
        (counts.evaluations, counts.cancelled)
    };
    assert!(evaluations(&mut search).0 >= 8);
    // At first a second one is begun in the 40 milliseconds that one of 60 leaves; then it is not.
    evaluator.1.store(60, Ordering::Relaxed);
    assert_eq!(evaluations(&mut search), (2, 1));
    let later: Vec<_> = (0..6).map(|_| evaluations(&mut search)).collect();
    assert_eq!(later.last(), Some(&(1, 0)), "{later:?}");
    evaluator.1.store(10, Ordering::Relaxed);
    let later: Vec<_> = (0..6).map(|_| evaluations(&mut search)).collect();
    assert!(later.last().is_some_and(|(n, _)| *n >= 8), "{later:?}");
}

#[test]
fn the_root_is_waited_for_beyond_the_deadline_and_the_search_is_shorter() {
    let settings: MctsSettings = "sims=100000,batch=4".parse().unwrap();
    for (root, stopped, n_moves) in
        [(Some(48_000), Stopped::Limit, 7), (Some(3000), Stopped::NoRoot, 0), (None, Stopped::NoRoot, 0)]
    {
        let mut search = Search::new(start(Rules::Connect4), Slow::new(4000), settings.clone());
        let report = run_for(&mut search, 2000, root);
        assert_eq!((report.stopped, report.moves.len()), (stopped, n_moves), "{root:?}");
        assert_eq!((report.counts.evaluations, report.counts.cancelled), (1, 0), "{root:?}");
    }
}

#[test]
fn the_model_world_of_a_perfect_evaluator_is_the_rules() {
    // Without proofs, which only the rules can give.
    for settings in ["sims=400,batch=1,solver=false", "sims=400,batch=16,solver=false"] {
        let mut by_rules = search(Scripted::new(9), settings);
        let mut by_model = search(Scripted::new(9), &format!("{settings},world=model"));
        let found = |search: &mut Search| {
            let report = run(search, &Stop::never());
            let moves = report.moves.iter().map(|entry| (entry.mv, entry.visits, entry.value, entry.prior));
            (report.best, moves.collect::<Vec<_>>())
        };
        assert_eq!(found(&mut by_rules), found(&mut by_model), "{settings}");
        let check = by_model.rules_check().unwrap();
        assert!(check.is_clean(), "{check:?}");
        assert!(check.nodes > 300);
        assert!(by_rules.rules_check().is_none());
    }
}

#[test]
fn mistakes_are_counted_by_kind() {
    let mistakes =
        Mistakes { missing_move: 0.2, illegal_move: 0.2, false_end: 0.1, stale_state: 0.1, seed: 3 };
    let mut search = search(Mistaken::new(Scripted::new(2), mistakes), "sims=500,world=model,batch=4");
    let report = run(&mut search, &Stop::never());
    check_counts(&search, &report);
    assert!(search.position().is_legal(report.best.unwrap()));
    let check = search.rules_check().unwrap();
    for count in [check.missing_moves, check.illegal_moves, check.false_ends, check.wrong_states] {
        assert!(count > 0, "{check:?}");
    }
}

/// Answers for the root, hallucinates behind it.
struct RootOnly(Scripted);

impl Evaluator for RootOnly {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        match requests[..] {
            [Request::Child { .. }] => ready(vec![Err(EvalError::hallucination(Mistake::WrongState, ""))]),
            _ => self.0.evaluate(requests),
        }
    }

    fn describe(&self) -> String {
        "root only".to_owned()
    }
}

#[test]
fn a_dead_root_falls_back_to_the_best_root_value() {
    let mut search = search(RootOnly(Scripted::new(4)), "sims=50,world=model");
    let report = run(&mut search, &Stop::never());
    let best = report.moves.iter().max_by(|a, b| a.model_value.total_cmp(&b.model_value)).unwrap();
    assert_eq!((report.best, report.fallback, report.proof), (Some(best.mv), true, Proof::Dead));
    assert_eq!((report.counts.completed, report.counts.hallucinations.of(Mistake::WrongState)), (0, 7));
    assert!(report.moves.iter().all(|entry| entry.visits == 0 && entry.proof == Proof::Dead));
}

#[test]
fn the_same_seed_gives_the_same_tree() {
    let snapshot = |seed: u64, batch: u16| {
        let mut search = search(Scripted::new(5), &format!("sims=300,seed={seed},batch={batch},noise=0.25"));
        run(&mut search, &Stop::never());
        search.snapshot()
    };
    assert_eq!(snapshot(1, 16), snapshot(1, 16));
    assert_ne!(snapshot(1, 16).nodes, snapshot(2, 16).nodes);
}

#[test]
fn answers_enter_the_tree_as_they_were_asked_for_whenever_they_come() {
    let snapshot = |latencies: u64, order: &str| {
        let faults = Faults {
            least_latency: Duration::from_millis(1),
            most_latency: Duration::from_millis(50),
            seed: latencies,
            ..Default::default()
        };
        let evaluator = Faulty::new(Scripted::new(5), faults);
        let mut search = search(evaluator, &format!("sims=200,batch=16,{order}"));
        run(&mut search, &Stop::never());
        search.snapshot().nodes
    };
    assert_eq!(snapshot(1, ""), snapshot(2, ""));
    assert_eq!(snapshot(1, "order=launch"), snapshot(3, "order=launch"));
    assert_eq!(
        snapshot(1, ""),
        snapshot(1, "groups=1"),
        "one batch at a time is what evaluators say by default"
    );
    for groups in ["groups=2", "groups=3,collision=elsewhere"] {
        assert_eq!(snapshot(1, groups), snapshot(2, groups), "{groups}");
        assert_ne!(snapshot(1, groups), snapshot(1, ""), "{groups}");
    }
    assert_ne!(snapshot(1, "order=arrival"), snapshot(2, "order=arrival"));
}

/// Counts the batches it works on.
#[derive(Clone, Default)]
struct Lanes {
    concurrent: usize,
    under_way: Arc<AtomicUsize>,
    most_under_way: Arc<AtomicUsize>,
    largest: Arc<AtomicUsize>,
}

/// Counts a batch as long as one of its replies is awaited.
struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Evaluator for Lanes {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        Scripted::new(5).evaluate(requests)
    }

    fn evaluate_each(&self, requests: Vec<Request>) -> Vec<OneReply> {
        self.largest.fetch_max(requests.len(), Ordering::Relaxed);
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        self.most_under_way.fetch_max(before + 1, Ordering::Relaxed);
        let batch = Arc::new(UnderWay(self.under_way.clone()));
        let reply = |request| -> OneReply {
            let (batch, reply) = (batch.clone(), self.evaluate_one(request));
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(batch);
                reply.await
            })
        };
        requests.into_iter().map(reply).collect()
    }

    fn concurrent_batches(&self) -> usize {
        self.concurrent
    }

    fn describe(&self) -> String {
        "lanes".to_owned()
    }
}

#[test]
fn a_batch_is_divided_into_groups_and_by_0_into_as_many_as_the_evaluator_works_on() {
    for (concurrent, settings, groups, size) in [
        (1, "batch=16", 1, 16),
        (2, "batch=16", 2, 8),
        (2, "batch=5,groups=0", 2, 3),
        (2, "batch=1", 1, 1),
        (2, "batch=16,groups=1", 1, 16),
        (1, "batch=16,groups=4", 4, 4),
    ] {
        let lanes = Lanes { concurrent, ..Lanes::default() };
        let mut search =
            search(lanes.clone(), &format!("sims=200,solver=false,collision=elsewhere,{settings}"));
        let report = run(&mut search, &Stop::never());
        check_counts(&search, &report);
        assert_eq!(report.counts.completed, 200, "{settings}");
        let seen = [&lanes.most_under_way, &lanes.largest].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(seen, [groups, size], "{concurrent} {settings}");
    }
}

/// Calls the game won behind the first column, wherever it is played.
struct Claims(Scripted);

impl Evaluator for Claims {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        match &requests[..] {
            [Request::Child { parent, mv: Move(0) }] => {
                let content = EndOrMoves::Ended(Outcome::Win(parent.side_to_move()));
                ready(vec![Ok(Evaluation { state: parent.clone(), content })])
            }
            _ => self.0.evaluate(requests),
        }
    }

    fn describe(&self) -> String {
        "claims wins".to_owned()
    }
}

#[test]
fn an_end_by_the_word_of_the_model_is_a_value_and_no_proof() {
    let mut search = search(Claims(Scripted::new(4)), "sims=200,batch=4,world=model");
    let report = run(&mut search, &Stop::never());
    check_counts(&search, &report);
    assert_eq!((report.stopped, report.proof), (Stopped::Simulations, Proof::Unknown));
    let claimed = report.moves.iter().find(|entry| entry.mv == Move(0)).unwrap();
    assert_eq!((claimed.proof, claimed.plies_to_end, claimed.value), (Proof::Unknown, None, Some(1.0)));
    assert!(report.moves.iter().all(|entry| entry.proof == Proof::Unknown));
    assert!(report.moves.iter().filter(|entry| entry.visits > 0).count() > 1, "the search goes on");
    assert!(search.rules_check().unwrap().false_ends > 0);
    // It comes back from disk as what it is.
    let saved = search.snapshot();
    let restored: Search =
        Search::restore(&saved, Arc::new(Scripted::new(4)), search.settings().clone()).unwrap();
    assert_eq!(restored.snapshot().nodes, saved.nodes);
    assert!(saved.nodes[0].moves[0].ended.is_some() && saved.nodes[0].moves[0].proof.is_none());
}

#[test]
fn a_kept_tree_saves_evaluations() {
    let recorder = Recorder::new(Scripted::new(6));
    let mut search = search(recorder.clone(), "sims=200,batch=1");
    let report = run(&mut search, &Stop::never());
    let best = &report.moves[0];
    search.advance(best.mv).unwrap();
    let kept = search.tree().node(NodeIdx::ROOT).visits;
    assert_eq!(kept, best.visits - 1);
    let n_before = recorder.records().len();
    let next = run(&mut search, &Stop::never());
    assert_eq!((next.counts.kept, next.counts.simulations), (kept, 200 - kept));
    let n_asked = recorder.records().len() - n_before;
    assert_eq!(n_asked, (200 - kept - next.counts.known) as usize, "no root to evaluate");
    assert_eq!(next.counts.evaluations as usize, n_asked);
    assert_eq!(next.moves.iter().map(|entry| entry.visits).sum::<u32>(), 200);
    assert!((next.counts.share_saved() - f64::from(kept) / 200.0).abs() < 1e-9);
    assert_eq!(report.counts.share_saved(), 0.0);
    // A position two plies on is found by itself; any other starts again.
    let reply = &next.moves[0];
    let mut position = search.position().clone();
    position.play(reply.mv).unwrap();
    position.play(reply.line[1]).unwrap();
    search.set_position(position);
    assert!(!search.tree().is_empty());
    search.set_position(start(Rules::Othello));
    assert!(search.tree().is_empty());
    assert!(run(&mut search, &Stop::never()).best.is_some());
}

#[test]
fn a_repetition_is_a_draw_inside_the_tree() {
    let mut position = start(Rules::Chess);
    for mv in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1"] {
        position.play_text(mv).unwrap();
    }
    let back = position.parse_move("f6g8").unwrap();
    let settings: MctsSettings = "sims=400,batch=1,epsilon=1".parse().unwrap();
    let mut search = Search::new(position, Arc::new(Scripted::new(1)), settings);
    let report = run(&mut search, &Stop::never());
    let entry = report.moves.iter().find(|entry| entry.mv == back).unwrap();
    assert_eq!((entry.proof, entry.value), (Proof::Draw, Some(0.0)));
}

#[test]
fn limits_end_a_search() {
    let mut by_nodes = search(Scripted::new(1), "sims=1000,nodes=50,batch=1");
    let report = run(&mut by_nodes, &Stop::never());
    assert_eq!((report.stopped, report.counts.nodes), (Stopped::Full, 50));
    let mut over = search(Scripted::new(1), "");
    for mv in [3, 0, 3, 0, 3, 0, 3] {
        over.advance(Move(mv)).unwrap();
    }
    assert_eq!(run(&mut over, &Stop::never()).best, None);
    assert!(over.advance(Move(0)).is_err());
}

#[test]
fn sampling_follows_the_seed_and_spreads() {
    let best = |seed: u64| {
        let spec = format!("sims=60,final=sample,final_temperature=3,seed={seed},batch=1,solver=false");
        run(&mut search(Scripted::new(8), &spec), &Stop::never()).best
    };
    let first: Vec<_> = (0..20).map(best).collect();
    assert_eq!(first, (0..20).map(best).collect::<Vec<_>>());
    assert!(first.iter().any(|&mv| mv != first[0]));
}

#[test]
fn a_restricted_search_looks_at_nothing_else() {
    let mut search = search(Scripted::new(1), "sims=50,batch=4");
    search.restrict(Some(vec![Move(1), Move(5), Move(77)]));
    let report = run(&mut search, &Stop::never());
    let mut moves: Vec<Move> = report.moves.iter().map(|entry| entry.mv).collect();
    moves.sort();
    assert_eq!(moves, [Move(1), Move(5)]);
    search.restrict(None);
    assert_eq!(run(&mut search, &Stop::never()).moves.len(), 7);
}

#[test]
fn settings_change_between_runs_and_keep_the_tree_where_they_can() {
    let mut search = search(Scripted::new(1), "sims=50,batch=1");
    run(&mut search, &Stop::never());
    search.set_settings("sims=30,batch=8,c_puct=1".parse().unwrap());
    let report = run(&mut search, &Stop::never());
    assert_eq!((report.counts.kept, report.counts.simulations), (50, 0), "there are more already");
    search.set_settings("sims=80,batch=8,c_puct=1".parse().unwrap());
    let report = run(&mut search, &Stop::never());
    assert_eq!(report.moves.iter().map(|entry| entry.visits).sum::<u32>(), 80);
    search.set_settings("sims=30,scoring=max".parse().unwrap());
    let report = run(&mut search, &Stop::never());
    assert_eq!(report.moves.iter().map(|entry| entry.visits).sum::<u32>(), 30);
}
