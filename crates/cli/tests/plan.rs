//! `mavis plan`: its arithmetic, and that every kind of job can be measured. How good its estimates are is in `docs/plan.md`.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_testkit::Program;
use serde_json::Value;

fn plan(mavis: &Program, line: &str) -> Value {
    serde_json::from_str(&mavis.stdout(&format!("plan {line} --json"))).unwrap()
}

#[test]
fn given_rates_are_multiplied_out() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let machines = "--machine slow:cores=8 --machine fast:cores=4,speed=1.5,count=2";
    let job = format!("annotate --positions 3600000 --rate 10 --bytes 500 {machines}");
    let planned = plan(&mavis, &job);
    let number = |key: &str| planned[key].as_f64().unwrap();
    assert!((number("seconds") - 18_000.0).abs() < 1e-6, "{planned}");
    assert!((number("unit_hours") - 80.0).abs() < 1e-6, "{planned}");
    assert!((number("bytes") - 1.8e9).abs() < 1.0, "{planned}");
    assert_eq!(planned["measured"], Value::Null);
    assert_eq!(planned["machines"][1]["units"], 8);
    let text = mavis.stdout(&format!("plan {job}"));
    assert!(text.contains("time 5.0 hours, 80.0 core-hours, 1800.0 MB on disk"), "{text}");
    let league = "league --games 28000 --plies 100 --game chess --player mav-mcts:sims=400 --rate 2";
    let planned = plan(&mavis, &format!("{league} --machine cores=100"));
    assert!((planned["seconds"].as_f64().unwrap() - 14_000.0).abs() < 1e-6, "{planned}");

    for (line, part) in [
        ("annotate --positions 10 --rate 0", "--rate: expected a number above 0, not 0"),
        ("annotate --positions 10 --rate 1 --machine cores=x", "bad value 'x' for cores"),
        ("annotate --positions 10 --rate 1 --machine gpus=1", "no machine has a core"),
        ("annotate --positions 10 --rate 1 --per day", "expected core or gpu, not 'day'"),
        ("annotate --positions 10 --game go", "go"),
    ] {
        mavis.check_bad(&format!("plan {line}"), part);
    }
}

#[test]
fn every_job_is_measured_by_a_part_of_itself() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let easy = "--random-plies 30 --epsilon 1";
    mavis.run(&format!("data selfplay --game connect4 {easy} -n 60 --out games"));
    mavis.write(
        "small.toml",
        "shape = [32, 1, 1, 64]\n[batch]\nexamples = 8\n[[data]]\npath = \"games/annotations\"\ngame = \"connect4\"\n",
    );
    for (line, item, n_items) in [
        ("annotate --positions 5000 --game othello --oracle othello:nodes=100", "positions", 5000.0),
        ("selfplay --games 300 --game connect4", "games", 300.0),
        ("traces --roots 700", "roots", 700.0),
        (
            "league --games 50 --plies 20 --game hex:size=5 --player random --player mcts:sims=5",
            "plies",
            1000.0,
        ),
        ("train --config small.toml --steps 90", "steps", 90.0),
    ] {
        // Further options come after those of the plan.
        let rest = match item {
            "games" => format!("-- {easy}"),
            "roots" => "-- games/annotations --per-root 1 --sizes 2x1".to_owned(),
            _ => String::new(),
        };
        let planned = mavis.stdout(&format!("plan {line} --seconds 0 --json {rest}"));
        let planned: Value = serde_json::from_str(&planned).unwrap();
        assert_eq!((&planned["item"], planned["items"].as_f64()), (&item.into(), Some(n_items)), "{planned}");
        let sample = &planned["measured"]["sample"];
        assert!(sample["items"].as_u64().unwrap() >= 2 && sample["bytes"].as_u64().unwrap() > 0, "{planned}");
        assert!(planned["seconds"].as_f64().is_some_and(f64::is_finite), "{planned}");
    }
    let failed = mavis.output("plan train --config small.toml --steps 9 --set nonsense=1");
    assert_eq!(failed.status.code(), Some(2), "{}", String::from_utf8_lossy(&failed.stderr));
}
