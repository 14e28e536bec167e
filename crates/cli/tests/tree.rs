//! Search trees as files, options as flags, and what the rules say of a model's own world, through the real binary.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_testkit::Program;
use serde_json::Value;

fn json(program: &Program, line: &str) -> Value {
    serde_json::from_str(&program.stdout(line)).unwrap()
}

#[test]
fn a_tree_is_saved_shown_compared_drawn_and_searched_on() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let search = "analyze --game connect4 --moves 4 4 --player scripted-mcts:batch=1";
    let best = json(&mavis, &format!("{search} --sims 60 --tree a.json --json"))["best"].clone();
    let lines = json(&mavis, "tree lines a.json --most 7 --json");
    assert_eq!(lines["game"], "connect4");
    let visits = |lines: &Value| -> u64 {
        lines["lines"].as_array().unwrap().iter().map(|line| line["visits"].as_u64().unwrap()).sum()
    };
    assert_eq!((visits(&lines), &lines["lines"][0]["moves"][0]), (60, &best));
    assert!(mavis.stdout("tree lines a.json").contains("scripted"));
    // Searched on from there it grows by what is missing.
    let grown = json(&mavis, &format!("{search} --sims 100 --resume a.json --tree b.json --json"));
    assert_eq!((grown["kept"].as_u64(), grown["nodes"].as_u64()), (Some(60), Some(40)));
    let more = json(&mavis, "tree lines b.json --most 7 --json");
    assert!(visits(&more) > 60, "{more}");
    let same = json(&mavis, "tree diff a.json a.json --json");
    assert_eq!((same["n_differences"].as_u64(), same["only_first"].as_u64()), (Some(0), Some(0)));
    let other = json(&mavis, "tree diff a.json b.json --json");
    assert_eq!(other["only_first"], 0, "what was there is kept");
    assert!(other["only_second"].as_u64().unwrap() > 0);
    assert!(mavis.stdout("tree diff a.json b.json --most 3").contains(" only in the second"));
    let dot = mavis.stdout("tree dot a.json --plies 2");
    assert!(dot.starts_with("digraph") && dot.contains(" visits"), "{dot}");

    mavis.write("c.json", "{\"version\": 1}");
    mavis.check_bad("tree lines c.json", "c.json: not a saved tree");
    mavis.check_bad("tree dot none.json", "none.json");
    mavis.check_bad("analyze --game connect4 --player scripted-mcts --resume a.json", "another position");
    mavis.check_bad("analyze --game connect4 --player random --tree d.json", "random has no tree");
}

#[test]
fn tunables_are_flags_of_the_player() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let by_line = mavis.stdout("analyze --game othello --player scripted-mcts:sims=30,batch=1,c_puct=0.5");
    let by_flag =
        mavis.stdout("analyze --game othello --player scripted-mcts:batch=1 --sims 30 --c-puct 0.5");
    assert_eq!(by_flag, by_line);
    mavis.check_bad(
        "analyze --game othello --player random --sims 30",
        "player 'random' has no option 'sims'",
    );
    mavis.check_bad(
        "analyze --game othello --player scripted-mcts --tau hot",
        "setting 'tau' cannot be 'hot'",
    );
    let help = mavis.stdout("uci --help");
    assert!(help.contains("--sims") && help.contains("mavis help players"), "{help}");
    assert!(mavis.stdout("help players mav-mcts").contains("n_max"));
}

#[test]
fn the_rules_judge_a_world_of_the_evaluators_own() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let line = "analyze --game connect4 --player scripted-mcts:sims=40,world=model --json";
    let referee = &json(&mavis, line)["referee"];
    assert!(referee["nodes"].as_u64().unwrap() > 10, "{referee}");
    assert_eq!((&referee["wrong_states"], &referee["missing_moves"]), (&0.into(), &0.into()));
    let by_rules = json(&mavis, "analyze --game connect4 --player scripted-mcts:sims=4 --json");
    assert!(by_rules.get("referee").is_none());
}
