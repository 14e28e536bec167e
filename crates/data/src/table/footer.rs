//! The footer of a Parquet file, looked at before the library reads it.
//!
//! The library (57.3) takes memory for as many elements as a list of the footer claims, before it reads one, and it reads every
//! field that it knows as the type that the format gives it, whatever type the file says it has. So a damaged footer of a few
//! kilobytes ends the program for want of memory. Here every field must have its type, and no list or text may be longer than
//! what is left of the footer.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use Kind::{Bool, Byte, Bytes, Double, List, Number, Struct};
use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

/// What ends a file: the length of the footer, and the name of the format.
const END: usize = 8;

/// Refuses a file whose footer is damaged. A file without a footer is left to the library.
pub(super) fn check(mut file: &File) -> Result<(), ParquetError> {
    let damaged = |reason: &str| ParquetError::General(format!("the footer is damaged: {reason}"));
    match footer(file) {
        Ok(Some(bytes)) => Reader { bytes: &bytes }.fields(FILE).map_err(damaged)?,
        Ok(None) => {}
        Err(error) => return Err(damaged(&error.to_string())),
    }
    file.rewind().map_err(|error| damaged(&error.to_string()))
}

fn footer(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    let Some(begin) = file.metadata()?.len().checked_sub(END as u64) else { return Ok(None) };
    file.seek(SeekFrom::Start(begin))?;
    let mut end = [0; END];
    file.read_exact(&mut end)?;
    let [a, b, c, d, ..] = end;
    let length = u32::from_le_bytes([a, b, c, d]);
    let Some(begin) = begin.checked_sub(u64::from(length)) else { return Ok(None) };
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// The largest number of a field.
const LAST_FIELD: u64 = i16::MAX as u64;

/// Structs and lists within each other in a field that is not known.
const DEEPEST: u32 = 16;

/// A type of the format. Enums are numbers, and unions are structs with one field.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Byte,
    /// Of 16, 32 or 64 bits, all of which are written alike.
    Number,
    Double,
    Bytes,
    List(&'static Kind),
    Struct(Fields),
}

/// The fields of a struct by number; others are skipped.
type Fields = &'static [(u64, Kind)];

// The structs of parquet.thrift, without what encryption adds.
const FILE: Fields = &[
    (1, Number),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, Number),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, Bytes),
    (7, List(&Struct(&[(1, Struct(&[]))]))),
];
const KEY_VALUE: Fields = &[(1, Bytes), (2, Bytes)];
const SCHEMA_ELEMENT: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Bytes),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, Struct(LOGICAL_TYPE)),
];
const LOGICAL_TYPE: Fields = &[
    (5, Struct(&[(1, Number), (2, Number)])),
    (7, Struct(TIME)),
    (8, Struct(TIME)),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Bytes)])),
    (18, Struct(&[(1, Bytes), (2, Number)])),
];
const TIME: Fields = &[(1, Bool), (2, Struct(&[]))];
const ROW_GROUP: Fields = &[
    (1, List(&Struct(COLUMN_CHUNK))),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Bool), (3, Bool)]))),
    (5, Number),
    (6, Number),
    (7, Number),
];
const COLUMN_CHUNK: Fields =
    &[(1, Bytes), (2, Number), (3, Struct(COLUMN)), (4, Number), (5, Number), (6, Number), (7, Number)];
const COLUMN: Fields = &[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Bytes)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, List(&Struct(KEY_VALUE))),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))),
    (14, Number),
    (15, Number),
    (16, Struct(&[(1, Number), (2, List(&Number)), (3, List(&Number))])),
    (17, Struct(&[(1, Struct(BOX)), (2, List(&Number))])),
];
const STATISTICS: Fields =
    &[(1, Bytes), (2, Bytes), (3, Number), (4, Number), (5, Bytes), (6, Bytes), (7, Bool), (8, Bool)];
const BOX: Fields =
    &[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)];

/// Thrift's compact protocol.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn fields(&mut self, known: Fields) -> Result<(), &'static str> {
        let mut last = 0_u64;
        loop {
            let head = self.byte()?;
            let wire = head & 0x0F;
            if wire == 0 {
                return Ok(());
            }
            last = match head >> 4 {
                // Written in full: twice the number, and one more below zero, where no field is.
                0 => Some(self.number()?).filter(|number| number.is_multiple_of(2)).map(|number| number / 2),
                step => last.checked_add(u64::from(step)),
            }
            .filter(|number| *number <= LAST_FIELD)
            .ok_or("a field without a number")?;
            match known.iter().find(|(number, _)| *number == last) {
                Some((_, kind)) if kind.is_written_as(wire) => self.value(*kind)?,
                Some(_) => return Err("a field of another type than the format has"),
                None => self.unknown(wire, DEEPEST)?,
            }
        }
    }

    fn value(&mut self, kind: Kind) -> Result<(), &'static str> {
        match kind {
            // Its type is its value.
            Bool => Ok(()),
            Byte => self.byte().map(drop),
            Number => self.number().map(drop),
            Double => self.skip(8),
            Bytes => {
                let n_bytes = self.number()?;
                self.skip(n_bytes)
            }
            List(kind) => self.list(*kind),
            Struct(known) => self.fields(known),
        }
    }

    fn list(&mut self, kind: Kind) -> Result<(), &'static str> {
        let (wire, n_elements) = self.list_head()?;
        // Some writers give an empty list no type.
        if n_elements > 0 && !kind.is_written_as(wire) {
            return Err("a list of another type than the format has");
        }
        (0..n_elements).try_for_each(|_| self.value(kind))
    }

    /// The type of the elements, and their number.
    fn list_head(&mut self) -> Result<(u8, u64), &'static str> {
        let head = self.byte()?;
        let n_elements = match head >> 4 {
            15 => self.number()?,
            n => u64::from(n),
        };
        // Every element is a byte at least.
        if n_elements > self.bytes.len() as u64 {
            return Err("a list longer than the footer");
        }
        Ok((head & 0x0F, n_elements))
    }

    /// A field of a later version of the format, by the type that the file gives it.
    fn unknown(&mut self, wire: u8, depth: u32) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or("structs within structs")?;
        match wire {
            1 | 2 => Ok(()),
            3 => self.value(Byte),
            4..=6 => self.value(Number),
            7 => self.value(Double),
            8 => self.value(Bytes),
            9 | 10 => {
                let (wire, n_elements) = self.list_head()?;
                // Alone among the values of a list, a truth value is a byte.
                let wire = if wire <= 2 { 3 } else { wire };
                (0..n_elements).try_for_each(|_| self.unknown(wire, depth))
            }
            12 => loop {
                let head = self.byte()?;
                match head & 0x0F {
                    0 => break Ok(()),
                    wire => {
                        if head >> 4 == 0 {
                            self.number()?;
                        }
                        self.unknown(wire, depth)?;
                    }
                }
            },
            _ => Err("a field of a type that the format has not"),
        }
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        let (byte, rest) = self.bytes.split_first().ok_or("it ends too soon")?;
        self.bytes = rest;
        Ok(*byte)
    }

    fn skip(&mut self, n_bytes: u64) -> Result<(), &'static str> {
        let n_bytes = usize::try_from(n_bytes).map_err(|_| "a text longer than the footer")?;
        self.bytes = self.bytes.get(n_bytes..).ok_or("a text longer than the footer")?;
        Ok(())
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number of more than 64 bits")
    }
}

impl Kind {
    /// Whether a file writes it with this type of the protocol.
    fn is_written_as(self, wire: u8) -> bool {
        match self {
            Bool => wire == 1 || wire == 2,
            Byte => wire == 3,
            Number => (4..=6).contains(&wire),
            Double => wire == 7,
            Bytes => wire == 8,
            List(_) => wire == 9,
            Struct(_) => wire == 12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn corpus(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/table").join(name)
    }

    fn read(bytes: &[u8]) -> Result<(), &'static str> {
        Reader { bytes }.fields(FILE)
    }

    #[test]
    fn tables_pass() {
        for name in ["annotations", "games", "positions", "traces"] {
            check(&File::open(corpus(name)).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// 57 GB of schema elements in a file of three kilobytes.
    #[test]
    fn a_list_longer_than_the_footer_is_refused() {
        let error = check(&File::open(corpus("long_list")).unwrap()).unwrap_err();
        assert!(error.to_string().contains("the footer is damaged"), "{error}");
        // The schema, with 2^28 - 1 elements of the right type, and with two that are there.
        assert_eq!(read(&[0x29, 0xFC, 0xFF, 0xFF, 0xFF, 0x7F]), Err("a list longer than the footer"));
        assert_eq!(read(&[0x29, 0x2C, 0, 0, 0]), Ok(()));
    }

    #[test]
    fn a_field_of_another_type_is_refused() {
        // The schema as a number, which the library would read as a list.
        assert_eq!(read(&[0x25, 0xFC, 0]), Err("a field of another type than the format has"));
        assert_eq!(read(&[0x29, 0x25, 1, 1, 0]), Err("a list of another type than the format has"));
        assert_eq!(read(&[0x28, 1]), Err("a field of another type than the format has"));
        // Later versions may have more fields: 15 with a text, 16 with a struct in a list.
        assert_eq!(read(&[0xF8, 1, b'x', 0x19, 0x1C, 0x15, 2, 0, 0]), Ok(()));
        assert_eq!(read(&[0xF8, 9, b'x', 0]), Err("a text longer than the footer"));
        assert_eq!(read(&[0xFC, 0x1C].repeat(40)), Err("structs within structs"));
        // Fields below zero, beyond 16 bits, and none.
        assert_eq!(read(&[0x05, 3, 0]), Err("a field without a number"));
        assert_eq!(read(&[0x05, 0x82, 0x80, 0x08, 0]), Err("a field without a number"));
        assert_eq!(read(&[]), Err("it ends too soon"));
    }
}
