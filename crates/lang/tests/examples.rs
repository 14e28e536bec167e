//! Examples of every game: the same as text and as tokens, split where they say, varied as they should be.

#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, GAMES, random, random_play};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{
    Annotation, Commands, Example, ExampleBuilder, Forms, Given, Request, Token, Top, Variety, moves, state,
    vocab, vocabulary,
};
use mavis_value::Bucket;

const FIGURE_1: &str = include_str!("data/figure1.mav");

#[test]
fn figure_1_is_built_as_printed() {
    let before = "r1b1nr2/pp1np1bk/2pp1pp1/q3P3/3P1P2/2NQB3/PPP1B1PP/R4RK1 w - - 0 13";
    let previous = Position::parse(Rules::Chess, before).unwrap();
    let action = previous.parse_move("e5e6").unwrap();
    let mut position = previous.clone();
    position.play(action).unwrap();
    let moves: Vec<_> = [("d7b6", 28), ("f6f5", 33), ("d7c5", 28), ("f8h8", 29), ("a5f5", 29)]
        .into_iter()
        .map(|(text, number)| {
            (position.parse_move(text).unwrap(), Bucket::new(number).unwrap().win_probability())
        })
        .collect();
    let annotation = Annotation {
        position: &position,
        moves: &moves,
        best: Some(position.parse_move("f6f5").unwrap()),
        previous: Some((&previous, action)),
    };
    let commands = Commands {
        rules: Rules::Chess,
        given: Given::Previous { forms: Some(Forms::Fen), tracked: Forms::FenState },
        top: Some(Top::Best(5)),
        best: true,
        next: Some(Forms::Fen),
    };
    // The order of the moves is random, so some seed gives the paper's.
    let built: Vec<Example> = (0..2_000)
        .map(|seed| ExampleBuilder::default().build(&annotation, &commands, &mut random(seed)).unwrap())
        .collect();
    let printed = built.iter().find(|example| example.text() == FIGURE_1).expect("one order in 120");
    assert_eq!(vocabulary().encode(FIGURE_1).as_ref(), Ok(&printed.tokens));
    assert_eq!(vocabulary().decode(printed.input()).unwrap().lines().count(), 3);
}

#[test]
fn tokens_and_text_are_the_same_thing() {
    for rules in GAMES {
        let mut rng = random(3);
        let mut builder = ExampleBuilder::default();
        for (position, previous) in random_play(rules, 10_000, 1) {
            let annotated = Annotated::random(position, previous, &mut rng);
            let has_previous = annotated.previous.is_some();
            let commands = Variety::default().draw(rules, annotated.moves.len(), has_previous, &mut rng);
            let mut example = builder.build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
            let text = example.text();
            assert_eq!(vocabulary().encode(&text).as_ref(), Ok(&example.tokens), "{text}");
            check_parts(&annotated, &commands, &example);
            example.list_in_turn(&mut rng);
            check_parts(&annotated, &commands, &example);
            let list = example.list.unwrap();
            let listed: Vec<Token> = (0..list.n_moves).map(|idx| example.tokens[list.move_at(idx)]).collect();
            let n_falls =
                listed.iter().zip(listed.iter().cycle().skip(1)).filter(|(one, next)| next <= one).count();
            assert_eq!(
                (list.in_turn, n_falls),
                (!listed.is_empty(), usize::from(!listed.is_empty())),
                "{text}"
            );
        }
    }
}

/// What an example says of its own parts, against the annotation it came from.
fn check_parts(annotated: &Annotated, commands: &Commands, example: &Example) {
    let request = match (&annotated.previous, commands.given) {
        (Some((previous, action)), Given::Previous { .. }) => {
            Request::after(previous.clone(), *action, *commands)
        }
        _ => Request::at(annotated.position.clone(), *commands),
    };
    assert_eq!(request.validate(), Ok(()));
    assert_eq!(request.prompt(), example.input());
    assert!(example.output().starts_with(&request.opening()));
    let list = example.list.unwrap();
    assert_eq!(example.tokens[list.end()], vocab::LINE_END);
    assert_eq!(list.is_terminal(), annotated.moves.is_empty());
    assert_eq!(list.n_moves, commands.top.unwrap().n_listed(annotated.moves.len()));
    let mut listed = Vec::new();
    for idx in 0..list.n_moves {
        let mv = moves::move_of(commands.rules, example.tokens[list.move_at(idx)]).unwrap();
        let value = annotated.moves.iter().find(|(legal, _)| *legal == mv).unwrap().1;
        let bucket = mavis_lang::value::bucket_of(example.tokens[list.value_at(idx)]).unwrap();
        assert_eq!(bucket, Bucket::from_win_probability(value));
        listed.push((mv, value));
    }
    let lowest = listed.iter().map(|(_, value)| *value).fold(f32::INFINITY, f32::min);
    for (mv, value) in &annotated.moves {
        let is_listed = listed.iter().any(|(other, _)| other == mv);
        assert!(is_listed || *value <= lowest, "a better move was left out");
        assert!(is_listed || annotated.best != Some(*mv), "the best move is among the k best");
    }
    if let Some(at) = example.best_at {
        assert_eq!(moves::move_of(commands.rules, example.tokens[at]), annotated.best);
    }
}

#[test]
fn states_come_back_and_have_a_fixed_width() {
    for rules in GAMES {
        for (position, _) in random_play(rules, 10_000, 2) {
            let mut tokens = Vec::new();
            state::write_state(&position, &mut tokens);
            assert_eq!(tokens.len(), state::state_len(rules));
            let read = state::read_state(rules, &tokens).unwrap();
            assert_eq!(read, position);
            assert_eq!(read.to_string(), position.to_string());
        }
    }
}

#[test]
fn chess960_rights_keep_their_files() {
    let check = |fen: &str, rights: &str| {
        let position = Position::parse(Rules::Chess960, fen).unwrap();
        let mut tokens = Vec::new();
        state::write_state(&position, &mut tokens);
        assert_eq!(vocabulary().decode(&tokens[..5]).unwrap(), rights);
        assert_eq!(state::read_state(Rules::Chess960, &tokens).unwrap(), position);
    };
    check("4k3/8/8/8/8/8/8/4KR1R w F - 0 1", " w F - - -");
    check("4k3/8/8/8/8/8/8/4KR1R w K - 0 1", " w H - - -");
    check("1r2k1r1/8/8/8/8/8/8/1R2K1R1 b KQkq - 0 1", " b G B g b");
    check("r3k3/8/8/8/8/8/8/4K3 b q - 0 1", " b - - - a");
}

#[test]
fn the_common_prompt_is_short() {
    let lengths = GAMES.map(|rules| {
        let request = Request::at(Position::start(rules), Commands::top_all(rules));
        request.prompt().len() + request.opening().len()
    });
    // Header 4, opening 1 and closing 1 of the state, opening 1 of the list; the rest is the state itself.
    assert_eq!(lengths, GAMES.map(|rules| 7 + state::state_len(rules)));
    assert_eq!(lengths[0], 82);
}

#[test]
fn the_first_move_is_even_over_the_legal_ones() {
    let position = Position::start(Rules::Connect4);
    let annotated = Annotated::random(position, None, &mut random(9));
    let mut counts = [0; 7];
    let mut rng = random(4);
    for _ in 0..7_000 {
        let commands = Commands::top_all(Rules::Connect4);
        let example =
            ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap();
        let first = example.tokens[example.list.unwrap().start];
        counts[usize::from(moves::move_of(Rules::Connect4, first).unwrap().0)] += 1;
    }
    assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
}

#[test]
fn the_same_seed_gives_the_same_example() {
    let annotated = Annotated::random(Position::start(Rules::Othello), None, &mut random(1));
    let draw = |seed| {
        let mut rng = random(seed);
        let commands = Variety::default().draw(Rules::Othello, 4, false, &mut rng);
        ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap()
    };
    assert_eq!(draw(5), draw(5));
    assert!((0..20).any(|seed| draw(seed) != draw(5)));
}
