//! Boards for a terminal: Unicode and color where it has them, last move and winning line marked.

mod marks;

use marks::{Mark, connect4_line, hex_path};
use mavis_game::{Game as _, Position, Rules, Side};
use std::io::IsTerminal as _;

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) color: bool,
    pub(crate) unicode: bool,
}

impl Style {
    /// Color unless `NO_COLOR` is set or stdout is no terminal; Unicode unless the locale names another encoding.
    pub(crate) fn of_terminal() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let unicode = locale.is_none_or(|locale| locale.to_lowercase().replace('-', "").ends_with("utf8"));
        Self { color: std::io::stdout().is_terminal() && !is_dumb && set("NO_COLOR").is_none(), unicode }
    }

    fn paint(self, codes: &str, text: &str) -> String {
        if self.color && !codes.is_empty() { format!("\x1b[{codes}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Text that stands back.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Text that stands out.
    pub(crate) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }
}

/// The board after `last` (the move's text). `turned` puts the second player at the bottom.
pub(crate) fn draw(position: &Position, last: Option<&str>, turned: bool, style: Style) -> String {
    let text = position.to_string();
    let board = text.split(' ').next().unwrap_or_default();
    match position.rules() {
        Rules::Chess | Rules::Chess960 => chess(position, board, last, turned, style),
        Rules::Connect4 => connect4(board, last, style),
        Rules::Hex { size, .. } => hex(board, usize::from(size), last, turned, style),
        Rules::Othello => othello(position, board, last, turned, style),
        Rules::Togyz => togyz(&text, turned, style),
    }
}

/// Cells row by row from the top, as the position text has them.
struct Grid {
    n_columns: usize,
    cells: Vec<(char, Mark)>,
    rows: Vec<String>,
    columns: Vec<String>,
}

impl Grid {
    fn new(n_columns: usize, contents: impl Iterator<Item = char>) -> Self {
        let cells: Vec<(char, Mark)> = contents.map(|content| (content, Mark::None)).collect();
        let n_rows = cells.len() / n_columns.max(1);
        let letter = |column: usize| char::from(b'a' + column as u8).to_string();
        Self {
            n_columns,
            cells,
            rows: (1..=n_rows).map(|row| row.to_string()).collect(),
            columns: (0..n_columns).map(letter).collect(),
        }
    }

    fn mark(&mut self, index: Option<usize>, mark: Mark) {
        if let Some(cell) = index.and_then(|index| self.cells.get_mut(index)) {
            cell.1 = mark;
        }
    }

    /// Index of a cell named by column letter and row label.
    fn named(&self, name: &str) -> Option<usize> {
        let (column, row) = (name.get(..1)?, name.get(1..)?);
        let column = self.columns.iter().position(|label| label == column)?;
        let row = self.rows.iter().position(|label| label == row)?;
        Some(row * self.n_columns + column)
    }

    fn turn(&mut self, turned: bool) {
        if turned {
            self.cells.reverse();
            self.rows.reverse();
            self.columns.reverse();
        }
    }
}

fn chess(position: &Position, board: &str, last: Option<&str>, turned: bool, style: Style) -> String {
    let squares = board.chars().filter(|&symbol| symbol != '/').flat_map(|symbol| {
        let empty = symbol.to_digit(10).map(|n| std::iter::repeat_n('.', n as usize));
        let piece = empty.is_none().then_some(symbol);
        empty.into_iter().flatten().chain(piece)
    });
    let mut grid = Grid::new(8, squares);
    grid.rows.reverse();
    for square in [last.and_then(|mv| mv.get(..2)), last.and_then(|mv| mv.get(2..4))].into_iter().flatten() {
        let index = grid.named(square);
        grid.mark(index, Mark::Last);
    }
    if matches!(position, Position::Chess(chess) if chess.is_check()) {
        let king = if position.side_to_move() == Side::First { 'K' } else { 'k' };
        let index = grid.cells.iter().position(|(piece, _)| *piece == king);
        grid.mark(index, Mark::Attacked);
    }
    grid.turn(turned);
    let mut text = String::new();
    for (row, label) in grid.rows.iter().enumerate() {
        text.push_str(&style.faint(&format!("{label} ")));
        for column in 0..8 {
            let (piece, mark) = grid.cells.get(row * 8 + column).copied().unwrap_or(('.', Mark::None));
            text.push_str(&chess_square(piece, mark, (row + column) % 2 == 1, style));
        }
        text.push('\n');
    }
    text + &style.faint(&format!("   {}", grid.columns.join("  "))) + "\n"
}

fn chess_square(piece: char, mark: Mark, dark: bool, style: Style) -> String {
    // Filled shapes for both sides where color tells them apart, outlines for White elsewhere.
    let shapes = if style.color {
        "♚♛♜♝♞♟♚♛♜♝♞♟"
    } else {
        "♔♕♖♗♘♙♚♛♜♝♞♟"
    };
    let shape = match "KQRBNPkqrbnp".find(piece) {
        Some(at) if style.unicode => shapes.chars().nth(at).unwrap_or(piece),
        None if style.color => ' ',
        None if style.unicode => '·',
        _ => piece,
    };
    let (left, right) = match mark {
        Mark::None => (' ', ' '),
        _ if style.color => (' ', ' '),
        Mark::Attacked => ('!', '!'),
        _ => ('(', ')'),
    };
    let ground = match mark {
        Mark::Last => 143,
        Mark::Attacked => 167,
        _ if dark => 101,
        _ => 187,
    };
    let ink = if piece.is_ascii_uppercase() { 231 } else { 16 };
    style.paint(&format!("48;5;{ground};38;5;{ink}"), &format!("{left}{shape}{right}"))
}

/// Color codes of the two sides and of empty cells.
type Inks = [&'static str; 3];

const CONNECT4: Inks = ["38;5;196", "38;5;226", "2"];
const HEX: Inks = ["38;5;203", "38;5;75", "2"];
const OTHELLO: Inks = ["48;5;28;38;5;16", "48;5;28;38;5;231", "48;5;28;38;5;151"];

/// A disc or stone.
fn disc(content: char, mark: Mark, inks: Inks, style: Style) -> String {
    let second = match content {
        'x' | 'X' => false,
        'o' | 'O' => true,
        _ if mark == Mark::Legal => return style.paint(inks[2], if style.unicode { "∘" } else { "*" }),
        _ => return style.paint(inks[2], if style.unicode { "·" } else { "." }),
    };
    let shapes = match (style.unicode, mark) {
        (true, Mark::Last) => ["◉", "◎"],
        (true, Mark::Winning) => ["◆", "◇"],
        (true, _) => ["●", "○"],
        (false, Mark::Last) => ["X", "O"],
        (false, Mark::Winning) => ["#", "@"],
        (false, _) => ["x", "o"],
    };
    let [filled, outlined] = shapes;
    let shape = if second && !(style.color && style.unicode) { outlined } else { filled };
    let weight = if mark == Mark::None { "" } else { "1;" };
    style.paint(&format!("{weight}{}", inks[usize::from(second)]), shape)
}

fn connect4(board: &str, last: Option<&str>, style: Style) -> String {
    let mut grid = Grid::new(7, board.chars().filter(|&symbol| symbol != '/'));
    let column = last.and_then(|mv| mv.parse::<usize>().ok()).and_then(|column| column.checked_sub(1));
    let top = column.and_then(|column| {
        (0..6).map(|row| row * 7 + column).find(|&at| grid.cells.get(at).is_some_and(|cell| cell.0 != '.'))
    });
    grid.mark(top, Mark::Last);
    for index in connect4_line(&grid.cells) {
        grid.mark(Some(index), Mark::Winning);
    }
    let mut text = String::new();
    for row in grid.cells.chunks(7) {
        let row: Vec<String> =
            row.iter().map(|&(content, mark)| disc(content, mark, CONNECT4, style)).collect();
        let edge = style.faint(if style.unicode { "│" } else { "|" });
        text.push_str(&format!(" {edge} {} {edge}\n", row.join(" ")));
    }
    text + &style.faint("   1 2 3 4 5 6 7") + "\n"
}

fn hex(board: &str, size: usize, last: Option<&str>, turned: bool, style: Style) -> String {
    let mut grid = Grid::new(size, board.chars().filter(|&symbol| symbol != '/'));
    let index = last.and_then(|mv| grid.named(mv));
    grid.mark(index, Mark::Last);
    for index in hex_path(&grid.cells, size) {
        grid.mark(Some(index), Mark::Winning);
    }
    grid.turn(turned);
    // The first player joins top and bottom, so those edges have its color.
    let columns = style.paint(HEX[0], &grid.columns.join(" "));
    let mut text = format!("   {columns}\n");
    for (row, label) in grid.rows.iter().enumerate() {
        let cells = grid.cells.iter().skip(row * size).take(size);
        let cells: Vec<String> = cells.map(|&(content, mark)| disc(content, mark, HEX, style)).collect();
        let (indent, edge) = (" ".repeat(row), |text: &str| style.paint(HEX[1], text));
        let (left, right) = (edge(&format!("{label:>2}")), edge(label));
        text.push_str(&format!("{indent}{left} {}  {right}\n", cells.join(" ")));
    }
    let last_line = format!("{}{columns}\n", " ".repeat(size + 4));
    text + &last_line
}

fn othello(position: &Position, board: &str, last: Option<&str>, turned: bool, style: Style) -> String {
    let mut grid = Grid::new(8, board.chars());
    for mv in position.legal_moves() {
        let index = grid.named(&position.move_text(mv));
        grid.mark(index, Mark::Legal);
    }
    let index = last.and_then(|mv| grid.named(mv));
    grid.mark(index, Mark::Last);
    let count = |disc: char| grid.cells.iter().filter(|cell| cell.0 == disc).count();
    let (first, second) = (count('X'), count('O'));
    grid.turn(turned);
    let mut text = style.faint(&format!("   {}", grid.columns.join(" "))) + "\n";
    for (row, label) in grid.rows.iter().enumerate() {
        let cells = grid.cells.iter().skip(row * 8).take(8);
        let cells: Vec<String> = cells.map(|&(content, mark)| disc(content, mark, OTHELLO, style)).collect();
        let cells = cells.join(&style.paint(OTHELLO[2], " "));
        text.push_str(&format!(" {} {cells}\n", style.faint(label)));
    }
    let discs = [disc('X', Mark::None, OTHELLO, style), disc('O', Mark::None, OTHELLO, style)];
    text + &format!("   {} {first}  {} {second}\n", discs[0], discs[1])
}

fn togyz(text: &str, turned: bool, style: Style) -> String {
    let mut fields = text.split(' ');
    let (pits, kazans) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let side = |text: &str, separator: char, index: usize| {
        text.split(separator).nth(index).unwrap_or_default().to_owned()
    };
    let (own, other) = if turned { (1, 0) } else { (0, 1) };
    let pits_of =
        |player: usize| -> Vec<String> { side(pits, '/', player).split(',').map(str::to_owned).collect() };
    let names = ["White", "Black"];
    let inks = ["38;5;231", "38;5;75"];
    let row = |player: usize, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>4}")).collect();
        let kazan = format!("   kazan {}", side(kazans, ',', player));
        format!("{:>6} {}{kazan}\n", names[player], style.paint(inks[player], &cells))
    };
    let numbers = |order: Vec<usize>| {
        let cells: String = order.iter().map(|pit| format!("{pit:>4}")).collect();
        style.faint(&format!("{:>6} {cells}", "")) + "\n"
    };
    let mut upper = pits_of(other);
    upper.reverse();
    let rule =
        style.faint(&format!("{:>8}{}", "", (if style.unicode { "─" } else { "-" }).repeat(36))) + "\n";
    [
        numbers((1..=9).rev().collect()),
        row(other, upper),
        rule,
        row(own, pits_of(own)),
        numbers((1..=9).collect()),
    ]
    .concat()
}

#[cfg(test)]
mod tests;
