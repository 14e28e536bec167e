//! Plots as SVG text, in colors that read on light and dark ground.

use super::scaling::Scaling;
use crate::standings::{Standings, TestHistory};
use plotters::coord::Shift;
use plotters::prelude::*;

/// A plot that could not be drawn.
pub(crate) type PlotError = Box<dyn std::error::Error + Send + Sync>;

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(128, 132, 140);
/// Series, distinct also for color-blind readers.
const COLORS: [RGBColor; 16] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(148, 103, 189),
    RGBColor(140, 140, 60),
    RGBColor(190, 60, 70),
    RGBColor(0, 140, 150),
    RGBColor(120, 85, 60),
    RGBColor(110, 180, 70),
    RGBColor(90, 90, 200),
    RGBColor(230, 120, 120),
    RGBColor(110, 120, 130),
    RGBColor(190, 150, 210),
];
pub(super) const WIDTH: u32 = 760;

/// The color of the player at a rank.
pub(super) fn color(rank: usize) -> RGBColor {
    COLORS[rank % COLORS.len()]
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Runs a drawing into SVG text.
pub(super) fn svg(
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area)?;
        area.present().map_err(drawn)?;
    }
    // The page decides the size; the drawing scales with it.
    Ok(text.replacen(&format!("<svg width=\"{WIDTH}\" height=\"{height}\""), "<svg", 1))
}

/// Errors of the drawing library borrow its backend, so their text is kept.
pub(super) fn drawn<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> PlotError {
    error.to_string().into()
}

pub(super) fn style(size: i32) -> TextStyle<'static> {
    ("sans-serif", size, &INK).into_text_style(&(WIDTH, 100))
}

/// A label without decimals; every axis here spans many units, or is a log ratio of a few.
pub(super) fn whole(x: &f64) -> String {
    // Plus zero, so that nothing is labeled -0.
    format!("{:.0}", x.round() + 0.0)
}

/// A range with a margin on both sides, never empty.
pub(super) fn padded(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let low = values.clone().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
    let high = values.filter(|x| x.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return 0.0..1.0;
    }
    let margin = (0.05 * (high - low)).max(1e-3 * (1.0 + high.abs()));
    low - margin..high + margin
}

/// The grid all line plots share.
macro_rules! mesh {
    ($chart:expr, $x:expr, $y:expr) => {
        mesh!($chart, $x, $y, &whole)
    };
    ($chart:expr, $x:expr, $y:expr, $x_label:expr) => {
        $chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.25))
            .axis_style(INK.mix(0.5))
            .label_style(style(13))
            .x_desc($x)
            .y_desc($y)
            .x_label_formatter($x_label)
            .y_label_formatter(&whole)
            .draw()
            .map_err(drawn)?
    };
}
pub(super) use mesh;

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
    let longest = players.iter().map(|rating| rating.name.chars().count()).max().unwrap_or(0).min(34);
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
            let name: String = rating.name.chars().take(34).collect();
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
        let mut chart = ChartBuilder::on(area)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(36)
            .y_label_area_size(66)
            .build_cartesian_2d(0.0..n_games, range)
            .map_err(drawn)?;
        mesh!(chart, "games", "Elo");
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
    svg(280, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(36)
            .y_label_area_size(66)
            .build_cartesian_2d(width, height)
            .map_err(drawn)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.25))
            .axis_style(INK.mix(0.5))
            .label_style(style(13))
            .x_desc(if doublings { format!("{option} (each step doubles)") } else { option.to_owned() })
            .y_desc("Elo with 95 % interval")
            .x_labels(8)
            .x_label_formatter(&label)
            .y_label_formatter(&whole)
            .draw()
            .map_err(drawn)?;
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
        let mut chart = ChartBuilder::on(area)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(36)
            .y_label_area_size(66)
            .build_cartesian_2d(0.0..((counts.len()) * step) as f64, 0.0..f64::from(top) * 1.05)
            .map_err(drawn)?;
        mesh!(chart, "plies", "games");
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
        let mut chart = ChartBuilder::on(area)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(36)
            .y_label_area_size(66)
            .build_cartesian_2d(0.0..n, range)
            .map_err(drawn)?;
        mesh!(chart, "pairs", "log likelihood ratio");
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
