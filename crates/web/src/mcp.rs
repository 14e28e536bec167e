//! Tools of the Model Context Protocol over standard input and output: a generalist model calls a specialist.
//!
//! The interface is that of paper 001's discussion: objective, game dynamics and game state in, choice and justification
//! out. `input.rs` has what a call may carry, `reason.rs` how a choice is made from an analysis and put into words.

mod input;
mod reason;

use crate::{
    ApiError, App, WebSettings,
    place::Game,
    routes::think::{analysis, choice},
    thinking::Question,
    wire::{AnalysisView, Place},
};
use axum::http::Extensions;
use input::{CompareInput, PlayInput, StateInput, ThinkInput};
use mavis_game::Game as _;
use reason::ComparedMove;
use rmcp::{
    ServerHandler, ServiceExt as _,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig},
    service::ServerInitializeError,
    tool, tool_handler, tool_router,
    transport::stdio,
};
use serde_json::Value;
use std::time::Duration;

const INSTRUCTIONS: &str = "Specialist for chess, Chess960, Connect Four, Hex, Othello and Togyz Kumalak. The server keeps no \
    game: each call gives the dynamics (the game), the state (position text, or the usual start if absent) and the moves \
    played since. Values are win probabilities from 0 to 1 for the side to move; a draw counts half.";

/// How long players may continue after standard input has closed.
const GRACE: Duration = Duration::from_millis(300);

/// Serves the tools until the client closes standard input.
///
/// # Errors
/// When there is no runtime, or the client does not speak the protocol.
pub fn run_tools(settings: WebSettings) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        let tools = Tools { app: crate::share(settings), tool_router: Tools::tool_router() };
        let service = match tools.serve(stdio()).await {
            // A client that closes its end without a word is none.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            other => other.map_err(std::io::Error::other)?,
        };
        service.waiting().await.map(|_| ()).map_err(std::io::Error::other)
    });
    runtime.shutdown_timeout(GRACE);
    served
}

#[derive(Clone)]
struct Tools {
    app: App,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Tools {
    #[tool(
        description = "List the legal moves of a state, the side to move, and the result if the game is over."
    )]
    async fn legal_moves(&self, Parameters(input): Parameters<StateInput>) -> CallToolResult {
        answer(Game::read(&input.place()).and_then(|game| to_json(&game.view())))
    }

    #[tool(description = "Play a move in a state. Returns the new state with its legal moves.")]
    async fn play_move(&self, Parameters(input): Parameters<PlayInput>) -> CallToolResult {
        answer(Game::read(&after(input.state.place(), input.r#move)).and_then(|game| to_json(&game.view())))
    }

    #[tool(
        description = "Choose a move for an objective (win, even or lose) and justify it: its value, the expected line, the \
                       alternatives."
    )]
    async fn best_move(&self, Parameters(input): Parameters<ThinkInput>) -> CallToolResult {
        let objective = input.objective.unwrap_or_default();
        let view = self.analysis(input).await;
        answer(view.and_then(|view| reason::chosen(&view, objective)))
    }

    #[tool(
        description = "Evaluate every legal move of a state: value, visits and expected line of each, the best first."
    )]
    async fn analyze(&self, Parameters(input): Parameters<ThinkInput>) -> CallToolResult {
        let objective = input.objective.unwrap_or_default();
        let view = self.analysis(input).await;
        answer(view.and_then(|view| {
            let mut answer = reason::chosen(&view, objective)?;
            if let Some(fields) = answer.as_object_mut() {
                fields.insert("moves".to_owned(), view.moves.iter().map(reason::move_json).collect());
            }
            Ok(answer)
        }))
    }

    #[tool(
        description = "Ask the strongest oracle of a game: exact in Connect Four, a deep search in Othello, Togyz Kumalak and \
                       Hex. Chess needs a server started with --allow uci:stockfish."
    )]
    async fn solve(&self, Parameters(input): Parameters<StateInput>) -> CallToolResult {
        let view = self.analysis(ThinkInput::of(input, "oracle")).await;
        answer(view.and_then(|view| reason::chosen(&view, input::Objective::Win)))
    }

    #[tool(
        description = "Compare two moves of a state: the player searches behind each with the same effort and says which is \
                       better."
    )]
    async fn compare_moves(&self, Parameters(input): Parameters<CompareInput>) -> CallToolResult {
        let CompareInput { state, first, second, player } = input;
        let asked = ThinkInput { player, ..ThinkInput::of(state, input::USUAL) };
        let one = self.judged(&asked, first).await;
        let two = match &one {
            Ok(_) => self.judged(&asked, second).await,
            // The first fault is the answer; the second move is not searched.
            Err(_) => return answer(one.map(|_| Value::Null)),
        };
        answer(one.and_then(|one| Ok(reason::compared(&one, &two?))))
    }

    fn question(&self, input: ThinkInput) -> Result<Question, ApiError> {
        Question::read(&self.app, &input.request(), &Extensions::new())
    }

    async fn analysis(&self, input: ThinkInput) -> Result<AnalysisView, ApiError> {
        analysis(&self.app, self.question(input)?).await
    }

    /// What a move is worth to the player who makes it, found behind the move.
    async fn judged(&self, asked: &ThinkInput, mv: String) -> Result<ComparedMove, ApiError> {
        let before = Game::read_open(&asked.state.clone().place())?;
        let place = after(asked.state.clone().place(), mv);
        let game = Game::read(&place)?;
        let Some(played) = game.view().moves.pop() else {
            return Err(ApiError::bad("no move to compare"));
        };
        let mover = before.position.side_to_move();
        if let Some(outcome) = game.position.outcome() {
            return Ok(ComparedMove::over(played, outcome, mover));
        }
        let asked = ThinkInput { state: StateInput::from(place), ..asked.clone() };
        let reply = choice(&self.app, self.question(asked)?).await?;
        // After a pass in Othello the same player is to move again.
        ComparedMove::behind(played, &reply, game.position.side_to_move() == mover)
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mavis", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}

fn after(mut place: Place, mv: String) -> Place {
    place.moves.push(mv);
    place
}

/// A tool's answer as JSON. A fault is an answer too, marked as one, since the calling model can act on it.
fn answer(result: Result<Value, ApiError>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::structured(value),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(value).map_err(|error| ApiError::Failed(error.to_string()))
}
