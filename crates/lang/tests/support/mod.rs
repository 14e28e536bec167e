//! Positions and annotations for the tests, all from seeds.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

pub mod games;
pub mod traces;

use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::Annotation;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Every game, and Hex once more with its other options.
pub const GAMES: [Rules; 7] = [
    Rules::Chess,
    Rules::Chess960,
    Rules::Connect4,
    Rules::HEX,
    Rules::Hex { size: 5, swap: true },
    Rules::Othello,
    Rules::Togyz,
];

/// The random numbers of a test.
pub fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// An annotated position that owns its parts.
pub struct Annotated {
    pub position: Position,
    pub moves: Vec<(Move, f32)>,
    pub best: Option<Move>,
    pub previous: Option<(Position, Move)>,
}

impl Annotated {
    /// Annotates a position with random values, some of them equal; the best move is the first of the highest.
    pub fn random(position: Position, previous: Option<(Position, Move)>, rng: &mut impl Rng) -> Self {
        let coarse = rng.random_bool(0.3);
        let moves: Vec<(Move, f32)> = position
            .legal_moves()
            .into_iter()
            .map(|mv| {
                let value: f32 = rng.random();
                (mv, if coarse { (value * 3.0).round() / 3.0 } else { value })
            })
            .collect();
        let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
        Self { position, moves, best: best.map(|(mv, _)| mv), previous }
    }

    pub fn as_annotation(&self) -> Annotation<'_> {
        Annotation {
            position: &self.position,
            moves: &self.moves,
            best: self.best,
            previous: self.previous.as_ref().map(|(position, mv)| (position, *mv)),
        }
    }
}

/// `n` positions of random games, the last of each game among them, with what came before.
pub fn random_play(rules: Rules, n: usize, seed: u64) -> Vec<(Position, Option<(Position, Move)>)> {
    let mut rng = random(seed);
    let mut positions = Vec::with_capacity(n);
    while positions.len() < n {
        let mut position = start(rules, &mut rng);
        let mut previous = None;
        // Long chess games are cut, so that openings and endings are both well met.
        for _ in 0..400 {
            positions.push((position.clone(), previous));
            let moves = position.legal_moves();
            let Some(&mv) = moves.as_slice().choose(&mut rng) else { break };
            let before = position.clone();
            position.play_unchecked(mv);
            previous = Some((before, mv));
        }
    }
    positions.truncate(n);
    positions
}

fn start(rules: Rules, rng: &mut impl Rng) -> Position {
    match rules {
        Rules::Chess960 => {
            Position::Chess(mavis_game::Chess::start960(rng.random_range(0..960)).expect("below 960"))
        }
        _ => Position::start(rules),
    }
}
