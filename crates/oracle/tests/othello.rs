//! The endgame solver against the FFO positions, and the estimate against it.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Game, Move, Moves, Othello, Position, Rules, Side};
use mavis_oracle::othello::{OthelloOracle, OthelloSettings};
use mavis_oracle::{Effort, Oracle, Score};

struct Problem {
    position: Othello,
    scores: Vec<(String, i32)>,
}

fn problems(text: &str) -> Vec<Problem> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let mut parts = line.split(';').map(str::trim).filter(|part| !part.is_empty());
            let position = Othello::parse(parts.next().unwrap()).unwrap();
            let scores = parts
                .filter_map(|part| part.split_once(':'))
                .map(|(mv, score)| (mv.to_lowercase(), score.trim().parse().unwrap()))
                .collect();
            Problem { position, scores }
        })
        .collect()
}

fn n_empty(position: Othello) -> u32 {
    64 - position.discs(Side::First) - position.discs(Side::Second)
}

#[track_caller]
fn check_every_move(problem: &Problem, oracle: &mut OthelloOracle) {
    let mut found: Vec<_> = oracle
        .solve_moves(problem.position)
        .into_iter()
        .map(|(mv, score)| (problem.position.move_text(mv), score))
        .collect();
    let mut expected = problem.scores.clone();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{}", problem.position);
}

#[test]
fn every_move_of_ffo_1_to_19() {
    let mut oracle = OthelloOracle::default();
    let problems = problems(include_str!("data/othello/fforum-1-19.obf"));
    assert_eq!(problems.len(), 19);
    for problem in problems {
        let before = oracle.n_endgame_nodes();
        let start = std::time::Instant::now();
        check_every_move(&problem, &mut oracle);
        let nodes = oracle.n_endgame_nodes() - before;
        println!("{} empty: {nodes} nodes, {:?}", n_empty(problem.position), start.elapsed());
    }
}

#[test]
fn best_score_of_ffo_20_to_39_up_to_20_empty() {
    for problem in problems(include_str!("data/othello/fforum-20-39.obf")) {
        if n_empty(problem.position) > 20 {
            continue;
        }
        let mut oracle = OthelloOracle::default();
        let start = std::time::Instant::now();
        let score = oracle.solve(problem.position);
        let best = problem.scores.iter().map(|&(_, score)| score).max().unwrap();
        println!(
            "{} empty: {} nodes, {:?}",
            n_empty(problem.position),
            oracle.n_endgame_nodes(),
            start.elapsed()
        );
        assert_eq!(score, best, "{}", problem.position);
        // The best move is one that keeps the score.
        let best_move = oracle.best_move(problem.position).unwrap();
        let text = problem.position.move_text(best_move);
        assert!(problem.scores.contains(&(text.clone(), best)), "{text} in {}", problem.position);
    }
}

/// Minimax by the rules alone.
fn plain(position: Othello) -> i32 {
    let mut moves = Moves::new();
    position.legal_moves_into(&mut moves);
    let sign = if position.side_to_move() == Side::First { 1 } else { -1 };
    let successors = moves.into_iter().map(|mv| {
        let mut next = position;
        next.play_unchecked(mv);
        -plain(next)
    });
    successors.max().unwrap_or_else(|| sign * position.final_score())
}

#[test]
fn random_ends_equal_plain_minimax() {
    let mut oracle = OthelloOracle::default();
    let mut random = 1_u32;
    for _ in 0..60 {
        let mut position = Othello::default();
        while position.outcome().is_none() && n_empty(position) > 8 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mv = position.random_move(random).unwrap();
            position.play_unchecked(mv);
        }
        if position.outcome().is_none() {
            assert_eq!(oracle.solve(position), plain(position), "{position}");
        }
    }
}

#[test]
fn estimates_cover_every_move_and_repeat() {
    let settings = OthelloSettings { exact_from: 12, effort: Effort { depth: 5, nodes: 20_000 } };
    let mut oracle = OthelloOracle::new(settings);
    let mut position = Position::start(Rules::Othello);
    for ply in 0..60 {
        let Ok(ranking) = oracle.evaluate(&position) else { break };
        assert_eq!(ranking.moves.len(), position.legal_moves().len());
        if ply % 20 == 0 {
            assert_eq!(OthelloOracle::new(settings).evaluate(&position).unwrap(), ranking);
        }
        let exact = matches!(ranking.moves[0].score, Score::Solved(_));
        assert_eq!(exact, position.ply() + 4 + 12 >= 64, "{position}");
        position.play(ranking.best().unwrap()).unwrap();
    }
    assert!(position.outcome().is_some());
}

#[test]
fn the_estimate_agrees_with_the_end_about_who_is_ahead() {
    // Depth-limited search on FFO positions, against their true best scores.
    let settings = OthelloSettings { exact_from: 0, effort: Effort { depth: 6, nodes: 100_000 } };
    let mut oracle = OthelloOracle::new(settings);
    let (mut n_right, mut n_clear) = (0, 0);
    for problem in problems(include_str!("data/othello/fforum-1-19.obf")) {
        let best = problem.scores.iter().map(|&(_, score)| score).max().unwrap();
        let worst = problem.scores.iter().map(|&(_, score)| score).min().unwrap();
        let ranking = oracle.evaluate(&Position::Othello(problem.position)).unwrap();
        let value_of = |mv: Move| {
            let text = problem.position.move_text(mv);
            problem.scores.iter().find(|(known, _)| *known == text).unwrap().1
        };
        // The chosen move is nearer to the best than to the worst.
        n_clear += 1;
        n_right += usize::from(2 * value_of(ranking.best().unwrap()) >= best + worst);
    }
    assert!(n_right * 10 >= n_clear * 9, "{n_right} of {n_clear}");
}
