//! Standings for people and programs: tables in a terminal, JSON, and an HTML page with plots.

mod chart;
mod curves;
mod html;
mod json;
mod panels;
mod plots;
mod scaling;
mod text;

pub use curves::{Curve, rating_curves};
pub use html::{ReportError, html};
pub use json::json;
pub use panels::{Line, Panel, panels};
pub use text::{cross_table, table, test_line};
