//! The page on the language and the pinned vocabulary say what the code does; `MAVIS_BLESS=1` writes both anew.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, random};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{
    Top, Variety, check_answer, export, grow_trace, parse_example_text, report,
    state::state_len,
    trace::{Evaluation, Order, Shape},
    vocab::{self, Block, VERSION},
    vocabulary, write_trace,
};
use mavis_value::{Bucket, LOGISTIC_SCALES, Mistake};
use std::{env, fmt::Write, fs, path::Path};

#[test]
fn the_page_is_up_to_date() {
    check_file("../../docs/language.md", &page());
}

#[test]
fn ids_are_pinned() {
    check_file("vocabulary.json", &export::vocabulary_json());
}

#[test]
fn the_answer_of_transformers_is_of_this_vocabulary() {
    let saved = include_str!("peers/transformers.txt");
    assert!(saved.contains(&format!("vocabulary {},", vocabulary().len())), "{saved}");
    assert!(saved.contains("different ids 0, different text 0"), "{saved}");
}

#[track_caller]
fn check_file(path: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("MAVIS_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date; run with MAVIS_BLESS=1", path.display());
}

const INTRODUCTION: &str = r#"# The MAV language

The model speaks one small language, the multi-action-value (MAV) format of the paper "Mastering Board Games by External and Internal Planning with Language Models".
Every example is readable text, and the token stream is an exact encoding of it: encoding the text gives the tokens, joining the tokens gives the text.
This page is written and checked by a test (`cargo test -p mavis-lang --test all docs`).

## Requests and answers

An example is a header, input lines and output lines; the model writes the output lines.

    <mav game=chess> %prev_FEN %prev_action %FEN %state %top_5 %best_action %FEN </mav>

| command | in the input | in the output |
|---|---|---|
| `%state`, `%FEN` | the position | the position after `%prev_action`, or after `%best_action` |
| `%prev_state`, `%prev_FEN` | the position before | |
| `%prev_action` | the move played in it | |
| `%top_K`, `%top_all` | | the K best moves (all, if there are fewer) or all moves, each with its value, in random order |
| `%best_action` | | the oracle's choice; it must follow `%top_K` |

A position may be written as `%state`, as `%FEN` (chess and chess960 only), or both ways in either order.
Once the game is over the list reads `[%top_1 invalid : "1-0"]`, and the answer ends with that line.
Moves are spelled as everywhere else in Mavis, with one exception: castling is the king taking its rook (`e1h1`) in chess as in Chess960, so that a move means the same in every position.

## States

One token per square or field, always in the same place.
Boards begin at a1 and go row by row; `x` is the first player, `o` the second, `.` an empty cell.

| game | fields | order |
|---|---|---|
"#;

const VALUES: &str = r#"
Castling rights take four places (White's king side and queen side, then Black's): `K Q k q` in chess, the file of the rook in Chess960, `-` without the right.
En passant takes two places and is written only where such a capture is legal.
Halfmoves are one count (at most 162), full moves three digits (at most 999).
History is not part of a state, so a game that repetition ends is not over in the language.

## Values

The value of a move is the win probability of the player who makes it, in 64 equal buckets: `<ctrl1>` is lost, `<ctrl64>` is won.
Bucket b = 1 + min(63, floor(64 p)), back p = (b - 0.5) / 64, and the other player sees 65 - b.
Chess engines' centipawns become 50 + 50 (2 / (1 + exp(-0.00368208 cp)) - 1) percent; a mate is 64 or 1.
Exact solvers give 1, 0.5 or 0, and a search its win rate.
Where an oracle counts a margin, the probability is 1 / (1 + exp(-margin / scale)):

| game | scale | how it was found |
|---|---|---|
"#;

const TRACES: &str = r#"
## Traces of internal search

    trace    = "Minimax breadth=" B " depth=" D [" compact"] [" b"] LF tree "Playing" move "!" LF
    tree     = node                          depth first
             | (evaluate ...) (decision ...) breadth first, after " b"
    node     = evaluate [node ...] decision
    evaluate = "Evaluation for node: " path LF header inputs answer [expand]
    expand   = "Expand from node " path ":" LF (path LF) ...
    decision = "Decision for node: " path (move " : " value) ... LF "Selecting:" move " : " value LF
    path     = "<root" move ... ">"

Nodes above the depth expand their best moves, in the order of their values.
A leaf selects its best action; an inner node compares its children by what each decided, seen from the other side, and selects the first of the highest.
Where the game is over `invalid` replaces the move, and the value is 1, 33 or 64.
The compact variant leaves out `%prev_state`, since the parent's state is already in the trace.
Depth first, as in figure 6, a node decides as soon as everything below it has; breadth first all nodes are evaluated level by level, and then decide, those of the deepest level first.
The lines are the same in both orders.
The mark of the second is the ` b` of bishops, because a token that weights have never seen would mean nothing to them.

"#;

const MISTAKES: &str = r"
## Mistakes

The parser accepts only the spelling above, so whatever it reads prints back unchanged.
What does not parse, or is not true, is a hallucination of one of these kinds; the last three occur only in traces.

| kind | meaning |
|---|---|
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    write_states(&mut page);
    page.push_str(VALUES);
    for scale in LOGISTIC_SCALES {
        writeln!(page, "| {} | {} | {} |", scale.rules, scale.margin, scale.origin).unwrap();
    }
    page.push_str(TRACES);
    code(&mut page, &trace_text());
    write_vocabulary(&mut page);
    page.push_str(MISTAKES);
    write_mistakes(&mut page);
    page.push_str("\n## One example of every game\n\nThey are those of `mavis lang example --seed 3`: random positions, valued by random playouts.\n");
    for rules in Rules::ALL {
        let example = report::sample_example(rules, 3, &Variety::default()).unwrap();
        let (request, answer) = parse_example_text(&example.text()).unwrap();
        assert!(check_answer(&request, &answer).is_right());
        writeln!(page, "\n### {rules}\n").unwrap();
        code(&mut page, &example.text());
    }
    page
}

fn write_states(page: &mut String) {
    let chess =
        "side, 4 castling rights, 64 squares, en passant file and rank, halfmoves, 3 digits of full moves";
    for (rules, order) in [
        (Rules::Chess, chess),
        (Rules::Chess960, chess),
        (Rules::Connect4, "side, 42 cells from the lower left"),
        (
            Rules::HEX,
            "side, size² cells from the upper left; the header says `game=hex size=11`, and `swap` if it is allowed",
        ),
        (Rules::Othello, "side, 64 cells from the upper left"),
        (
            Rules::Togyz,
            "side, 9 pits of the first player, 9 of the second, both kazans, both tuzdyks (the opponent's pit, or `-`)",
        ),
    ] {
        writeln!(page, "| {rules} | {} | {order} |", state_len(rules)).unwrap();
    }
}

fn write_vocabulary(page: &mut String) {
    writeln!(
        page,
        "\n## Vocabulary\n\nVersion {VERSION}: {} tokens, padded to {} in the network.\nTokens carry their own spacing, and text is split by longest match from the left.\n`crates/lang/vocabulary.json` lists every string by id; `tokenizer.json` is exported for the packages `tokenizers` and `transformers`.\n\n| ids | tokens |\n|---|---|",
        vocabulary().len(),
        vocabulary().padded_len()
    )
    .unwrap();
    let quoted = |token| format!("`{}`", vocabulary().string(token).unwrap().replace('\n', "\\n"));
    let row = |page: &mut String, block: Block, what: &str| {
        let last = block.start + block.len - 1;
        writeln!(page, "| {}-{last} | {what}: {} to {} |", block.start, quoted(block.start), quoted(last))
            .unwrap();
    };
    let words = Block { start: 0, len: vocab::VALUES.start };
    row(page, words, "single words, squares and pieces, letters of a FEN, digits");
    for (block, what) in [
        (vocab::VALUES, "the value of a listed move"),
        (vocab::QUOTED, "a value in a trace's decision"),
        (vocab::COUNTS, "counts, columns, pits and digits of a state"),
        (vocab::CELLS, "cells, row by row"),
        (vocab::HEX, "headers of Hex"),
        (vocab::HEX_SWAP, "headers of Hex with the swap rule"),
        (vocab::CHESS_MOVES, "moves of chess"),
    ] {
        row(page, block, what);
    }
}

fn write_mistakes(page: &mut String) {
    for kind in Mistake::ALL {
        let meaning = match kind {
            Mistake::Malformed => "not a sentence of the language",
            Mistake::IllegalMove => "a move the rules do not allow",
            Mistake::MissingMove => "fewer moves than exist and were requested",
            Mistake::RepeatedMove => "a move listed twice",
            Mistake::WrongState => "a state that does not follow, or that cannot be",
            Mistake::WrongEnd => "an end that is none, a missed one, or the wrong outcome",
            Mistake::WrongValue => "a value that is not the known one",
            Mistake::WrongExpansion => "a search that expands other nodes than it should",
            Mistake::WrongDecision => "a decision that does not follow from the values",
        };
        writeln!(page, "| {kind} | {meaning} |").unwrap();
    }
}

/// A small trace of Connect Four.
fn trace_text() -> String {
    let shape = Shape {
        rules: Rules::Connect4,
        breadth: 2,
        depth: 1,
        compact: true,
        top: Top::Best(3),
        order: Order::DepthFirst,
    };
    let mut evaluate = |position: &Position| {
        let annotated = Annotated::random(position.clone(), None, &mut random(position.key()));
        Evaluation { moves: annotated.moves, best: annotated.best }
    };
    let trace = grow_trace(shape, &Position::start(Rules::Connect4), &mut evaluate, &mut random(6));
    assert!(trace.root.decision.value > Bucket::LOST);
    vocabulary().decode(&write_trace(&trace)).unwrap()
}

/// Appends a text as an indented block.
fn code(page: &mut String, text: &str) {
    for line in text.lines() {
        writeln!(page, "    {line}").unwrap();
    }
}
