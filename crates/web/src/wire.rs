//! What requests and answers look like. `GET /api/openapi.json` describes the same types.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error: what is wrong, and what would be right.
#[derive(Debug, Serialize, ToSchema)]
pub struct Fault {
    /// The error.
    pub error: FaultDetail,
}

/// The inside of an error, in the form that OpenAI's clients read.
#[derive(Debug, Serialize, ToSchema)]
pub struct FaultDetail {
    /// One sentence.
    pub message: String,
    /// `invalid_request_error` for what the client did, `server_error` for the rest.
    pub r#type: &'static str,
    /// The HTTP status.
    pub code: u16,
}

impl Fault {
    pub(crate) fn new(code: u16, message: String) -> Self {
        let r#type = if code < 500 { "invalid_request_error" } else { "server_error" };
        Self { error: FaultDetail { message, r#type, code } }
    }
}

/// A game up to a position: everything the server needs to know, since it keeps no games.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// `chess`, `chess960`, `connect4`, `hex` (`hex:size=7,swap`), `othello` or `togyz`.
    #[schema(example = "connect4")]
    pub game: String,
    /// Position text to start from (a FEN in chess); the start position if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Moves played since, in the game's own text or SAN.
    #[serde(default)]
    #[schema(max_items = 1000, example = json!(["4", "4"]))]
    pub moves: Vec<String>,
}

/// A move in both spellings.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MoveText {
    /// The game's own text (UCI in chess).
    pub text: String,
    /// SAN in chess, the same text elsewhere.
    pub san: String,
}

/// A position and what may be played in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct PositionView {
    /// The game with its parameters.
    pub game: String,
    /// The position the game started from, as text.
    pub start: String,
    /// The position, as text.
    pub position: String,
    /// Whose turn it is: `first` or `second`.
    pub side: &'static str,
    /// The number of the position's first ply, for numbering moves.
    pub start_ply: u32,
    /// The moves played.
    pub moves: Vec<MoveText>,
    /// The legal moves; none once the game is over.
    pub legal: Vec<MoveText>,
    /// `1-0`, `0-1` or `1/2-1/2` once the game is over.
    pub result: Option<&'static str>,
    /// Why it is over.
    pub reason: Option<String>,
    /// Whether the side to move is in check.
    pub check: bool,
    /// Whether the side to move may claim a draw.
    pub claimable: bool,
}

/// Text to read a game from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The game that bare positions and moves belong to.
    #[schema(example = "chess")]
    pub game: String,
    /// PGN, position text (a FEN in chess), or a list of moves.
    #[schema(example = "1. e4 e5 2. Nf3")]
    pub text: String,
}

/// A game to write as PGN.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportRequest {
    /// The game.
    pub place: Place,
    /// Names of the two players.
    #[serde(default)]
    pub players: Option<[String; 2]>,
    /// A result that the rules do not know: a resignation, time.
    #[serde(default)]
    pub result: Option<String>,
}

/// A game as PGN.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportView {
    /// The text.
    pub pgn: String,
}

/// A question to a player.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkRequest {
    /// The position.
    pub place: Place,
    /// The player line.
    #[schema(example = "mav")]
    pub player: String,
    /// Seconds to think; the player's own limits if absent. The server's limit holds in any case.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Positions or simulations.
    #[serde(default)]
    pub nodes: Option<u64>,
    /// Clocks in a timed game.
    #[serde(default)]
    pub clock: Option<ClockState>,
    /// Makes the answer repeat exactly.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// Both clocks as the player to move sees them.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockState {
    /// Milliseconds of the player to move.
    pub own_ms: u64,
    /// Milliseconds of the other.
    pub other_ms: u64,
    /// Milliseconds added after each move.
    #[serde(default)]
    pub increment_ms: u64,
}

/// What a player chose.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChoiceView {
    /// The player's name.
    pub player: String,
    /// The move.
    pub best: MoveText,
    /// Win probability of the side to move, 0 to 1.
    pub value: Option<f32>,
    /// Positions or simulations.
    pub nodes: u64,
    /// The line it expects.
    pub line: Vec<MoveText>,
    /// Anything else it said.
    pub note: Option<String>,
    /// Milliseconds it took.
    pub milliseconds: u64,
}

/// What a player thinks of every move.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnalysisView {
    /// The choice.
    pub choice: ChoiceView,
    /// The moves, best first.
    pub moves: Vec<MoveView>,
    /// The same in the language of the model.
    pub text: LanguageText,
}

/// What a player thinks of one move. Values belong to the player who makes it.
#[derive(Debug, Serialize, ToSchema)]
pub struct MoveView {
    /// The move.
    #[serde(flatten)]
    pub text: MoveText,
    /// Win probability, 0 to 1.
    pub value: Option<f32>,
    /// The evaluator's own value before any search.
    pub model_value: Option<f32>,
    /// Simulations through it.
    pub visits: Option<u32>,
    /// Prior probability.
    pub prior: Option<f32>,
    /// Score in centipawns.
    pub centipawns: Option<i32>,
    /// Moves to a certain end: above 0 a win, below 0 a loss.
    pub mate: Option<i32>,
    /// The expected line, the move first.
    pub line: Vec<MoveText>,
    /// Weights of the 64 value buckets, lost to won.
    pub distribution: Option<Vec<f32>>,
}

/// A question and its answer in the MAV language.
#[derive(Debug, Serialize, ToSchema)]
pub struct LanguageText {
    /// Header and input lines.
    pub prompt: String,
    /// The moves with their value tokens.
    pub answer: String,
}

/// An event of a search: `tree`, or `fault` where it fails.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SearchEvent {
    /// The tree so far.
    Tree(TreeView),
    /// Why there is none.
    Fault(Fault),
}

/// A tree while it grows.
#[derive(Debug, Serialize, ToSchema)]
pub struct TreeView {
    /// Simulations so far.
    pub simulations: u64,
    /// Nodes of the whole tree.
    pub nodes: usize,
    /// Nodes below a hallucination, of the whole tree.
    pub dead: usize,
    /// Milliseconds so far.
    pub milliseconds: u64,
    /// The move the search would play.
    pub best: Option<MoveText>,
    /// Its win probability.
    pub value: Option<f32>,
    /// The most visited part, the root first.
    pub tree: Vec<TreeMove>,
    /// The text so far, of a player that searches in text.
    pub text: Option<String>,
    /// Whether the search has ended.
    pub done: bool,
}

/// A move in a tree and what follows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TreeMove {
    /// The move.
    #[serde(flatten)]
    pub text: MoveText,
    /// Visits.
    pub visits: u32,
    /// Win probability of the player who makes it, 0 to 1; the model's own before the first visit.
    pub value: f32,
    /// The model's own value, 0 to 1.
    pub model_value: f32,
    /// Prior probability.
    pub prior: f32,
    /// `win`, `loss`, `draw` where it is proven, `dead` behind a hallucination.
    pub proof: Option<&'static str>,
    /// Replies that are part of this view.
    #[schema(no_recursion)]
    pub replies: Vec<TreeMove>,
    /// Replies left out.
    pub hidden: usize,
}

/// What the server offers.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoView {
    /// The program's version.
    pub version: &'static str,
    /// The games.
    pub games: Vec<GameInfo>,
    /// Every kind of player a client may name.
    pub kinds: Vec<KindInfo>,
    /// The most seconds a player may think.
    pub max_seconds: f64,
}

/// A game.
#[derive(Debug, Serialize, ToSchema)]
pub struct GameInfo {
    /// Its name in requests.
    pub game: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Names of the two sides.
    pub sides: [&'static str; 2],
    /// Opponents by strength, weakest first.
    pub presets: Vec<PresetInfo>,
}

/// An opponent.
#[derive(Debug, Serialize, ToSchema)]
pub struct PresetInfo {
    /// A name for people.
    pub title: &'static str,
    /// The player line.
    pub player: String,
    /// One sentence.
    pub help: &'static str,
}

/// A kind of player.
#[derive(Debug, Serialize, ToSchema)]
pub struct KindInfo {
    /// The first word of its line.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Its options.
    pub options: Vec<OptionInfo>,
}

/// An option of a player.
#[derive(Debug, Serialize, ToSchema)]
pub struct OptionInfo {
    /// The key; `argument` is the bare first item.
    pub name: String,
    /// What it does.
    pub help: String,
}

/// Leagues and training runs on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudiesView {
    /// Folders of leagues.
    pub leagues: Vec<StudyInfo>,
    /// Folders of training runs.
    pub runs: Vec<StudyInfo>,
    /// Whether there is a queue of jobs at `/api/queue`.
    pub queue: bool,
}

/// Jobs and workers of a queue.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueView {
    /// As `mavis queue status --json` prints it.
    pub status: serde_json::Value,
}

/// A league or a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudyInfo {
    /// Its folder, by which it is named.
    pub id: String,
}

/// The standings of a league.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeagueView {
    /// Ratings with intervals and the cross table, as `mavis league table --json` prints them.
    #[schema(value_type = Object)]
    pub standings: serde_json::Value,
    /// The players, best first.
    pub names: Vec<String>,
    /// Elo of each player, best first, after growing numbers of games.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    pub history: Vec<(usize, Vec<Option<f64>>)>,
    /// The latest games.
    pub games: Vec<LeagueGame>,
}

/// A finished game of a league.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeagueGame {
    /// Its number.
    pub game: u64,
    /// The player with the first side.
    pub first: String,
    /// The other.
    pub second: String,
    /// `1-0`, `0-1` or `1/2-1/2`.
    #[schema(value_type = String)]
    pub result: serde_json::Value,
    /// Why it ended.
    pub reason: String,
    /// Plies, the opening included.
    pub plies: usize,
}

/// Curves of a training run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunView {
    /// Points `[step, value]` by name.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<Vec<f64>>>)]
    pub curves: std::collections::BTreeMap<String, Vec<[f64; 2]>>,
}
