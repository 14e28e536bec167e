//! Standings of a real league as table, JSON and page.

use mavis_league::numeric::Estimate;
use mavis_league::wire::{
    EndKind, LeagueConfig, LeagueStore, StandingsJson, StoredEnd, StoredGame, StoredResult,
};
use mavis_league::{Intervals, RunOptions, Standings, report, run, standings};
use mavis_play::Registry;
use mavis_testkit::check_drawing;
use std::sync::Arc;

fn league(text: &str) -> (LeagueConfig, Standings) {
    let (config, games) = games(text);
    let standings = standings(&config, &games, Intervals::Sandwich).expect("rates");
    (config, standings)
}

fn games(text: &str) -> (LeagueConfig, Vec<StoredGame>) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = LeagueConfig::from_toml(text).expect("valid");
    let registry = Arc::new(Registry::basic());
    run(&config, folder.path(), folder.path(), &registry, &RunOptions::default(), &mut |_| {}).expect("runs");
    let (_, games) = LeagueStore::read(folder.path()).expect("readable");
    (config, games)
}

const FOUR: &str = "
    name = 'Four & <more>'
    game = 'connect4'
    seed = 3
    openings.random_plies = 2
    schedule.pairs = 20
    ratings.zero = { player = 'random' }
    players = [{ player = 'random', external = 1000.0 }, { player = 'lookahead:1' },
               { player = 'lookahead:2', external = 1500.0 }, { player = 'mcts:sims=60', name = 'tree' }]
";

#[test]
fn the_table_has_every_player_once_in_order() {
    let (_, standings) = league(FOUR);
    let table = report::table(&standings);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("External") && lines[0].contains("LOS"), "{table}");
    let elos: Vec<f64> = lines[1..5]
        .iter()
        .map(|line| line.split_whitespace().nth(2).and_then(|elo| elo.parse().ok()).expect("an Elo"))
        .collect();
    assert!(elos.windows(2).all(|pair| pair[0] >= pair[1]), "{table}");
    assert!(elos.contains(&0.0), "the zero is where it was put: {table}");
    assert!(table.contains("240 of 240 games, first side"), "{table}");
    let cross = report::cross_table(&standings);
    assert_eq!(cross.lines().count(), 5);
    assert!(cross.lines().skip(1).all(|line| line.matches("/40").count() == 3), "{cross}");
}

/// After a game between two others, the anchors still share one rating.
#[test]
fn a_young_league_has_a_table_without_external_ratings() {
    let (config, games) = games(FOUR);
    let between = |a: &str, b: &str| games.iter().find(|game| game.first == a && game.second == b).cloned();
    let first = between("lookahead:1", "tree").expect("a game of theirs");
    let young = standings(&config, &[first], Intervals::Sandwich).expect("rates");
    assert!(young.external.is_none());
    let table = report::table(&young);
    assert!(!table.contains("External"), "{table}");
    assert!(
        table.contains("note: no external Elo yet: the anchors have the same internal rating"),
        "{table}"
    );
    assert!(report::html(&young, &config).expect("drawn").contains("no external Elo yet"));
    assert!(report::json(&young).notes.iter().any(|note| note.starts_with("no external Elo")));
}

/// A score made of crashes says so beside the numbers, and PGN in its own words.
#[test]
fn games_lost_by_faults_show_beside_the_score() {
    let (config, mut games) = games(FOUR);
    for game in games.iter_mut().filter(|game| game.first == "random" && game.second == "tree") {
        game.result = StoredResult::Second;
        game.end = StoredEnd { by: EndKind::Failure, reason: "first player failed: it crashed".to_owned() };
    }
    let standings = standings(&config, &games, Intervals::Sandwich).expect("rates");
    let table = report::table(&standings);
    assert!(table.lines().next().is_some_and(|head| head.contains("By faults")), "{table}");
    assert!(table.contains("note: random lost 20 games by failure"), "{table}");
    let cross = report::cross_table(&standings);
    assert_eq!(cross.matches("/40 (20f)").count(), 2, "{cross}");
    let json = report::json(&standings);
    let random = json.players.iter().find(|player| player.name == "random").expect("plays");
    assert_eq!(random.forfeits, 20);
    let rules = config.rules().expect("valid");
    let lost = games.iter().find(|game| game.end.by == EndKind::Failure).expect("one of them");
    let text = mavis_league::wire::pgn(&config, rules, lost).expect("replays");
    assert!(text.contains("[Termination \"abandoned\"]") && text.contains("it crashed}"), "{text}");
}

#[test]
fn json_agrees_with_the_standings() {
    let (_, standings) = league(FOUR);
    let text = serde_json::to_string(&report::json(&standings)).expect("writes");
    let read: StandingsJson = serde_json::from_str(&text).expect("reads");
    assert_eq!((read.finished, read.planned, read.players.len()), (240, 240, 4));
    assert_eq!(read.players[0].name, standings.ratings.players[standings.order[0]].name);
    let total: f64 = read.cross.iter().flatten().map(|cell| cell.iter().sum::<f64>()).sum();
    assert_eq!(total, 480.0);
    assert!(read.players.iter().all(|player| player.external.is_some()));
    // Random moves on a fast machine take no measurable time.
    assert!(read.players.iter().all(|player| player.seconds.is_some_and(|seconds| seconds >= 0.0)));
    assert!(read.superiority.iter().flatten().all(|p| (0.0..=1.0).contains(p)));
}

#[test]
fn the_page_stands_alone_and_escapes_names() {
    let (config, standings) = league(FOUR);
    let page = report::html(&standings, &config).expect("draws");
    assert!(page.contains("<title>Four &amp; &lt;more&gt;</title>"));
    assert_eq!(page.matches("<svg").count(), 3);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(!page.contains("<link") && !page.contains("src="), "no other file is needed");
    for name in ["random", "lookahead:1", "lookahead:2", "tree"] {
        assert!(page.contains(name));
    }
}

#[test]
fn an_empty_league_and_a_test_can_be_shown() {
    let config = LeagueConfig::from_toml(FOUR).expect("valid");
    let empty = standings(&config, &[], Intervals::Sandwich).expect("rates");
    assert!(report::table(&empty).contains("0 of 240 games"));
    assert!(report::html(&empty, &config).expect("draws").contains("has not played"));
    let (config, standings) = league(
        "
        name = 'a test'
        game = 'connect4'
        schedule.pairs = 400
        openings.random_plies = 3
        sprt = { elo0 = 0.0, elo1 = 80.0, scale = 'normalized' }
        players = [{ player = 'lookahead:1' }, { player = 'random' }]
    ",
    );
    let test = standings.test.as_ref().expect("a test");
    assert_eq!(test.path.len() as u64, test.pairs.n_pairs());
    assert!(report::table(&standings).contains("SPRT: elo1 accepted"), "{}", report::table(&standings));
    assert!(report::html(&standings, &config).expect("draws").contains("log likelihood ratio"));
}

#[test]
fn players_that_differ_in_one_number_make_a_curve() {
    let (config, standings) = league(
        "
        name = 'curve'
        game = 'connect4'
        openings.random_plies = 2
        schedule.pairs = 3
        players = [{ player = 'random' }, { player = 'mcts:sims=4' }, { player = 'mcts:sims=16' },
                   { player = 'mcts:sims=64' }, { player = 'mcts:sims=8,c=1' }]
        ",
    );
    let page = report::html(&standings, &config).expect("draws");
    assert!(
        page.contains("Strength by sims") && !page.contains("Strength by c<"),
        "one curve of three points"
    );
    assert!(page.contains("each step doubles"));
    let two = LeagueConfig { players: config.players[..3].to_vec(), ..config };
    assert!(
        !report::html(&standings, &two).expect("draws").contains("Strength by"),
        "two points are no curve"
    );
}

/// Checks every drawing of a page and gives their number.
fn check_drawings(page: &str) -> usize {
    let drawings = page.split("<svg").skip(1).map(|rest| {
        let (drawing, _) = rest.split_once("</svg>").expect("drawings end");
        format!("<svg{drawing}</svg>")
    });
    drawings.filter(|drawing| check_drawing(drawing) > 2).count()
}

#[test]
fn drawings_of_a_page_show_whole_labels_and_cover_nothing() {
    let (config, standings) = league(
        "
        name = 'long names'
        game = 'connect4'
        openings.random_plies = 2
        schedule.pairs = 2
        players = [{ player = 'random', name = 'stockfish:nodes=20000,skill=5,threads=2,hash=64' },
                   { player = 'lookahead:1', name = 'a player with a name that is longer than any label' },
                   { player = 'mcts:sims=4' }, { player = 'mcts:sims=16' }, { player = 'mcts:sims=1024' }]
        ",
    );
    assert_eq!(check_drawings(&report::html(&standings, &config).expect("draws")), 4);
    let (config, standings) = league(
        "
        name = 'a test'
        game = 'connect4'
        schedule.pairs = 20
        openings.random_plies = 3
        sprt = { elo0 = 0.0, elo1 = 80.0, scale = 'normalized' }
        players = [{ player = 'lookahead:1' }, { player = 'random' }]
        ",
    );
    assert_eq!(check_drawings(&report::html(&standings, &config).expect("draws")), 4);
}

#[test]
fn curves_show_whole_labels_and_cover_nothing() {
    let levels =
        [("random", 1000.0), ("a name that is longer than any label", 1183.0), ("lookahead:3", 1603.0)]
            .map(|(name, elo)| (name.to_owned(), elo));
    let rising = |n: u32, by: f64| {
        let point = |k: u32| {
            (f64::from(k), Estimate::symmetric(900.0 + by * f64::from(k), 2000.0 / f64::from(k + 1)))
        };
        (0..n).map(point).collect::<Vec<_>>()
    };
    let curve = |name: &str, points| report::Curve { name: name.to_owned(), points };
    let long = "othello /a/folder/with/a/long/path/of/runs/that/compares/many/settings/of/one/game/at/two/sizes/of/nets/of/paper/004";
    let runs = [curve(long, rising(3, 200.0)), curve("other", rising(40, 22.0))];
    // A single rating, two runs, one of them an unusual one, and ratings beyond all levels.
    for curves in [&[curve("one", rising(1, 0.0))][..], &runs, &[curve("weak", rising(9, -1500.0))]] {
        let svg = report::rating_curves(curves, &levels, "network evaluations, millions").expect("draws");
        assert!(check_drawing(&svg) > 8 + curves.len());
    }
}

/// A single rating is a dot with its interval, both inside the drawing.
#[test]
fn a_curve_of_one_point_is_seen() {
    let points = vec![(0.0, Estimate::symmetric(1000.0, 80.0))];
    let curve = report::Curve { name: "one".to_owned(), points };
    let svg = report::rating_curves(&[curve], &[], "rounds").expect("draws");
    let number = |name: &str| -> f64 {
        let dot = svg.split("<circle").nth(1).expect("a dot");
        let rest = dot.split_once(&format!("{name}=\"")).expect("a number").1;
        rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
    };
    assert!((66.0..760.0).contains(&number("cx")) && (20.0..410.0).contains(&number("cy")), "{svg}");
}

#[test]
fn panels_show_whole_labels_and_cover_nothing() {
    let panel = |title: &str, scale: f64| report::Panel {
        title: title.to_owned(),
        lines: vec![report::Line {
            name_idx: 0,
            points: (0..5).map(|k| (f64::from(k), scale * f64::from(k))).collect(),
        }],
    };
    let shown = [
        panel("a small number", 1e-6),
        panel("a large one", 1e5),
        panel("a title that is longer than the panel below it is wide, by far", 1.0),
        panel("below zero", -1e-4),
    ];
    let names = ["a run".to_owned(), "a name that is longer than all of the drawing is wide, ".repeat(3)];
    let svg = report::panels("million examples", &names, &shown).expect("draws");
    assert!(check_drawing(&svg) > 30);
}
