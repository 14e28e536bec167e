//! The rows of a pass as they are computed: whole ones first, so that they come back in one piece.

use crate::decoder::Want;
use crate::error::NetError;

/// Columns that may be asked for of a row in brief.
pub(super) const MOST_BRIEF: usize = 255;

/// Rows in the order of the pass.
pub(super) struct Rows {
    pub(super) rows: Vec<u32>,
    pub(super) brief: Option<BriefRows>,
}

/// What there is to know of rows in brief.
pub(super) struct BriefRows {
    /// Where each row asked for is.
    pub(super) places: Vec<u32>,
    pub(super) n_whole: usize,
    pub(super) n_columns: usize,
}

impl Rows {
    /// The rows that are wanted.
    ///
    /// # Errors
    /// When there is no room for so many columns of a row in brief.
    pub(super) fn new(want: &Want) -> Result<Self, NetError> {
        let Some(brief) = &want.brief else { return Ok(Self { rows: want.rows.clone(), brief: None }) };
        let n_columns = brief.n_columns as usize;
        if n_columns > MOST_BRIEF {
            let (what, expected) = ("columns of a row in brief", MOST_BRIEF);
            return Err(NetError::Length { what, expected, got: n_columns });
        }
        let (places, n_whole) = brief.places();
        let mut rows = vec![0; want.rows.len()];
        for (row, place) in want.rows.iter().zip(&places) {
            rows[*place as usize] = *row;
        }
        Ok(Self { rows, brief: Some(BriefRows { places, n_whole, n_columns }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_come_first_and_all_are_found_again() {
        let is_brief = vec![true, false, true, false];
        let brief = crate::decoder::Brief { is_brief, n_columns: 9 };
        let want = Want { rows: vec![7, 5, 6, 3], columns: None, brief: Some(brief) };
        let Rows { rows, brief } = Rows::new(&want).unwrap();
        let BriefRows { places, n_whole, n_columns } = brief.unwrap();
        assert_eq!((rows, places, n_whole, n_columns), (vec![5, 3, 7, 6], vec![2, 0, 3, 1], 2, 9));
    }
}
