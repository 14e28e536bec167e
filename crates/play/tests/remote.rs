//! Remote models against a small real server that can be told to misbehave.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

mod support;
#[path = "remote/tls.rs"]
mod tls;

use mavis_eval::WorldModel;
use mavis_eval::{EndOrMoves, EvalError, Evaluator as _, MoveValue, Request};
use mavis_game::{Game as _, Position, Rules};
use mavis_play::{
    Clock, Limit, Player, Registry, Thought, Turn, add_servers,
    remote::{Asking, PromptForm, Remote, RemoteSettings, ServerSettings},
    runtime,
};
use mavis_value::Mistake;
use std::{sync::Arc, time::Duration};
use support::server::{Behavior, Server};

fn settings(servers: &[&Server]) -> RemoteSettings {
    let addresses: Vec<String> = servers.iter().map(|server| server.address()).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let servers = ServerSettings { patience: Duration::from_millis(400), ..ServerSettings::at(&addresses) };
    RemoteSettings::new(servers)
}

fn remote(servers: &[&Server]) -> Remote {
    Remote::new(settings(servers)).unwrap()
}

fn position(columns: &str) -> Position {
    let mut position = Position::start(Rules::Connect4);
    for column in columns.chars() {
        position.play_text(&column.to_string()).unwrap();
    }
    position
}

fn ask(remote: &Remote, request: Request) -> Result<Vec<MoveValue>, EvalError> {
    let evaluation = runtime().unwrap().block_on(remote.evaluate_one(request))?;
    match evaluation.content {
        EndOrMoves::Moves(moves) => Ok(moves),
        EndOrMoves::Ended(outcome) => panic!("over: {outcome}"),
    }
}

#[test]
fn moves_values_and_distributions_come_back_as_the_server_wrote_them() {
    for behavior in [Behavior::Lists, Behavior::Entries, Behavior::NoLogprobs, Behavior::KeepsStop] {
        let server = Server::start(behavior);
        for (prompt, question) in [
            (PromptForm::Text, Asking::Moves),
            (PromptForm::Text, Asking::List),
            (PromptForm::Tokens, Asking::Moves),
            (PromptForm::Tokens, Asking::List),
        ] {
            let remote = Remote::new(RemoteSettings { prompt, question, ..settings(&[&server]) }).unwrap();
            let position = position("4455");
            let moves = ask(&remote, Request::state(position.clone())).unwrap();
            assert_eq!(moves.len(), 7, "{behavior:?}");
            for entry in &moves {
                let bucket = support::server::bucket_of(&position, entry.mv);
                assert_eq!(entry.value.bucket(), bucket, "{behavior:?}");
                assert_eq!(entry.value.distribution.is_some(), behavior != Behavior::NoLogprobs);
            }
            // Three quarters of the weight on the value that was written, a quarter on the next lower one.
            if behavior == Behavior::Lists {
                let distribution = moves[0].value.distribution.as_ref().unwrap();
                let mode = moves[0].value.bucket();
                assert!((distribution.0[mode.index()] - 0.75).abs() < 1e-4);
            }
            let chosen = runtime().unwrap().block_on(remote.best_action(Arc::new(position), moves.clone()));
            assert_eq!(chosen.unwrap(), Some(moves[moves.len() - 1].mv), "the server likes the last one");
        }
        assert!(server.n_connections() < server.n_requests(), "connections are kept");
    }
}

#[test]
fn the_model_alone_tracks_states_and_calls_games_over() {
    let server = Server::start(Behavior::Lists);
    let remote = Remote::new(RemoteSettings { world: WorldModel::Model, ..settings(&[&server]) }).unwrap();
    let before = position("4455");
    let request = Request::child(before.clone(), before.parse_move("6").unwrap());
    let evaluation = runtime().unwrap().block_on(remote.evaluate_one(request)).unwrap();
    assert_eq!(*evaluation.state, position("44556"));
    let won = position("445566");
    let request = Request::child(won.clone(), won.parse_move("3").unwrap());
    let evaluation = runtime().unwrap().block_on(remote.evaluate_one(request)).unwrap();
    assert!(matches!(evaluation.content, EndOrMoves::Ended(_)));
}

#[test]
fn trouble_is_tried_again_and_then_named() {
    for (behavior, part) in [
        (Behavior::Status(500), "500"),
        (Behavior::Status(429), "429"),
        (Behavior::Hangs, "no answer within"),
        (Behavior::Cuts, "connection"),
        (Behavior::Junk, "no completion"),
    ] {
        // Three bad answers, then good ones: the third retry gets through.
        let server = Server::start(Behavior::Lists);
        server.misbehave(behavior, 3);
        let remote = remote(&[&server]);
        let moves = ask(&remote, Request::state(position("1")));
        assert_eq!(moves.map(|moves| moves.len()), Ok(7), "{behavior:?}");
        assert!(server.n_requests() >= 4, "{behavior:?}");
        server.misbehave(behavior, usize::MAX);
        let settings = RemoteSettings {
            servers: ServerSettings { retries: 1, ..settings(&[&server]).servers },
            ..settings(&[&server])
        };
        let error = ask(&Remote::new(settings).unwrap(), Request::state(position("2"))).unwrap_err();
        let text = error.to_string().to_lowercase();
        assert!(text.contains(part), "{behavior:?}: {text}");
    }
}

#[test]
fn what_the_server_refuses_is_not_tried_again_and_nonsense_is_a_hallucination() {
    let server = Server::start(Behavior::Status(404));
    let error = ask(&remote(&[&server]), Request::state(position("1"))).unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert_eq!(server.n_requests(), 1);
    for (behavior, kind) in
        [(Behavior::Babbles, Mistake::Malformed), (Behavior::NeverEnds, Mistake::Malformed)]
    {
        let server = Server::start(behavior);
        let settings = RemoteSettings { question: Asking::List, ..settings(&[&server]) };
        let error = ask(&Remote::new(settings).unwrap(), Request::state(position("1"))).unwrap_err();
        assert!(matches!(&error, EvalError::Hallucination { kind: found, .. } if *found == kind), "{error}");
    }
}

#[test]
fn several_servers_share_the_work_and_a_lost_one_comes_back() {
    let (mut one, other) = (Server::start(Behavior::Lists), Server::start(Behavior::Lists));
    let remote = remote(&[&one, &other]);
    let requests = |from: usize| -> Vec<Request> {
        (from..from + 8)
            .map(|at| Request::state(position(&format!("{}{}", at % 7 + 1, at / 7 + 1))))
            .collect()
    };
    let all_answered = |from: usize| {
        let replies = runtime().unwrap().block_on(remote.evaluate(requests(from)));
        assert_eq!(replies.len(), 8);
        replies.iter().for_each(|reply| assert!(reply.is_ok(), "{reply:?}"));
    };
    all_answered(0);
    let [n_one, n_other] = [one.n_requests(), other.n_requests()];
    assert!(n_one >= 2 && n_other >= 2, "{n_one} and {n_other}");
    one.stop();
    all_answered(8);
    assert_eq!(one.n_requests(), n_one);
    one.restart();
    // It rests after its failure; then it takes its share again.
    for from in (16..400).step_by(8) {
        all_answered(from % 32);
        if one.n_requests() > n_one {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the server that came back is never asked");
}

/// Three of four servers are gone at once, and nothing is tried again: each request still finds the one that is left.
#[test]
fn a_request_gets_to_the_last_server_that_is_left() {
    let mut servers: Vec<Server> = (0..4).map(|_| Server::start(Behavior::Lists)).collect();
    let all: Vec<&Server> = servers.iter().collect();
    let settings = settings(&all);
    let settings =
        RemoteSettings { servers: ServerSettings { retries: 0, ..settings.servers.clone() }, ..settings };
    let remote = Remote::new(settings).unwrap();
    servers[1..].iter_mut().for_each(Server::stop);
    let requests = (1..=7).map(|column| Request::state(position(&column.to_string()))).collect();
    for reply in runtime().unwrap().block_on(remote.evaluate(requests)) {
        assert!(reply.is_ok(), "{reply:?}");
    }
}

fn registry() -> Registry {
    let mut registry = Registry::basic();
    add_servers(&mut registry, None);
    registry
}

fn choose(player: &mut dyn Player, position: &Position, limit: Limit) -> mavis_play::Choice {
    let mut sink = |_: &Thought| {};
    player.choose(&mut Turn::alone(position, limit, &mut sink)).unwrap()
}

#[test]
fn players_are_named_on_one_line_and_their_faults_too() {
    let server = Server::start(Behavior::Lists);
    let position = position("4455");
    let best = position
        .legal_moves()
        .into_iter()
        .max_by_key(|&mv| (support::server::bucket_of(&position, mv), std::cmp::Reverse(mv)));
    let spec = format!("openai:{},model=mavis", server.address());
    let mut player = registry().build(&spec.parse().unwrap(), 0).unwrap();
    assert_eq!(player.name(), "openai mavis");
    assert_eq!(Some(choose(&mut *player, &position, Limit::default()).mv), best);
    let spec = format!("openai:{{{0},{0}}},scoring=best_action", server.address());
    let mut player = registry().build(&spec.parse().unwrap(), 0).unwrap();
    assert_eq!(position.move_text(choose(&mut *player, &position, Limit::default()).mv), "7");
    let spec = format!("openai-mcts:{},sims=40,batch=4", server.address());
    let mut player = registry().build(&spec.parse().unwrap(), 0).unwrap();
    let choice = choose(&mut *player, &position, Limit::default());
    assert!(position.is_legal(choice.mv) && choice.thought.note.is_none(), "{:?}", choice.thought);
    for (spec, part) in [
        ("openai", "no server given"),
        ("openai:https://h,ca=/no/such/file.pem", "/no/such/file.pem"),
        ("openai:http://h,modl=x", "did you mean 'model'"),
        ("openai:http://h,prompt=song", "prompt"),
        ("openai:http://h,scoring=best_action,temperature=1", "temperature"),
    ] {
        let error = registry().build(&spec.parse().unwrap(), 0).err().unwrap().to_string();
        assert!(error.contains(part), "{spec}: {error}");
    }
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_search_costs_time_but_not_the_game() {
    let mut server = Server::start(Behavior::Lists);
    let spec = format!("openai-mcts:{},batch=4,patience=500", server.address());
    let mut player = registry().build(&spec.parse().unwrap(), 0).unwrap();
    let position = position("44");
    let limit = Limit { time: Some(Duration::from_secs(3)), ..Limit::default() };
    let dies = std::thread::spawn({
        let position = position.clone();
        move || (choose(&mut *player, &position, limit), player)
    });
    server.wait_for_requests(20);
    server.stop();
    std::thread::sleep(Duration::from_millis(300));
    let before = server.n_requests();
    server.restart();
    let (choice, mut player) = dies.join().unwrap();
    assert!(position.is_legal(choice.mv) && choice.thought.note.is_none());
    assert!(server.n_requests() > before, "the search went on with the server that came back");
    // And without any server there is still a move in time.
    server.stop();
    let limit = Limit { time: Some(Duration::from_millis(300)), ..Limit::default() };
    player.new_game(Rules::Connect4);
    let choice = choose(&mut *player, &self::position("1234"), limit);
    assert!(choice.thought.note.is_some_and(|note| note.contains("first legal move")));
}

/// A share of the clock is a fraction of a second, shorter than the server takes, and the clock has many of them: both players wait.
#[test]
fn a_late_first_evaluation_is_waited_for_while_the_clock_allows() {
    let server = Server::start(Behavior::Late);
    let position = position("4455");
    let best = |mv: &mavis_game::Move| support::server::bucket_of(&position, *mv);
    let legal = position.legal_moves();
    let most = legal.iter().map(best).max().unwrap();
    assert_ne!(best(&legal[0]), most, "the first legal move is not the best, so a guess would show");
    let mut registry = Registry::default();
    add_servers(&mut registry, None);
    let seconds = |own| Clock {
        own: Duration::from_secs(own),
        other: Duration::from_secs(own),
        increment: Duration::ZERO,
        other_increment: Duration::ZERO,
        moves_to_go: None,
    };
    for kind in ["openai", "openai-mcts"] {
        let spec = format!("{kind}:{{{}}}", server.address());
        let mut player = registry.build(&spec.parse().unwrap(), 1).unwrap();
        let limit = Limit { clock: Some(seconds(20)), ..Limit::default() };
        let mut sink = |_: &Thought| {};
        let choice = player.choose(&mut Turn::alone(&position, limit, &mut sink)).unwrap();
        assert_eq!((best(&choice.mv), choice.thought.note), (most, None), "{kind}");
    }
}
