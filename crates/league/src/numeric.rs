//! The little statistics and linear algebra that ratings, tests and metrics need.

mod matrix;
mod normal;
mod proportion;

pub(crate) use matrix::{Cholesky, Matrix, solve};
pub use normal::{cumulative_normal, normal_quantile, student_quantile};
pub use proportion::{Estimate, bounded_mean, mean_estimate, wilson, wilson_share};
