//! A tree while it grows, as server-sent events.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::Body;
use crate::{
    ApiError, App,
    place::move_text,
    thinking::{CancelOnDrop, Question, start},
    wire::{Fault, MoveText, SearchEvent, ThinkRequest, TreeMove, TreeView},
};
use axum::{
    extract::State,
    http::Extensions,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_core::Stream;
use mavis_game::{Game as _, Move, Position};
use mavis_play::{Player, Thought};
use mavis_search::{
    Cancel,
    wire::{SavedMove, SavedProof, SavedTree},
};
use std::{
    collections::{BinaryHeap, HashMap},
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// Simulations where neither the request nor the player line says.
const USUAL: u64 = 400;
/// The most simulations of one stream.
const MOST: u64 = 100_000;
/// Time between two views.
const PACE: Duration = Duration::from_millis(120);
/// Moves of a tree that are sent.
const MOST_SHOWN: usize = 260;
/// Replies of a node that are sent.
const MOST_REPLIES: usize = 12;
/// How long a client that reads nothing is waited for at the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Grows a search tree and sends it as it grows: events `tree`, at the end one with `done`, or `fault`.
#[utoipa::path(post, path = "/api/search", request_body = ThinkRequest,
    responses((status = 200, body = SearchEvent, content_type = "text/event-stream"), (status = 400, body = Fault),
        (status = 403, body = Fault), (status = 429, body = Fault)))]
pub(crate) async fn search(
    State(app): State<App>,
    extensions: Extensions,
    Body(request): Body<ThinkRequest>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let mut question = Question::read(&app, &request, &extensions)?;
    let total = n_simulations(&question);
    // The line's own number would end the search before the one asked for.
    if let Some(sims) = question.spec.options.get_mut("sims") {
        *sims = total.to_string();
    }
    let (sender, receiver) = mpsc::channel(4);
    let cancel = Cancel::new();
    let faults = sender.clone();
    let growing = start(&app, question, cancel.clone(), move |player, question, cancel| {
        grow(player, question, total, cancel, &sender)
    })?;
    let most = app.limits.limits.thinking;
    let ending = cancel.clone();
    tokio::spawn(async move {
        tokio::pin!(growing);
        let ended = match tokio::time::timeout(most, &mut growing).await {
            Ok(ended) => ended,
            Err(_) => {
                ending.cancel();
                growing.await
            }
        };
        if let Err(error) = ended {
            // Whoever left does not need to know.
            let _ = faults.send(event(SearchEvent::Fault(error.fault()))).await;
        }
    });
    let stream = Events { receiver, _given_up: CancelOnDrop(cancel) };
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

/// A channel as a stream; dropping it ends the search.
struct Events {
    receiver: mpsc::Receiver<Event>,
    _given_up: CancelOnDrop,
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// What the request asks for, else the player line, else the usual number.
fn n_simulations(question: &Question) -> u64 {
    let by_line = question.spec.options.get("sims").and_then(|text| text.parse().ok());
    question.limit.nodes.or(by_line).unwrap_or(USUAL).clamp(1, MOST)
}

/// Searches in slices and sends the tree between them. The tree is kept from slice to slice, and a player counts the
/// simulations it kept, so each slice asks for the sum.
fn grow(
    player: &mut dyn Player,
    question: &Question,
    total: u64,
    cancel: &Cancel,
    sender: &mpsc::Sender<Event>,
) -> Result<(), ApiError> {
    let began = Instant::now();
    let deadline = question.limit.time.and_then(|time| began.checked_add(time));
    let (mut done, mut slice) = (0_u64, 8_u64);
    loop {
        let slice_began = Instant::now();
        // A tree that is written within one call comes by way of the thoughts.
        let mut sink = |thought: &Thought| {
            if let Some(view) = written_view(thought, &question.game.position, began) {
                let _shown_later = sender.try_send(event(SearchEvent::Tree(view)));
            }
        };
        let mut turn = question.turn(cancel, &mut sink);
        turn.limit.nodes = Some(done.saturating_add(slice).min(total));
        turn.limit.time = None;
        let analysis = player
            .analyze(&mut turn)
            .map_err(|error| ApiError::Failed(format!("{}: {error}", player.name())))?;
        let searched = slice_began.elapsed();
        let snapshot_began = Instant::now();
        let Some(tree) = player.tree() else {
            let thought = &analysis.choice.thought;
            let Some(view) = written_view(thought, &question.game.position, began) else {
                let name = player.name();
                return Err(ApiError::bad(format!("{name} grows no tree; mav-mcts and mav-is do")));
            };
            let best = Some(move_text(&question.game.position, analysis.choice.mv));
            send_last(sender, event(SearchEvent::Tree(TreeView { best, done: true, ..view })));
            return Ok(());
        };
        let thought = &analysis.choice.thought;
        let grown = thought.nodes;
        done = thought.kept.saturating_add(grown);
        let over = done >= total
            || grown == 0
            || cancel.is_cancelled()
            || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let mut view = tree_view(&tree, &question.game.position, Some(analysis.choice.mv), thought);
        view.simulations = done;
        view.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        view.done = over;
        let event = event(SearchEvent::Tree(view));
        if over {
            send_last(sender, event);
            return Ok(());
        }
        match sender.try_send(event) {
            Err(mpsc::error::TrySendError::Closed(_)) => return Ok(()),
            // A client that reads slowly misses views in between.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => {}
        }
        // Large trees take longer to send; then they are sent less often.
        let pace = PACE.max(snapshot_began.elapsed().saturating_mul(4));
        if searched < pace {
            slice = slice.saturating_mul(2).min(MOST);
        } else if searched > pace.saturating_mul(2) {
            slice = (slice / 2).max(1);
        }
    }
}

fn send_last(sender: &mpsc::Sender<Event>, mut event: Event) {
    let began = Instant::now();
    while let Err(mpsc::error::TrySendError::Full(back)) = sender.try_send(event) {
        if began.elapsed() > PATIENCE {
            return;
        }
        event = back;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn event(event: SearchEvent) -> Event {
    let name = match &event {
        SearchEvent::Tree(_) => "tree",
        SearchEvent::Fault(_) => "fault",
    };
    // Views hold no maps with odd keys and no infinities, so they can always be written.
    Event::default()
        .event(name)
        .json_data(&event)
        .unwrap_or_else(|_| Event::default().event("fault").data("{}"))
}

/// The most visited part of a tree, with moves in both spellings.
fn tree_view(saved: &SavedTree, position: &Position, best: Option<Move>, thought: &Thought) -> TreeView {
    let shown = most_visited(saved);
    let dead = saved.nodes.iter().flat_map(|node| &node.moves);
    let dead = dead.filter(|entry| entry.proof == Some(SavedProof::Dead)).count();
    TreeView {
        simulations: 0,
        nodes: saved.nodes.len(),
        dead,
        milliseconds: 0,
        best: best.map(|mv| move_text(position, mv)),
        value: thought.value.filter(|value| value.is_finite()),
        tree: replies(saved, 0, Some(position), &shown).0,
        text: thought.written.clone(),
        done: false,
    }
}

/// The view of a tree that a player writes within one call; `None` for other players.
fn written_view(thought: &Thought, position: &Position, began: Instant) -> Option<TreeView> {
    let mut view = tree_view(thought.tree.as_deref()?, position, thought.line.first().copied(), thought);
    view.simulations = thought.nodes;
    view.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Some(view)
}

/// The moves to show of each node, the most visited nodes first.
fn most_visited(saved: &SavedTree) -> HashMap<u32, Vec<usize>> {
    let mut shown = HashMap::new();
    let mut open = BinaryHeap::from([(u32::MAX, 0_u32)]);
    let mut n_shown = 0;
    while let Some((_, node)) = open.pop() {
        let Some(entry) = saved.nodes.get(node as usize) else { continue };
        let mut order: Vec<usize> = (0..entry.moves.len()).collect();
        let visits = |at: &usize| entry.moves.get(*at).map_or(0, |mv| mv.visits);
        order.sort_by_key(|at| std::cmp::Reverse(visits(at)));
        let is_root = node == 0;
        order.retain(|at| {
            let dead = entry.moves.get(*at).is_some_and(|mv| mv.proof == Some(SavedProof::Dead));
            is_root || visits(at) > 0 || dead
        });
        order.truncate(if is_root { 2 * MOST_REPLIES } else { MOST_REPLIES });
        n_shown = order.len().saturating_add(n_shown);
        for at in &order {
            if let Some(mv) = entry.moves.get(*at)
                && let Some(child) = mv.child
            {
                open.push((mv.visits, child));
            }
        }
        shown.insert(node, order);
        if n_shown >= MOST_SHOWN {
            break;
        }
    }
    shown
}

/// The shown moves of a node and how many are left out.
fn replies(
    saved: &SavedTree,
    node: u32,
    position: Option<&Position>,
    shown: &HashMap<u32, Vec<usize>>,
) -> (Vec<TreeMove>, usize) {
    let Some(entry) = saved.nodes.get(node as usize) else { return (Vec::new(), 0) };
    let visited = entry.moves.iter().filter(|mv| mv.visits > 0).count();
    let Some(order) = shown.get(&node) else { return (Vec::new(), visited) };
    let moves: Vec<TreeMove> = order
        .iter()
        .filter_map(|at| entry.moves.get(*at))
        .map(|mv| tree_move(saved, mv, position, shown))
        .collect();
    let hidden = visited.saturating_sub(moves.len());
    (moves, hidden)
}

fn tree_move(
    saved: &SavedTree,
    entry: &SavedMove,
    position: Option<&Position>,
    shown: &HashMap<u32, Vec<usize>>,
) -> TreeMove {
    let mv = Move(entry.code);
    let legal = position.filter(|position| position.is_legal(mv));
    let text = legal.map_or_else(
        || MoveText { text: entry.text.clone(), san: entry.text.clone() },
        |position| move_text(position, mv),
    );
    let after = legal.map(|position| {
        let mut after = position.clone();
        after.play_unchecked(mv);
        after
    });
    let (replies, hidden) = match entry.child {
        Some(child) => replies(saved, child, after.as_ref(), shown),
        None => (Vec::new(), 0),
    };
    let probability = |value: f32| 0.5 + 0.5 * if value.is_finite() { value } else { 0.0 };
    TreeMove {
        text,
        visits: entry.visits,
        value: probability(entry.value.unwrap_or(entry.model_value)),
        model_value: probability(entry.model_value),
        prior: entry.prior,
        proof: entry.proof.map(|proof| match proof {
            SavedProof::Win => "win",
            SavedProof::Loss => "loss",
            SavedProof::Draw => "draw",
            SavedProof::Dead => "dead",
        }),
        replies,
        hidden,
    }
}
