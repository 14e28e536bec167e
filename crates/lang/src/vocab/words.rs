//! The strings of the vocabulary, in the order of their ids.

use super::Token;

/// A run of consecutive ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The first id.
    pub start: Token,
    /// How many there are.
    pub len: Token,
}

impl Block {
    const fn after(previous: Self, len: Token) -> Self {
        Self { start: previous.start + previous.len, len }
    }

    /// The place of a token within the block, if it is one of it.
    #[must_use]
    pub const fn place(self, token: Token) -> Option<Token> {
        match token.checked_sub(self.start) {
            Some(place) if place < self.len => Some(place),
            _ => None,
        }
    }
}

/// Declares single tokens with consecutive ids and keeps their strings.
macro_rules! words {
    ($($(#[$doc:meta])* $visibility:vis $name:ident = $string:literal,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Order { $($name,)* }
        $($(#[$doc])* $visibility const $name: Token = Order::$name as Token;)*
        const WORDS: &[&str] = &[$($string,)*];
    };
}

words! {
    /// Padding; never part of an example.
    pub PAD = "<pad>",
    /// What other tokenizers give for foreign text; ours refuses instead.
    pub UNK = "<unk>",
    /// The end of an answer, for servers that need a stop token; never part of an example's text.
    pub END = "<end>",
    pub(crate) HEADER_CHESS = "<mav game=chess>",
    pub(crate) HEADER_CHESS960 = "<mav game=chess960>",
    pub(crate) HEADER_CONNECT4 = "<mav game=connect4>",
    pub(crate) HEADER_OTHELLO = "<mav game=othello>",
    pub(crate) HEADER_TOGYZ = "<mav game=togyz>",
    pub(crate) HEADER_STATE = " %state",
    pub(crate) HEADER_PREV_STATE = " %prev_state",
    pub(crate) HEADER_FEN = " %FEN",
    pub(crate) HEADER_PREV_FEN = " %prev_FEN",
    pub(crate) HEADER_PREV_ACTION = " %prev_action",
    pub(crate) HEADER_TOP = " %top_",
    pub(crate) HEADER_TOP_ALL = " %top_all",
    pub(crate) HEADER_BEST = " %best_action",
    pub(crate) HEADER_END = " </mav>\n",
    pub(crate) OPEN_STATE = "[%state",
    pub(crate) OPEN_PREV_STATE = "[%prev_state",
    // The space belongs to the opening, so that the first letter of a FEN is the same token as all others.
    pub(crate) OPEN_FEN = "[%FEN ",
    pub(crate) OPEN_PREV_FEN = "[%prev_FEN ",
    pub(crate) OPEN_PREV_ACTION = "[%prev_action",
    pub(crate) OPEN_TOP = "[%top_",
    pub(crate) OPEN_TOP_ALL = "[%top_all",
    /// Opens the line of the best action.
    pub BEST_ACTION = "[%best_action",
    /// Closes a line.
    pub LINE_END = "]\n",
    /// Stands in the place of the first move when the game is over.
    pub INVALID = " invalid",
    pub(crate) FIRST_WINS = " : \"1-0\"",
    pub(crate) SECOND_WINS = " : \"0-1\"",
    pub(crate) DRAW = " : \"1/2-1/2\"",
    /// The move of an Othello player who cannot place a disc.
    pub PASS = " pass",
    /// The move that takes over the first stone in Hex.
    pub SWAP = " swap",
    pub(crate) MINIMAX = "Minimax breadth=",
    pub(crate) DEPTH = " depth=",
    pub(crate) COMPACT = " compact",
    pub(crate) BREAK = "\n",
    pub(crate) EVALUATE = "Evaluation for node: <root",
    pub(crate) EXPAND = "Expand from node <root",
    pub(crate) DECIDE = "Decision for node: <root",
    pub(crate) NODE = "<root",
    pub(crate) NODE_END = ">\n",
    pub(crate) NODE_LIST = ">:\n",
    pub(crate) COMPARE = ">",
    pub(crate) SELECT = "Selecting:",
    pub(crate) PLAY = "Playing",
    pub(crate) PLAY_END = "!\n",
}

/// Cells, pieces, sides, files of rights: each with its leading space. ` b` is both the bishop and the side.
const SPACED: &str = ".-wxoKQRBNPkqrbnpacdefghACDEFGH";
/// The letters of a FEN, each by itself.
const PLAIN: &str = "/KQRBNPkqrbnpacdefghACDEFGH";

/// After the size of a trace: its tree is written breadth first. The ` b` of bishops, since weights know no token that was added later.
pub(crate) const BREADTH_FIRST: Token = SPACED_BLOCK.start + 14;
const SPACED_BLOCK: Block = Block { start: WORDS.len() as Token, len: SPACED.len() as Token };
const PLAIN_BLOCK: Block = Block::after(SPACED_BLOCK, PLAIN.len() as Token);
/// `0` to `9`, for numbers of several digits.
pub(crate) const DIGITS: Block = Block::after(PLAIN_BLOCK, 10);
/// `:<ctrl1>` to `:<ctrl64>`: the value of a listed move.
pub const VALUES: Block = Block::after(DIGITS, 64);
/// ` : "<ctrl1>"` to ` : "<ctrl64>"`: values in the decisions of a trace.
pub const QUOTED: Block = Block::after(VALUES, 64);
/// ` 0` to ` 162`: counts, columns, pits and single digits of a state.
pub const COUNTS: Block = Block::after(QUOTED, 163);
/// ` a1`, ` b1` to ` s19`, row by row: moves of Hex and Othello and en passant squares of a FEN.
pub const CELLS: Block = Block::after(COUNTS, 19 * 19);
/// `<mav game=hex size=3>` to 19.
pub const HEX: Block = Block::after(CELLS, 17);
/// `<mav game=hex size=3 swap>` to 19.
pub const HEX_SWAP: Block = Block::after(HEX, 17);
/// Every move a chess piece can make on an empty board, and the promotions: ` a1b1` to ` h7h8n`.
pub const CHESS_MOVES: Block = Block::after(HEX_SWAP, 1_968);

/// Every string in the order of ids.
pub(super) fn all() -> Vec<String> {
    let mut strings: Vec<String> = WORDS.iter().map(|&word| word.to_owned()).collect();
    strings.extend(SPACED.chars().map(|letter| format!(" {letter}")));
    strings.extend(PLAIN.chars().map(String::from));
    strings.extend((0..10).map(|digit| digit.to_string()));
    strings.extend((1..=64).map(|bucket| format!(":<ctrl{bucket}>")));
    strings.extend((1..=64).map(|bucket| format!(" : \"<ctrl{bucket}>\"")));
    strings.extend((0..=162).map(|count| format!(" {count}")));
    strings.extend((1..=19).flat_map(|row| ('a'..='s').map(move |column| format!(" {column}{row}"))));
    strings.extend((3..=19).map(|size| format!("<mav game=hex size={size}>")));
    strings.extend((3..=19).map(|size| format!("<mav game=hex size={size} swap>")));
    strings.extend(chess_moves().map(|(text, ..)| format!(" {text}")));
    strings
}

/// Every chess move as text with its squares (0 is a1, 7 is h1) and promotion, in the order of ids.
pub(crate) fn chess_moves() -> impl Iterator<Item = (String, u8, u8, Option<char>)> {
    let name = |square: u8| format!("{}{}", char::from(b'a' + square % 8), square / 8 + 1);
    let plain = (0..64_u8).flat_map(|from| (0..64_u8).map(move |to| (from, to))).filter(|&(from, to)| {
        let files = (from % 8).abs_diff(to % 8);
        let ranks = (from / 8).abs_diff(to / 8);
        from != to && (files == 0 || ranks == 0 || files == ranks || files * ranks == 2)
    });
    let promotions = (0..64_u8)
        .flat_map(|from| (0..64_u8).map(move |to| (from, to)))
        .filter(|&(from, to)| {
            (from % 8).abs_diff(to % 8) <= 1 && matches!((from / 8, to / 8), (6, 7) | (1, 0))
        })
        .flat_map(|(from, to)| ['q', 'r', 'b', 'n'].map(|piece| (from, to, Some(piece))));
    plain.map(|(from, to)| (from, to, None)).chain(promotions).map(move |(from, to, promotion)| {
        let mut text = name(from) + &name(to);
        text.extend(promotion);
        (text, from, to, promotion)
    })
}

/// The token of a letter with its leading space; [`UNK`] for letters that have none.
#[allow(clippy::indexing_slicing, reason = "a table of 128 is indexed below 128")]
#[must_use]
pub const fn spaced(letter: u8) -> Token {
    const TABLE: [Token; 128] = table(SPACED, SPACED_BLOCK.start);
    if letter < 128 { TABLE[letter as usize] } else { UNK }
}

/// The slash between the rows of a FEN, the first of the plain letters.
pub(crate) const SLASH: Token = PLAIN_BLOCK.start;

/// Whether a token is a field by itself, with its leading space: a letter, a count or a cell.
pub(crate) const fn is_spaced(token: Token) -> bool {
    SPACED_BLOCK.place(token).is_some() || COUNTS.place(token).is_some() || CELLS.place(token).is_some()
}

/// The letter of a spaced token.
pub(crate) fn spaced_letter(token: Token) -> Option<u8> {
    SPACED_BLOCK.place(token).and_then(|place| SPACED.as_bytes().get(usize::from(place)).copied())
}

#[allow(clippy::indexing_slicing, reason = "runs at compile time only")]
const fn table(letters: &str, start: Token) -> [Token; 128] {
    let mut table = [UNK; 128];
    let mut place = 0;
    while place < letters.len() {
        table[letters.as_bytes()[place] as usize] = start + place as Token;
        place += 1;
    }
    table
}
