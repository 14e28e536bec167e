//! Positions of real games, from the samples of `game` or from whole collections.

use mavis_game::{Game, Move, Othello, Position, Rules};
use mavis_lang::state::without_history;
use std::{fs, io::Read, path::Path};

/// A position and what came before it.
pub type Played = (Position, Option<(Position, Move)>);

/// Where a game's records lie, and how to read them.
pub struct Collection {
    pub rules: Rules,
    /// In the samples of `game`.
    pub sample: &'static str,
    /// In the whole collections.
    pub whole: &'static str,
    read: fn(Rules, &str) -> Vec<Vec<Played>>,
}

const HEX13: Rules = Rules::Hex { size: 13, swap: false };

/// One collection for every game.
pub const COLLECTIONS: [Collection; 6] = [
    Collection {
        rules: Rules::Chess,
        sample: "tcec_standard_sample.pgn",
        whole: "chess_games/tcec_standard.pgn.zst",
        read: pgn,
    },
    Collection {
        rules: Rules::Chess960,
        sample: "tcec_frc_dfrc_sample.pgn",
        whole: "chess960_games/tcec_frc_dfrc.pgn.zst",
        read: pgn,
    },
    Collection {
        rules: Rules::Connect4,
        sample: "connect4_sample.txt",
        whole: "connect4/Test_L3_R1.txt",
        read: connect4,
    },
    Collection {
        rules: HEX13,
        sample: "hex_neurohex_sample.txt",
        whole: "hex/neurohex_13x13_games.txt.gz",
        read: hex,
    },
    Collection {
        rules: Rules::Othello,
        sample: "othello_wthor_sample.tsv",
        whole: "othello/wthor_1977_2025.tsv.zst",
        read: othello,
    },
    Collection {
        rules: Rules::Togyz,
        sample: "togyz_generated.txt",
        whole: "togyz/playok_games.pgn.gz",
        read: togyz,
    },
];

impl Collection {
    /// `n` positions spread over the sample.
    pub fn sampled(&self, n: usize) -> Vec<Played> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data");
        self.spread(&fs::read_to_string(folder.join(self.sample)).unwrap(), n)
    }

    /// `n` positions spread over the whole collection under `folder`.
    pub fn gathered(&self, folder: &Path, n: usize) -> Vec<Played> {
        let path = folder.join(self.whole);
        let bytes = fs::read(&path).unwrap();
        let mut text = String::new();
        match path.extension().and_then(|end| end.to_str()) {
            Some("zst") => {
                let mut decoder = zstd::Decoder::new(&bytes[..]).unwrap();
                decoder.window_log_max(27).unwrap();
                decoder.read_to_string(&mut text).unwrap();
            }
            Some("gz") => drop(flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap()),
            _ => text = String::from_utf8(bytes).unwrap(),
        }
        self.spread(&text, n)
    }

    fn spread(&self, text: &str, n: usize) -> Vec<Played> {
        let all: Vec<Played> = (self.read)(self.rules, text).into_iter().flatten().collect();
        assert!(all.len() >= n, "{}: only {} positions", self.rules, all.len());
        (0..n).map(|idx| all[idx * all.len() / n].clone()).collect()
    }
}

/// Plays a game from its texts of moves, which must all be legal; the language knows no history, so it is dropped.
fn replay<'a>(mut position: Position, moves: impl Iterator<Item = &'a str>) -> Vec<Played> {
    let mut played: Vec<Played> = vec![(without_history(&position), None)];
    for text in moves {
        // Records of Othello games leave passes out.
        if matches!(position, Position::Othello(_)) && position.is_legal(Othello::PASS) {
            position.play_unchecked(Othello::PASS);
        }
        let before = position.clone();
        let mv = position.play_text(text).unwrap_or_else(|error| panic!("{text} in {before}: {error}"));
        played.push((without_history(&position), Some((without_history(&before), mv))));
    }
    played
}

/// At most this many games of a collection are read; the largest have a hundred thousand.
const MAX_GAMES: usize = 2_000;

fn pgn(rules: Rules, text: &str) -> Vec<Vec<Played>> {
    let games = text.split("[Event ").skip(1);
    games
        .take(MAX_GAMES)
        .map(|game| {
            let fen = game.lines().find_map(|line| line.strip_prefix("[FEN \"")?.strip_suffix("\"]"));
            let start =
                fen.map_or_else(|| Position::start(rules), |fen| Position::parse(rules, fen).unwrap());
            replay(start, body_words(game).filter(|word| !word.ends_with('.')))
        })
        .collect()
}

/// The words of the move text, results and comments left out.
fn body_words(game: &str) -> impl Iterator<Item = &str> {
    let lines = game.lines().skip(1).filter(|line| !line.starts_with('['));
    let results = ["1-0", "0-1", "1/2-1/2", "*"];
    lines
        .flat_map(str::split_whitespace)
        .filter(move |word| !results.contains(word) && !word.starts_with('{'))
}

fn connect4(rules: Rules, text: &str) -> Vec<Vec<Played>> {
    let columns = text.lines().filter_map(|line| line.split(' ').next());
    columns
        .map(|columns| replay(Position::start(rules), columns.split("").filter(|c| !c.is_empty())))
        .collect()
}

fn hex(rules: Rules, text: &str) -> Vec<Vec<Played>> {
    text.lines().take(MAX_GAMES).map(|game| replay(Position::start(rules), game.split_whitespace())).collect()
}

fn othello(rules: Rules, text: &str) -> Vec<Vec<Played>> {
    let moves = text.lines().filter_map(|line| line.rsplit('\t').next()).filter(|moves| *moves != "moves");
    moves
        .take(MAX_GAMES)
        .map(|moves| replay(Position::start(rules), (0..moves.len() / 2).map(|i| &moves[2 * i..2 * i + 2])))
        .collect()
}

/// The first digit of a move is its pit; games come as PGN or one per line.
fn togyz(rules: Rules, text: &str) -> Vec<Vec<Played>> {
    let is_move = |word: &&str| word.len() >= 2 && word.bytes().take(2).all(|byte| byte.is_ascii_digit());
    let pits = |words: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        words.filter(is_move).filter(|word| !word.ends_with('.')).map(|word| word[..1].to_owned()).collect()
    };
    let games: Vec<Vec<String>> = if text.starts_with("[Event") {
        text.split("[Event ").skip(1).take(MAX_GAMES).map(|game| pits(&mut body_words(game))).collect()
    } else {
        text.lines().map(|game| pits(&mut game.split_whitespace())).collect()
    };
    games.iter().map(|game| replay(Position::start(rules), game.iter().map(String::as_str))).collect()
}
