//! Games that end before the rules end them.

use super::players::registry;
use super::{config, games, options, run_in};
use mavis_game::{Game, Outcome, Position, Side};
use mavis_league::wire::{EndKind, StoredGame};
use mavis_league::{ExactJudge, RunError, RunOptions, run};
use std::sync::Arc;

fn evaluating(rules: &str, first: i32, second: i32) -> Vec<StoredGame> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "
        name = 'adjudicated'
        game = 'chess'
        schedule.pairs = 1
        adjudication = {rules}
        players = [{{ player = 'evaluates:{first}', name = 'a' }}, {{ player = 'evaluates:{second}', name = 'b' }}]
    "
    );
    run_in(folder.path(), &config(&text), &options()).expect("runs");
    games(folder.path())
}

#[test]
fn adjudication_ends_games_and_says_why() {
    let draw = "{ draw = { from_move = 5, moves = 3, centipawns = 10 } }";
    for game in evaluating(draw, 4, -9) {
        assert_eq!((game.moves.len(), Outcome::from(game.result)), (10, Outcome::Draw));
        assert_eq!(game.end.reason, "adjudicated: 3 moves of each side within 10 centipawns");
    }
    let resign = "{ resign = { moves = 2, centipawns = 600 } }";
    for game in evaluating(resign, 900, -900) {
        let winner = if game.first == "a" { Side::First } else { Side::Second };
        assert_eq!(Outcome::from(game.result), Outcome::Win(winner));
        assert_eq!(game.end.by, EndKind::Adjudication);
        assert_eq!(game.moves.len(), if game.first == "a" { 4 } else { 3 });
    }
    // Both must see it: here the other side thinks it is even.
    let both = "{ resign = { moves = 2, centipawns = 600, both = true }, max_plies = 12 }";
    for game in evaluating(both, 0, -900) {
        assert_eq!((game.end.by, game.moves.len()), (EndKind::Length, 12));
    }
    let early = "{ early = {} , max_plies = 12 }";
    for game in evaluating(early, 1300, -1250) {
        assert_eq!((game.end.by, game.moves.len()), (EndKind::Adjudication, 2));
        assert!(game.end.reason.contains("1200"), "{}", game.end.reason);
    }
    for game in evaluating(early, 1300, -1150) {
        assert_eq!(game.end.by, EndKind::Length);
    }
    // A judge of its own: always happy with the side to move, so the first move ends the game for the mover.
    let judge = "{ early = { judge = 'evaluates:-2000' } }";
    for game in evaluating(judge, 0, 0) {
        assert_eq!((Outcome::from(game.result), game.moves.len()), (Outcome::Win(Side::First), 1));
    }
    // Nothing is on by default.
    for game in evaluating("{ max_plies = 20 }", 3000, -3000) {
        assert_eq!(game.moves.len(), 20);
    }
}

struct Threatened;

impl ExactJudge for Threatened {
    fn outcome(&self, position: &Position) -> Option<Outcome> {
        // Knows one thing: whoever can connect four at once wins.
        let side = position.side_to_move();
        let wins = position.legal_moves().into_iter().any(|mv| {
            let mut next = position.clone();
            next.play_unchecked(mv);
            next.outcome() == Some(Outcome::Win(side))
        });
        wins.then_some(Outcome::Win(side))
    }
}

#[test]
fn an_exact_judge_ends_games_and_an_unknown_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'exact'
        game = 'connect4'
        schedule.pairs = 5
        adjudication.exact = { judge = 'solver', from_ply = 8 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }]
    ";
    assert!(matches!(run_in(folder.path(), &config(text), &options()), Err(RunError::UnknownJudge { .. })));
    let mut options = options();
    options.judges.insert("solver".to_owned(), Arc::new(Threatened));
    run_in(folder.path(), &config(text), &options).expect("runs");
    let games = games(folder.path());
    assert!(games.iter().all(|game| game.moves.len() >= 7));
    let judged = games.iter().filter(|game| game.end.by == EndKind::Adjudication).count();
    assert!(judged >= 5, "{judged}");
    assert!(games.iter().any(|game| game.end.reason.contains("solver")));
}

#[test]
fn the_solver_judges_as_the_game_would_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'solved'
        game = 'connect4'
        openings.random_plies = 20
        schedule.pairs = 10
        adjudication.exact = { judge = 'solver', from_ply = 21 }
        players = [{ player = 'lookahead:3' }, { player = 'lookahead:2' }]
    ";
    let options = RunOptions { judges: mavis_league::standard_judges(), ..options() };
    run_in(folder.path(), &config(text), &options).expect("runs");
    for game in games(folder.path()) {
        assert!(game.moves.len() <= 1, "judged after the first move: {game:?}");
        assert!(game.end.reason.contains("with best play") || game.end.by == EndKind::Rules, "{game:?}");
    }
}

#[test]
fn tablebases_end_games_that_they_cover() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("endings.epd"),
        "8/8/8/4k3/8/8/3Q1R2/4K3 w - -\n8/8/8/4k3/8/8/3Q4/4K3 w - -\n8/8/8/8/1kr5/8/4R3/4K3 b - -\n",
    )
    .expect("writes");
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../oracle/tests/data/syzygy");
    let league = |judge: &str| {
        config(&format!(
            "
            name = 'endings'
            game = 'chess'
            openings = {{ book = 'endings.epd', in_order = true }}
            schedule.pairs = 3
            adjudication = {{ exact = {{ judge = '{judge}' }}, max_plies = 60 }}
            players = [{{ player = 'random' }}, {{ player = 'lookahead:1' }}]
            "
        ))
    };
    let out = folder.path().join("out");
    run(&league(&format!("syzygy:{tables}")), &out, folder.path(), &registry(), &options(), &mut |_| {})
        .expect("runs");
    for game in games(&out) {
        // Queen and rook are in no table here: that game goes on until one of them is gone, or to its end.
        if game.pair > 0 {
            assert_eq!((game.moves.len(), game.end.by), (1, EndKind::Adjudication), "{game:?}");
            assert!(game.end.reason.contains("syzygy: "), "{game:?}");
        } else {
            assert!(game.moves.len() > 1, "{game:?}");
        }
    }
    let refused = |judge: &str| {
        let out = folder.path().join("refused");
        let error = run(&league(judge), &out, folder.path(), &registry(), &options(), &mut |_| {});
        error.expect_err("no such judge").to_string()
    };
    assert!(refused("syzygy:nowhere").contains("nowhere"));
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    assert!(refused("syzygy:empty").contains("no Syzygy tables"));
    assert!(refused("syzygy").contains("known: syzygy:DIR"));
}
