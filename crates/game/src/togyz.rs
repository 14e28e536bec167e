//! Togyz Kumalak, as one row of eighteen counts.

use crate::key::fold;
use crate::{EndReason, Game, Move, MoveError, Moves, Outcome, PositionError, Rules, Side, game::pick};
use std::{cmp::Ordering, fmt, hash};

mod text;
mod unsow;

const N_PITS: usize = 9;
/// Both sides' pits in the order of sowing: the first player's 1 to 9, then the second's.
const N_BOTH: usize = 2 * N_PITS;
const N_STONES: u32 = 162;
/// A side with more than this has won; both with exactly this have drawn.
const HALF: u8 = 81;

/// A Togyz Kumalak position. The move code is the pit of the side to move, 0 to 8; its text is `1` to `9`.
///
/// A move takes all stones of a pit and sows them one by one onwards, the first into the pit itself unless it is the
/// only one. If the last stone makes an even count in a pit of the opponent, that pit's stones go to the mover's
/// kazan; if it makes three, the pit becomes the mover's tuzdyk and its stones go to his kazan, provided that he has
/// no tuzdyk yet, it is not pit 9, and the opponent's tuzdyk does not have the same number. Whatever falls into a
/// tuzdyk later goes to its owner's kazan. More than 81 stones win. A side that has to move and cannot ends the
/// game: the stones left belong to the opponent. The rules know no repetition, so a game may in principle go on
/// for ever; referees bound its length.
///
/// Position text: the first player's pits 1 to 9 with commas, `/`, the second player's, a space, both kazans with a
/// comma, a space, and the side to move (`w` first, `b` second). A tuzdyk is an `X` in place of the count (it is
/// always empty), so an `X` among the second player's pits belongs to the first. The start is
/// `9,9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 0,0 w`.
#[derive(Clone, Copy, Debug)]
pub struct Togyz {
    /// Stones in each pit, in the order of sowing.
    pits: [u8; N_BOTH],
    /// Stones won, by side.
    kazans: [u8; 2],
    /// The pit, counted over both sides, that is each side's tuzdyk.
    tuzdyks: [Option<u8>; 2],
    side: Side,
    /// Plies since the start or since the text it was read from; no part of equality.
    ply: u32,
}

impl Default for Togyz {
    fn default() -> Self {
        Self { pits: [9; N_BOTH], kazans: [0; 2], tuzdyks: [None; 2], side: Side::First, ply: 0 }
    }
}

impl Togyz {
    /// The stones in each pit of `side`, from its pit 1 to 9.
    #[must_use]
    pub fn pits(&self, side: Side) -> &[u8] {
        &self.pits[side.index() * N_PITS..][..N_PITS]
    }

    /// The stones `side` has won so far.
    #[must_use]
    pub fn kazan(&self, side: Side) -> u8 {
        self.kazans[side.index()]
    }

    /// The number, 1 to 9, of the opponent's pit that is the tuzdyk of `side`.
    #[must_use]
    pub fn tuzdyk(&self, side: Side) -> Option<u8> {
        self.tuzdyks[side.index()].map(|pit| pit % N_PITS as u8 + 1)
    }

    /// The kazan of `side` with the stones that the end of the game gives to it: once the side to move is without
    /// stones those of the other belong to that one.
    #[must_use]
    pub fn final_kazan(&self, side: Side) -> u8 {
        let left = if self.is_stuck() && side != self.side { self.stones(side) } else { 0 };
        self.kazan(side) + left
    }

    /// The pit, 1 to 9, and its side where the last stone of `mv` falls; `None` for an empty pit.
    #[must_use]
    pub fn last_pit(&self, mv: Move) -> Option<(Side, u8)> {
        let from = self.pit_of(mv);
        let stones = usize::from(self.pits[from]);
        // A single stone moves on, of several the first stays.
        let last = (from + stones.max(2) - 1) % N_BOTH;
        let side = if last < N_PITS { Side::First } else { Side::Second };
        (stones > 0).then_some((side, (last % N_PITS) as u8 + 1))
    }

    /// Reads a position text.
    ///
    /// # Errors
    /// When the text is malformed, the stones are not 162 in all, or a tuzdyk breaks its limits.
    pub fn parse(text: &str) -> Result<Self, PositionError> {
        text::parse(text)
    }

    fn pit_of(&self, mv: Move) -> usize {
        self.side.index() * N_PITS + usize::from(mv.0) % N_PITS
    }

    fn stones(&self, side: Side) -> u8 {
        self.pits(side).iter().sum()
    }

    /// Whether the side to move has no stone to sow.
    fn is_stuck(&self) -> bool {
        self.pits(self.side).iter().all(|&stones| stones == 0)
    }

    /// Whether a kazan has decided the game.
    fn has_majority(&self) -> bool {
        self.kazans[0].max(self.kazans[1]) > HALF
    }

    /// Puts the stones of a pit into the following ones and gives the last pit; stones in a tuzdyk stay there for now.
    #[inline]
    fn sow(&mut self, from: usize) -> usize {
        let stones = usize::from(std::mem::take(&mut self.pits[from]));
        let (first, n_sown) = if stones == 1 { (from + 1, 1) } else { (from, stones) };
        let mut pit = first % N_BOTH;
        let mut last = pit;
        for _ in 0..n_sown {
            last = pit;
            self.pits[pit] += 1;
            pit = if pit + 1 == N_BOTH { 0 } else { pit + 1 };
        }
        last
    }

    fn may_become_tuzdyk(&self, pit: usize) -> bool {
        let (mine, theirs) = (self.tuzdyks[self.side.index()], self.tuzdyks[self.side.other().index()]);
        let number = pit % N_PITS;
        mine.is_none()
            && number != N_PITS - 1
            && theirs.is_none_or(|other| usize::from(other) % N_PITS != number)
    }
}

impl Game for Togyz {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        Rules::Togyz
    }

    fn side_to_move(&self) -> Side {
        self.side
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        if self.has_majority() {
            return;
        }
        for (code, &stones) in (0..).zip(self.pits(self.side)) {
            if stones > 0 {
                moves.push(Move(code));
            }
        }
    }

    fn n_legal_moves(&self) -> usize {
        if self.has_majority() {
            0
        } else {
            self.pits(self.side).iter().filter(|&&stones| stones > 0).count()
        }
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        if self.has_majority() {
            return None;
        }
        let filled =
            self.pits(self.side).iter().rev().fold(0_u32, |all, &stones| all << 1 | u32::from(stones > 0));
        let mut pits = filled;
        for _ in 0..pick(random, filled.count_ones() as usize) {
            pits &= pits - 1;
        }
        (pits != 0).then(|| Move(pits.trailing_zeros() as u16))
    }

    fn is_legal(&self, mv: Move) -> bool {
        usize::from(mv.0) < N_PITS && self.pits[self.pit_of(mv)] > 0 && !self.has_majority()
    }

    fn play_unchecked(&mut self, mv: Move) {
        let mover = self.side.index();
        let last = self.sow(self.pit_of(mv));
        for (owner, tuzdyk) in self.tuzdyks.into_iter().enumerate() {
            if let Some(pit) = tuzdyk {
                self.kazans[owner] += std::mem::take(&mut self.pits[usize::from(pit)]);
            }
        }
        let stones = self.pits[last];
        if last / N_PITS != mover && stones > 0 {
            if stones.is_multiple_of(2) {
                self.kazans[mover] += std::mem::take(&mut self.pits[last]);
            } else if stones == 3 && self.may_become_tuzdyk(last) {
                self.tuzdyks[mover] = Some(last as u8);
                self.kazans[mover] += std::mem::take(&mut self.pits[last]);
            }
        }
        self.side = self.side.other();
        self.ply += 1;
    }

    fn outcome(&self) -> Option<Outcome> {
        if !self.has_majority() && !self.is_stuck() {
            return None;
        }
        Some(match self.final_kazan(Side::First).cmp(&self.final_kazan(Side::Second)) {
            Ordering::Greater => Outcome::Win(Side::First),
            Ordering::Less => Outcome::Win(Side::Second),
            Ordering::Equal => Outcome::Draw,
        })
    }

    fn end_reason(&self) -> Option<EndReason> {
        if self.has_majority() {
            return Some(EndReason::Majority);
        }
        self.is_stuck().then_some(EndReason::NoMoves)
    }

    fn key(&self) -> u64 {
        let [a, b, c] = self.words();
        let mixed = fold(a ^ 0xA076_1D64_78BD_642F, b ^ 0xE703_7ED1_A0B4_28DB);
        fold(mixed ^ 0x8EBC_6AF0_9C88_C6E3, c ^ 0x5899_65CC_7537_4CC3)
    }

    fn ply(&self) -> u32 {
        self.ply
    }

    fn move_text(&self, mv: Move) -> String {
        (mv.0 + 1).to_string()
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        let mv = match text.as_bytes() {
            [digit @ b'1'..=b'9'] => Move(u16::from(digit - b'1')),
            _ => {
                return Err(MoveError::Syntax {
                    text: text.to_owned(),
                    game: "togyz",
                    expected: "a pit, 1 to 9",
                });
            }
        };
        if self.is_legal(mv) { Ok(mv) } else { Err(MoveError::Illegal { text: text.to_owned() }) }
    }

    fn random_predecessor(&self, random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        unsow::predecessor(self, random)
    }

    fn drawing(&self) -> String {
        text::drawing(self)
    }
}

impl Togyz {
    /// All that the rules see, packed.
    fn words(&self) -> [u64; 3] {
        let mut words = [0; 3];
        let rest = [
            self.kazans[0],
            self.kazans[1],
            self.tuzdyks[0].unwrap_or(u8::MAX),
            self.tuzdyks[1].unwrap_or(u8::MAX),
            self.side.index() as u8,
        ];
        for (index, &byte) in self.pits.iter().chain(&rest).enumerate() {
            words[index / 8] |= u64::from(byte) << (index % 8 * 8);
        }
        words
    }
}

impl PartialEq for Togyz {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Togyz {}

impl hash::Hash for Togyz {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

impl fmt::Display for Togyz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

#[cfg(test)]
mod tests;
