//! What all plots share: SVG text, colors that read on light and dark ground, axes.

use plotters::coord::{Shift, types::RangedCoordf64};
use plotters::prelude::*;
use std::ops::Range;

/// A plot that could not be drawn.
pub(crate) type PlotError = Box<dyn std::error::Error + Send + Sync>;

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(128, 132, 140);
/// Series, distinct also for color-blind readers.
pub(super) const COLORS: [RGBColor; 16] = [
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
pub(super) fn padded(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let low = values.clone().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
    let high = values.filter(|x| x.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return 0.0..1.0;
    }
    let margin = (0.05 * (high - low)).max(1e-3 * (1.0 + high.abs()));
    low - margin..high + margin
}

/// Height of one name of a legend.
pub(super) const LEGEND_HEIGHT: u32 = 20;

/// Characters of a name that fit into a legend.
const LONGEST_NAME: usize = 90;

/// Names with their colors, one below the other, in an area of [`LEGEND_HEIGHT`] for each.
pub(super) fn legend<'a>(area: &Area<'_>, names: impl Iterator<Item = &'a str>) -> Result<(), PlotError> {
    for (idx, name) in names.enumerate() {
        let y = (LEGEND_HEIGHT as usize * idx) as i32 + 10;
        let line = PathElement::new([(16, y), (44, y)], color(idx).stroke_width(3));
        area.draw(&line).map_err(drawn)?;
        area.draw_text(&shortened(name, LONGEST_NAME), &style(14), (52, y - 7)).map_err(drawn)?;
    }
    Ok(())
}

/// At most so many characters of a name; a longer one shows that it was cut.
pub(super) fn shortened(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        None => name.to_owned(),
        Some(_) => name.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A drawing between two axes.
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// What the axes say.
pub(super) struct Axes<'a> {
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) x_label: &'a dyn Fn(&f64) -> String,
    /// Labels of the x axis; `None` lets the drawing library choose.
    pub(super) n_x_labels: Option<usize>,
    /// Pixels between the drawing and the right edge.
    pub(super) margin_right: u32,
}

impl<'a> Axes<'a> {
    /// Axes with whole numbers.
    pub(super) fn whole(x: &'a str, y: &'a str) -> Self {
        Self { x, y, x_label: &whole, n_x_labels: None, margin_right: 16 }
    }
}

/// An empty chart with its grid.
pub(super) fn chart<'a, 'b>(
    area: &'a Area<'b>,
    x: Range<f64>,
    y: Range<f64>,
    axes: &Axes<'_>,
) -> Result<Chart<'a, 'b>, PlotError> {
    let mut chart = ChartBuilder::on(area)
        .margin_right(axes.margin_right)
        .margin_top(8)
        .x_label_area_size(36)
        .y_label_area_size(66)
        .build_cartesian_2d(x, y)
        .map_err(drawn)?;
    let mut mesh = chart.configure_mesh();
    if let Some(n) = axes.n_x_labels {
        mesh.x_labels(n);
    }
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.25))
        .axis_style(INK.mix(0.5))
        .label_style(style(13))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&axes.x_label)
        .y_label_formatter(&whole)
        .draw()
        .map_err(drawn)?;
    Ok(chart)
}
