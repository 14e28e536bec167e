//! Longest match over the vocabulary.

use super::Token;

/// Bytes a token may hold: printable ASCII, and the line break folded into the first place.
const WIDTH: usize = 96;
const NONE: u16 = u16::MAX;

/// A prefix tree in one flat table; node 0 is the root.
#[derive(Debug)]
pub(super) struct Trie {
    /// `[node][symbol]`, the child or 0.
    children: Vec<[u16; WIDTH]>,
    /// `[node]`, the token that ends there or `NONE`.
    ends: Vec<Token>,
}

fn symbol(byte: u8) -> Option<usize> {
    match byte {
        b'\n' => Some(0),
        b' '..=b'~' => Some(usize::from(byte - b' ') + 1),
        _ => None,
    }
}

impl Trie {
    #[allow(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "built once from the vocabulary, before any input"
    )]
    pub(super) fn new(strings: &[String]) -> Self {
        let mut trie = Self { children: vec![[0; WIDTH]], ends: vec![NONE] };
        for (string, id) in strings.iter().zip(0..) {
            let mut node = 0;
            for byte in string.bytes() {
                let symbol = symbol(byte).expect("tokens are ASCII");
                if trie.children[node][symbol] == 0 {
                    trie.children[node][symbol] = u16::try_from(trie.ends.len()).expect("a small table");
                    trie.children.push([0; WIDTH]);
                    trie.ends.push(NONE);
                }
                node = usize::from(trie.children[node][symbol]);
            }
            trie.ends[node] = id;
        }
        trie
    }

    /// The longest token that begins `bytes`, and its length.
    pub(super) fn longest(&self, bytes: &[u8]) -> Option<(Token, usize)> {
        let mut node = 0;
        let mut best = None;
        for (length, &byte) in (1..).zip(bytes) {
            let Some(symbol) = symbol(byte) else { break };
            node = usize::from(self.child(node, symbol));
            if node == 0 {
                break;
            }
            if let Some(token) = self.end(node) {
                best = Some((token, length));
            }
        }
        best
    }

    /// The child under a symbol, or 0.
    fn child(&self, node: usize, symbol: usize) -> u16 {
        self.children.get(node).and_then(|children| children.get(symbol)).copied().unwrap_or(0)
    }

    /// The token that ends at a node.
    fn end(&self, node: usize) -> Option<Token> {
        self.ends.get(node).copied().filter(|&token| token != NONE)
    }

    /// The tree as a regular expression; backtracking over greedy `?` makes its match the longest one.
    pub(super) fn pattern(&self) -> String {
        self.pattern_from(0)
    }

    fn pattern_from(&self, node: usize) -> String {
        let branches: Vec<String> = (0..WIDTH)
            .map(|symbol| (symbol, self.child(node, symbol)))
            .filter(|(_, child)| *child != 0)
            .map(|(symbol, child)| escaped(symbol) + &self.pattern_from(usize::from(child)))
            .collect();
        match (branches.len(), self.end(node).is_some()) {
            (0, _) => String::new(),
            (1, false) => branches.concat(),
            (_, false) => format!("(?:{})", branches.join("|")),
            (_, true) => format!("(?:{})?", branches.join("|")),
        }
    }
}

fn escaped(symbol: usize) -> String {
    if symbol == 0 {
        return "\\n".to_owned();
    }
    let character = char::from((symbol - 1) as u8 + b' ');
    if character.is_ascii_alphanumeric() || " <>:=%_\"!,".contains(character) {
        character.to_string()
    } else {
        format!("\\{character}")
    }
}
