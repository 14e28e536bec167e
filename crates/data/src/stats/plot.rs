//! Histograms as SVG.

use super::Statistics;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// A picture that cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {}: {reason}", path.display())]
pub struct PlotError {
    /// The file.
    path: PathBuf,
    /// Why.
    reason: String,
}

/// Draws `win_probability.svg` (figure A1 of paper 002; annotations only) and `moves.svg` (figure A2) into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn plot(statistics: &Statistics, folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let fail = |path: &Path, reason: String| PlotError { path: path.to_owned(), reason };
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error.to_string()))?;
    let mut files = Vec::new();
    let win = statistics.win_probabilities.iter().map(|count| *count as f64).collect::<Vec<_>>();
    let moves = statistics.move_buckets();
    let n_moves = statistics.moves.len();
    let pictures = [
        ("win_probability.svg", win, ["Win percentage of each legal move", "win percentage", "count"], 100.0),
        (
            "moves.svg",
            moves,
            ["Moves sorted by frequency", "moves, most frequent first", "mean count of a move"],
            n_moves as f64,
        ),
    ];
    for (name, bars, words, end) in pictures {
        if bars.is_empty() || bars.iter().all(|bar| *bar == 0.0) {
            continue;
        }
        let path = folder.join(name);
        bar_chart(&path, &bars, words, end).map_err(|error| fail(&path, error.to_string()))?;
        files.push(path);
    }
    Ok(files)
}

fn bar_chart(
    path: &Path,
    bars: &[f64],
    [title, x_label, y_label]: [&str; 3],
    end: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let top = bars.iter().copied().fold(0.0, f64::max) * 1.05;
    let area = SVGBackend::new(path, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(x_label)
        .y_desc(y_label)
        .x_label_formatter(&|place| format!("{place:.0}"))
        .y_label_formatter(&|count| format!("{count:.0}"))
        .draw()?;
    let width = end / bars.len() as f64;
    chart.draw_series(bars.iter().enumerate().map(|(idx, count)| {
        let left = idx as f64 * width;
        Rectangle::new([(left, 0.0), (left + 0.9 * width, *count)], RGBColor(46, 92, 138).filled())
    }))?;
    area.present()?;
    Ok(())
}
