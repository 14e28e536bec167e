//! The fuzz targets' properties on a compiler without fuzzing: valid text, then broken in seeded random ways.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod property;

use mavis_game::{Game, Position, Rules};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Characters that mean something to some parser, and some that mean nothing to any.
const ALPHABET: &[char] = &[
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'k', 'n', 'p', 'q', 'r', 's', 'w', 'x', 'o', 'K', 'Q', 'R', 'B',
    'N', 'P', 'O', 'X', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '-', '+', '#', '=', '/', ' ',
    ':', ',', '*', '@', '_', '[', ']', '~', '\n', '\t', '\0', 'é', '♔', '𝄞',
];

const RULES: [Rules; 7] = [
    Rules::Chess,
    Rules::Chess960,
    Rules::Connect4,
    Rules::Hex { size: 4, swap: true },
    Rules::HEX,
    Rules::Othello,
    Rules::Togyz,
];

/// Runs every property on `n_texts` texts a game.
fn check(n_texts: u32, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for rules in RULES {
        for _ in 0..n_texts {
            let path: Vec<u8> = (0..below(&mut random, 60)).map(|_| random.next_u32() as u8).collect();
            let mut position = Position::start(rules);
            for &choice in &path {
                let Some(mv) = position.random_move(u32::from(choice) << 24) else { break };
                position.play_unchecked(mv);
            }
            property::position(rules, &broken(&mut random, &position.to_string()));
            if let Some(mv) = position.random_move(random.next_u32()) {
                property::mv(rules, &path, &broken(&mut random, &position.move_text(mv)));
            }
            property::rules(&broken(&mut random, &rules.to_string()));
        }
    }
}

/// The text with up to four characters inserted, removed, replaced or swapped.
fn broken(random: &mut Xoshiro256PlusPlus, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..below(random, 5) {
        let at = below(random, chars.len().max(1));
        let character = ALPHABET[below(random, ALPHABET.len())];
        match below(random, 4) {
            0 => chars.insert(at.min(chars.len()), character),
            1 if !chars.is_empty() => drop(chars.remove(at)),
            2 if !chars.is_empty() => chars[at] = character,
            _ if !chars.is_empty() => {
                let other = below(random, chars.len());
                chars.swap(at, other);
            }
            _ => {}
        }
    }
    chars.into_iter().collect()
}

fn below(random: &mut Xoshiro256PlusPlus, n: usize) -> usize {
    ((u64::from(random.next_u32()) * n as u64) >> 32) as usize
}

#[test]
fn broken_text_is_refused_or_sound() {
    check(3_000, 1);
}

#[test]
#[ignore = "minutes: the long run in place of a fuzzer"]
fn much_broken_text_is_refused_or_sound() {
    check(400_000, 2);
}
