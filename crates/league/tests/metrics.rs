//! Metrics on answers whose numbers are known.

use mavis_data::{Puzzle, parse_puzzles};
use mavis_game::{Game, Move, Position, Rules};
use mavis_league::metrics::{
    ActionSample, Bands, LegalitySample, Metric, PuzzleResult, ScoringSample, SeenSample, SolverSample,
    actions, calibration, legality, metric_table, metrics_json, puzzles, reliability, scoring, seen,
    solve_puzzle, solver,
};
use mavis_play::{Limit, Lookahead, RandomPlayer};
use mavis_value::kendall_tau_b;

fn value(metric: &Metric) -> f64 {
    metric.overall.expect("samples").estimate.value
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9, "{got} and {expected}");
}

#[test]
fn one_ply_solves_every_mate_in_one_and_nothing_else_by_right() {
    let twos = parse_puzzles("puzzles.csv", include_bytes!("data/puzzles.csv").as_slice(), 999)
        .expect("a good file");
    assert_eq!(twos.len(), 80);
    // The last move of a mate in two is a mate in one.
    let ones: Vec<Puzzle> = twos
        .iter()
        .map(|puzzle| {
            let mut later = puzzle.clone();
            for mv in later.moves.drain(..2) {
                later.position.play_unchecked(mv);
            }
            later
        })
        .collect();
    let mut player = Lookahead::new(1, 5).expect("one ply");
    let mut solve = |list: &[Puzzle]| -> Vec<PuzzleResult> {
        list.iter()
            .map(|puzzle| solve_puzzle(&mut player, puzzle, &Limit::default()).expect("plays"))
            .collect()
    };
    let results = solve(&twos);
    assert!(results.iter().all(|result| result.n_moves == 2));
    assert!(results.iter().filter(|result| result.is_solved_or_mates()).count() <= 12);
    let results = solve(&ones);
    assert!(results.iter().all(|result| result.is_solved_or_mates() && result.n_moves == 1));
    let other = results.iter().filter(|result| result.other_mate).count();
    assert!(other > 0, "some puzzles have more than one mate");
    let metrics = puzzles(&results);
    // The headline counts listed moves only, the other mates stand beside it.
    close(value(&metrics[0]), 1.0 - other as f64 / 80.0);
    close(value(&metrics[1]), 1.0);
    let banded: usize = metrics[0].bands.iter().map(|(_, measured)| measured.n).sum();
    assert_eq!(banded, 80, "every rating lies in a band");
    let mut random = RandomPlayer::new(1);
    let solved = twos.iter().filter(|puzzle| {
        solve_puzzle(&mut random, puzzle, &Limit::default()).expect("plays").is_solved_or_mates()
    });
    assert!(solved.count() < 8);
}

#[test]
fn kendall_agrees_with_published_values() {
    // The example of SciPy's documentation for its tau-b.
    let pairs = [(12.0, 1.0), (2.0, 4.0), (1.0, 7.0), (12.0, 1.0), (2.0, 0.0)];
    close(kendall_tau_b(&pairs).expect("varies"), -0.471_404_520_791_031_7);
    close(kendall_tau_b(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]).expect("varies"), 1.0);
    close(kendall_tau_b(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).expect("varies"), -1.0);
    assert_eq!(kendall_tau_b(&[(1.0, 1.0), (1.0, 2.0)]), None);
}

fn sample(at: f64, chosen: Option<u16>, predicted: &[(u16, f64)]) -> ActionSample {
    let moves = |list: &[(u16, f64)]| list.iter().map(|&(mv, value)| (Move(mv), value)).collect();
    let annotated = [(1, 0.8), (2, 0.5), (3, 0.8), (4, 0.1)];
    ActionSample {
        at,
        annotated: moves(&annotated),
        best: Some(Move(1)),
        chosen: chosen.map(Move),
        predicted: moves(predicted),
        ranking: Vec::new(),
    }
}

#[test]
fn actions_are_measured_against_annotations() {
    let right = sample(3.0, Some(3), &[(1, 0.9), (2, 0.5), (3, 0.8), (4, 0.3)]);
    let wrong = sample(12.0, Some(2), &[(1, 0.4), (2, 0.5)]);
    let illegal = sample(13.0, None, &[]);
    close(right.value_error().expect("predicted"), (0.1 + 0.2) / 4.0);
    close(right.tau().expect("varies"), 5.0 / (6.0_f64 * 5.0).sqrt());
    let metrics = actions(&[right, wrong, illegal], &Bands::between(&[0.0, 10.0, 20.0]));
    // The third move is as good as the first, which is the oracle's.
    close(value(&metrics[0]), 0.0);
    close(value(&metrics[1]), 1.0 / 3.0);
    close(value(&metrics[2]), (0.3 + 0.8) / 3.0);
    assert_eq!(
        metrics[0].bands.iter().map(|(label, m)| (label.as_str(), m.n)).collect::<Vec<_>>(),
        [("0-9", 1), ("10-19", 2)]
    );
    assert_eq!(metrics[3].overall.expect("two positions").n, 2);
    assert_eq!(metrics[4].overall.expect("six moves").n, 6);
    close(value(&metrics[4]), (0.1 + 0.2 + 0.4) / 6.0);
}

#[test]
fn scoring_compares_in_pairs() {
    let samples: Vec<ScoringSample> = (0..40)
        .map(|k| ScoringSample {
            mean: sample(1.0, Some(if k % 4 == 0 { 2 } else { 1 }), &[(1, 0.7)]),
            max: sample(1.0, Some(if k % 2 == 0 { 2 } else { 1 }), &[(1, 0.6)]),
        })
        .collect();
    let metrics = scoring(&samples, &Bands::none());
    close(value(&metrics[0]), 0.75);
    close(value(&metrics[1]), 0.5);
    close(value(&metrics[2]), 0.25);
    let gain = metrics[2].overall.expect("samples").estimate;
    assert!(gain.low > 0.05 && metrics[2].name.contains("gain"), "{gain:?}");
    close(value(&metrics[11]), 0.1);
}

/// Two positions that both ways of scoring miss say little about the next.
#[test]
fn shares_of_few_samples_have_wide_intervals() {
    let missed = sample(1.0, Some(2), &[(1, 0.7)]);
    let pair = ScoringSample { mean: missed.clone(), max: missed.clone() };
    let metrics = scoring(&[pair.clone(), pair], &Bands::none());
    let by_actions = actions(&[missed.clone(), missed], &Bands::none());
    for (metric, expected) in [(0, 0), (1, 0), (3, 1), (4, 1)] {
        assert_eq!(metrics[metric].overall, by_actions[expected].overall, "{}", metrics[metric].name);
    }
    let found = reliability(&[(1.0, 1.0); 5], 10);
    for metric in metrics.iter().chain(&found).filter(|metric| metric.name != "expected calibration error") {
        let estimate = metric.overall.expect("samples").estimate;
        assert!(estimate.low < estimate.high, "{}: {estimate:?}", metric.name);
    }
}

#[test]
fn legality_has_the_rows_of_table_3() {
    use mavis_lang::Commands;
    let good = LegalitySample {
        at: 20.0,
        best_legal: Some(true),
        list: Some([1.0, 0.5, 2.0 / 3.0]),
        whole: Some(false),
        ..LegalitySample::default()
    };
    // An answer that does not parse is wrong in all it was asked for, and in nothing else.
    let mut bad = LegalitySample { at: 20.0, ..LegalitySample::default() };
    bad.add(&Commands { next: Some(mavis_lang::Forms::State), ..Commands::top_all_best(Rules::Chess) }, None);
    let metrics = legality(&[good, bad], &Bands::none());
    assert_eq!(metrics.len(), 7);
    for (metric, expected) in metrics.iter().zip([0.5, 0.5, 0.25, 1.0 / 3.0, 0.0, 0.0]) {
        close(value(metric), expected);
    }
    assert_eq!(metrics[5].overall.expect("one was asked").n, 1);
    assert!(metrics[6].overall.is_none(), "no tracking was asked for");
}

#[test]
fn legality_counts_the_checks_of_answers() {
    use mavis_lang::{Answer, Commands, Listing, Request, check_answer};
    use mavis_value::Bucket;
    let position = Position::start(Rules::Connect4);
    let legal = position.legal_moves();
    let listed = legal[..6].iter().map(|mv| (*mv, Bucket::WON)).collect();
    let mut next = position.clone();
    next.play_unchecked(legal[0]);
    let commands =
        Commands { next: Some(mavis_lang::Forms::State), ..Commands::top_all_best(Rules::Connect4) };
    let request = Request::at(position.clone(), commands);
    let answer = Answer {
        tracked: None,
        listing: Some(Listing::Moves(listed)),
        best: Some(legal[0]),
        next: Some(next),
    };
    let mut sample = LegalitySample::default();
    sample.add(&commands, Some(&check_answer(&request, &answer)));
    let [precision, recall, _] = sample.list.expect("a list");
    close(precision, 1.0);
    close(recall, 6.0 / 7.0);
    assert_eq!((sample.best_legal, sample.whole, sample.next_right), (Some(true), Some(false), Some(true)));
    let tracking = Commands { top: None, best: false, ..Commands::tracking(Rules::Connect4) };
    let request = Request::after(position.clone(), legal[0], tracking);
    let wrong = Answer { tracked: Some(position), ..Answer::default() };
    sample.add(&tracking, Some(&check_answer(&request, &wrong)));
    assert_eq!((sample.tracked_right, sample.whole), (Some(false), Some(false)), "the rest stays");
}

#[test]
fn calibration_finds_a_known_bias() {
    // Values 0.1 too high in the upper half, right below.
    let samples: Vec<(f64, f64)> = (0..2000)
        .map(|k| {
            let truth = if k % 2 == 0 { 0.25 } else { 0.65 };
            let shown = if k % 2 == 0 { 0.25 } else { 0.75 };
            (shown, f64::from(u8::from(((k / 2) as f64 * 0.618).fract() < truth)))
        })
        .collect();
    let found = calibration(&samples, 10).expect("samples");
    assert_eq!(found.bins.len(), 2);
    assert!(
        (found.expected_error.value - 0.05).abs() < 0.01 && found.expected_error.covers(0.05),
        "{:?}",
        found.expected_error
    );
    assert!(found.bins[0].actual.covers(found.bins[0].predicted));
    assert!(!found.bins[1].actual.covers(found.bins[1].predicted));
    assert!(calibration(&[], 10).is_none());
    // The ends belong to the outer bins.
    assert_eq!(calibration(&[(0.0, 0.0), (1.0, 1.0)], 4).expect("samples").bins.len(), 2);
}

/// Few samples that differ as much as they can: Student's interval alone would leave the range of every mean.
#[test]
fn intervals_stay_within_the_range_of_their_metric() {
    let bands = Bands::between(&[0.0, 10.0, 20.0]);
    let right = sample(3.0, Some(1), &[(1, 0.8), (2, 0.5), (3, 0.8), (4, 0.1)]);
    let wrong = sample(13.0, Some(4), &[(1, 0.0), (2, 0.5), (3, 0.0), (4, 1.0)]);
    let listed = |at, list| LegalitySample {
        at,
        best_legal: Some(list > 0.5),
        list: Some([list; 3]),
        whole: Some(list > 0.5),
        next_right: Some(list > 0.5),
        tracked_right: Some(list > 0.5),
    };
    let moved = |ply, before, after| SolverSample { ply, before, after, could_err: true };
    let scored =
        |mean: &ActionSample, max: &ActionSample| ScoringSample { mean: mean.clone(), max: max.clone() };
    let mut metrics = actions(&[right.clone(), wrong.clone()], &bands);
    metrics.extend(legality(&[listed(3.0, 1.0), listed(13.0, 0.0)], &bands));
    metrics.extend(solver(&[moved(0, 1.0, 1.0), moved(12, 1.0, 0.0)], &bands));
    metrics.extend(scoring(&[scored(&right, &wrong), scored(&wrong, &right)], &bands));
    metrics.extend(reliability(&[(0.0, 0.0), (1.0, 0.0), (0.05, 1.0)], 4));
    assert!(metrics.len() > 25, "{}", metrics.len());
    for metric in &metrics {
        let measured = metric.overall.iter().chain(metric.bands.iter().map(|(_, measured)| measured));
        // Differences and correlations may be negative.
        let is_signed = ["gain", "less", "tau"].iter().any(|word| metric.name.contains(word));
        let least = if is_signed { -1.0 } else { 0.0 };
        for estimate in measured.map(|measured| measured.estimate) {
            let order = [least, estimate.low, estimate.value, estimate.high, 1.0];
            assert!(order.is_sorted(), "{}: {estimate:?}", metric.name);
        }
    }
}

#[test]
fn solver_and_seen_count_by_band() {
    let moved = |ply, before, after, could_err| SolverSample { ply, before, after, could_err };
    let samples = [
        moved(0, 1.0, 1.0, true),
        moved(3, 1.0, 0.5, true),
        moved(5, 0.0, 0.0, false),
        moved(12, 0.5, 0.0, true),
    ];
    let metrics = solver(&samples, &Bands::between(&[0.0, 10.0, 20.0]));
    close(value(&metrics[0]), 0.5);
    close(value(&metrics[1]), 1.0 / 3.0);
    close(value(&metrics[2]), 0.25);
    let samples: Vec<_> =
        (1..=40).map(|move_number| SeenSample { move_number, seen: move_number <= 10 }).collect();
    let metrics = seen(&samples);
    close(value(&metrics[0]), 0.25);
    assert_eq!(metrics[0].bands.len(), 8);
    assert!(metrics[0].bands[..2].iter().all(|(_, measured)| measured.estimate.value == 1.0));
    let table = metric_table(&metrics);
    assert!(table.lines().count() == 10 && table.contains("1-5"), "{table}");
    let json = serde_json::to_value(metrics_json(&metrics)).expect("writes");
    assert_eq!(json[0]["n"], 40);
    assert_eq!(json[0]["bands"][0]["band"], "1-5");
}

#[test]
fn lookahead_errs_less_than_random_against_the_solver() {
    use mavis_oracle::connect4::Connect4Solver;
    use rand::{SeedableRng, seq::IndexedRandom};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(8);
    let positions: Vec<Position> = std::iter::repeat_with(|| {
        let mut position = Position::start(Rules::Connect4);
        for _ in 0..24 {
            let moves = position.legal_moves();
            let Some(&mv) = moves.as_slice().choose(&mut rng) else { break };
            position.play_unchecked(mv);
        }
        position
    })
    .filter(|position| position.outcome().is_none())
    .take(150)
    .collect();
    let mut solver_of_positions = Connect4Solver::default();
    let mut measure = |player: &mut dyn mavis_play::Player| {
        let samples: Vec<SolverSample> = positions
            .iter()
            .filter_map(|position| {
                mavis_league::metrics::solver_sample(
                    player,
                    &mut solver_of_positions,
                    position,
                    &Limit::default(),
                )
                .expect("plays")
            })
            .collect();
        assert_eq!(samples.len(), 150);
        assert!(samples.iter().all(|sample| sample.after <= sample.before));
        value(&solver(&samples, &Bands::every(4.0, 0.0, 42.0))[0])
    };
    let random = measure(&mut RandomPlayer::new(3));
    let three = measure(&mut Lookahead::new(3, 3).expect("three plies"));
    assert!(three > random + 0.1, "{three} and {random}");
}
