//! Tables in a terminal.

use crate::sprt::{Pentanomial, Sprt};
use crate::standings::Standings;
use std::fmt::Write;

/// The ratings, best first, with notes below.
#[must_use]
pub fn table(standings: &Standings) -> String {
    let ratings = &standings.ratings;
    let width = ratings.players.iter().map(|rating| rating.name.chars().count()).max().unwrap_or(0).max(6);
    let mut text = format!("{:>4} {:<width$} {:>8} {:>7}", "Rank", "Player", "Elo", "±95%");
    if standings.external.is_some() {
        text.push_str(&format!(" {:>8} {:>7}", "External", "±95%"));
    }
    let has_faults = !standings.faults.is_empty();
    let has_tokens = standings.tokens.iter().any(Option::is_some);
    let token_column = |text: String| if has_tokens { format!(" {text:>7}") } else { String::new() };
    let fault_column = |text: String| if has_faults { format!(" {text:>9}") } else { String::new() };
    let _ = writeln!(
        text,
        "{} {:>7} {:>7} {:>6} {:>6} {:>6}{} {:>7} {:>6}",
        token_column("Tokens".to_owned()),
        "Games",
        "Score",
        "Won",
        "Drawn",
        "Lost",
        fault_column("By faults".to_owned()),
        "Opp.",
        "LOS"
    );
    for (rank, &idx) in standings.order.iter().enumerate() {
        let rating = &ratings.players[idx];
        let _ = write!(
            text,
            "{:>4} {:<width$} {:>8.1} {:>7.1}",
            rank + 1,
            rating.name,
            rating.elo.value,
            rating.elo.margin()
        );
        if let Some(external) = &standings.external {
            let _ = write!(text, " {:>8.0} {:>7.0}", external[idx].value, external[idx].margin());
        }
        let tally = rating.tally;
        let score = tally.share().map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", 100.0 * share));
        let opponents = rating.opponents.map_or_else(|| "-".to_owned(), |elo| format!("{elo:.0}"));
        // How surely this player is stronger than the next one.
        let superiority = standings
            .order
            .get(rank + 1)
            .map_or_else(String::new, |&next| format!("{:.1}%", 100.0 * ratings.superiority[idx][next]));
        let _ = writeln!(
            text,
            "{} {:>7} {:>7} {:>6} {:>6} {:>6}{} {:>7} {:>6}",
            token_column(standings.tokens[idx].map_or_else(|| "-".to_owned(), |n| format!("{n:.0}"))),
            tally.n_games(),
            score,
            tally.wins,
            tally.draws,
            tally.losses,
            fault_column(standings.n_forfeits(idx).to_string()),
            opponents,
            superiority
        );
    }
    text.push('\n');
    text.push_str(&remarks(standings));
    text
}

fn remarks(standings: &Standings) -> String {
    let ratings = &standings.ratings;
    let mut text = format!("{} of {} games", standings.finished, standings.planned);
    let advantage = ratings.first_advantage;
    if standings.finished > 0 {
        let _ = write!(text, ", first side {:+.1} ±{:.1} Elo", advantage.value, advantage.margin());
    }
    if let Some(rate) = ratings.draw_rate {
        let _ = write!(text, ", equals draw {:.1} %", 100.0 * rate);
    }
    text.push('\n');
    for note in standings.notes() {
        let _ = writeln!(text, "note: {note}");
    }
    if let Some(test) = &standings.test {
        let _ = writeln!(text, "{}", test_line(&test.state, &test.pairs));
    }
    text
}

/// The sequential test on one line.
#[must_use]
pub fn test_line(state: &Sprt, pairs: &Pentanomial) -> String {
    format!(
        "SPRT: {} after {} pairs {:?}, LLR {:.2} in ({:.2}, {:.2}), Elo {:+.1} ±{:.1}, normalized {:+.1} ±{:.1}",
        state.decision,
        pairs.n_pairs(),
        pairs.0,
        state.llr,
        state.lower,
        state.upper,
        state.elo.value,
        state.elo.margin(),
        state.normalized_elo.value,
        state.normalized_elo.margin()
    )
}

/// Points of each player against each other, best first: `12.5/20`, and `4/4 (4f)` where four of the games ended by a fault.
#[must_use]
pub fn cross_table(standings: &Standings) -> String {
    let names: Vec<&str> =
        standings.order.iter().map(|&idx| standings.ratings.players[idx].name.as_str()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    let cell = |row: usize, column: usize| {
        let tally = standings.cross[row][column];
        if row == column || tally.n_games() == 0 {
            "-".to_owned()
        } else {
            let n_faults = standings.forfeits[row][column] + standings.forfeits[column][row];
            let faults = if n_faults > 0 { format!(" ({n_faults}f)") } else { String::new() };
            format!("{}/{}{faults}", tally.points(), tally.n_games())
        }
    };
    let rows: Vec<Vec<String>> = standings
        .order
        .iter()
        .map(|&row| standings.order.iter().map(|&column| cell(row, column)).collect())
        .collect();
    let column_width = rows.iter().flatten().map(String::len).max().unwrap_or(1).max(3);
    let mut text = format!("{:>4} {:<width$}", "Rank", "Player");
    for rank in 1..=names.len() {
        let _ = write!(text, " {rank:>column_width$}");
    }
    text.push('\n');
    for (rank, (name, row)) in names.iter().zip(rows).enumerate() {
        let _ = write!(text, "{:>4} {name:<width$}", rank + 1);
        for cell in row {
            let _ = write!(text, " {cell:>column_width$}");
        }
        text.push('\n');
    }
    if !standings.faults.is_empty() {
        text.push_str("(Nf): N of these games ended by a fault of a player\n");
    }
    text
}
