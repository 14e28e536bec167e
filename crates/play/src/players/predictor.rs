//! The policies of paper 002 over a predictor: no search, one look at every move.

use crate::{Analysis, Limit, MoveAnalysis, Player, PlayerError, Turn};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_model::predictor::{Predictor, Target};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::str::FromStr;

/// How a predictor chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PredictorPolicy {
    /// The best score always, or draws in the opening.
    pub choice: PolicyChoice,
    /// Temperature of the draws; `None` means the paper's, 0.005 for values and 0.05 for actions.
    pub temperature: Option<f32>,
    /// Full moves from the start of the game in which a softmax policy draws.
    pub opening: u32,
    /// A move that would repeat the position a third time counts as a draw.
    pub sees_repetition: bool,
}

impl Default for PredictorPolicy {
    fn default() -> Self {
        Self { choice: PolicyChoice::Argmax, temperature: None, opening: 5, sees_repetition: true }
    }
}

/// `argmax` or `softmax`, as a player's option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyChoice {
    /// The best score.
    Argmax,
    /// Drawn by score in the opening, the best score afterwards.
    Softmax,
}

impl FromStr for PolicyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "argmax" => Ok(Self::Argmax),
            "softmax" => Ok(Self::Softmax),
            other => Err(format!("policy is argmax or softmax, not '{other}'")),
        }
    }
}

/// Starts the engine that finishes won games; asked for when it is first needed.
pub type Finisher = Box<dyn Fn() -> Result<Box<dyn Player>, String> + Send>;

/// Moves that must all be near certain wins before the finisher is asked.
const TOP_MOVES: usize = 5;
/// A near certain win.
const OVERWHELMING: f32 = 0.99;

/// A player over a predictor.
pub struct PredictorPlayer {
    name: String,
    predictor: Predictor,
    policy: PredictorPolicy,
    random: Xoshiro256PlusPlus,
    finisher: Option<Finisher>,
    /// The finisher once it runs.
    engine: Option<Box<dyn Player>>,
}

impl PredictorPlayer {
    /// A player over a predictor; its draws follow from the seed. With a finisher, positions whose five best moves all win almost surely are
    /// left to it once it agrees, so that a won game is brought home by one plan.
    #[must_use]
    pub fn new(
        name: String,
        predictor: Predictor,
        policy: PredictorPolicy,
        finisher: Option<Finisher>,
        seed: u64,
    ) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { name, predictor, policy, random, finisher, engine: None }
    }

    /// Every allowed move with its score, best first; equals stay in the order of the rules.
    fn ranked(&mut self, turn: &Turn<'_>) -> Result<Vec<(Move, f32)>, PlayerError> {
        let moves: Vec<Move> =
            turn.position.legal_moves().into_iter().filter(|mv| turn.limit.allows(*mv)).collect();
        let scores = self
            .predictor
            .scores(turn.position, &moves)
            .map_err(|error| PlayerError::of_evaluation(error.into_eval()))?;
        let mut ranked: Vec<(Move, f32)> = moves.into_iter().zip(scores).collect();
        // Only values can count as a draw; an action has none.
        if self.policy.sees_repetition && self.predictor.spec().target.has_values() {
            for (mv, score) in &mut ranked {
                if repeats(turn.position, *mv) {
                    *score = 0.5;
                }
            }
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(ranked)
    }

    /// The index of the move to play among ranked ones.
    fn pick(&mut self, turn: &Turn<'_>, ranked: &[(Move, f32)]) -> usize {
        let in_opening = turn.moves.len() / 2 < self.policy.opening as usize;
        if self.policy.choice == PolicyChoice::Argmax || !in_opening {
            return 0;
        }
        let is_action = self.predictor.spec().target == Target::BehavioralCloning;
        let temperature = self.policy.temperature.unwrap_or(if is_action { 0.05 } else { 0.005 });
        // Probabilities are softened through their logarithms, as logits would be.
        let logit = |score: f32| if is_action { score.max(f32::MIN_POSITIVE).ln() } else { score };
        let best = ranked.first().map_or(0.0, |(_, score)| logit(*score));
        let weight = |(_, score): &(Move, f32)| ((logit(*score) - best) / temperature).exp();
        let total: f32 = ranked.iter().map(weight).sum();
        let mut left = self.random.random::<f32>() * total;
        let drawn = ranked.iter().position(|entry| {
            left -= weight(entry);
            left < 0.0
        });
        drawn.unwrap_or(0)
    }

    /// The finisher's move among the five best, if all of them win almost surely for the predictor and for it.
    fn finish(&mut self, turn: &mut Turn<'_>, ranked: &[(Move, f32)]) -> Option<usize> {
        let top = ranked.get(..TOP_MOVES)?;
        let is_won =
            self.predictor.spec().target.has_values() && top.iter().all(|(_, score)| *score > OVERWHELMING);
        if !is_won {
            return None;
        }
        if self.engine.is_none() {
            // Without an engine the predictor plays on as it would have.
            self.engine = self.finisher.as_ref()?().ok();
        }
        let engine = self.engine.as_mut()?;
        let only: Vec<Move> = top.iter().map(|(mv, _)| *mv).collect();
        let mut values = vec![None; only.len()];
        let limit = Limit { only: only.clone(), lines: TOP_MOVES as u32, ..Limit::default() };
        let choice = engine.choose(&mut Turn {
            start: turn.start,
            moves: turn.moves,
            position: turn.position,
            limit,
            cancel: turn.cancel.clone(),
            sink: &mut |thought| {
                let place = thought.line.first().and_then(|mv| only.iter().position(|known| known == mv));
                if let (Some(place), Some(value)) = (place, thought.value) {
                    values[place] = Some(value);
                }
            },
        });
        let Ok(choice) = choice else {
            // A dead engine is restarted the next time.
            self.engine = None;
            return None;
        };
        let agrees = values.iter().all(|value| value.is_some_and(|value| value > OVERWHELMING));
        only.iter().position(|mv| agrees && *mv == choice.mv)
    }
}

/// Whether a move brings a position about for the third time.
fn repeats(position: &Position, mv: Move) -> bool {
    let mut after = position.clone();
    after.play_unchecked(mv);
    matches!(after, Position::Chess(chess) if chess.repetitions() >= 3)
}

impl Player for PredictorPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        match rules {
            Rules::Chess | Rules::Chess960 => Ok(()),
            _ => Err(PlayerError::unsupported(&self.name, rules)),
        }
    }

    fn new_game(&mut self, rules: Rules) {
        if let Some(engine) = &mut self.engine {
            engine.new_game(rules);
        }
    }

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn evaluates(&self) -> bool {
        self.predictor.spec().target.has_values()
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<crate::Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        if !matches!(turn.position, Position::Chess(_)) {
            return Err(PlayerError::unsupported(&self.name, turn.position.rules()));
        }
        let ranked = self.ranked(turn)?;
        let picked = match self.finish(turn, &ranked) {
            Some(picked) => picked,
            None => self.pick(turn, &ranked),
        };
        let moves: Vec<MoveAnalysis> = ranked
            .iter()
            .map(|(mv, score)| {
                let (value, prior) = if self.predictor.spec().target.has_values() {
                    // One that learned by squared error may say more than certain.
                    (Some(score.clamp(0.0, 1.0)), None)
                } else {
                    (None, Some(*score))
                };
                MoveAnalysis { value, model_value: value, prior, ..MoveAnalysis::plain(*mv) }
            })
            .collect();
        let mut chosen_first = moves.clone();
        if let Some(first) = chosen_first.get_mut(..=picked) {
            first.rotate_right(1);
        }
        let mut analysis = Analysis::of_moves(chosen_first, ranked.len() as u64)
            .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
        analysis.report(&turn.limit, turn.sink);
        // The list stays in the order of scores even if another move was chosen.
        analysis.moves = moves;
        Ok(analysis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Thought};
    use mavis_model::predictor::PredictorSettings;
    use mavis_net::{Batch, Decoder, KvCacheId, Logits, NetError, TransformerConfig, Want};
    use mavis_search::Cancel;
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};

    /// A network that scores an input by its last token: for AV the action's index.
    struct Fixed {
        config: TransformerConfig,
        /// The bin of each action; others get `rest`.
        bins: Vec<(u32, usize)>,
        rest: usize,
    }

    impl Decoder for Fixed {
        fn config(&self) -> &TransformerConfig {
            &self.config
        }

        fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
            let n_columns = self.config.n_outputs();
            let mut values = vec![0.0; want.rows.len() * n_columns];
            for (row, out) in want.rows.iter().zip(values.chunks_mut(n_columns)) {
                let id = batch.tokens[*row as usize];
                let known = self.bins.iter().find(|(known, _)| *known == id);
                out[known.map_or(self.rest, |(_, bin)| *bin)] = 50.0;
            }
            Ok(Logits::whole(values, n_columns))
        }

        fn open(&mut self) -> Result<KvCacheId, NetError> {
            Err(NetError::Device("no caches".into()))
        }

        fn fork(&mut self, cache: KvCacheId, _: usize) -> Result<KvCacheId, NetError> {
            Err(NetError::KvCache(cache))
        }

        fn close(&mut self, _: KvCacheId) {}

        fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
            Err(NetError::KvCache(cache))
        }

        fn truncate(&mut self, cache: KvCacheId, _: usize) -> Result<(), NetError> {
            Err(NetError::KvCache(cache))
        }

        fn extend(&mut self, caches: &[KvCacheId], _: &Batch, _: &Want) -> Result<Logits, NetError> {
            Err(NetError::KvCache(caches[0]))
        }
    }

    fn predictor(bins: &[(&str, usize)], rest: usize) -> Predictor {
        use mavis_model::predictor::tokens;
        let settings = PredictorSettings::default();
        let bins = bins
            .iter()
            .map(|(uci, bin)| (tokens::FIRST_ACTION + u32::from(tokens::action_index(uci).unwrap()), *bin))
            .collect();
        let network = Fixed { config: settings.network().unwrap(), bins, rest };
        Predictor::new(settings.spec().unwrap(), Box::new(network))
    }

    fn analyze(player: &mut PredictorPlayer, fen: Option<&str>, played: &[&str]) -> (Position, Analysis) {
        let start =
            fen.map_or(Position::start(Rules::Chess), |fen| Position::parse(Rules::Chess, fen).unwrap());
        let mut position = start.clone();
        let moves: Vec<Move> = played.iter().map(|text| position.play_text(text).unwrap()).collect();
        let analysis = player
            .analyze(&mut Turn {
                start: &start,
                moves: &moves,
                position: &position,
                limit: Limit::default(),
                cancel: Cancel::new(),
                sink: &mut |_: &Thought| {},
            })
            .unwrap();
        (position, analysis)
    }

    fn played(player: &mut PredictorPlayer, fen: Option<&str>, moves: &[&str]) -> String {
        let (position, analysis) = analyze(player, fen, moves);
        position.move_text(analysis.choice.mv)
    }

    #[test]
    fn argmax_plays_the_best_value() {
        let predictor = predictor(&[("g1f3", 80), ("e2e4", 70)], 64);
        let mut player = PredictorPlayer::new("av".into(), predictor, PredictorPolicy::default(), None, 1);
        let (position, analysis) = analyze(&mut player, None, &[]);
        assert_eq!(position.move_text(analysis.choice.mv), "g1f3");
        assert_eq!(analysis.moves.len(), 20);
        assert_eq!(position.move_text(analysis.moves[1].mv), "e2e4");
        assert!((analysis.moves[0].value.unwrap() - 80.5 / 128.0).abs() < 1e-4);
    }

    #[test]
    fn softmax_draws_among_equals_in_the_first_five_full_moves_only() {
        let policy = PredictorPolicy { choice: PolicyChoice::Softmax, ..PredictorPolicy::default() };
        let drawn = |moves: &[&str]| {
            (0..40)
                .map(|seed| {
                    let predictor = predictor(&[("a2a3", 80), ("h2h3", 80)], 60);
                    played(&mut PredictorPlayer::new("av".into(), predictor, policy, None, seed), None, moves)
                })
                .collect::<HashSet<_>>()
        };
        assert_eq!(drawn(&[]), HashSet::from(["a2a3".to_owned(), "h2h3".to_owned()]));
        let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let ten = [&shuffle[..], &["b1c3", "b8c6", "c3b1", "c6b8"], &["e2e4", "e7e5"]].concat();
        assert_eq!(drawn(&ten).len(), 1);
    }

    #[test]
    fn a_third_repetition_counts_as_a_draw() {
        // Once more Ng1 would bring the start about for the third time.
        let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let game = [&shuffle[..], &["g1f3", "g8f6", "f3g1"]].concat();
        let best = || predictor(&[("f6g8", 100), ("a7a6", 90)], 40);
        let mut player = PredictorPlayer::new("av".into(), best(), PredictorPolicy::default(), None, 1);
        assert_eq!(played(&mut player, None, &game), "a7a6");
        let blind = PredictorPolicy { sees_repetition: false, ..PredictorPolicy::default() };
        let mut player = PredictorPlayer::new("av".into(), best(), blind, None, 1);
        assert_eq!(played(&mut player, None, &game), "f6g8");
    }

    /// An engine that values every move alike and plays the last one it may.
    struct Engine {
        value: f32,
        asked: Arc<Mutex<usize>>,
    }

    impl Player for Engine {
        fn name(&self) -> String {
            "engine".to_owned()
        }

        fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
            *self.asked.lock().unwrap() += 1;
            for mv in &turn.limit.only {
                let thought = Thought { value: Some(self.value), line: vec![*mv], ..Thought::default() };
                (turn.sink)(&thought);
            }
            turn.limit.only.last().map(|mv| Choice::plain(*mv)).ok_or(PlayerError::Stopped)
        }
    }

    #[test]
    fn a_won_game_is_left_to_the_finisher_when_it_agrees() {
        let fen = Some("8/8/8/8/8/6k1/8/KQQ5 w - - 0 60");
        let game = |rest: usize, value: f32| {
            let asked = Arc::new(Mutex::new(0));
            let counter = Arc::clone(&asked);
            let finisher: Finisher =
                Box::new(move || Ok(Box::new(Engine { value, asked: Arc::clone(&counter) })));
            let predictor = predictor(&[], rest);
            let policy = PredictorPolicy::default();
            let mut player = PredictorPlayer::new("av".into(), predictor, policy, Some(finisher), 1);
            let (position, analysis) = analyze(&mut player, fen, &[]);
            let place = analysis.moves.iter().position(|entry| entry.mv == analysis.choice.mv);
            assert!(position.is_legal(analysis.choice.mv));
            (place.unwrap(), *asked.lock().unwrap())
        };
        assert_eq!(game(127, 0.999), (4, 1));
        assert_eq!(game(127, 0.9), (0, 1));
        assert_eq!(game(120, 0.999), (0, 0));
    }

    #[test]
    fn other_games_are_refused() {
        let predictor = predictor(&[], 64);
        let mut player = PredictorPlayer::new("av".into(), predictor, PredictorPolicy::default(), None, 1);
        let position = Position::start(Rules::Othello);
        let refused = player.choose(&mut Turn::alone(&position, Limit::default(), &mut |_: &Thought| {}));
        assert_eq!(refused.unwrap_err().to_string(), "av does not play othello");
    }
}
