use super::*;

const PLAIN: Style = Style { color: false, unicode: true };
const ASCII: Style = Style { color: false, unicode: false };
const COLOR: Style = Style { color: true, unicode: true };

fn after(game: &str, moves: &str) -> (Position, Option<String>) {
    let mut position = Position::start(game.parse().expect("a game"));
    let mut last = None;
    for word in moves.split_whitespace() {
        let mv = position.parse_move(word).expect("a legal move");
        last = Some(position.move_text(mv));
        position.play_unchecked(mv);
    }
    (position, last)
}

fn drawn(game: &str, moves: &str, turned: bool, style: Style) -> String {
    let (position, last) = after(game, moves);
    draw(&position, last.as_deref(), turned, style)
}

#[test]
fn chess_is_turned_for_black_and_marks_the_last_move() {
    let board = drawn("chess", "e4 e5", true, PLAIN);
    let lines: Vec<&str> = board.lines().collect();
    assert_eq!(lines[0], "1  ♖  ♘  ♗  ♔  ♕  ♗  ♘  ♖ ");
    assert_eq!(lines[4], "5  ·  ·  · (♟) ·  ·  ·  · ");
    assert_eq!(lines[6], "7  ♟  ♟  ♟ (·) ♟  ♟  ♟  ♟ ");
    assert_eq!(lines[8].trim_end(), "   h  g  f  e  d  c  b  a");
    let mated = drawn("chess", "f3 e5 g4 Qh4", false, ASCII);
    assert!(mated.contains("!K!") && mated.contains("(q)"), "{mated}");
}

#[test]
fn four_in_a_row_is_marked() {
    let board = drawn("connect4", "1 2 1 2 1 2 1", false, PLAIN);
    assert_eq!(board.matches('◆').count(), 4, "{board}");
    assert_eq!(board.lines().nth(2), Some(" │ ◆ · · · · · · │"));
    assert!(drawn("connect4", "1 2", false, PLAIN).contains("● ◎"));
    assert_eq!(drawn("connect4", "1 2 1 2 1 2 1", false, ASCII).matches('#').count(), 4);
}

#[test]
fn the_winning_chain_of_hex_is_marked_and_nothing_else() {
    let board = drawn("hex:size=4", "b1 a1 b2 a2 a3 c1 d4 c3 a4", false, PLAIN);
    assert_eq!(board.matches('◆').count(), 4, "{board}");
    assert_eq!(board.matches('●').count(), 1, "d4 is no part of it: {board}");
    let second = drawn("hex:size=3", "a1 a2 b1 b2 a3 c2", true, PLAIN);
    assert_eq!(second.matches('◇').count(), 3, "{second}");
    assert!(second.starts_with("   c b a\n 3 "), "{second}");
}

#[test]
fn othello_shows_where_one_may_play_and_counts_discs() {
    let board = drawn("othello", "", false, PLAIN);
    assert_eq!(board.matches('∘').count(), 4, "{board}");
    let board = drawn("othello", "d3", false, PLAIN);
    assert!(board.contains("◉") && board.ends_with("● 4  ○ 1\n"), "{board}");
}

#[test]
fn the_own_pits_of_togyz_are_at_the_bottom() {
    let board = drawn("togyz", "7", true, PLAIN);
    assert!(board.lines().nth(1).is_some_and(|line| line.starts_with(" White")), "{board}");
    assert!(board.lines().nth(3).is_some_and(|line| line.starts_with(" Black")), "{board}");
}

#[test]
fn color_changes_no_width() {
    for (game, moves) in
        [("chess", "e4"), ("connect4", "4"), ("hex", "f6"), ("othello", "d3"), ("togyz", "3")]
    {
        let painted = drawn(game, moves, false, COLOR);
        assert!(painted.contains("\x1b["), "{painted}");
        let mut plain = String::new();
        let mut inside = false;
        for symbol in painted.chars() {
            match symbol {
                '\x1b' => inside = true,
                'm' if inside => inside = false,
                _ if !inside => plain.push(symbol),
                _ => {}
            }
        }
        let widths = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(widths(&plain), widths(&drawn(game, moves, false, PLAIN)), "{game}");
    }
}
