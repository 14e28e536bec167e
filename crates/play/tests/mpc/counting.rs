//! Doubles that count how often they are asked.

use super::analyze;
use mavis_game::{Game as _, Move, Position, Rules, Side};
use mavis_play::{Choice, Limit, Maker, MpcPlayer, MpcSettings, Player, PlayerError, Steps, Thought, Turn};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Judges by the position's key alone, and replies with the legal move of the least key.
struct Double(Arc<AtomicUsize>);

impl Player for Double {
    fn name(&self) -> String {
        "double".to_owned()
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let value = Some(value(turn.position));
        Ok(Choice { mv: reply(turn.position), thought: Thought { value, ..Thought::default() } })
    }
}

/// A win probability of the side to move that has nothing to do with the game.
fn value(position: &Position) -> f32 {
    (position.key().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / (1 << 24) as f32
}

fn reply(position: &Position) -> Move {
    let legal = position.legal_moves();
    *legal.iter().min_by_key(|&&mv| after(position, mv).key()).unwrap()
}

fn after(position: &Position, mv: Move) -> Position {
    let mut next = position.clone();
    next.play(mv).unwrap();
    next
}

/// What a line is worth to `root`: exact at an end, else the double's word.
fn worth(position: &Position, root: Side) -> f32 {
    match position.outcome() {
        Some(outcome) => f32::from(u8::from(outcome.winner() == Some(root))),
        None if position.side_to_move() == root => value(position),
        None => 1.0 - value(position),
    }
}

/// The position after an own move and the double's reply.
fn step(position: &Position, mv: Move) -> Position {
    let next = after(position, mv);
    if next.outcome().is_some() { next } else { after(&next, reply(&next)) }
}

/// The best move by a plain loop, and the worth of each move after one step.
fn by_hand(position: &Position) -> Vec<(Move, f32)> {
    let root = position.side_to_move();
    let mut list: Vec<_> =
        position.legal_moves().into_iter().map(|mv| (mv, worth(&step(position, mv), root))).collect();
    list.sort_by(|a, b| b.1.total_cmp(&a.1));
    list
}

struct Counted {
    player: MpcPlayer,
    evaluations: Arc<AtomicUsize>,
    replies: Arc<AtomicUsize>,
}

fn counted(settings: MpcSettings) -> Counted {
    let (evaluations, replies) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let maker = |count: &Arc<AtomicUsize>| -> Maker {
        let count = count.clone();
        Arc::new(move |_| Ok(Box::new(Double(count.clone())) as Box<dyn Player>))
    };
    let player = MpcPlayer::new(settings, maker(&evaluations), Some(maker(&replies)), 0).unwrap();
    Counted { player, evaluations, replies }
}

/// Positions with different numbers of moves, none of them with a move that ends the game.
fn positions() -> Vec<Position> {
    let mut list = vec![Position::start(Rules::Othello), Position::start(Rules::Chess)];
    let mut position = Position::start(Rules::Connect4);
    for column in ["4", "4", "4", "4", "4", "4", "2"] {
        position.play_text(column).unwrap();
    }
    list.push(position);
    list
}

#[test]
fn half_and_one_step_ask_once_for_each_legal_move_and_choose_the_best() {
    for position in positions() {
        let m = position.n_legal_moves();
        for (steps, fortified, replies) in
            [(Steps::Half, false, 0), (Steps::Half, true, 0), (Steps::One, false, m), (Steps::One, true, m)]
        {
            let settings = MpcSettings { steps, fortified, threads: 3, ..MpcSettings::default() };
            let mut mpc = counted(settings);
            let analysis = analyze(&mut mpc.player, &position, Limit::default()).unwrap();
            assert_eq!(mpc.replies.load(Ordering::Relaxed), replies);
            assert_eq!(mpc.evaluations.load(Ordering::Relaxed), m + usize::from(fortified));
            assert_eq!(analysis.moves.len(), m, "every legal move is considered");
            if steps == Steps::One && !fortified {
                let expected = by_hand(&position);
                let found: Vec<_> = analysis.moves.iter().map(|row| (row.mv, row.value.unwrap())).collect();
                assert_eq!(found, expected);
                let reply = reply(&after(&position, expected[0].0));
                assert_eq!(analysis.choice.thought.line[..2], [expected[0].0, reply]);
            }
            if fortified {
                // E(x) against the worth of the best move: the better one decides.
                let own = reply(&position);
                let mut plain = counted(MpcSettings { steps, ..MpcSettings::default() });
                let without = analyze(&mut plain.player, &position, Limit::default()).unwrap();
                let expected =
                    if value(&position) > without.moves[0].value.unwrap() { own } else { without.choice.mv };
                assert_eq!(analysis.choice.mv, expected);
            }
        }
    }
}

#[test]
fn two_steps_ask_no_more_than_the_pruned_tree_holds() {
    for position in positions() {
        for width in [1, 3, 1000] {
            let settings = MpcSettings { steps: Steps::Two, width, threads: 3, ..MpcSettings::default() };
            let mut mpc = counted(settings);
            let analysis = analyze(&mut mpc.player, &position, Limit::default()).unwrap();
            let root = position.side_to_move();
            // By hand: the best of the first step, and for each all own moves after it.
            let first = by_hand(&position);
            let mut n_expected = first.len();
            let mut seconds = Vec::new();
            for &(mv, _) in first.iter().take(width) {
                let middle = step(&position, mv);
                n_expected += middle.n_legal_moves();
                let best = middle.legal_moves().into_iter().map(|mv| worth(&step(&middle, mv), root));
                seconds.push((mv, best.max_by(f32::total_cmp).unwrap()));
            }
            let (replies, evaluations) =
                (mpc.replies.load(Ordering::Relaxed), mpc.evaluations.load(Ordering::Relaxed));
            assert!(
                replies <= n_expected && evaluations <= n_expected,
                "{replies} {evaluations} {n_expected}"
            );
            assert!(replies >= n_expected - 8, "only lines that end the game need no reply: {replies}");
            let best = seconds.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!((analysis.choice.mv, analysis.choice.thought.value), (best.0, Some(best.1)));
            assert_eq!(analysis.moves.len(), first.len());
        }
    }
}

/// Says nothing of what a position is worth, as a solver does whose time is up.
struct Silent;

impl Player for Silent {
    fn name(&self) -> String {
        "silent".to_owned()
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        let note = Some("no answer in time".to_owned());
        let mv = turn.position.legal_moves()[0];
        Ok(Choice { mv, thought: Thought { note, ..Thought::default() } })
    }
}

#[test]
fn an_evaluator_without_an_opinion_loses_no_game() {
    let maker: Maker = Arc::new(|_| Ok(Box::new(Silent) as Box<dyn Player>));
    for position in positions() {
        for steps in [Steps::Half, Steps::One, Steps::Two] {
            let settings = MpcSettings { steps, fortified: true, threads: 2, ..MpcSettings::default() };
            let mut player = MpcPlayer::new(settings, maker.clone(), None, 0).unwrap();
            let choice = analyze(&mut player, &position, Limit::default()).unwrap().choice;
            assert_eq!(choice.mv, position.legal_moves()[0]);
            let note = choice.thought.note.unwrap();
            assert!(note.contains("no answer in time") && note.contains("first legal move"), "{note}");
        }
    }
}

/// Sees a mate in three after the line of one move and reply, and nothing of it two plies later, where every other line
/// looks better.
struct Forgetful {
    mating: Move,
}

impl Player for Forgetful {
    fn name(&self) -> String {
        "forgetful".to_owned()
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        let is_mating = turn.moves.first() == Some(&self.mating);
        let thought = match (is_mating, turn.moves.len()) {
            (true, 2) => Thought { value: Some(1.0), mate: Some(3), ..Thought::default() },
            (true, _) => Thought { value: Some(0.5), ..Thought::default() },
            (false, _) => Thought { value: Some(0.9), ..Thought::default() },
        };
        Ok(Choice { mv: reply(turn.position), thought })
    }
}

#[test]
fn a_second_step_keeps_a_mate_that_the_first_one_found() {
    let position = Position::start(Rules::Chess);
    let mating = position.legal_moves()[7];
    let maker: Maker = Arc::new(move |_| Ok(Box::new(Forgetful { mating }) as Box<dyn Player>));
    let settings = MpcSettings { steps: Steps::Two, width: 3, threads: 2, ..MpcSettings::default() };
    let mut player = MpcPlayer::new(settings, maker, None, 0).unwrap();
    let analysis = analyze(&mut player, &position, Limit::default()).unwrap();
    assert_eq!(analysis.choice.mv, mating);
    assert_eq!(analysis.moves[0].mate, Some(4));
}
