//! A model whose network fails in the middle of its work: no command takes what it does then for its play.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_game::{Game as _, Position, Rules};
use mavis_model::{InputAttention, MavModel, Preset, fan_out::n_tokens};
use mavis_net::{TransformerConfig, Variant, initial_parameters};
use mavis_testkit::Program;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

/// The player: its network has as many positions as the values of Connect Four's moves take, and fails on anything longer. That
/// is the choice among listed moves, which it is asked for at its first move, and every position of chess.
const SHORT: &str = "mav:model=short.safetensors,scoring=best_action";

fn mavis() -> Program {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let n_positions = n_tokens(&Position::start(Rules::Connect4), 1);
    let shape = Preset::Test.shape(mavis_lang::vocabulary().len(), 4);
    let variant = Variant { learned_positions: Some(n_positions), ..Variant::default() };
    let config = TransformerConfig { d_model: 32, n_layers: 1, n_heads: 2, d_ff: 64, variant, ..shape };
    let parameters = initial_parameters(&config).unwrap();
    let model = MavModel { config, input: InputAttention::Causal, step: 0, parameters };
    model.save(&mavis.folder().join("short.safetensors")).unwrap();
    mavis
}

/// The command fails with code 1 and one last line, which it returns.
#[track_caller]
fn failure(mavis: &Program, line: &str) -> String {
    let output = mavis.output(line);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
    let last = stderr.lines().last().unwrap().to_owned();
    assert!(last.contains("the network failed: token ") && last.contains("positions end at"), "{stderr}");
    last
}

#[test]
fn a_league_ends_with_one_line_and_keeps_the_games_before() {
    let mavis = mavis();
    mavis.write(
        "c.toml",
        format!(
            "name = 'c'\ngame = 'connect4'\nconcurrency = 1\nschedule = {{ kind = 'gauntlet', pairs = 1 }}\n\
             players = [{{ player = 'random' }}, {{ player = 'lookahead:1' }}, {{ player = '{SHORT}', name = 'short' }}]\n"
        ),
    );
    let games = || std::fs::read_to_string(mavis.folder().join("out/games.jsonl")).unwrap();
    // The second time it resumes, with the same end.
    for _ in 0..2 {
        let line = failure(&mavis, "league run --config c.toml --out out");
        assert!(line.starts_with("mavis: player 'short': the network failed"), "{line}");
        assert!(line.ends_with("the same command resumes"), "{line}");
        assert_eq!(games().lines().count(), 2, "those of the others: {}", games());
        assert!(!games().contains("\"short\""), "{}", games());
    }
}

#[test]
fn commands_end_with_the_reason_and_uci_and_gtp_still_move() {
    let mavis = mavis();
    failure(&mavis, &format!("play --game connect4 --first {SHORT} --second random --quiet"));
    failure(&mavis, &format!("analyze --player {SHORT} --game connect4"));
    let start = |line: &str| {
        let mut command = mavis.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut uci = start(&format!("uci --player {SHORT}"));
    let mut stdin = uci.stdin.take().unwrap();
    stdin.write_all(b"position startpos moves e2e4\ngo nodes 1\n").unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(uci.stdout.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.last().unwrap().starts_with("bestmove") {
            break;
        }
    }
    stdin.write_all(b"quit\n").unwrap();
    assert!(uci.wait().unwrap().success());
    let best = lines.last().unwrap().strip_prefix("bestmove ").unwrap();
    let mut position = Position::start(Rules::Chess);
    position.play(position.parse_move("e2e4").unwrap()).unwrap();
    position.parse_move(best).unwrap_or_else(|error| panic!("{error}: {lines:?}"));
    assert!(lines.iter().any(|line| line.starts_with("info string the network failed: token ")), "{lines:?}");

    let mut gtp = start(&format!("gtp --game connect4 --player {SHORT}"));
    gtp.stdin.take().unwrap().write_all(b"genmove b\nquit\n").unwrap();
    let output = gtp.wait_with_output().unwrap();
    let [said, noted] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(said.starts_with("= 1"), "{said}");
    assert!(noted.contains("the network failed: token "), "{noted}");
}
