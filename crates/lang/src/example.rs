//! Examples for training, built from annotated positions without going through text.

mod variety;

pub use variety::Variety;

use crate::{
    command::{CommandError, Commands, Given, Top},
    moves,
    request::{Input, write_forms, write_prompt},
    state::without_history,
    value::value_token,
    vocab::{self, LINE_END, Token, vocabulary},
};
use mavis_game::{Game, Move, Outcome, Position};
use mavis_value::Bucket;
use rand::{Rng, seq::SliceRandom};

/// A position with what an oracle says of its moves.
#[derive(Clone, Copy, Debug)]
pub struct Annotation<'a> {
    /// The position.
    pub position: &'a Position,
    /// Every legal move with its win probability for the player who makes it; empty once the game is over.
    pub moves: &'a [(Move, f32)],
    /// The oracle's own choice, which breaks ties; `None` only once the game is over or if never asked for.
    pub best: Option<Move>,
    /// The position before and the move that led here, if known.
    pub previous: Option<(&'a Position, Move)>,
}

/// The place of the list of moves in an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListSpan {
    /// The index of the first move token; everything before it is the prompt of the star layout.
    pub start: usize,
    /// The number of listed moves; 0 once the game is over, and then `invalid` and the outcome stand at `start`.
    pub n_moves: usize,
    /// Whether each move after the first is the only right one to come next ([`Example::list_in_turn`]).
    pub in_turn: bool,
}

impl ListSpan {
    /// The index of a move's token.
    #[must_use]
    pub const fn move_at(self, idx: usize) -> usize {
        self.start + 2 * idx
    }

    /// The index of a move's value token.
    #[must_use]
    pub const fn value_at(self, idx: usize) -> usize {
        self.start + 2 * idx + 1
    }

    /// Whether the game is over.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        self.n_moves == 0
    }

    /// The index of the token that closes the line.
    #[must_use]
    pub const fn end(self) -> usize {
        self.start + 2 * if self.n_moves == 0 { 1 } else { self.n_moves }
    }
}

/// One example: tokens, and where its parts are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Example {
    /// The whole example.
    pub tokens: Vec<Token>,
    /// Tokens of header and input lines, which carry no loss; the rest is the answer.
    pub input_len: usize,
    /// Where the moves are; `None` if only state tracking is asked for.
    pub list: Option<ListSpan>,
    /// The index of the best action's move token, if there is one.
    pub best_at: Option<usize>,
}

impl Example {
    /// The example as text.
    #[must_use]
    pub fn text(&self) -> String {
        vocabulary().decode(&self.tokens).expect("an example is made of tokens")
    }

    /// Puts the listed moves in turn: in the order of their tokens, from a random one on and around to the one before it.
    ///
    /// The first move is as random as in any list, and then each leads to the next, so that a model that has seen such lists can
    /// write every move by writing the likeliest. In a random order the missing moves are equally likely, and it loses track of them.
    pub fn list_in_turn(&mut self, rng: &mut impl Rng) {
        let Some(list) = self.list.as_mut().filter(|list| !list.is_terminal()) else { return };
        list.in_turn = true;
        let (pairs, _) = self.tokens[list.start..list.end()].as_chunks_mut::<2>();
        pairs.sort_unstable();
        pairs.rotate_left(rng.random_range(0..list.n_moves));
    }

    /// Header and input lines.
    #[must_use]
    pub fn input(&self) -> &[Token] {
        &self.tokens[..self.input_len]
    }

    /// The answer.
    #[must_use]
    pub fn output(&self) -> &[Token] {
        &self.tokens[self.input_len..]
    }
}

/// An annotation that cannot answer the commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The commands themselves.
    #[error(transparent)]
    Commands(#[from] CommandError),
    /// The commands are for another game.
    #[error("commands and position are of different games")]
    Rules,
    /// State tracking without a previous position.
    #[error("state tracking needs the previous position")]
    NoPrevious,
    /// No moves, though the game is not over.
    #[error("a position that is not over has no annotated moves")]
    NoMoves,
    /// `%best_action` without a best move.
    #[error("%best_action needs the oracle's choice")]
    NoBest,
    /// A code that is no move of the game.
    #[error("{0:?} is not a move of this game")]
    ForeignMove(Move),
}

/// Builds examples; keeps its buffers from one to the next.
#[derive(Debug, Default)]
pub struct ExampleBuilder {
    /// Indices of moves with a random number that breaks ties.
    order: Vec<(u32, u32)>,
}

impl ExampleBuilder {
    /// Builds one example. The random key decides ties of the k best and the order of the moves.
    ///
    /// # Errors
    /// When the annotation lacks what the commands ask for.
    pub fn build(
        &mut self,
        annotation: &Annotation<'_>,
        commands: &Commands,
        rng: &mut impl Rng,
    ) -> Result<Example, BuildError> {
        let mut example = Example::default();
        self.build_into(annotation, commands, rng, &mut example)?;
        Ok(example)
    }

    /// Builds one example in place of another, whose buffer it takes over.
    ///
    /// # Errors
    /// When the annotation lacks what the commands ask for; `example` is then unspecified.
    pub fn build_into(
        &mut self,
        annotation: &Annotation<'_>,
        commands: &Commands,
        rng: &mut impl Rng,
        example: &mut Example,
    ) -> Result<(), BuildError> {
        commands.validate()?;
        if annotation.position.rules() != commands.rules {
            return Err(BuildError::Rules);
        }
        let tokens = &mut example.tokens;
        tokens.clear();
        match commands.given {
            Given::Current(_) => {
                write_prompt(commands, Input::At(annotation.position), tokens);
                example.input_len = tokens.len();
            }
            Given::Previous { tracked, .. } => {
                let (previous, action) = annotation.previous.ok_or(BuildError::NoPrevious)?;
                write_prompt(commands, Input::After(previous, action), tokens);
                example.input_len = tokens.len();
                write_forms(annotation.position, tracked, tokens);
            }
        }
        example.best_at = None;
        example.list = None;
        if commands.top.is_some() {
            commands.write_list_opening(tokens);
            let start = tokens.len();
            let n_moves = self.write_list(annotation, commands, rng, tokens)?;
            tokens.push(LINE_END);
            example.list = Some(ListSpan { start, n_moves, in_turn: false });
            // Once the game is over there is nothing left to choose, and the answer ends here.
            if commands.best && n_moves > 0 {
                let best = annotation.best.ok_or(BuildError::NoBest)?;
                example.best_at = Some(tokens.len() + 1);
                write_best(annotation.position, best, commands, tokens)?;
            }
        }
        Ok(())
    }

    /// Appends moves and values, or the outcome; returns the number of moves.
    fn write_list(
        &mut self,
        annotation: &Annotation<'_>,
        commands: &Commands,
        rng: &mut impl Rng,
        tokens: &mut Vec<Token>,
    ) -> Result<usize, BuildError> {
        if annotation.moves.is_empty() {
            // A game that only its history ends shows nothing of it in the text.
            let outcome = without_history(annotation.position).outcome().ok_or(BuildError::NoMoves)?;
            tokens.extend([vocab::INVALID, outcome_token(outcome)]);
            return Ok(0);
        }
        let top = commands.top.unwrap_or(Top::All);
        draw_order(annotation.moves, annotation.best, top, rng, &mut self.order);
        for &(_, idx) in &self.order {
            let (mv, win_probability) = annotation.moves[idx as usize];
            tokens.push(moves::token_of(commands.rules, mv).ok_or(BuildError::ForeignMove(mv))?);
            tokens.push(value_token(Bucket::from_win_probability(win_probability)));
        }
        Ok(self.order.len())
    }
}

/// The listed moves in random order, as indices behind spent random numbers: all, or the k best with ties at random,
/// save that the oracle's own choice comes first among its equals.
pub(crate) fn draw_order(
    moves: &[(Move, f32)],
    best: Option<Move>,
    top: Top,
    rng: &mut impl Rng,
    order: &mut Vec<(u32, u32)>,
) {
    let n_listed = top.n_listed(moves.len());
    order.clear();
    if n_listed < moves.len() {
        order.extend((0..moves.len() as u32).map(|idx| (rng.random(), idx)));
        order.select_nth_unstable_by(n_listed, |one, other| {
            let key = |&(tie, idx): &(u32, u32)| {
                let (mv, value) = moves[idx as usize];
                (value, best == Some(mv), tie)
            };
            let (one, other) = (key(one), key(other));
            other.0.total_cmp(&one.0).then_with(|| (other.1, other.2).cmp(&(one.1, one.2)))
        });
        order.truncate(n_listed);
    } else {
        order.extend((0..moves.len() as u32).map(|idx| (0, idx)));
    }
    order.shuffle(rng);
}

/// Appends the best action and, if asked for, the position after it.
fn write_best(
    position: &Position,
    best: Move,
    commands: &Commands,
    tokens: &mut Vec<Token>,
) -> Result<(), BuildError> {
    let token = moves::token_of(commands.rules, best).ok_or(BuildError::ForeignMove(best))?;
    tokens.extend([vocab::BEST_ACTION, token, LINE_END]);
    if let Some(forms) = commands.next {
        let mut next = position.clone();
        next.play_unchecked(best);
        write_forms(&next, forms, tokens);
    }
    Ok(())
}

/// The token of an outcome.
#[must_use]
pub fn outcome_token(outcome: Outcome) -> Token {
    match outcome.winner() {
        None => vocab::DRAW,
        Some(mavis_game::Side::First) => vocab::FIRST_WINS,
        Some(mavis_game::Side::Second) => vocab::SECOND_WINS,
    }
}

/// The outcome of a token.
#[must_use]
pub fn outcome_of(token: Token) -> Option<Outcome> {
    match token {
        vocab::DRAW => Some(Outcome::Draw),
        vocab::FIRST_WINS => Some(Outcome::Win(mavis_game::Side::First)),
        vocab::SECOND_WINS => Some(Outcome::Win(mavis_game::Side::Second)),
        _ => None,
    }
}
