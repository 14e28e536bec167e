//! The parser is strict and total; the check names every kind of mistake.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, GAMES, random, random_play};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{
    Commands, ExampleBuilder, Forms, Given, Listing, Metrics, Request, Start, Token, Top, Variety,
    check_answer, parse_answer, parse_example, parse_example_text, parse_true_answer, state, vocabulary,
};
use mavis_value::Mistake;
use proptest::prelude::*;
use rand::{Rng, seq::IndexedRandom};

const FIGURE_1: &str = include_str!("data/figure1.mav");

#[test]
fn figure_1_parses_prints_back_and_is_legal() {
    let (request, answer) = parse_example_text(FIGURE_1).unwrap();
    assert_eq!(request.prompt_text() + &answer.text(&request.commands), FIGURE_1);
    let check = check_answer(&request, &answer);
    assert!(check.is_right(), "{:?}", check.mistakes);
    assert_eq!(check.legality.unwrap().n_right, 5);
    let best = request.current().move_text(answer.best.unwrap());
    assert_eq!(best, "f6f5");
}

#[test]
fn built_examples_parse_to_what_they_mean() {
    for rules in GAMES {
        let mut rng = random(5);
        let mut builder = ExampleBuilder::default();
        let mut metrics = Metrics::default();
        for (position, previous) in random_play(rules, 3_000, 6) {
            let annotated = Annotated::random(position, previous, &mut rng);
            let has_previous = annotated.previous.is_some();
            let commands = Variety::default().draw(rules, annotated.moves.len(), has_previous, &mut rng);
            let example = builder.build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
            let (request, answer) = parse_example(&example.tokens).unwrap();
            assert_eq!(request.commands, commands);
            match &request.start {
                Start::At(position) => assert!(state::same_state(position, &annotated.position)),
                Start::After { previous, action } => {
                    let (expected, mv) = annotated.previous.as_ref().unwrap();
                    assert!(state::same_state(previous, expected) && action == mv);
                }
            }
            assert_eq!(answer.tokens(&commands), example.output());
            assert_eq!(answer.outcome(), annotated.position.outcome());
            assert_eq!(answer.best, annotated.best.filter(|_| commands.best));
            let check = check_answer(&request, &answer);
            assert!(check.is_right(), "{:?}\n{}", check.mistakes, example.text());
            metrics.add(&check);
        }
        assert_eq!(metrics.n_right, 3_000);
        assert_eq!(metrics.lists.whole(), Some(1.0));
        assert_eq!(metrics.lists.f1(), Some(1.0));
        assert_eq!((metrics.tracked.share(), metrics.next.share()), (Some(1.0), Some(1.0)));
    }
}

/// Figure 1 with one thing changed, and the kind and place of the mistake.
#[track_caller]
fn check(from: &str, to: &str, kind: Mistake, place: &str) {
    assert!(FIGURE_1.contains(from));
    let text = FIGURE_1.replacen(from, to, 1);
    let (request, input_len) = mavis_lang::parse_request(&vocabulary().encode(FIGURE_1).unwrap()).unwrap();
    let tokens = vocabulary().encode(&text).unwrap();
    let answer = &tokens[input_len..];
    let mistake = parse_true_answer(&request, answer).unwrap_err();
    let found = answer.get(mistake.at).map_or("", |&token| vocabulary().string(token).unwrap());
    assert_eq!((mistake.kind, found), (kind, place), "{mistake}");
}

#[test]
fn every_kind_of_mistake_is_told_apart() {
    check("d7b6:<ctrl28>", "d7b6 d7b6", Mistake::Malformed, " d7b6");
    check("[%top_5 d7", "[%top_6 d7", Mistake::Malformed, "6");
    check("[%best_action f6f5]", "[%best_action a1]", Mistake::Malformed, " a1");
    check("[%best_action f6f5]\n", "", Mistake::Malformed, "[%FEN ");
    check("f8h8:", "f8h6:", Mistake::IllegalMove, " f8h6");
    check(" f8h8:<ctrl29>", "", Mistake::MissingMove, "]\n");
    check(" f8h8:", " d7c5:", Mistake::RepeatedMove, " d7c5");
    check(" a5f5:<ctrl29>]", " a5f5:<ctrl29> a5b5:<ctrl1>]", Mistake::Malformed, " a5b5");
    check("[%best_action f6f5]", "[%best_action f6f4]", Mistake::IllegalMove, " f6f4");
}

#[test]
fn states_are_judged() {
    // The black queen is left out of the tracked state, though the FEN has it.
    check(" q . . . . . . . . . p p", " . . . . . . . . . . p p", Mistake::WrongState, " b");
    // Both forms agree, but not with the rules.
    let text = FIGURE_1.replace("q7/", "8/").replace(" q . . . . . . . . . p p", " . . . . . . . . . . p p");
    let (request, answer) = parse_example_text(&text).unwrap();
    let checked = check_answer(&request, &answer);
    assert_eq!(checked.tracked_right, Some(false));
    assert_eq!(checked.mistakes[0].kind, Mistake::WrongState);
    // The state after the best action.
    check("/q4p2/", "/q3p3/", Mistake::WrongState, "[%FEN ");
    // No king at all.
    let (request, _) = parse_example_text(FIGURE_1).unwrap();
    let kingless = FIGURE_1.replacen("[%FEN r1b1nr2/pp1np1bk", "[%FEN r1b1nr2/pp1np1b1", 1);
    let tokens = vocabulary().encode(&kingless).unwrap();
    let mistake = parse_answer(&request, &tokens[request.prompt().len()..]).unwrap_err();
    assert_eq!(mistake.kind, Mistake::WrongState);
}

#[test]
fn ends_are_judged() {
    let mate = Position::parse(Rules::Chess, "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
        .unwrap();
    let request =
        Request::at(mate, Commands { top: Some(Top::Best(1)), ..Commands::top_all_best(Rules::Chess) });
    let judged = |text: &str| {
        parse_true_answer(&request, &vocabulary().encode(text).unwrap()).map_err(|mistake| mistake.kind)
    };
    assert!(judged("[%top_1 invalid : \"0-1\"]\n").is_ok());
    assert_eq!(judged("[%top_1 invalid : \"1-0\"]\n"), Err(Mistake::WrongEnd));
    assert_eq!(judged("[%top_1 a2a3:<ctrl5>]\n[%best_action a2a3]\n"), Err(Mistake::WrongEnd));
    assert_eq!(judged("[%top_1 invalid : \"0-1\"]\n[%best_action a2a3]\n"), Err(Mistake::Malformed));
    let request = Request::at(Position::start(Rules::HEX), Commands::top_all(Rules::HEX));
    let tokens = vocabulary().encode("[%top_all invalid : \"1-0\"]\n").unwrap();
    assert_eq!(parse_true_answer(&request, &tokens).unwrap_err().kind, Mistake::WrongEnd);
}

#[test]
fn only_tracking_may_be_asked_for() {
    let start = Position::start(Rules::Togyz);
    let action = start.parse_move("5").unwrap();
    let commands = Commands {
        rules: Rules::Togyz,
        given: Given::Previous { forms: Some(Forms::State), tracked: Forms::State },
        top: None,
        best: false,
        next: None,
    };
    let request = Request::after(start, action, commands);
    let next = request.current();
    let mut tokens = request.opening();
    state::write_state(&next, &mut tokens);
    tokens.extend(vocabulary().encode("]\n").unwrap());
    let answer = parse_true_answer(&request, &tokens).unwrap();
    assert_eq!((answer.tracked, answer.listing), (Some(next), None));
}

#[test]
fn noncanonical_states_are_refused() {
    // An en passant square where no pawn can take is not how we spell it.
    let fields = |text: &str| vocabulary().encode(text).unwrap();
    let start = " w K Q k q R N B Q K B N R P P P P P P P P . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . \
                 p p p p p p p p r n b q k b n r";
    assert!(state::read_state(Rules::Chess, &fields(&format!("{start} - - 0 0 0 1"))).is_ok());
    assert!(state::read_state(Rules::Chess, &fields(&format!("{start} e 6 0 0 0 1"))).is_err());
    assert!(state::read_state(Rules::Chess, &fields(&format!("{start} - - 0 0 0 0"))).is_err());
    assert!(state::read_state(Rules::Chess, &fields(&format!("{start} - - 0 0 1"))).is_err());
}

#[test]
fn counters_beyond_the_width_stay_at_their_highest() {
    let position = Position::parse(Rules::Chess, "7k/8/6K1/8/8/8/8/R7 w - - 12 1234").unwrap();
    let mut tokens = Vec::new();
    state::write_state(&position, &mut tokens);
    assert!(vocabulary().decode(&tokens).unwrap().ends_with(" - - 12 9 9 9"));
    let request = Request::at(
        position,
        Commands { given: Given::Current(Forms::FenState), ..Commands::top_all(Rules::Chess) },
    );
    let (parsed, _) = mavis_lang::parse_request(&request.prompt()).unwrap();
    assert_eq!(parsed.prompt_text(), request.prompt_text());
}

/// Tokens of a real example, some of them changed.
fn mutated(rules: Rules, seed: u64) -> Vec<Token> {
    let mut rng = random(seed);
    let n_tokens = vocabulary().len() as Token;
    let plays = random_play(rules, 40, seed % 50);
    let (position, previous) = plays.choose(&mut rng).unwrap().clone();
    let annotated = Annotated::random(position, previous, &mut rng);
    let commands =
        Variety::default().draw(rules, annotated.moves.len(), annotated.previous.is_some(), &mut rng);
    let mut tokens =
        ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap().tokens;
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..tokens.len());
        match rng.random_range(0..4) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, rng.random_range(0..n_tokens)),
            2 => tokens[at] = rng.random_range(0..n_tokens),
            _ => tokens[at] = *tokens.clone().choose(&mut rng).unwrap(),
        }
    }
    tokens
}

/// Whatever parses prints as it stood.
fn parses_only_to_itself(tokens: &[Token]) {
    if let Ok((request, answer)) = parse_example(tokens) {
        let mut printed = request.prompt();
        printed.extend(answer.tokens(&request.commands));
        assert_eq!(printed, tokens);
        drop(check_answer(&request, &answer));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn changed_examples_never_panic_and_never_print_differently(game in 0..GAMES.len(), seed: u64) {
        parses_only_to_itself(&mutated(GAMES[game], seed));
    }

    #[test]
    fn any_tokens_never_panic(tokens in prop::collection::vec(0_u16..3_000, 0..200)) {
        parses_only_to_itself(&tokens);
        let request = Request::at(Position::start(Rules::Othello), Commands::tracking(Rules::Othello));
        drop(parse_answer(&request, &tokens));
    }

    #[test]
    fn any_text_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[ -~\n]{0,200}") {
        drop(parse_example_text(&String::from_utf8_lossy(&bytes)));
        if let Ok((request, answer)) = parse_example_text(&text) {
            prop_assert_eq!(request.prompt_text() + &answer.text(&request.commands), text);
        }
    }

    #[test]
    fn any_lines_of_the_language_never_panic(lines in prop::collection::vec(0..9_usize, 0..9), seed: u64) {
        let mut rng = random(seed);
        let rows: Vec<&str> = FIGURE_1.split_inclusive('\n').collect();
        let text: String = lines.iter().map(|&line| *rows.get(line).unwrap_or(&"[%top_1 invalid : \"1-0\"]\n")).collect();
        let cut = rng.random_range(0..=text.len());
        drop(parse_example_text(&text));
        drop(parse_example_text(&text[..cut]));
    }
}

#[test]
fn listings_keep_their_order() {
    let (_, answer) = parse_example_text(FIGURE_1).unwrap();
    let Some(Listing::Moves(moves)) = answer.listing else { panic!("moves are listed") };
    let numbers: Vec<u8> = moves.iter().map(|(_, value)| value.number()).collect();
    assert_eq!(numbers, [28, 33, 28, 29, 29]);
}

#[test]
fn commands_are_read_as_people_write_them() {
    let read = |text: &str| mavis_lang::parse_commands(Rules::Chess, text);
    let all = "%prev_FEN %prev_action  %FEN %state %top_5 %best_action %FEN";
    let commands = read(all).unwrap();
    assert_eq!((commands.top, commands.next), (Some(Top::Best(5)), Some(Forms::Fen)));
    assert_eq!(read("%state %top_all").unwrap(), Commands::top_all(Rules::Chess));
    for bad in ["", "%state", "%top_5", "%state %top_0", "%state %best_action", "%state %nonsense"] {
        assert!(read(bad).is_err(), "{bad}");
    }
    assert!(mavis_lang::parse_commands(Rules::Togyz, "%FEN %top_all").is_err());
}
