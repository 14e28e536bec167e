//! One HTML page with everything, no other file needed.

use super::scaling::{Scaling, scalings};
use super::{chart, plots, text};
use crate::numeric::Estimate;
use crate::standings::Standings;
use crate::wire::LeagueConfig;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the report: {0}")]
pub struct ReportError(String);

/// The report as an HTML page.
///
/// # Errors
/// When a plot cannot be drawn.
pub fn html(standings: &Standings, config: &LeagueConfig) -> Result<String, ReportError> {
    let settings = config.to_toml().map_err(|error| ReportError(error.to_string()))?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (standings.name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (header(standings))
                    (ratings_table(standings))
                    (plots_and_tables(standings, config)?)
                    (section("Settings", html! {
                        details {
                            summary { "the whole configuration" }
                            pre { (settings) }
                        }
                    }))
                    footer { "Mavis " (env!("CARGO_PKG_VERSION")) }
                }
            }
        }
    };
    Ok(page.into_string() + "\n")
}

/// Every section between the table of ratings and the settings.
fn plots_and_tables(standings: &Standings, config: &LeagueConfig) -> Result<Markup, ReportError> {
    let plot = |drawn: Result<String, chart::PlotError>| {
        drawn.map(PreEscaped).map_err(|error| ReportError(error.to_string()))
    };
    let scalings = scalings(standings, config);
    let options: BTreeSet<&String> = scalings.iter().map(|scaling| &scaling.option).collect();
    let names = standings.order.iter().map(|&idx| standings.ratings.players[idx].name.as_str());
    Ok(html! {
        (section("Ratings", plot(plots::ratings(standings))?))
        @for option in options {
            @let lines: Vec<&Scaling> = scalings.iter().filter(|scaling| scaling.option == *option).collect();
            (section(&format!("Strength by {option}"), html! {
                (plot(plots::scaling(option, &lines))?)
                (legend(lines.iter().map(|line| line.player.as_str())))
            }))
        }
        @if let Some(test) = &standings.test {
            (section("Sequential test", html! {
                p { (text::test_line(&test.state, &test.pairs)) }
                (plot(plots::test(test))?)
            }))
        }
        (section("Cross table", cross_table(standings)))
        (section("Likelihood of superiority", superiority_table(standings)))
        @if standings.history.len() > 1 {
            (section("How ratings settled", html! { (plot(plots::history(standings))?) (legend(names)) }))
        }
        @if !standings.lengths.is_empty() {
            (section("Length of games", plot(plots::lengths(standings))?))
            (section("How games ended", ends_table(standings)))
        }
    })
}

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1d2129;--soft:#667;--line:#8883;--ground:#fff;--card:#f6f7f9;--win:0,128,90;--loss:200,80,0}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--soft:#9aa;--ground:#15171b;--card:#1e2127;--win:40,190,140;--loss:240,130,60}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{margin:0;font-size:1.7rem;line-height:1.2}
h2{margin:2.4rem 0 .6rem;font-size:1.1rem}
.sub{color:var(--soft);margin:.2rem 0 1.4rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.75rem;margin-bottom:1.6rem}
.tile{background:var(--card);border-radius:10px;padding:.7rem .9rem}
.tile b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}
.tile .lead{color:var(--ink);font-size:1.05rem;overflow-wrap:anywhere}
.tile>span{color:var(--soft);font-size:.85rem}
.progress{height:4px;border-radius:2px;background:var(--line);margin-top:.4rem;overflow:hidden}
.progress i{display:block;height:100%;background:rgb(var(--win))}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{font-weight:600;color:var(--soft);font-size:.8rem;text-align:right}
th,td{padding:.32rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap}
td{text-align:right}
.name{text-align:left}
.dot{display:inline-block;width:.65em;height:.65em;border-radius:50%;margin-right:.5em}
.soft{color:var(--soft)}
.bar{display:flex;width:84px;height:10px;border-radius:3px;overflow:hidden;margin-left:auto}
.bar i{display:block}
.cross td,.cross th{text-align:center;min-width:3.1rem;padding:.3rem .12rem;font-size:.85rem}
.cross .name{text-align:left;padding-right:.6rem}
.cross small{display:block;opacity:.75;font-size:.68rem;line-height:1.15}
.note{border-left:3px solid rgb(var(--loss));padding:.1rem .8rem;margin:.4rem 0;color:var(--soft)}
.legend span{margin-right:1.1rem;white-space:nowrap}
svg{width:100%;min-width:560px;height:auto;display:block}
pre{background:var(--card);padding:1rem;border-radius:10px;overflow-x:auto;font-size:.8rem}
summary{cursor:pointer;color:var(--soft)}
footer{margin-top:3rem;color:var(--soft);font-size:.8rem}
";

fn section(title: &str, content: Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            div class="scroll" { (content) }
        }
    }
}

fn header(standings: &Standings) -> Markup {
    let ratings = &standings.ratings;
    let share = 100.0 * standings.finished as f64 / (standings.planned.max(1)) as f64;
    let draws: u64 = ratings.players.iter().map(|rating| rating.tally.draws).sum::<u64>() / 2;
    let drawn = 100.0 * draws as f64 / standings.finished.max(1) as f64;
    let advantage = ratings.first_advantage;
    html! {
        h1 { (standings.name) }
        p class="sub" { (standings.game) ", " (ratings.players.len()) " players" }
        div class="tiles" {
            div class="tile" {
                b { (standings.finished) }
                span { "of " (standings.planned) " games" }
                div class="progress" { i style=(format!("width:{share:.1}%")) {} }
            }
            @if let Some(&best) = standings.order.first() {
                (tile(html! { span class="lead" { (ratings.players[best].name) } }, "leads"))
            }
            (tile(html! { (format!("{:+.0} ±{:.0}", advantage.value, advantage.margin())) }, "Elo of the first side"))
            (tile(html! { (format!("{drawn:.1} %")) }, "drawn"))
        }
        @for note in standings.notes() {
            p class="note" { (note) }
        }
    }
}

fn tile(value: Markup, label: &str) -> Markup {
    html! {
        div class="tile" {
            b { (value) }
            span { (label) }
        }
    }
}

fn ratings_table(standings: &Standings) -> Markup {
    let has_tokens = standings.tokens.iter().any(Option::is_some);
    html! {
        div class="scroll" {
            table {
                tr {
                    th {}
                    th class="name" { "Player" }
                    th { "Elo" }
                    @if standings.external.is_some() { th { "External" } }
                    th { "Games" }
                    th { "Score" }
                    th { "Won · drawn · lost" }
                    th {}
                    th title="mean time of a move" { "A move" }
                    @if has_tokens { th title="mean tokens of a move" { "Tokens" } }
                    th title="likelihood to be stronger than the next" { "LOS" }
                }
                @for rank in 0..standings.order.len() {
                    (ratings_row(standings, rank, has_tokens))
                }
            }
        }
    }
}

fn ratings_row(standings: &Standings, rank: usize, has_tokens: bool) -> Markup {
    let idx = standings.order[rank];
    let rating = &standings.ratings.players[idx];
    let tally = rating.tally;
    let share = |count: u64| format!("{:.1}%", 100.0 * count as f64 / tally.n_games().max(1) as f64);
    let bar =
        |count: u64, color: &str| html! { i style=(format!("width:{};background:{color}", share(count))) {} };
    let n_forfeits = standings.n_forfeits(idx);
    html! {
        tr {
            td class="soft" { (rank + 1) }
            td class="name" { (dot(rank)) (rating.name) }
            td { (number(&rating.elo, true)) }
            @if let Some(external) = &standings.external { td { (number(&external[idx], false)) } }
            td { (tally.n_games()) }
            td { (format!("{:.1} %", 100.0 * tally.share().unwrap_or(0.0))) }
            td {
                (tally.wins) " · " (tally.draws) " · " (tally.losses)
                @if n_forfeits > 0 { " " span class="soft" { "(" (n_forfeits) " by fault)" } }
            }
            td {
                div class="bar" {
                    (bar(tally.wins, "rgb(var(--win))"))
                    (bar(tally.draws, "#888a"))
                    (bar(tally.losses, "rgb(var(--loss))"))
                }
            }
            td class="soft" { @if let Some(seconds) = standings.seconds[idx] { (duration(seconds)) } }
            @if has_tokens {
                td { @if let Some(tokens) = standings.tokens[idx] { (format!("{tokens:.0}")) } }
            }
            td {
                @if let Some(&next) = standings.order.get(rank + 1) {
                    (format!("{:.1} %", 100.0 * standings.ratings.superiority[idx][next]))
                }
            }
        }
    }
}

/// A rating with its margin; the one that fixes the scale has none.
fn number(estimate: &Estimate, bold: bool) -> Markup {
    let value = format!("{:.0}", estimate.value);
    let margin = estimate.margin();
    html! {
        @if bold { b { (value) } } @else { (value) }
        @if margin >= 0.5 { " " span class="soft" { (format!("±{margin:.0}")) } }
    }
}

/// A time with the unit that suits it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 0.1 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

fn dot(rank: usize) -> Markup {
    let color = chart::color(rank);
    let style = format!("background:rgb({},{},{})", color.0, color.1, color.2);
    html! { span class="dot" style=(style) {} }
}

/// Green above one half, orange below, the stronger the further away.
fn shade(share: f64) -> String {
    let color = if share >= 0.5 { "var(--win)" } else { "var(--loss)" };
    format!("background:rgba({color},{:.2})", (share - 0.5).abs() * 1.1)
}

fn grid(standings: &Standings, cell: impl Fn(usize, usize) -> Markup) -> Markup {
    html! {
        table class="cross" {
            tr {
                th {}
                th class="name" {}
                @for rank in 1..=standings.order.len() { th { (rank) } }
            }
            @for (rank, &row) in standings.order.iter().enumerate() {
                tr {
                    td class="soft" { (rank + 1) }
                    td class="name" { (standings.ratings.players[row].name) }
                    @for &column in &standings.order {
                        @if row == column { td class="soft" { "·" } } @else { (cell(row, column)) }
                    }
                }
            }
        }
    }
}

fn cross_table(standings: &Standings) -> Markup {
    grid(standings, |row, column| {
        let tally = standings.cross[row][column];
        let Some(share) = tally.share() else { return html! { td {} } };
        let n_faults = standings.forfeits[row][column] + standings.forfeits[column][row];
        html! {
            td style=(shade(share)) {
                (format!("{:.0} %", 100.0 * share))
                small { "+" (tally.wins) " =" (tally.draws) " −" (tally.losses) }
                @if n_faults > 0 { small { (n_faults) " by fault" } }
            }
        }
    })
}

fn superiority_table(standings: &Standings) -> Markup {
    let ratings = &standings.ratings;
    grid(standings, |row, column| {
        let p = ratings.superiority[row][column];
        html! { td style=(shade(p)) { (format!("{:.1}", 100.0 * p)) } }
    })
}

/// What the colors mean, in their order.
fn legend<'a>(names: impl Iterator<Item = &'a str>) -> Markup {
    html! {
        p class="legend" {
            @for (rank, name) in names.enumerate() {
                span { (dot(rank)) (name) } " "
            }
        }
    }
}

fn ends_table(standings: &Standings) -> Markup {
    html! {
        table {
            tr {
                th class="name" { "By" }
                th { "Games" }
                th { "Share" }
            }
            @for (kind, n) in &standings.ends {
                tr {
                    td class="name" { (kind.to_string()) }
                    td { (n) }
                    td { (format!("{:.1} %", 100.0 * *n as f64 / standings.finished.max(1) as f64)) }
                }
            }
        }
    }
}
