//! The real binary: answers on stdout, one line and exit code 2 for bad input.

use crate::support::pty::Terminal;
use mavis_testkit::Program;

fn mavis() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

#[test]
fn perft_counts_and_divides() {
    assert_eq!(mavis().stdout("perft --game chess --depth 4"), "197281\n");
    let divided = mavis().stdout("perft --game togyz --depth 3 --divide");
    assert_eq!(divided.lines().count(), 10);
    assert_eq!(divided.lines().last(), Some("613"));
    let json = mavis().stdout("perft --game connect4 --depth 3 --json");
    assert!(json.contains("\"nodes\":343"), "{json}");
}

#[test]
fn the_same_seed_plays_the_same_game_in_every_game() {
    for game in ["chess", "chess960", "connect4", "hex", "othello", "togyz"] {
        let play = |seed: &str| {
            let line =
                format!("play --game {game} --first random --second lookahead:1 --seed {seed} --quiet");
            mavis().stdout(&line)
        };
        assert_eq!(play("5"), play("5"), "{game}");
        assert_ne!(play("5"), play("6"), "{game}");
    }
}

#[test]
fn the_seed_draws_the_array_of_chess960() {
    let start = |seed: u32| {
        let line =
            format!("play --game chess960 --first random --second random --max-plies 1 --seed {seed} --json");
        let game: serde_json::Value = serde_json::from_str(&mavis().stdout(&line)).expect("JSON");
        game["start"].as_str().expect("a position").to_owned()
    };
    assert_eq!(start(1), start(1));
    assert_ne!(start(1), start(2));
    let usual = "play --game chess --first random --second random --max-plies 1 --seed 1 --json";
    assert!(mavis().stdout(usual).contains("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq"));
}

#[test]
fn positions_may_begin_with_a_hyphen() {
    let start = "---------------------------OX------XO--------------------------- X";
    let shown = mavis().stdout(&format!("show --game othello --position '{start}' --moves D3"));
    assert!(shown.contains(" O"), "{shown}");
    mavis().run(&format!("analyze --game othello --position '{start}' --player mcts:sims=20"));
    assert_eq!(mavis().stdout(&format!("perft --game othello --position '{start}' --depth 2")), "12\n");
    mavis().run(&format!("play --game othello --position '{start}' --first random --second random"));
}

#[test]
fn times_that_are_too_long_are_refused() {
    let mavis = mavis();
    for (line, part) in [
        (
            "analyze --game connect4 --player mcts --movetime 1e19",
            "--movetime: '10000000000000000000' is not a",
        ),
        ("analyze --game connect4 --player mcts --movetime nan", "expected a number from 0 to 1000000000"),
        ("play --game connect4 --first mcts --second random --movetime 1e19", "--movetime"),
        ("play --game connect4 --first mpc:evaluator=mcts,time=1e19 --second random", "1e19"),
        ("bench model --preset test --seconds 1e19", "expected a number from 0 to 1000000000"),
        ("probs train --game connect4 --max-minutes 1e19 --out a", "--max-minutes"),
    ] {
        mavis.check_bad(line, part);
    }
    let output = mavis.output("play --game connect4 --first random --second random --clock 1e19");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected a number from 0 to 1000000000"));
    // The longest time of all still works.
    mavis.run("play --game connect4 --first mcts:sims=5 --second random --clock 1e9+1e9 --quiet");
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    mavis().check_bad("show --game ches", "unknown game 'ches'");
    mavis().check_bad("show --game chess --position '8/8/8/8/8/8/8/8 w - - 0 1'", "bad chess position");
    mavis().check_bad("show --game connect4 --moves 8", "'8' is not a move");
    mavis().check_bad("show --game othello --moves a1", "illegal move a1");
    mavis().check_bad("show --game hex:size=40", "size=40");
    mavis().check_bad("play --game chess --first randon --second random", "did you mean 'random'");
    mavis().check_bad("play --game chess --first lookahead:9 --second random", "bad value '9'");
    mavis().check_bad(
        "play --game chess --first mav:temperature --second random",
        "option 'temperature' of player 'mav' expects a value: mav:temperature=...",
    );
    mavis().check_bad("manual /dev/null", "cannot create /dev/null: ");
}

#[test]
fn without_a_terminal_the_main_job_plays_itself_once() {
    let game = mavis().stdout("");
    let result = game.lines().rev().nth(1).expect("a result line");
    assert!(["1-0", "0-1", "1/2-1/2"].iter().any(|outcome| result.contains(outcome)), "{result}");
}

#[test]
fn language_commands_show_examples_and_judge_answers() {
    let example = mavis().stdout("lang example --game hex --seed 3");
    assert!(example.starts_with("<mav game=hex size=11>"), "{example}");
    assert_eq!(example, mavis().stdout("lang example --game hex --seed 3"));
    let mavis = mavis();
    mavis.write("answers.txt", &example);
    assert!(mavis.stdout("lang check answers.txt --json").contains("\"n_right\":1"));
    assert!(mavis.stdout("lang tokenize answers.txt").contains("\"<mav game=hex size=11>\""));
    mavis.check_bad("lang check /no/such/file", "cannot read");
}

#[test]
fn connect_four_is_solved_on_the_command_line() {
    let solved = mavis().stdout("solve --game connect4 2252576253462244111563365343671351441");
    assert!(solved.ends_with("score -1\n"), "{solved}");
    let empty = mavis().stdout("solve --game connect4");
    assert!(empty.contains("4    1  wins in 41 plies"), "the first player wins in the center: {empty}");
    mavis().check_bad("solve --game connect4 1111111", "move 7");
    mavis().check_bad("solve --game chess 1", "no exact solver");
}

/// A position that takes seconds, which the test does not wait for.
#[test]
fn a_solver_shows_at_a_terminal_that_it_works() {
    let mavis = mavis();
    let mut terminal = Terminal::start(mavis.command("solve 444444"));
    let shown = terminal.expect("solving");
    assert!(!shown.contains("score"), "{shown}");
}

#[test]
fn training_settings_are_checked_before_anything_runs() {
    let mavis = mavis();
    let train = "train mav --config c.toml --out run";
    mavis.write("c.toml", "presett = \"test\"\n");
    mavis.check_bad(train, "presett");
    mavis.write("c.toml", "preset = \"test\"\n");
    mavis.check_bad(train, "no data");
    mavis.check_bad(&format!("{train} --set seed"), "bad override 'seed'");
    assert!(!mavis.folder().join("run").exists(), "nothing is written for bad settings");
}

#[test]
fn analysis_lists_every_move_with_its_value() {
    let table = mavis().stdout("analyze --game connect4 --moves 1 4 1 4 1 4 --player mcts:sims=2000");
    assert!(table.starts_with("mcts:sims=2000 plays 1\n"), "{table}");
    assert_eq!(table.lines().count(), 9, "a head, a title and seven moves: {table}");
    let json = mavis().stdout("analyze --game togyz --player oracle-mcts:sims=20,oracle_nodes=200 --json");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["moves"].as_array().map(Vec::len), Some(9));
    assert!(value["moves"][0]["visits"].as_u64().is_some_and(|visits| visits > 0), "{json}");
    mavis().check_bad("analyze --game chess --position '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1'", "the game is over");
}

#[test]
fn version_help_and_mistakes_of_the_command_line() {
    let mavis = mavis();
    let version = mavis.stdout("--version");
    assert!(version.starts_with("mavis 0.") && version.contains("features: "), "{version}");
    assert!(mavis.stdout("help players mav-mcts").contains("c_puct"));
    assert!(mavis.stdout("help players").contains("mav-mcts"));
    assert_eq!(mavis.stdout("help league run"), mavis.stdout("league run --help"));
    mavis.check_bad("help plya", "no help on 'plya'");
    mavis.check_bad("plya", "'plan', 'play'");
    mavis.check_bad("play --agianst mav", "'--against'); see mavis play --help");
    mavis.check_bad("play --clock soon", "bad time control 'soon'");
    if let Ok(full) = std::fs::File::create("/dev/full") {
        let status = mavis.command("--help").stdout(full).stderr(std::process::Stdio::null()).status();
        assert_eq!(status.expect("started").code(), Some(1));
    }
    assert!(mavis.stdout("completions bash").contains("_mavis()"));
    mavis.run("manual man");
    assert!(mavis.folder().join("man/mavis-play.1").exists());
}

#[test]
fn the_bundled_model_is_meant_where_no_model_is_named() {
    let mavis = mavis();
    assert!(mavis.stdout("model info").contains("layers of width"));
    assert!(mavis.stdout("model ask --game connect4 --moves 4 4").contains("%top_all"));
    // It reads its input with full attention, which no other program does.
    mavis.check_bad("model export --to gguf --out bundled.gguf", "<MODEL>; see mavis model export --help");
}

#[test]
fn commands_say_what_they_wrote() {
    let mavis = mavis();
    let save = mavis.output("play connect4 --first random --second random --quiet --save game.pgn");
    assert_eq!(String::from_utf8_lossy(&save.stderr), "wrote game.pgn\n");
    let made = mavis.output("data ood -n 3 --out positions.parquet");
    assert!(String::from_utf8_lossy(&made.stderr).ends_with("wrote positions.parquet\n"));
}

#[test]
fn a_match_needs_no_file() {
    let mavis = mavis();
    let played = mavis.stdout("match mcts:sims=60 random --game connect4 --games 9 --seed 2");
    let score = played.lines().last().expect("a score");
    assert!(score.starts_with("mcts:sims=60 against random: +") && score.contains("/10), Elo "), "{score}");
    assert!(score.contains(", LLR "), "{score}");
    assert_eq!(played, mavis.stdout("match mcts:sims=60 random --game connect4 --games 9 --seed 2"));
    let resumed = "match mcts:sims=8,c=1 random --game hex:size=3 --games 4 --out resumed";
    let first = mavis.stdout(resumed);
    assert!(first.contains("mcts:sims=8,c=1 against random"), "{first}");
    assert_eq!(first, mavis.stdout(resumed), "the options in the order of the line");
    let table = mavis.stdout("league table resumed");
    assert!(table.contains("4 of 4 games") && !table.contains("has not played"), "{table}");
    let kept = "match random random --game hex:size=3 --games 4 --out kept";
    mavis.run(kept);
    assert!(mavis.stdout("league table kept").contains("random (2)"));
    // The same command continues it: nothing is left to play.
    assert!(String::from_utf8_lossy(&mavis.output(kept).stderr).contains("4 of 4 games on disk"));
    let decided =
        mavis.stdout("match lookahead:1 random --game connect4 --games 2000 --sprt --elo1 100 --json");
    assert!(decided.contains("\"verdict\":\"elo1 accepted\""), "{decided}");
    mavis.check_bad("match random mctz --game hex", "did you mean 'mcts'");
    mavis.check_bad("match random random --elo0 5 --elo1 1", "elo");
}
