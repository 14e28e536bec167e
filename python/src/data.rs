//! Tokenized examples from tables of annotations.

use crate::{arrays::bytes_of, bad_input, chain};
use mavis_data::{PositionReader, TableReader, wire::AnnotationRow};
use mavis_game::{Game as _, Move};
use mavis_lang::{Annotation, Example, ExampleBuilder, Variety};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyByteArray};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// Examples of a table of annotations, one for each row, in the order of the rows.
#[pyclass(module = "mavis._mavis", frozen)]
pub(crate) struct ExampleStream {
    state: Mutex<State>,
}

struct State {
    rows: TableReader<AnnotationRow>,
    /// The number of the next row in the whole table.
    row: u64,
    positions: PositionReader,
    builder: ExampleBuilder,
    plain: bool,
    seed: u64,
    /// This stream takes every `n_parts`-th row, beginning with `part`.
    part: u64,
    n_parts: u64,
    n_refused: u64,
}

#[pymethods]
impl ExampleStream {
    #[new]
    fn new(paths: Vec<PathBuf>, seed: u64, plain: bool, part: u64, n_parts: u64) -> PyResult<Self> {
        if part >= n_parts {
            return Err(bad_input(format!("part {part} of {n_parts}: parts are counted from 0")));
        }
        let rows = TableReader::open(&paths).map_err(|error| bad_input(chain(&error)))?;
        let (positions, builder) = Default::default();
        let state = State { rows, row: 0, positions, builder, plain, seed, part, n_parts, n_refused: 0 };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Rows left out so far, because they do not value every legal move.
    #[getter]
    fn n_refused(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).n_refused
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Tokens as bytes of uint16, and how many of them are input.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyByteArray>, usize)>> {
        let next = py.detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).next());
        next?.map(|example| Ok((bytes_of(py, &example.tokens)?, example.input_len))).transpose()
    }
}

impl State {
    fn next(&mut self) -> PyResult<Option<Example>> {
        loop {
            let Some(row) = self.rows.next() else { return Ok(None) };
            let row = row.map_err(|error| PyRuntimeError::new_err(chain(&error)))?;
            let number = self.row;
            self.row += 1;
            if number % self.n_parts != self.part {
                continue;
            }
            match self.example(&row, number) {
                Some(example) => return Ok(Some(example)),
                None => self.n_refused += 1,
            }
        }
    }

    /// The example of a row; `None` for one that does not value every legal move.
    fn example(&mut self, row: &AnnotationRow, number: u64) -> Option<Example> {
        let position = self.positions.position(&row.place.game, &row.place.position).ok()?;
        let legal = position.legal_moves();
        if legal.len() != row.moves.len() {
            return None;
        }
        let value = |&mv: &Move| {
            let text = position.move_text(mv);
            let row = row.moves.iter().find(|row| row.mv.as_str() == text)?;
            row.win_probability.map(|value| (mv, value))
        };
        let moves: Vec<(Move, f32)> = legal.iter().map(value).collect::<Option<_>>()?;
        let best = row.best.and_then(|best| position.parse_move(best.as_str()).ok());
        let annotation = Annotation { position: &position, moves: &moves, best, previous: None };
        // A row's example depends on the seed and its number alone, not on who else reads the table.
        let mut random =
            Xoshiro256PlusPlus::seed_from_u64(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let variety = if self.plain { Variety::PLAIN } else { Variety::default() };
        let commands = variety.draw(position.rules(), moves.len(), false, &mut random);
        self.builder.build(&annotation, &commands, &mut random).ok()
    }
}
