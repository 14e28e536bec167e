//! Free text is the likeliest one, repeated moves included, with probabilities.

use super::trained::{decoder, positions};
use mavis_game::Rules;
use mavis_lang::{Commands, Request};
use mavis_model::{
    InputAttention::Reread,
    decode::{GreedySettings, TextSettings, WrittenToken},
};

#[test]
fn text_at_temperature_zero_is_greedy_decoding_and_warm_text_follows_its_seed() {
    let mut decoder = decoder(Reread);
    let requests: Vec<Request> = positions(Rules::Connect4, 5, 3)
        .into_iter()
        .map(|(_, _, position)| Request::at(position, Commands::top_all_best(Rules::Connect4)))
        .collect();
    let prompts: Vec<_> = requests
        .iter()
        .map(|request| {
            let mut prompt = request.prompt();
            prompt.extend(request.opening());
            prompt
        })
        .collect();
    let settings = GreedySettings { repeats: true, ..GreedySettings::default() };
    let greedy = decoder.greedy(&requests, &settings).unwrap();
    let mut write = |temperature: f32, seed: u64| {
        let settings = TextSettings { max_tokens: 200, temperature, n_top: 3, seed };
        let mut texts = vec![Vec::<WrittenToken>::new(); prompts.len()];
        decoder
            .write_text(&prompts, &settings, &mut |index, token| {
                texts[index].push(token.clone());
                true
            })
            .unwrap();
        texts
    };
    let texts = write(0.0, 0);
    for ((request, decoded), text) in requests.iter().zip(&greedy).zip(&texts) {
        let written: Vec<_> =
            request.opening().into_iter().chain(text.iter().map(|step| step.token)).collect();
        assert_eq!(written, decoded.tokens);
        assert!(text.last().unwrap().ends_answer);
        for step in text {
            assert_eq!(step.top.len(), 3);
            assert_eq!(step.top[0], (step.token, step.log_probability));
            assert!(step.log_probability <= 0.0 && step.top.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }
    assert_eq!(write(1.5, 4), write(1.5, 4));
    assert_ne!(write(1.5, 4), write(1.5, 5));
}
