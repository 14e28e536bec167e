//! Drafted state tracking is greedy decoding, in fewer passes.

use super::trained::{decoder, model, positions, tracking};
use mavis_game::{Game, Move, Rules};
use mavis_lang::{Commands, Forms, Request, Top};
use mavis_model::{
    InputAttention::{Causal, Full, Reread},
    MavModel,
    decode::{Drafting, FanOutAnswer, GreedySettings, ListOrder, MavDecoder},
};
use mavis_net::{Layout, Precision, initial_parameters};

/// Decodes with and without drafts, by every rule for lists; the passes of the default rule.
fn check_equal(decoder: &mut MavDecoder, requests: &[Request]) -> [usize; 3] {
    let once = GreedySettings { max_tokens: 300, ..GreedySettings::default() };
    check_equal_by(decoder, requests, GreedySettings { repeats: true, ..once });
    check_equal_by(decoder, requests, GreedySettings { list_order: ListOrder::Drawn, ..once });
    check_equal_by(decoder, requests, once)
}

fn check_equal_by(decoder: &mut MavDecoder, requests: &[Request], settings: GreedySettings) -> [usize; 3] {
    let run = |decoder: &mut MavDecoder, drafting| {
        decoder.greedy(requests, &GreedySettings { drafting, ..settings }).unwrap()
    };
    let plain = run(decoder, Drafting::None);
    let copied = run(decoder, Drafting::Copy);
    let ruled = run(decoder, Drafting::Rules);
    for (idx, plain) in plain.iter().enumerate() {
        for other in [&copied[idx], &ruled[idx]] {
            assert_eq!(plain.tokens, other.tokens, "{}\n{}", plain.text(), other.text());
            assert_eq!(plain.values.len(), other.values.len());
        }
    }
    [&plain, &copied, &ruled].map(|answers| answers.iter().map(|answer| answer.n_passes).sum())
}

#[test]
fn drafts_change_nothing_but_the_number_of_passes() {
    for input in [Causal, Full, Reread] {
        let mut decoder = decoder(input);
        let next = Commands { next: Some(Forms::State), ..Commands::top_all_best(Rules::Connect4) };
        let known = positions(Rules::Connect4, 12, 1);
        let unknown = positions(Rules::Connect4, 4, 55);
        let track = |from: &[(_, _, _)]| -> Vec<Request> {
            from.iter()
                .map(|(before, mv, _): &(mavis_game::Position, _, _)| {
                    Request::after(before.clone(), *mv, tracking(Rules::Connect4))
                })
                .collect()
        };
        let [plain, copied, ruled] = check_equal(&mut decoder, &track(&known));
        assert!(2 * ruled < plain, "{plain} passes without, {ruled} with drafts by the rules");
        assert!(2 * copied < plain, "{plain} passes without, {copied} with copied drafts");
        check_equal(&mut decoder, &track(&unknown));
        // Rounded rows are not the same bit for bit however many come together; what a model knows is written alike all the same.
        let mut rounded = MavDecoder::cpu(model(input), Precision::Bf16).unwrap();
        check_equal(&mut rounded, &track(&known));
        let whole: Vec<Request> = known
            .iter()
            .flat_map(|(before, mv, after)| {
                [
                    Request::after(
                        before.clone(),
                        *mv,
                        Commands { next: Some(Forms::State), ..Commands::tracking(Rules::Connect4) },
                    ),
                    Request::at(after.clone(), next),
                    Request::at(after.clone(), Commands { top: Some(Top::Best(1)), ..next }),
                    Request::at(after.clone(), Commands { top: Some(Top::Best(3)), ..next }),
                ]
            })
            .collect();
        check_equal(&mut decoder, &whole);
    }
}

#[test]
fn drafts_of_every_game_are_checked_not_believed() {
    // A network that knows nothing agrees with no draft, and still writes what it would write without one.
    let trained = model(Causal);
    let parameters = initial_parameters(&trained.config).unwrap();
    let parameters: Vec<f32> = parameters.iter().map(|x| x * 6.0).collect();
    let games =
        [Rules::Chess, Rules::Chess960, Rules::Hex { size: 4, swap: true }, Rules::Othello, Rules::Togyz];
    for (input, rules) in [Causal, Reread].into_iter().flat_map(|input| games.map(|rules| (input, rules))) {
        let wild = MavModel { parameters: parameters.clone(), input, ..trained.clone() };
        let mut decoder = MavDecoder::cpu(&wild, Precision::Exact).unwrap();
        let requests: Vec<Request> = positions(rules, 3, 4)
            .into_iter()
            .map(|(before, mv, _)| Request::after(before, mv, tracking(rules)))
            .collect();
        check_equal(&mut decoder, &requests);
    }
}

#[test]
fn a_network_with_places_answers_alike_however_it_is_asked() {
    let plain = model(Reread);
    let mut placed = plain.clone().with_places().unwrap();
    let layout = Layout::transformer(&placed.config).unwrap();
    let table = layout.tensor("model.embed_places.weight").unwrap().range();
    placed.parameters[table]
        .iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = (i * 37 % 101) as f32 / 1e3 - 0.05);
    let requests: Vec<Request> = positions(Rules::Connect4, 8, 3)
        .into_iter()
        .filter(|(.., after)| after.outcome().is_none())
        .map(|(.., after)| Request::at(after, Commands::top_all(Rules::Connect4)))
        .collect();
    let moves = vec![[Move(0), Move(3), Move(6)]; requests.len()];
    let moves: Vec<&[Move]> = moves.iter().map(|moves| &moves[..]).collect();
    let means = |answers: &[FanOutAnswer]| -> Vec<f32> {
        answers.iter().flat_map(|answer| answer.fan.values.iter().map(|(_, values)| values.mean())).collect()
    };
    let close = |one: &[f32], other: &[f32]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-4)
    };
    let open = |model| MavDecoder::cpu(model, Precision::Exact).unwrap();
    let (mut decoder, mut without) = (open(&placed), open(plain));
    // In one pass with the moves given, and through a cache.
    let given = decoder.fan_out_known(&requests, &moves).unwrap();
    assert!(!close(&means(&given), &means(&without.fan_out_known(&requests, &moves).unwrap())));
    let listed = decoder.fan_out(&requests).unwrap();
    let own: Vec<Vec<Move>> =
        listed.iter().map(|answer| answer.fan.values.iter().map(|(mv, _)| *mv).collect()).collect();
    let own: Vec<&[Move]> = own.iter().map(|moves| &moves[..]).collect();
    assert!(own.iter().any(|moves| !moves.is_empty()));
    let again = decoder.fan_out_known(&requests, &own).unwrap();
    assert!(close(&means(&listed), &means(&again)), "{:?} {:?}", means(&listed), means(&again));
}
