//! Pages of a column whose counts can be true.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};

/// Refuses dictionaries that claim more values than they have bytes: memory is taken for as many as a page claims, before any is
/// read.
pub(super) struct CheckedPages(pub(super) Box<dyn PageReader>);

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.0.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { buf, num_values, .. }) if *num_values as usize > buf.len() => {
                let n_bytes = buf.len();
                Err(ParquetError::General(format!("a dictionary of {num_values} values in {n_bytes} bytes")))
            }
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.0.at_record_boundary()
    }
}

impl Iterator for CheckedPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Encoding;

    /// One dictionary page.
    struct One(Option<Page>);

    impl PageReader for One {
        fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
            Ok(self.0.take())
        }

        fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> ParquetResult<()> {
            Ok(())
        }
    }

    impl Iterator for One {
        type Item = ParquetResult<Page>;

        fn next(&mut self) -> Option<Self::Item> {
            self.get_next_page().transpose()
        }
    }

    #[test]
    fn a_dictionary_with_more_values_than_bytes_is_refused() {
        for (num_values, taken) in [(2, true), (8, true), (9, false), (u32::MAX, false)] {
            let buf = vec![0_u8; 8].into();
            let page = Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false };
            let mut pages = CheckedPages(Box::new(One(Some(page))));
            assert_eq!(pages.get_next_page().is_ok(), taken, "{num_values}");
        }
    }
}
