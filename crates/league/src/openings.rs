//! Where games start: book positions, random plies, Chess960 arrays; a pure function of settings and seed.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod book;

pub use book::{Book, BookError, BookFormat};

use crate::seeds::{Purpose, rng};
use mavis_game::{FromRules, Game, Position};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

/// A start position with the moves played from it before players take over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// Position text. `None` means the start of the game.
    pub start: Option<String>,
    /// Moves from there, as text.
    pub moves: Vec<String>,
}

impl Opening {
    /// The position after the opening, its history included.
    ///
    /// # Errors
    /// When position or moves do not belong to the game.
    pub fn position<G: FromRules>(&self, rules: G::Rules) -> Result<G, BookError> {
        let mut position: G = self.start_position(rules)?;
        for text in &self.moves {
            position.play_text(text)?;
        }
        Ok(position)
    }

    /// The position before the opening's moves.
    ///
    /// # Errors
    /// When the text is no position of the game.
    pub fn start_position<G: FromRules>(&self, rules: G::Rules) -> Result<G, BookError> {
        match &self.start {
            None => Ok(G::start(rules)),
            Some(text) => Ok(G::parse(rules, text)?),
        }
    }
}

/// Gives the opening of every pair by its number.
#[derive(Clone, Debug)]
pub struct Openings<G: Game = Position> {
    rules: G::Rules,
    seed: u64,
    book: Option<Book>,
    /// Order of the book's lines.
    order: Vec<usize>,
    random_plies: u32,
}

impl<G: FromRules> Openings<G> {
    /// Openings from an optional book, in its order or shuffled by the seed, with random plies on top.
    #[must_use]
    pub fn new(rules: G::Rules, seed: u64, book: Option<Book>, in_order: bool, random_plies: u32) -> Self {
        let mut order: Vec<usize> = (0..book.as_ref().map_or(0, Book::len)).collect();
        if !in_order {
            order.shuffle(&mut rng(seed, Purpose::Book, 0));
        }
        Self { rules, seed, book, order, random_plies }
    }

    /// The game's rules.
    #[must_use]
    pub fn rules(&self) -> G::Rules {
        self.rules.clone()
    }

    /// The opening of pair `number`; a book that is used up starts over.
    ///
    /// # Errors
    /// When the book's line does not belong to the game.
    pub fn opening(&self, number: u64) -> Result<Opening, BookError> {
        let mut rng = rng(self.seed, Purpose::Opening, number);
        let base = match &self.book {
            Some(book) => self.line(book, number),
            None => {
                let drawn = G::random_start(self.rules(), |n| rng.random_range(0..n));
                Opening { start: drawn.map(|position| position.to_string()), moves: Vec::new() }
            }
        };
        if self.random_plies == 0 {
            return base.position::<G>(self.rules()).map(|_| base);
        }
        // A line that ends the game is no opening; some other line of the same start does not.
        for _ in 0..100 {
            if let Some(opening) = self.with_random_plies(&base, &mut rng)? {
                return Ok(opening);
            }
        }
        Ok(base)
    }

    /// The line of a book that pair `number` plays; books are never empty.
    fn line(&self, book: &Book, number: u64) -> Opening {
        let place =
            number.checked_rem(self.order.len() as u64).and_then(|place| self.order.get(place as usize));
        place.and_then(|&place| book.lines().get(place)).cloned().unwrap_or_default()
    }

    fn with_random_plies(&self, base: &Opening, rng: &mut impl Rng) -> Result<Option<Opening>, BookError> {
        let mut opening = base.clone();
        let mut position: G = base.position(self.rules())?;
        for _ in 0..self.random_plies {
            let Some(&mv) = position.legal_moves().as_slice().choose(rng) else { return Ok(None) };
            opening.moves.push(position.move_text(mv));
            position.play_unchecked(mv);
        }
        Ok(position.outcome().is_none().then_some(opening))
    }
}
