//! One HTML page with everything, no other file needed.

use super::scaling::{Scaling, scalings};
use super::{chart, plots, text};
use crate::numeric::Estimate;
use crate::standings::Standings;
use crate::wire::LeagueConfig;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the report: {0}")]
pub struct ReportError(String);

/// The report as an HTML page.
///
/// # Errors
/// When a plot cannot be drawn.
pub fn html(standings: &Standings, config: &LeagueConfig) -> Result<String, ReportError> {
    let plot =
        |drawn: Result<String, chart::PlotError>| drawn.map_err(|error| ReportError(error.to_string()));
    let mut body = header(standings);
    body.push_str(&ratings_table(standings));
    section(&mut body, "Ratings", &plot(plots::ratings(standings))?);
    let scalings = scalings(standings, config);
    for option in scalings.iter().map(|scaling| &scaling.option).collect::<BTreeSet<_>>() {
        let lines: Vec<&Scaling> = scalings.iter().filter(|scaling| scaling.option == *option).collect();
        let drawn = plot(plots::scaling(option, &lines))?;
        let names = lines.iter().map(|line| line.player.as_str());
        section(&mut body, &format!("Strength by {}", escape(option)), &(drawn + &legend(names)));
    }
    if let Some(test) = &standings.test {
        let line = format!("<p>{}</p>", escape(&text::test_line(&test.state, &test.pairs)));
        section(&mut body, "Sequential test", &(line + &plot(plots::test(test))?));
    }
    section(&mut body, "Cross table", &cross_table(standings));
    section(&mut body, "Likelihood of superiority", &superiority_table(standings));
    if standings.history.len() > 1 {
        let names = standings.order.iter().map(|&idx| standings.ratings.players[idx].name.as_str());
        section(&mut body, "How ratings settled", &(plot(plots::history(standings))? + &legend(names)));
    }
    if !standings.lengths.is_empty() {
        section(&mut body, "Length of games", &plot(plots::lengths(standings))?);
        section(&mut body, "How games ended", &ends_table(standings));
    }
    let settings = config.to_toml().map_err(|error| ReportError(error.to_string()))?;
    section(
        &mut body,
        "Settings",
        &format!(
            "<details><summary>the whole configuration</summary><pre>{}</pre></details>",
            escape(&settings)
        ),
    );
    let title = escape(&standings.name);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main>{body}\
         <footer>Mavis {}</footer></main></body></html>\n",
        env!("CARGO_PKG_VERSION")
    ))
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

fn section(body: &mut String, title: &str, content: &str) {
    let _ = write!(body, "<section><h2>{title}</h2><div class=\"scroll\">{content}</div></section>");
}

fn header(standings: &Standings) -> String {
    let ratings = &standings.ratings;
    let share = 100.0 * standings.finished as f64 / (standings.planned.max(1)) as f64;
    let mut text = format!(
        "<h1>{}</h1><p class=\"sub\">{}, {} players</p><div class=\"tiles\">",
        escape(&standings.name),
        escape(&standings.game),
        ratings.players.len()
    );
    let _ = write!(
        text,
        "<div class=\"tile\"><b>{}</b><span>of {} games</span><div class=\"progress\"><i style=\"width:{share:.1}%\"></i></div></div>",
        standings.finished, standings.planned
    );
    let mut tile = |value: String, label: &str| {
        let _ = write!(text, "<div class=\"tile\"><b>{value}</b><span>{label}</span></div>");
    };
    if let Some(&best) = standings.order.first() {
        tile(format!("<span class=\"lead\">{}</span>", escape(&ratings.players[best].name)), "leads");
    }
    let advantage = ratings.first_advantage;
    tile(format!("{:+.0} ±{:.0}", advantage.value, advantage.margin()), "Elo of the first side");
    let draws: u64 = ratings.players.iter().map(|rating| rating.tally.draws).sum::<u64>() / 2;
    tile(format!("{:.1} %", 100.0 * draws as f64 / standings.finished.max(1) as f64), "drawn");
    text.push_str("</div>");
    for note in standings.notes() {
        let _ = write!(text, "<p class=\"note\">{}</p>", escape(&note));
    }
    text
}

fn ratings_table(standings: &Standings) -> String {
    let external = if standings.external.is_some() { "<th>External</th>" } else { "" };
    let has_tokens = standings.tokens.iter().any(Option::is_some);
    let tokens = if has_tokens { "<th title=\"mean tokens of a move\">Tokens</th>" } else { "" };
    let mut text = format!(
        "<div class=\"scroll\"><table><tr><th></th><th class=\"name\">Player</th><th>Elo</th>{external}\
         <th>Games</th><th>Score</th><th>Won · drawn · lost</th><th></th><th title=\"mean time of a move\">A move</th>{tokens}<th title=\"likelihood to be stronger than the next\">LOS</th></tr>"
    );
    for (rank, &idx) in standings.order.iter().enumerate() {
        let rating = &standings.ratings.players[idx];
        let tally = rating.tally;
        let n = tally.n_games().max(1) as f64;
        let share = |count: u64| 100.0 * count as f64 / n;
        let external = standings
            .external
            .as_ref()
            .map_or_else(String::new, |list| format!("<td>{}</td>", number(&list[idx], false)));
        let tokens = match standings.tokens[idx] {
            _ if !has_tokens => String::new(),
            Some(tokens) => format!("<td>{tokens:.0}</td>"),
            None => "<td></td>".to_owned(),
        };
        let superiority = standings.order.get(rank + 1).map_or_else(String::new, |&next| {
            format!("{:.1} %", 100.0 * standings.ratings.superiority[idx][next])
        });
        let _ = write!(
            text,
            "<tr><td class=\"soft\">{}</td><td class=\"name\">{}{}</td><td>{}</td>{external}\
             <td>{}</td><td>{:.1} %</td><td>{} · {} · {}{}</td>\
             <td><div class=\"bar\"><i style=\"width:{:.1}%;background:rgb(var(--win))\"></i>\
             <i style=\"width:{:.1}%;background:#888a\"></i><i style=\"width:{:.1}%;background:rgb(var(--loss))\"></i></div></td>\
             <td class=\"soft\">{}</td>{tokens}<td>{superiority}</td></tr>",
            rank + 1,
            dot(rank),
            escape(&rating.name),
            number(&rating.elo, true),
            tally.n_games(),
            100.0 * tally.share().unwrap_or(0.0),
            tally.wins,
            tally.draws,
            tally.losses,
            match standings.n_forfeits(idx) {
                0 => String::new(),
                n => format!(" <span class=\"soft\">({n} by fault)</span>"),
            },
            share(tally.wins),
            share(tally.draws),
            share(tally.losses),
            standings.seconds[idx].map_or_else(String::new, duration),
        );
    }
    text + "</table></div>"
}

/// A rating with its margin; the one that fixes the scale has none.
fn number(estimate: &Estimate, bold: bool) -> String {
    let value = if bold { format!("<b>{:.0}</b>", estimate.value) } else { format!("{:.0}", estimate.value) };
    match estimate.margin() {
        margin if margin < 0.5 => value,
        margin => format!("{value} <span class=\"soft\">±{margin:.0}</span>"),
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

fn dot(rank: usize) -> String {
    let color = chart::color(rank);
    format!("<span class=\"dot\" style=\"background:rgb({},{},{})\"></span>", color.0, color.1, color.2)
}

/// Green above one half, orange below, the stronger the further away.
fn shade(share: f64) -> String {
    let color = if share >= 0.5 { "var(--win)" } else { "var(--loss)" };
    format!("background:rgba({color},{:.2})", (share - 0.5).abs() * 1.1)
}

fn grid(standings: &Standings, cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = "<table class=\"cross\"><tr><th></th><th class=\"name\"></th>".to_owned();
    for rank in 1..=standings.order.len() {
        let _ = write!(text, "<th>{rank}</th>");
    }
    text.push_str("</tr>");
    for (rank, &row) in standings.order.iter().enumerate() {
        let name = escape(&standings.ratings.players[row].name);
        let _ = write!(text, "<tr><td class=\"soft\">{}</td><td class=\"name\">{name}</td>", rank + 1);
        for &column in &standings.order {
            text.push_str(&if row == column {
                "<td class=\"soft\">·</td>".to_owned()
            } else {
                cell(row, column)
            });
        }
        text.push_str("</tr>");
    }
    text + "</table>"
}

fn cross_table(standings: &Standings) -> String {
    grid(standings, |row, column| {
        let tally = standings.cross[row][column];
        tally.share().map_or_else(
            || "<td></td>".to_owned(),
            |share| {
                let faults = match standings.forfeits[row][column] + standings.forfeits[column][row] {
                    0 => String::new(),
                    n => format!("<small>{n} by fault</small>"),
                };
                format!(
                    "<td style=\"{}\">{:.0} %<small>+{} ={} −{}</small>{faults}</td>",
                    shade(share),
                    100.0 * share,
                    tally.wins,
                    tally.draws,
                    tally.losses
                )
            },
        )
    })
}

fn superiority_table(standings: &Standings) -> String {
    let ratings = &standings.ratings;
    grid(standings, |row, column| {
        let p = ratings.superiority[row][column];
        format!("<td style=\"{}\">{:.1}</td>", shade(p), 100.0 * p)
    })
}

/// What the colors mean, in their order.
fn legend<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = "<p class=\"legend\">".to_owned();
    for (rank, name) in names.enumerate() {
        let _ = write!(text, "<span>{}{}</span> ", dot(rank), escape(name));
    }
    text + "</p>"
}

fn ends_table(standings: &Standings) -> String {
    let mut text = "<table><tr><th class=\"name\">By</th><th>Games</th><th>Share</th></tr>".to_owned();
    for (kind, n) in &standings.ends {
        let share = 100.0 * *n as f64 / standings.finished.max(1) as f64;
        let _ = write!(text, "<tr><td class=\"name\">{kind}</td><td>{n}</td><td>{share:.1} %</td></tr>");
    }
    text + "</table>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
