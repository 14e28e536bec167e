//! One evaluator over several real servers, which are killed and started again in the middle of a game.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use crate::support::server::Server;
use mavis_game::{Game as _, Position, Rules};
use mavis_play::{Limit, Player, Registry, Thought, Turn, add_servers};
use std::time::Duration;

const PLIES: usize = 12;

/// The player of a spec, which has both sides.
fn player(servers: &[&Server], options: &str) -> Box<dyn Player> {
    let mut registry = Registry::basic();
    add_servers(&mut registry, None);
    let addresses: Vec<String> = servers.iter().map(|server| format!("http://{}", server.address)).collect();
    let spec = format!("openai-mcts:{{{}}},{options}", addresses.join(","));
    registry.build(&spec.parse().unwrap(), 0).unwrap()
}

/// A move and its value, after which the position is the next one.
fn step(player: &mut dyn Player, position: &mut Position) -> (String, Option<f32>) {
    let mut sink = |_: &Thought| {};
    let choice = player.choose(&mut Turn::alone(position, Limit::default(), &mut sink)).unwrap();
    assert_eq!(choice.thought.note, None, "{position}");
    let text = position.move_text(choice.mv);
    position.play(choice.mv).unwrap();
    (text, choice.thought.value)
}

/// Processor time of a process, in ticks: it grows while a server answers.
fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Kills a server once it works on answers.
fn kill_at_work(mut server: Server) {
    let before = ticks(server.child.id());
    while ticks(server.child.id()) < before + 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

fn game(player: &mut dyn Player) -> Vec<(String, Option<f32>)> {
    let mut position = Position::start(Rules::Connect4);
    player.new_game(Rules::Connect4);
    (0..PLIES).map(|_| step(player, &mut position)).collect()
}

/// The address of a server that is gone, where the next one shall be.
fn port(server: &Server) -> String {
    server.address.rsplit(':').next().unwrap().to_owned()
}

#[test]
fn servers_killed_in_the_middle_of_a_game_change_nothing_but_its_length() {
    let (first, second) = (Server::start(&[]), Server::start(&[]));
    // One evaluation at a time, so that what a server computes together does not differ in its last bits.
    let options = "sims=24,batch=1,patience=60000";
    let expected = game(&mut *player(&[&first], options));

    let mut both = player(&[&first, &second], options);
    let mut position = Position::start(Rules::Connect4);
    both.new_game(Rules::Connect4);
    let mut moves = vec![step(&mut *both, &mut position)];
    // The second one dies while it answers.
    let place = port(&second);
    let killer = std::thread::spawn(|| kill_at_work(second));
    while !killer.is_finished() {
        assert!(moves.len() < PLIES / 2, "the second server is never asked");
        moves.push(step(&mut *both, &mut position));
    }
    killer.join().unwrap();
    moves.push(step(&mut *both, &mut position));
    // It comes back, and then it is the only one.
    let second = Server::start_at(&place, &[]);
    moves.push(step(&mut *both, &mut position));
    drop(first);
    while moves.len() < PLIES {
        moves.push(step(&mut *both, &mut position));
    }
    assert_eq!(moves, expected);
    drop(second);
}

#[test]
fn a_whole_batch_moves_to_the_servers_that_are_left() {
    let (first, second) = (Server::start(&[]), Server::start(&[]));
    let mut both = player(&[&first, &second], "sims=64,batch=16,patience=60000");
    let mut position = Position::start(Rules::Connect4);
    let killer = std::thread::spawn(|| kill_at_work(second));
    // Every move is that of a search without a failed evaluation.
    while !killer.is_finished() {
        assert!(position.outcome().is_none(), "the second server is never asked");
        step(&mut *both, &mut position);
    }
    killer.join().unwrap();
    step(&mut *both, &mut position);
}
