//! The Hex solver against Benzene's regression positions.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Game, Hex};
use mavis_oracle::hex::{HexSolver, Solved};
use problems::{Problem, Solution};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

mod problems;

/// The solver's problems of some board sizes.
fn problems(sizes: RangeInclusive<usize>) -> Vec<Problem> {
    problems::read(include_str!("data/hex/benzene_positions.tsv"), &sizes)
}

/// Solves one problem; `false` if it is out of reach.
#[track_caller]
fn check(problem: &Problem, solver: &mut HexSolver) -> bool {
    is_right(problem, problem.check(solver))
}

#[track_caller]
fn is_right(problem: &Problem, answer: Solution) -> bool {
    match answer {
        Solution::Right => true,
        Solution::OutOfReach => false,
        Solution::Wrong(found) => {
            panic!("{}: {found}, not {:?}\n{}", problem.id, problem.expected, problem.position.drawing())
        }
    }
}

#[test]
fn small_boards() {
    for problem in problems(3..=5) {
        assert!(check(&problem, &mut HexSolver::new(20_000)), "{}", problem.id);
    }
}

#[test]
fn boards_of_six() {
    for problem in problems(6..=6) {
        assert!(check(&problem, &mut HexSolver::new(2_000)), "{}", problem.id);
    }
}

/// All 56: every winning move where 1,200 positions tell them, and in the others that each listed one wins.
#[test]
fn boards_of_seven() {
    each_of_seven(|problem| {
        check(problem, &mut HexSolver::new(1_200))
            || is_right(problem, check_listed(problem, &mut HexSolver::new(30_000)))
    });
}

#[test]
#[ignore = "every winning move of all 56, the longest with 27,930 positions: half a minute on two cores"]
fn boards_of_seven_with_every_winning_move() {
    each_of_seven(|problem| check(problem, &mut HexSolver::new(30_000)));
}

/// Solves no more than the expected answer needs: each listed move wins, or without one the side to move loses.
fn check_listed(problem: &Problem, solver: &mut HexSolver) -> Solution {
    let after = |text: &String| {
        let mut next = problem.position;
        next.play_unchecked(next.parse_move(text).unwrap());
        next
    };
    let lost: Vec<Hex> = match problem.expected.is_empty() {
        true => vec![problem.position],
        false => problem.expected.iter().map(after).collect(),
    };
    for position in lost.iter().filter(|position| position.outcome().is_none()) {
        match solver.wins(position).unwrap() {
            Solved::Yes(false) => {}
            Solved::Yes(true) => return Solution::Wrong(format!("the side to move wins {position}")),
            Solved::OutOfReach => return Solution::OutOfReach,
        }
    }
    Solution::Right
}

/// Checks the problems of boards of seven on all cores.
fn each_of_seven(is_right: impl Fn(&Problem) -> bool + Sync) {
    let problems = problems(7..=7);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(problem) = problems.get(next.fetch_add(1, Ordering::Relaxed)) {
            assert!(is_right(problem), "{}", problem.id);
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..n_threads).for_each(|_| drop(scope.spawn(work))));
    assert_eq!(problems.len(), 56);
}

/// Win or loss by the rules alone.
fn plain(position: Hex) -> bool {
    let moves = (0..(position.size() * position.size()) as u16).map(mavis_game::Move);
    moves.filter(|&mv| position.is_legal(mv)).any(|mv| {
        let mut next = position;
        next.play_unchecked(mv);
        next.outcome().is_some() || !plain(next)
    })
}

#[test]
fn random_small_positions_equal_plain_search() {
    let mut random = 7_u32;
    let mut solver = HexSolver::new(100_000);
    for n_stones in [5, 6, 7, 8].repeat(15) {
        let mut position = Hex::new(4, false);
        while position.outcome().is_none() && position.ply() < n_stones {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mv = position.random_move(random).unwrap();
            position.play_unchecked(mv);
        }
        if position.outcome().is_some() {
            continue;
        }
        let Solved::Yes(moves) = solver.winning_moves(&position).unwrap() else { panic!("out of reach") };
        for code in 0..16 {
            let mv = mavis_game::Move(code);
            if position.is_legal(mv) {
                let mut next = position;
                next.play_unchecked(mv);
                let wins = next.outcome().is_some() || !plain(next);
                assert_eq!(
                    moves.contains(&mv),
                    wins,
                    "{} in\n{}",
                    position.move_text(mv),
                    position.drawing()
                );
            }
        }
    }
}

#[test]
fn playouts_find_winning_moves_and_repeat() {
    use mavis_oracle::hex::{HexOracle, HexSettings};
    use mavis_oracle::{Oracle, Score};
    let settings = HexSettings { playouts: 12_000, solver_nodes: 0, seed: 3, ..HexSettings::default() };
    let (mut n_right, mut n_all) = (0, 0);
    for problem in problems(4..=7).iter().filter(|p| p.find_winning && !p.expected.is_empty()).step_by(4) {
        let position = mavis_game::Position::Hex(problem.position);
        let ranking = HexOracle::new(settings).evaluate(&position).unwrap();
        assert_eq!(ranking.moves.len(), position.legal_moves().len());
        assert!(matches!(ranking.moves[0].score, Score::WinRate(rate) if (0.0..=1.0).contains(&rate)));
        let listed: Vec<_> =
            ranking.moves.iter().take(5).map(|judged| position.move_text(judged.mv)).collect();
        n_all += 1;
        n_right += usize::from(problem.expected.iter().any(|text| listed.contains(text)));
        assert_eq!(HexOracle::new(settings).evaluate(&position).unwrap(), ranking);
    }
    // A guard against breakage, not a measure of strength: the constants were chosen on these puzzles. A random five of some thirty moves would hold a winning one in a fifth of them.
    assert!(n_right * 2 >= n_all, "{n_right} of {n_all}");
}

#[test]
fn the_opening_of_an_empty_board_is_best_in_the_middle() {
    use mavis_oracle::Oracle;
    use mavis_oracle::hex::{HexOracle, HexSettings};
    let settings = HexSettings { playouts: 6000, solver_nodes: 0, seed: 1, ..HexSettings::default() };
    let position = mavis_game::Position::start(mavis_game::Rules::Hex { size: 7, swap: false });
    let ranking = HexOracle::new(settings).evaluate(&position).unwrap();
    let Some((row, column)) = Hex::new(7, false).row_and_column(ranking.best().unwrap()) else { panic!() };
    assert!((1..6).contains(&row) && (1..6).contains(&column), "{row} {column}");
    assert!(ranking.moves[0].win_probability > 0.5);
    assert!(ranking.moves[48].win_probability < ranking.moves[0].win_probability - 0.1);
}

#[test]
fn boards_beyond_the_solver_are_judged_by_playouts() {
    use mavis_oracle::Oracle;
    use mavis_oracle::hex::{HexOracle, HexSettings};
    let settings = HexSettings { playouts: 800, solver_nodes: 200, seed: 1, ..HexSettings::default() };
    for size in [12, 19] {
        let rules = mavis_game::Rules::Hex { size, swap: false };
        let mut position = mavis_game::Position::start(rules);
        // The second player has all of a column but its top.
        for row in 1..size {
            position.play_text(&format!("{}{row}", 'a')).unwrap();
            position.play_text(&format!("{}{}", 'd', row + 1)).unwrap();
        }
        let ranking = HexOracle::new(settings).evaluate(&position).unwrap();
        assert_eq!(ranking.moves.len(), position.n_legal_moves());
        // A full column of the first player but its last cell: one move wins.
        assert_eq!(position.move_text(ranking.best().unwrap()), format!("a{size}"));
        assert!(ranking.moves[0].win_probability > 0.9, "{:?}", ranking.moves[0]);
        assert_eq!(HexOracle::new(settings).evaluate(&position).unwrap(), ranking);
    }
}

/// Time that is up at once leaves the playouts before the first look at the clock, and every move its value; the solver has no say.
#[test]
fn playouts_end_with_their_time() {
    use mavis_oracle::Oracle;
    use mavis_oracle::hex::{HexOracle, HexSettings};
    let late =
        HexSettings { playouts: u32::MAX, time: Some(std::time::Duration::ZERO), ..HexSettings::default() };
    let few = HexSettings { playouts: 64, solver_nodes: 0, ..HexSettings::default() };
    for swap in [false, true] {
        let mut position = mavis_game::Position::start(mavis_game::Rules::Hex { size: 5, swap });
        position.play_text("a1").unwrap();
        let [late, few] = [late, few].map(|settings| HexOracle::new(settings).evaluate(&position).unwrap());
        assert_eq!(late, few);
        assert_eq!(late.moves.len(), position.n_legal_moves());
    }
}
