//! The next token of a list: a further move, or the end.

use super::likeliest;
use mavis_game::{Move, Rules};
use mavis_lang::{Token, moves, vocab};
use mavis_stable::seed;
use std::{fmt, str::FromStr};

/// The share of the likeliest move that a move needs to be drawn.
const NEAR: f32 = 0.2;

/// In which order the moves of `%top_all` are written, and when their list ends.
///
/// Lists of training have a random order, so every missing move is as right as the next one. The likeliest first is an order that
/// training never shows: the moves that come last are always the same ones, and while several are missing each of them is less
/// likely than the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// The likeliest token is written, a move or the end.
    #[default]
    Likeliest,
    /// A random order that depends on the request alone, among the moves that are nearly as likely as the likeliest; the list ends
    /// where its end is likelier than all moves together.
    Drawn,
}

impl fmt::Display for ListOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Likeliest => "likeliest",
            Self::Drawn => "drawn",
        })
    }
}

impl FromStr for ListOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "likeliest" => Ok(Self::Likeliest),
            "drawn" => Ok(Self::Drawn),
            _ => Err(format!("unknown list order '{text}' (expected likeliest or drawn)")),
        }
    }
}

/// How a list is written. Both decoders use it, so that answers and traces have the same grammar.
#[derive(Clone, Copy)]
pub(super) struct ListRule {
    /// Whether the list may name a move twice.
    pub(super) repeats: bool,
    /// The seed of a drawn order; `None` means the likeliest token.
    pub(super) drawn: Option<u64>,
}

impl ListRule {
    /// The token after these listed moves and their values.
    pub(super) fn next_token(self, logits: &[f32], rules: Rules, listed: &[Move]) -> Token {
        let named: Vec<Token> = if self.repeats {
            Vec::new()
        } else {
            listed.iter().filter_map(|&mv| moves::token_of(rules, mv)).collect()
        };
        if let Some(seed) = self.drawn {
            // In the place of the first move stands that the game is over.
            let end = if listed.is_empty() { vocab::INVALID } else { vocab::LINE_END };
            return draw(logits, rules, &named, end, seed);
        }
        match likeliest(logits) {
            token if named.contains(&token) => likeliest_but(logits, &named),
            token => token,
        }
    }
}

/// A move that is not named yet, or the end if it is likelier than all moves together. The named ones count among them: a network that
/// likes them is sure that a move is missing, and unsure which.
fn draw(logits: &[f32], rules: Rules, named: &[Token], end: Token, seed: u64) -> Token {
    let logit = |token: Token| logits.get(usize::from(token)).copied().unwrap_or(f32::NEG_INFINITY);
    let likeliest = likeliest(logits);
    if likeliest != end && moves::move_of(rules, likeliest).is_none() {
        return likeliest;
    }
    let weight = |token: Token| (logit(token) - logit(likeliest)).exp();
    if weight(end) > moves::move_tokens(rules).map(weight).sum() {
        return end;
    }
    let unnamed = || moves::move_tokens(rules).filter(|token| !named.contains(token));
    let most = unnamed().map(weight).fold(0.0, f32::max);
    let near = unnamed().filter(|&token| weight(token) >= NEAR * most);
    // One order for the whole list: moves keep their places in it however their likelihoods are rounded.
    near.min_by_key(|&token| seed::derive(seed, &[u64::from(token)])).unwrap_or(end)
}

/// The likeliest token that is none of these.
fn likeliest_but(logits: &[f32], not: &[Token]) -> Token {
    let mut logits = logits.to_vec();
    for token in not {
        if let Some(logit) = logits.get_mut(usize::from(*token)) {
            *logit = f32::NEG_INFINITY;
        }
    }
    likeliest(&logits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules::Connect4;

    /// Logits of the end and of the columns.
    fn logits(end: f32, columns: [f32; 7]) -> Vec<f32> {
        let mut logits = vec![-30.0; mavis_lang::vocabulary().len()];
        logits[usize::from(vocab::LINE_END)] = end;
        for (column, logit) in (0..).zip(columns) {
            logits[usize::from(token(column))] = logit;
        }
        logits
    }

    fn token(column: u16) -> Token {
        moves::token_of(RULES, Move(column)).unwrap()
    }

    #[test]
    fn the_next_likely_token_is_none_of_the_listed() {
        let logits = logits(0.5, [3.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let next = |repeats, listed: &[u16]| {
            let listed: Vec<Move> = listed.iter().copied().map(Move).collect();
            ListRule { repeats, drawn: None }.next_token(&logits, RULES, &listed)
        };
        assert_eq!(next(true, &[0, 1]), token(0), "the likeliest");
        assert_eq!(next(false, &[]), token(0));
        assert_eq!(next(false, &[5]), token(0));
        assert_eq!(next(false, &[0]), token(1));
        assert_eq!(next(false, &[1, 0]), token(2));
        assert_eq!(next(false, &[1, 0, 2]), vocab::LINE_END);
    }

    #[test]
    fn a_drawn_list_names_every_likely_move_and_ends_where_that_is_likelier_than_a_move() {
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let rule = ListRule { repeats: false, drawn: Some(seed) };
            let mut listed = Vec::new();
            // Column 7 is too unlikely; after the first move the end is likelier than any one move.
            for end in [-30.0, 1.0, 1.0, 1.0, 1.0, 1.0] {
                let logits = logits(end, [0.5, 0.1, 0.0, 0.9, 0.3, 0.8, -9.0]);
                let next = rule.next_token(&logits, RULES, &listed);
                listed.push(moves::move_of(RULES, next).unwrap());
            }
            let after = logits(1.0, [-2.0, -2.0, -2.0, -2.0, -2.0, -2.0, -2.0]);
            assert_eq!(rule.next_token(&after, RULES, &listed), vocab::LINE_END);
            orders.insert(listed.clone());
            listed.sort();
            assert_eq!(listed, (0..6).map(Move).collect::<Vec<_>>());
        }
        assert!(orders.len() > 10, "{} orders of 20", orders.len());
    }
}
