//! A network that fails in the middle of its work, as a GPU does: players say so and play nothing.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_data::{
    SelfplaySettings,
    job::{JobError, JobEvent},
    selfplay,
};
use mavis_eval::{EvalError, Evaluator, Faults, Faulty, Request, Scripted};
use mavis_game::{Position, Rules, Side};
use mavis_model::{
    InputAttention, MavModel, Preset,
    decode::MavDecoder,
    evaluator::{Embedded, EmbeddedSettings},
    internal::{Internal, InternalSettings},
};
use mavis_net::{
    Batch, Decoder, KvCacheId, Logits, NetError, Precision, TransformerConfig, Want, cpu::CpuDecoder,
    initial_parameters,
};
use mavis_oracle::{Oracle, OracleError};
use mavis_play::{
    GreedyPlayer, GreedyPlayerSettings, InternalPlayer, InternalPlayerSettings, Limit, MpcPlayer,
    MpcSettings, Player, PlayerError, PlayerOracle, RandomPlayer, Referee, SearchPlayer, Turn,
};
use mavis_search::mcts::MctsSettings;
use std::{path::Path, sync::Arc};

/// What the driver says, again and again once it has said it.
const REASON: &str = "CUDA_ERROR_LAUNCH_FAILED";

/// A network whose device fails after some passes.
struct Dying {
    inner: CpuDecoder,
    n_passes: usize,
    /// Whether it panics then, as a fault of ours would.
    panics: bool,
}

impl Dying {
    fn pass(&mut self) -> Result<(), NetError> {
        let left = self.n_passes.checked_sub(1);
        assert!(left.is_some() || !self.panics, "on purpose");
        self.n_passes = left.ok_or_else(|| NetError::Device(REASON.to_owned()))?;
        Ok(())
    }
}

impl Decoder for Dying {
    fn config(&self) -> &TransformerConfig {
        self.inner.config()
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        self.inner.open()
    }

    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError> {
        self.inner.fork(cache, len)
    }

    fn close(&mut self, cache: KvCacheId) {
        self.inner.close(cache);
    }

    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
        self.inner.cache_len(cache)
    }

    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError> {
        self.inner.truncate(cache, len)
    }

    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.pass()?;
        self.inner.extend(caches, batch, want)
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.pass()?;
        self.inner.logits(batch, want)
    }
}

/// A small network that knows nothing, with so many passes before its device fails.
fn decoder(n_passes: usize) -> MavDecoder {
    dying(n_passes, false)
}

fn dying(n_passes: usize, panics: bool) -> MavDecoder {
    let shape = Preset::Test.shape(mavis_lang::vocabulary().len(), 4);
    let config = TransformerConfig { d_model: 32, n_layers: 1, n_heads: 2, d_ff: 64, ..shape };
    let parameters = initial_parameters(&config).unwrap();
    let model = MavModel { config, input: InputAttention::Causal, step: 0, parameters };
    let inner = model.cpu_decoder(Precision::Exact).unwrap();
    MavDecoder::new(Box::new(Dying { inner, n_passes, panics }), model.input)
}

fn embedded(n_passes: usize) -> Arc<dyn Evaluator> {
    Arc::new(Embedded::start([decoder(n_passes)], EmbeddedSettings::default()).unwrap())
}

fn greedy(evaluator: Arc<dyn Evaluator>) -> GreedyPlayer {
    GreedyPlayer::new("mav".to_owned(), evaluator, GreedyPlayerSettings::default(), 0)
}

fn searching(evaluator: Arc<dyn Evaluator>) -> SearchPlayer {
    let settings = MctsSettings { simulations: 200, batch: 4, ..MctsSettings::default() };
    SearchPlayer::new("mav-mcts".to_owned(), evaluator, settings, true)
}

/// The player has no move, and says what the device said.
#[track_caller]
fn check_broken(player: &mut dyn Player) {
    let position = Position::start(Rules::Connect4);
    let choice = player.choose(&mut Turn::alone(&position, Limit::default(), &mut |_| {}));
    let Err(PlayerError::Broken(reason)) = choice else { panic!("{choice:?}") };
    assert!(reason.contains(REASON), "{reason}");
}

#[test]
fn a_network_that_fails_is_no_failed_request_and_gives_no_move() {
    let runtime = mavis_play::runtime().unwrap();
    let ask = |evaluator: &dyn Evaluator| {
        runtime.block_on(evaluator.evaluate_one(Request::state(Position::start(Rules::Connect4))))
    };
    let evaluator = embedded(1);
    ask(&*evaluator).unwrap();
    assert_eq!(ask(&*evaluator), Err(EvalError::Broken(format!("device: {REASON}"))));

    let evaluator = Embedded::start([dying(1, true)], EmbeddedSettings::default()).unwrap();
    ask(&evaluator).unwrap();
    // The request whose pass panics, and those that find the thread gone.
    for _ in 0..3 {
        assert_eq!(ask(&evaluator), Err(EvalError::Broken("the model's thread has stopped".to_owned())));
    }

    check_broken(&mut greedy(embedded(0)));
    // The root is evaluated, and what was found before the failure is not played either.
    check_broken(&mut searching(embedded(0)));
    check_broken(&mut searching(embedded(5)));
    let internal = Arc::new(Internal::start(decoder(0), InternalSettings::default()).unwrap());
    let well = embedded(usize::MAX);
    let settings = InternalPlayerSettings::default();
    check_broken(&mut InternalPlayer::new(
        "mav-is".to_owned(),
        internal,
        settings,
        well.clone(),
        greedy(well),
    ));
    let shared = embedded(3);
    let maker = Arc::new(move |_| Ok(Box::new(greedy(shared.clone())) as Box<dyn Player>));
    check_broken(&mut MpcPlayer::new(MpcSettings::default(), maker, None, 0).unwrap());

    let refused = searching(embedded(0)).ready_for(Rules::Connect4);
    assert!(matches!(refused, Err(PlayerError::Broken(_))), "{refused:?}");
}

#[test]
fn its_game_has_no_result() {
    let (mut model, mut random) = (greedy(embedded(4)), RandomPlayer::new(1));
    let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut model, &mut random]);
    assert_eq!(record.verdict, None);
    assert!((2..=8).contains(&record.moves.len()), "{}", record.moves.len());
    let Some((Side::First, reason)) = record.broken else { panic!("{:?}", record.broken) };
    assert!(reason.contains(REASON), "{reason}");
}

/// A model that judges, and breaks after so many positions.
fn oracle(breaks_after: Option<u64>) -> Box<dyn Oracle> {
    let evaluator = Faulty::new(Scripted::new(1), Faults { breaks_after, ..Faults::default() });
    Box::new(PlayerOracle::new(Box::new(greedy(Arc::new(evaluator))), "scripted".to_owned()))
}

#[test]
fn self_play_stops_and_sets_nothing_aside() {
    let mut broken = oracle(Some(0));
    let judged = broken.evaluate(&Position::start(Rules::Connect4));
    assert!(matches!(judged, Err(OracleError::Broken { .. })), "{judged:?}");

    let folder = tempfile::tempdir().unwrap();
    let play = |out: &Path, breaks_after| {
        let settings = SelfplaySettings {
            start: Position::start(Rules::Connect4),
            n_games: 40,
            epsilon: 0.5,
            random_plies: 0,
            seed: 1,
            max_plies: 100,
            shard_size: 4,
            out: out.to_owned(),
            stop: Arc::default(),
        };
        let mut n_shards = 0;
        let done = selfplay(&settings, vec![oracle(breaks_after)], |event| {
            n_shards += u32::from(matches!(event, JobEvent::Shard(_)));
        });
        (done, n_shards)
    };
    let (stopped, whole) = (folder.path().join("stopped"), folder.path().join("whole"));
    let (failed, n_shards) = play(&stopped, Some(400));
    let reason = failed.unwrap_err();
    assert!(matches!(reason, JobError::Queue(_)), "{reason:?}");
    assert!(reason.to_string().contains("the network failed: broken on purpose"), "{reason}");
    assert!((1..10).contains(&n_shards), "{n_shards} shards before the failure");
    let (resumed, uninterrupted) = (play(&stopped, None).0.unwrap(), play(&whole, None).0.unwrap());
    assert_eq!((resumed.n_games, resumed.n_aside), (40, 0));
    assert_eq!(resumed, uninterrupted);
}
