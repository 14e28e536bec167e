//! Lists of moves, one after the other and all at once.

use super::trained::{decoder, known, positions, tracking, train_for, value};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{AnswerProgress, Commands, Request, Step, Token, Top, moves, value::value_token};
use mavis_model::{
    InputAttention::{Causal, Reread},
    decode::{Decoded, GreedySettings, ListOrder, MavDecoder},
};
use mavis_net::{Batch, Precision, Want};
use mavis_value::{Bucket, Mistake};

fn commands() -> [Commands; 2] {
    let all = Commands::top_all_best(Rules::Connect4);
    [all, Commands { top: Some(Top::Best(3)), ..all }]
}

/// Greedy decoding without caches: the whole text again for every token.
fn slowly(decoder: &mut MavDecoder, request: &Request, repeats: bool) -> Vec<Token> {
    let prompt = request.prompt();
    let mut answer = request.opening();
    let mut progress = AnswerProgress::new(&request.commands);
    for &token in &answer {
        progress.push(token);
    }
    while progress.step() == Step::More && answer.len() < 60 {
        let tokens: Vec<u32> = prompt.iter().chain(&answer).map(|&token| u32::from(token)).collect();
        let mut batch = Batch::default();
        batch.push_prompted(&tokens, decoder.input().prefix(prompt.len()));
        let logits = decoder.network().logits(&batch, &Want::last(&batch)).unwrap();
        let may_follow = |id: usize| {
            let mv = moves::move_of(request.commands.rules, id as Token);
            repeats || !progress.awaits_listed() || !mv.is_some_and(|mv| progress.listed().contains(&mv))
        };
        let ids = logits.row(0).iter().enumerate().filter(|(id, _)| may_follow(*id));
        let best = ids.max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
        answer.push(best as Token);
        progress.push(best as Token);
    }
    answer
}

#[test]
fn greedy_answers_equal_whole_passes_alone_and_in_batches() {
    for input in [Causal, Reread] {
        let mut decoder = decoder(input);
        let unknown = positions(Rules::Connect4, 3, 77).into_iter().map(|(_, _, after)| after);
        let requests: Vec<Request> = known()
            .into_iter()
            .chain(unknown)
            .flat_map(|position| commands().map(|commands| Request::at(position.clone(), commands)))
            .collect();
        for repeats in [false, true] {
            let settings = GreedySettings { max_tokens: 60, repeats, ..GreedySettings::default() };
            let together: Vec<Decoded> = decoder.greedy(&requests, &settings).unwrap();
            for (request, decoded) in requests.iter().zip(&together) {
                let alone = decoder.greedy(std::slice::from_ref(request), &settings).unwrap().remove(0);
                assert_eq!(alone.tokens, decoded.tokens);
                let expected = slowly(&mut decoder, request, repeats);
                assert_eq!(expected, decoded.tokens, "{}", decoded.text());
            }
        }
    }
}

/// A network that speaks the language and has not learned yet what a list has already.
fn novice() -> MavDecoder {
    MavDecoder::cpu(&train_for(120, Causal), Precision::Exact).unwrap()
}

#[test]
fn a_list_names_a_move_once_where_the_likeliest_text_names_it_twice() {
    let mut decoder = novice();
    let unknown = positions(Rules::Connect4, 12, 77).into_iter().map(|(_, _, after)| after);
    let requests: Vec<Request> = known()
        .into_iter()
        .chain(unknown)
        .flat_map(|position| commands().map(|commands| Request::at(position.clone(), commands)))
        .collect();
    let likeliest = GreedySettings { repeats: true, ..GreedySettings::default() };
    let drawn = GreedySettings { list_order: ListOrder::Drawn, ..GreedySettings::default() };
    let [likeliest, once, drawn] = [likeliest, GreedySettings::default(), drawn]
        .map(|settings| decoder.greedy(&requests, &settings).unwrap());
    let mut n_repeating = 0;
    for (idx, request) in requests.iter().enumerate() {
        let (likeliest, once, drawn) = (&likeliest[idx], &once[idx], &drawn[idx]);
        for decoded in [once, drawn] {
            let mut listed: Vec<Move> = decoded.values.iter().map(|(mv, _)| *mv).collect();
            listed.sort();
            assert!(listed.windows(2).all(|pair| pair[0] != pair[1]), "{}", decoded.text());
        }
        if likeliest.answer(request).is_err_and(|error| error.kind == Mistake::RepeatedMove) {
            // Up to the repeated move nothing changes.
            n_repeating += 1;
            let n_same = likeliest.tokens.len() - 1;
            assert_eq!(likeliest.tokens[..n_same], once.tokens[..n_same]);
            assert_ne!(likeliest.tokens[n_same], once.tokens[n_same]);
        } else {
            assert_eq!(likeliest.tokens, once.tokens);
        }
        if request.commands.top != Some(Top::All) {
            assert_eq!(once.tokens, drawn.tokens, "only lists of all moves have an order to draw");
        }
    }
    assert!(n_repeating >= 5, "{n_repeating} of {} likeliest texts name a move twice", requests.len());
}

#[test]
fn the_best_action_after_a_list_is_the_one_that_greedy_decoding_writes() {
    for input in [Causal, Reread] {
        let mut decoder = decoder(input);
        let mut n_chosen = 0;
        for request in known().into_iter().map(|position| Request::at(position, commands()[0])) {
            let decoded = decoder.greedy(std::slice::from_ref(&request), &GreedySettings::default()).unwrap();
            let Ok(answer) = decoded[0].answer(&request) else { continue };
            let Some(best) = answer.best.filter(|best| answer.moves().iter().any(|(mv, _)| mv == best))
            else {
                continue;
            };
            assert_eq!(decoder.best_action(&request, answer.moves()).unwrap(), Some(best));
            n_chosen += 1;
        }
        assert!(n_chosen > 0, "the network writes some whole answers");
    }
}

#[test]
fn every_listed_move_has_its_distribution_and_a_false_step_is_named() {
    let mut decoder = decoder(Causal);
    let mut n_whole = 0;
    for position in known() {
        for commands in commands() {
            let request = Request::at(position.clone(), commands);
            let requests = std::slice::from_ref(&request);
            let settings = GreedySettings { repeats: true, ..GreedySettings::default() };
            let decoded = decoder.greedy(requests, &settings).unwrap().remove(0);
            let start = request.opening().len();
            let written = decoded.tokens[start..].chunks(2);
            assert!(decoded.values.len() >= 3, "{}", decoded.text());
            for ((mv, values), pair) in decoded.values.iter().zip(written) {
                assert_eq!(moves::token_of(Rules::Connect4, *mv), Some(pair[0]));
                assert_eq!(value_token(values.mode()), pair[1], "what is written is the likeliest value");
                assert!((values.0.iter().sum::<f32>() - 1.0).abs() < 1e-4);
                assert_eq!(values.mode(), Bucket::from_win_probability(value(&position, *mv)));
            }
            match decoded.answer(&request) {
                Ok(answer) => {
                    n_whole += 1;
                    assert_eq!(answer.moves().len(), decoded.values.len());
                    assert!(answer.best.is_some());
                }
                // So little training does not teach what was listed already.
                Err(mistake) => assert_eq!(mistake.kind, Mistake::RepeatedMove, "{}", decoded.text()),
            }
        }
    }
    assert!(n_whole > 0, "some answers are whole");
}

#[test]
fn fan_out_by_caches_equals_fan_out_by_whole_passes() {
    for input in [Causal, Reread] {
        let mut decoder = decoder(input);
        let positions = known();
        let requests: Vec<Request> = positions
            .iter()
            .map(|position| Request::at(position.clone(), Commands::top_all(Rules::Connect4)))
            .collect();
        let got = decoder.fan_out(&requests).unwrap();
        let sets: Vec<Vec<Move>> = got.iter().map(|answer| answer.fan.legal_set.clone()).collect();
        let asked: Vec<(&Position, &[Move])> =
            positions.iter().zip(&sets).map(|(position, moves)| (position, moves.as_slice())).collect();
        let expected = decoder.fan_out_network().known_moves(&asked).unwrap();
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got.outcome, None);
            assert_eq!(got.fan.values.len(), expected.values.len());
            for (one, other) in got.fan.values.iter().zip(&expected.values) {
                assert_eq!(one.0, other.0);
                assert!((one.1.mean() - other.1.mean()).abs() < 1e-4);
            }
        }
        let legal: Vec<Vec<Move>> =
            positions.iter().map(|position| position.legal_moves().into_iter().collect()).collect();
        let known: Vec<&[Move]> = legal.iter().map(Vec::as_slice).collect();
        let by_rules = decoder.fan_out_known(&requests, &known).unwrap();
        for ((by_rules, got), legal) in by_rules.iter().zip(&got).zip(&legal) {
            assert_eq!(by_rules.fan.values.len(), legal.len());
            for (mv, values) in &got.fan.values {
                let same = by_rules.fan.values.iter().find(|(known, _)| known == mv);
                assert!(same.is_none_or(|(_, other)| (values.mean() - other.mean()).abs() < 1e-4));
            }
        }
    }
}

#[test]
fn fan_out_of_top_k_lists_k_moves() {
    let mut decoder = decoder(Causal);
    let three = Commands { top: Some(Top::Best(3)), ..Commands::top_all(Rules::Connect4) };
    let requests: Vec<Request> = known().into_iter().map(|position| Request::at(position, three)).collect();
    for (answer, request) in decoder.fan_out(&requests).unwrap().iter().zip(&requests) {
        let n = answer.fan.values.len();
        assert!((1..=3).contains(&n), "{n} moves, over: {}", answer.fan.is_over);
        let text = answer.answer(request).text(&request.commands);
        assert!(text.starts_with("[%top_3 "), "{text}");
    }
    let (before, mv, _) = positions(Rules::Connect4, 1, 1).remove(0);
    let request = Request::after(before, mv, tracking(Rules::Connect4));
    assert!(decoder.fan_out(&[request]).is_err(), "fan-out needs a list");
}

#[test]
fn a_node_is_answered_in_two_passes_if_its_draft_is_right() {
    for input in [Causal, Reread] {
        let mut decoder = decoder(input);
        let commands = Commands { best: false, ..Commands::tracking(Rules::Connect4) };
        let known = positions(Rules::Connect4, 8, 1);
        let requests: Vec<Request> =
            known.iter().map(|(before, mv, _)| Request::after(before.clone(), *mv, commands)).collect();
        let answers = decoder.fan_out(&requests).unwrap();
        let mut n_right = 0;
        for (answer, ((_, _, after), request)) in answers.iter().zip(known.iter().zip(&requests)) {
            // The state is the one that is written token by token, right or wrong.
            let written = decoder.greedy(std::slice::from_ref(request), &GreedySettings::default()).unwrap();
            if let Ok(whole) = written[0].answer(request) {
                assert_eq!(whole.tracked.as_ref(), answer.tracked.as_ref().unwrap().as_ref().ok());
            }
            let Some(Ok(tracked)) = &answer.tracked else { continue };
            if tracked != after {
                continue;
            }
            n_right += 1;
            assert_eq!(answer.n_passes, 2, "a right draft costs nothing");
            assert_eq!(answer.outcome.is_some(), after.outcome().is_some());
            for (mv, values) in &answer.fan.values {
                assert!(after.is_legal(*mv));
                assert!((values.mean() - value(after, *mv)).abs() < 0.2, "{values:?}");
            }
        }
        assert!(n_right >= 6, "{n_right} of 8");
    }
}
