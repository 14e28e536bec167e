//! Small plots over a common axis: how numbers change as steps go by.

use super::chart::{
    Area, INK, LEGEND_HEIGHT, PlotError, WIDTH, color, drawn, legend as draw_legend, padded, shortened,
    style, svg,
};
use plotters::prelude::*;

/// One line of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Which of the names it belongs to; decides the color.
    pub name_idx: usize,
    /// Points in order of x.
    pub points: Vec<(f64, f64)>,
}

/// One small plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What is shown.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

const COLUMNS: usize = 2;
const PANEL_HEIGHT: u32 = 210;
/// Characters of a title that fit above a panel.
const LONGEST_TITLE: usize = 48;
/// A line of at most so many points shows them as dots too.
const MOST_DOTS: usize = 40;

/// Draws panels over a common x axis, two in a row, with the names above in their colors, as SVG text.
///
/// # Errors
/// When the drawing library fails.
pub fn panels(
    x_label: &str,
    names: &[String],
    shown: &[Panel],
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let n_rows = shown.len().div_ceil(COLUMNS).max(1);
    let height = LEGEND_HEIGHT * names.len() as u32 + PANEL_HEIGHT * n_rows as u32;
    let all = shown.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let end = all.map(|point| point.0).fold(0.0, f64::max);
    svg(height, |area| {
        let (legend, below) = area.split_vertically(LEGEND_HEIGHT * names.len() as u32);
        draw_legend(&legend, names.iter().map(String::as_str))?;
        for (panel, place) in shown.iter().zip(below.split_evenly((n_rows, COLUMNS))) {
            draw(panel, &place, (x_label, end))?;
        }
        Ok(())
    })
}

fn draw(panel: &Panel, place: &Area<'_>, (x_label, end): (&str, f64)) -> Result<(), PlotError> {
    let values = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let range = padded(values);
    let span = range.end - range.start;
    // As many decimals as tell two neighboring lines of the grid apart.
    let decimals = (1.0 - (span / 4.0).log10()).floor().clamp(0.0, 6.0) as usize;
    let number = |decimals: usize| move |x: &f64| format!("{:.decimals$}", x + 0.0);
    let x_decimals = usize::from(end < 12.0);
    let mut chart = ChartBuilder::on(place)
        .margin_right(14)
        .margin_top(4)
        .caption(shortened(&panel.title, LONGEST_TITLE), style(14))
        .x_label_area_size(34)
        .y_label_area_size(54)
        .build_cartesian_2d(0.0..end.max(f64::MIN_POSITIVE), range)
        .map_err(drawn)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.25))
        .axis_style(INK.mix(0.5))
        .label_style(style(12))
        .x_labels((WIDTH / 130) as usize)
        .y_labels(5)
        .x_desc(x_label)
        .x_label_formatter(&number(x_decimals))
        .y_label_formatter(&number(decimals))
        .draw()
        .map_err(drawn)?;
    for line in &panel.lines {
        let color = color(line.name_idx);
        let points = || line.points.iter().copied();
        chart.draw_series(LineSeries::new(points(), color.stroke_width(2))).map_err(drawn)?;
        if line.points.len() <= MOST_DOTS {
            let dots = points().map(|point| Circle::new(point, 3, color.filled()));
            chart.draw_series(dots).map_err(drawn)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_panel_is_drawn() {
        let line = |name_idx, y| Line { name_idx, points: vec![(0.0, y), (1.0, y + 0.1), (2.0, y + 0.15)] };
        let panel = |title: &str| Panel { title: title.to_owned(), lines: vec![line(0, 0.1), line(1, 0.3)] };
        let names = ["one run".to_owned(), "other <run>".to_owned()];
        let text = panels("minutes", &names, &[panel("F1"), panel("regret"), panel("loss")]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for word in ["one run", "other &lt;run&gt;", "F1", "regret", "loss"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        // Two lines in each of three panels, and two in the legend.
        assert_eq!(text.matches("<circle").count(), 18);
        assert!(panels("steps", &[], &[]).is_ok());
    }
}
