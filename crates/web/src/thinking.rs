//! Players on threads of their own, for the time of one request.

use crate::{ApiError, App, limits::Client, place::Game, wire::ThinkRequest};
use axum::http::Extensions;
use mavis_play::{BuildError, Clock, Limit, Player, PlayerSpec, Turn};
use mavis_search::Cancel;
use std::time::Duration;

/// How long a player may continue after it was cancelled before nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(10);

/// A question that was read and checked.
pub(crate) struct Question {
    pub(crate) game: Game,
    pub(crate) spec: PlayerSpec,
    pub(crate) limit: Limit,
    pub(crate) seed: u64,
    pub(crate) client: Client,
}

impl Question {
    pub(crate) fn read(app: &App, request: &ThinkRequest, extensions: &Extensions) -> Result<Self, ApiError> {
        let game = Game::read_open(&request.place)?;
        let rules = crate::place::rules(&request.place.game)?;
        let spec = app.policy.read(&request.player, rules).map_err(|refusal| {
            // Of a kind that does not exist the registry knows the nearest name.
            let unknown = request.player.parse().ok().and_then(|spec| app.pool.check(&spec).err());
            match unknown {
                Some(error @ BuildError::Kind { .. }) => ApiError::bad(error),
                _ => refusal,
            }
        })?;
        let most = app.limits.limits.thinking;
        let seconds = |seconds: f64| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.map(|time| time.min(most))
                .ok_or_else(|| ApiError::bad(format!("seconds: expected a number above 0, not {seconds}")))
        };
        let clock = request.clock.map(|clock| Clock {
            own: Duration::from_millis(clock.own_ms),
            other: Duration::from_millis(clock.other_ms),
            increment: Duration::from_millis(clock.increment_ms),
            other_increment: Duration::from_millis(clock.increment_ms),
            moves_to_go: None,
        });
        if request.nodes == Some(0) {
            return Err(ApiError::bad("nodes: expected 1 or more"));
        }
        let limit = Limit {
            time: request.seconds.map(seconds).transpose()?,
            nodes: request.nodes,
            clock,
            lines: u32::MAX,
            ..Limit::default()
        };
        let seed = request.seed.unwrap_or(0);
        Ok(Self { game, spec, limit, seed, client: Client::of(extensions) })
    }

    /// A turn in the question's position.
    pub(crate) fn turn<'a>(
        &'a self,
        cancel: &Cancel,
        sink: &'a mut dyn FnMut(&mavis_play::Thought),
    ) -> Turn<'a> {
        Turn {
            start: &self.game.start,
            moves: &self.game.moves,
            position: &self.game.position,
            limit: self.limit.clone(),
            cancel: cancel.clone(),
            sink,
        }
    }
}

/// Has a player work on a question. The work ends with the request, and at the latest with the server's limit of time.
pub(crate) async fn work<T: Send + 'static>(
    app: &App,
    question: Question,
    job: impl FnOnce(&mut dyn Player, &Question, &Cancel) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let cancel = Cancel::new();
    let _given_up = CancelOnDrop(cancel.clone());
    let thread = start(app, question, cancel.clone(), job)?;
    let most = app.limits.limits.thinking;
    tokio::pin!(thread);
    match tokio::time::timeout(most, &mut thread).await {
        Ok(done) => done,
        Err(_) => {
            cancel.cancel();
            tokio::time::timeout(GRACE, thread).await.unwrap_or(Err(ApiError::Timeout))
        }
    }
}

/// Starts the work on its own thread; the permit travels with it.
pub(crate) fn start<T, J>(
    app: &App,
    question: Question,
    cancel: Cancel,
    job: J,
) -> Result<impl Future<Output = Result<T, ApiError>> + Send + use<T, J>, ApiError>
where
    T: Send + 'static,
    J: FnOnce(&mut dyn Player, &Question, &Cancel) -> Result<T, ApiError> + Send + 'static,
{
    let permit = app.limits.permit(question.client)?;
    let app = app.clone();
    let thread = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let rules = mavis_game::Game::rules(&question.game.position);
        let mut seat = app.pool.take(&question.spec, rules, question.seed)?;
        let result = job(&mut *seat.player, &question, &cancel);
        // A player that failed is not used again.
        if result.is_ok() {
            app.pool.put_back(seat);
        }
        result
    });
    Ok(async { thread.await.unwrap_or_else(|_| Err(ApiError::Failed("the player stopped".to_owned()))) })
}

/// Cancels the work when its request is dropped.
pub(crate) struct CancelOnDrop(pub(crate) Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
