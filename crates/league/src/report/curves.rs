//! Ratings that change with training, as SVG text.

use super::chart::{
    Axes, Chart, INK, LEGEND_HEIGHT, PlotError, chart, color, drawn, legend, padded, shortened, style, svg,
    whole,
};
use crate::numeric::Estimate;
use plotters::prelude::*;

/// The rating of one player at several moments.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// Where on the axis, and the rating there.
    pub points: Vec<(f64, Estimate)>,
}

/// Characters of a level's name that fit beside the drawing.
const LONGEST_LEVEL: usize = 24;
/// Height of a level's name.
const LEVEL_HEIGHT: i32 = 13;

/// Draws curves with their intervals over an axis, and the ratings of known players as level lines.
///
/// # Errors
/// When the drawing library fails.
pub fn rating_curves(
    curves: &[Curve],
    levels: &[(String, f64)],
    axis: &str,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let elos = points().map(|(_, elo)| elo.value).chain(levels.iter().map(|(_, elo)| *elo));
    let range = padded(elos.collect::<Vec<_>>().into_iter());
    let end = points().map(|(x, _)| *x).fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };
    let legend_height = LEGEND_HEIGHT * curves.len() as u32;
    let longest = levels.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(LONGEST_LEVEL);
    svg(420 + legend_height, |area| {
        let (above, below) = area.split_vertically(legend_height);
        legend(&above, curves.iter().map(|curve| curve.name.as_str()))?;
        // A short axis has labels between whole numbers.
        let label = |x: &f64| if end < 10.0 { format!("{x:.1}") } else { whole(x) };
        // Names of the levels stand right of the drawing, where no curve covers them.
        let margin_right = 16 + 7 * longest as u32;
        let axes = Axes { x_label: &label, margin_right, ..Axes::whole(axis, "Elo") };
        let mut chart = chart(&below, 0.0..end, range.clone(), &axes)?;
        let mut levels: Vec<&(String, f64)> = levels.iter().collect();
        levels.sort_by(|one, other| other.1.total_cmp(&one.1));
        for (_, elo) in &levels {
            let line = [(0.0, *elo), (end, *elo)];
            chart.draw_series(DashedLineSeries::new(line, 4, 4, INK.stroke_width(1))).map_err(drawn)?;
        }
        let (right, bottom) = chart.backend_coord(&(end, range.start));
        let mut places: Vec<i32> =
            levels.iter().map(|(_, elo)| chart.backend_coord(&(end, *elo)).1 - 7).collect();
        spread(&mut places, LEVEL_HEIGHT, bottom - LEVEL_HEIGHT);
        for ((name, _), y) in levels.iter().zip(places) {
            area.draw_text(&shortened(name, LONGEST_LEVEL), &style(12), (right + 6, y)).map_err(drawn)?;
        }
        for (rank, curve) in curves.iter().enumerate() {
            draw_curve(&mut chart, curve, color(rank), &range)?;
        }
        Ok(())
    })
}

/// Moves places in rising order apart, each down as far as it must and none below `last`.
fn spread(places: &mut [i32], gap: i32, last: i32) {
    let mut least = i32::MIN;
    for place in &mut *places {
        *place = (*place).max(least);
        least = *place + gap;
    }
    let mut most = last;
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = *place - gap;
    }
}

/// The interval as a band, the ratings as a line with a dot at each, so that a single one is seen too.
fn draw_curve(
    chart: &mut Chart<'_, '_>,
    curve: &Curve,
    color: RGBColor,
    range: &std::ops::Range<f64>,
) -> Result<(), PlotError> {
    let clamped = |x: f64| x.clamp(range.start, range.end);
    let band = curve.points.iter().map(|(x, elo)| (*x, clamped(elo.high)));
    let back = curve.points.iter().rev().map(|(x, elo)| (*x, clamped(elo.low)));
    let band: Vec<(f64, f64)> = band.chain(back).collect();
    chart.draw_series([Polygon::new(band, color.mix(0.15).filled())]).map_err(drawn)?;
    let line = || curve.points.iter().map(|(x, elo)| (*x, elo.value));
    chart.draw_series(LineSeries::new(line(), color.stroke_width(2))).map_err(drawn)?;
    chart.draw_series(line().map(|point| Circle::new(point, 3, color.filled()))).map_err(drawn)?;
    if let [(x, elo)] = curve.points[..] {
        let bar = vec![(x, clamped(elo.low)), (x, clamped(elo.high))];
        chart.draw_series([PathElement::new(bar, color.stroke_width(2))]).map_err(drawn)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_and_levels_are_in_the_drawing() {
        let points = vec![(0.0, Estimate::symmetric(900.0, 50.0)), (5.0, Estimate::symmetric(1700.0, 40.0))];
        let curves = [Curve { name: "first run".into(), points }];
        let svg = rating_curves(&curves, &[("lookahead:3".into(), 1603.0)], "rounds").unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("first run") && svg.contains("lookahead:3"));
        assert!(svg.contains("polyline"), "a line goes through the points");
        rating_curves(&[], &[], "rounds").unwrap();
        let points = vec![(0.0, Estimate::symmetric(900.0, 50.0))];
        let one = rating_curves(&[Curve { name: "one".into(), points }], &[], "rounds").unwrap();
        assert!(one.contains("<circle"), "a single point is seen");
    }

    #[test]
    fn names_of_close_levels_move_apart() {
        let spread = |mut places: Vec<i32>| {
            super::spread(&mut places, 10, 100);
            places
        };
        assert_eq!(spread(vec![5, 40, 70]), [5, 40, 70]);
        assert_eq!(spread(vec![5, 7, 8, 60]), [5, 15, 25, 60]);
        assert_eq!(spread(vec![5, 95, 96, 97]), [5, 80, 90, 100]);
    }
}
