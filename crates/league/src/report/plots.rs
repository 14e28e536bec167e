//! The plots of a report.

use super::chart::{Axes, COLORS, INK, PlotError, chart, color, drawn, padded, shortened, style, svg, whole};
use super::scaling::Scaling;
use crate::standings::{Standings, TestHistory};
use plotters::prelude::*;

/// Characters of a player's name that fit beside the ratings.
const LONGEST_NAME: usize = 34;

/// Every rating with its interval, best on top.
pub(super) fn ratings(standings: &Standings) -> Result<String, PlotError> {
    let players: Vec<_> = standings.order.iter().map(|&idx| &standings.ratings.players[idx]).collect();
    let n = players.len();
    // An interval that the prior alone bounds would flatten all others.
    let shown = |x: f64, value: f64| x.clamp(value - 1500.0, value + 1500.0);
    let ends = players.iter().flat_map(|rating| {
        let elo = rating.elo;
        [elo.value, shown(elo.low, elo.value), shown(elo.high, elo.value)]
    });
    let range = padded(ends.collect::<Vec<_>>().into_iter());
    let longest =
        players.iter().map(|rating| rating.name.chars().count()).max().unwrap_or(0).min(LONGEST_NAME);
    svg(56 + 26 * n as u32, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(36)
            .y_label_area_size(16 + 7 * longest as u32)
            .build_cartesian_2d(range.clone(), -0.5..n as f64 - 0.5)
            .map_err(drawn)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.25))
            .axis_style(INK.mix(0.5))
            .label_style(style(13))
            .x_desc("Elo with 95 % interval")
            .x_label_formatter(&whole)
            .y_labels(0)
            .draw()
            .map_err(drawn)?;
        let place = |rank: usize| (n - 1 - rank) as f64;
        for (rank, rating) in players.iter().enumerate() {
            let (elo, y, color) = (rating.elo, place(rank), color(rank));
            let (low, high) = (shown(elo.low, elo.value), shown(elo.high, elo.value));
            let line = |points: Vec<(f64, f64)>| PathElement::new(points, color.stroke_width(2));
            let caps = [low, high].map(|x| line(vec![(x, y - 0.18), (x, y + 0.18)]));
            chart.draw_series(caps).map_err(drawn)?;
            chart.draw_series([line(vec![(low, y), (high, y)])]).map_err(drawn)?;
            chart.draw_series([Circle::new((elo.value, y), 5, color.filled())]).map_err(drawn)?;
            let (_, pixel_y) = chart.backend_coord(&(range.start, y));
            let label = style(13).pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Right,
                plotters::style::text_anchor::VPos::Center,
            ));
            let name = shortened(&rating.name, LONGEST_NAME);
            area.draw_text(&name, &label, (10 + 7 * longest as i32, pixel_y)).map_err(drawn)?;
        }
        Ok(())
    })
}

/// How ratings settled as games came in.
pub(super) fn history(standings: &Standings) -> Result<String, PlotError> {
    let n_games = standings.history.last().map_or(1, |(n, _)| *n) as f64;
    let all = standings.history.iter().flat_map(|(_, elos)| elos.iter().copied());
    let range = padded(all);
    svg(300, |area| {
        let mut chart = chart(area, 0.0..n_games, range, &Axes::whole("games", "Elo"))?;
        for (rank, &idx) in standings.order.iter().enumerate() {
            let points = standings.history.iter().map(|(n, elos)| (*n as f64, elos[idx]));
            chart.draw_series(LineSeries::new(points, color(rank).stroke_width(2))).map_err(drawn)?;
        }
        Ok(())
    })
}

/// Rating by the value of one option, a line for each player that has it at several values.
pub(super) fn scaling(option: &str, lines: &[&Scaling]) -> Result<String, PlotError> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (least, most) =
        points().fold((f64::INFINITY, 0.0_f64), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    // Doublings where the values span some, else the values themselves.
    let doublings = least > 0.0 && most >= 8.0 * least;
    let place = |x: f64| if doublings { x.log2() } else { x };
    let label = move |x: &f64| whole(&if doublings { x.exp2() } else { *x });
    let width = padded(points().map(|(x, _)| place(*x)).collect::<Vec<_>>().into_iter());
    let ends = points()
        .flat_map(|(_, elo)| [elo.value, elo.low.max(elo.value - 1500.0), elo.high.min(elo.value + 1500.0)]);
    let height = padded(ends.collect::<Vec<_>>().into_iter());
    let x = if doublings { format!("{option} (each step doubles)") } else { option.to_owned() };
    let axes =
        Axes { x: &x, y: "Elo with 95 % interval", x_label: &label, n_x_labels: Some(8), margin_right: 16 };
    svg(280, |area| {
        let mut chart = chart(area, width, height, &axes)?;
        for (rank, line) in lines.iter().enumerate() {
            let color = color(rank);
            let path = line.points.iter().map(|(x, elo)| (place(*x), elo.value));
            chart.draw_series(LineSeries::new(path.clone(), color.stroke_width(2))).map_err(drawn)?;
            chart.draw_series(path.map(|point| Circle::new(point, 5, color.filled()))).map_err(drawn)?;
            let bars = line.points.iter().map(|(x, elo)| {
                PathElement::new(vec![(place(*x), elo.low), (place(*x), elo.high)], color.stroke_width(2))
            });
            chart.draw_series(bars).map_err(drawn)?;
        }
        Ok(())
    })
}

/// How long games were.
pub(super) fn lengths(standings: &Standings) -> Result<String, PlotError> {
    let longest = standings.lengths.iter().copied().max().unwrap_or(1);
    let step = (longest / 40).max(1);
    let mut counts = vec![0_u32; longest / step + 1];
    for length in &standings.lengths {
        counts[length / step] += 1;
    }
    let top = counts.iter().copied().max().unwrap_or(1).max(1);
    svg(240, |area| {
        let (width, height) = (0.0..(counts.len() * step) as f64, 0.0..f64::from(top) * 1.05);
        let mut chart = chart(area, width, height, &Axes::whole("plies", "games"))?;
        let bars = counts.iter().enumerate().map(|(k, &count)| {
            let (left, right) = ((k * step) as f64, ((k + 1) * step) as f64 - 0.1 * step as f64);
            Rectangle::new([(left, 0.0), (right, f64::from(count))], COLORS[0].mix(0.8).filled())
        });
        chart.draw_series(bars).map_err(drawn)?;
        Ok(())
    })
}

/// The course of a sequential test between its bounds.
pub(super) fn test(test: &TestHistory) -> Result<String, PlotError> {
    let n = test.path.len().max(1) as f64;
    let range = padded(test.path.iter().copied().chain([test.state.lower, test.state.upper]));
    svg(280, |area| {
        let mut chart = chart(area, 0.0..n, range, &Axes::whole("pairs", "log likelihood ratio"))?;
        for (bound, color) in [(test.state.lower, COLORS[1]), (test.state.upper, COLORS[2])] {
            let line = [(0.0, bound), (n, bound)];
            chart.draw_series(DashedLineSeries::new(line, 6, 4, color.stroke_width(2))).map_err(drawn)?;
        }
        let points = std::iter::once((0.0, 0.0))
            .chain(test.path.iter().enumerate().map(|(k, llr)| (k as f64 + 1.0, *llr)));
        chart.draw_series(LineSeries::new(points, COLORS[0].stroke_width(2))).map_err(drawn)?;
        Ok(())
    })
}
