//! Positions of all games.

use crate::{arrays::bytes_of, bad_input};
use mavis_game::{Game as _, Move, Position as AnyPosition, Rules, Side, perft};
use mavis_probs::Planes as _;
use pyo3::{
    prelude::*,
    types::{PyByteArray, PyTuple, PyType},
};
use std::sync::Arc;

/// A position of one of the six games, with the moves that led to it.
///
/// `game` is a name with its parameters (`chess`, `hex:size=7`), `text` a position text (a FEN in chess; the start position if
/// absent), and `moves` are played from there. Moves are text everywhere. Equality looks at the board, the side to move and
/// rights, not at history or counters.
#[pyclass(module = "mavis", skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct Position {
    position: Arc<AnyPosition>,
    /// Where the moves begin; `None` means here.
    start: Option<Arc<AnyPosition>>,
    moves: Vec<Move>,
}

impl Position {
    /// A position without moves before it.
    pub(crate) fn at(position: Arc<AnyPosition>) -> Self {
        Self { position, start: None, moves: Vec::new() }
    }

    /// A position after moves, which are known to be legal.
    pub(crate) fn reached(start: &AnyPosition, moves: &[Move]) -> Self {
        let mut position = Self::at(Arc::new(start.clone()));
        moves.iter().for_each(|&mv| position.play(mv));
        position
    }

    pub(crate) fn get(&self) -> &Arc<AnyPosition> {
        &self.position
    }

    /// The position where the moves begin.
    pub(crate) fn start(&self) -> &Arc<AnyPosition> {
        self.start.as_ref().unwrap_or(&self.position)
    }

    /// The moves since [`Position::start`].
    pub(crate) fn played(&self) -> &[Move] {
        &self.moves
    }

    fn play(&mut self, mv: Move) {
        if self.start.is_none() {
            self.start = Some(self.position.clone());
        }
        Arc::make_mut(&mut self.position).play_unchecked(mv);
        self.moves.push(mv);
    }

    fn checked_symmetry(&self, symmetry: usize) -> PyResult<usize> {
        let n = self.position.n_symmetries();
        if symmetry < n {
            return Ok(symmetry);
        }
        Err(bad_input(format!(
            "no symmetry {symmetry} in {} (it has {n}, counted from 0)",
            self.position.rules()
        )))
    }
}

/// The word for a side.
pub(crate) fn side_word(side: Side) -> &'static str {
    match side {
        Side::First => "first",
        Side::Second => "second",
    }
}

#[pymethods]
impl Position {
    #[new]
    #[pyo3(signature = (game = "chess", text = None, moves = None))]
    fn new(game: &str, text: Option<&str>, moves: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let rules: Rules = game.parse().map_err(bad_input)?;
        let position = match text {
            Some(text) => AnyPosition::parse(rules, text).map_err(bad_input)?,
            None => AnyPosition::start(rules),
        };
        let mut position = Self::at(Arc::new(position));
        if let Some(moves) = moves {
            for mv in moves.try_iter()? {
                position.push(mv?.extract()?)?;
            }
        }
        Ok(position)
    }

    /// The game with its parameters, such as `hex:size=7`.
    #[getter]
    fn game(&self) -> String {
        self.position.rules().to_string()
    }

    /// The position as text; a FEN in chess.
    #[getter]
    fn text(&self) -> String {
        self.position.to_string()
    }

    /// Whose turn it is: `first` or `second`.
    #[getter]
    fn turn(&self) -> &'static str {
        side_word(self.position.side_to_move())
    }

    /// Every legal move, in a fixed order; none once the game is over.
    #[getter]
    fn legal_moves(&self) -> Vec<String> {
        self.position.legal_moves().iter().map(|&mv| self.position.move_text(mv)).collect()
    }

    /// The number of legal moves.
    #[getter]
    fn n_legal_moves(&self) -> usize {
        self.position.n_legal_moves()
    }

    /// The moves played since `start_text`.
    #[getter]
    fn moves(&self) -> Vec<String> {
        let mut position = AnyPosition::clone(self.start());
        let text = |&mv: &Move| {
            let text = position.move_text(mv);
            position.play_unchecked(mv);
            text
        };
        self.moves.iter().map(text).collect()
    }

    /// The text of the position where `moves` begin.
    #[getter]
    fn start_text(&self) -> String {
        self.start().to_string()
    }

    /// `1-0`, `0-1` or `1/2-1/2` once the game is over.
    #[getter]
    fn outcome(&self) -> Option<&'static str> {
        self.position.outcome().map(|outcome| outcome.as_str())
    }

    /// `first`, `second`, or nothing for a draw and for a game that is not over.
    #[getter]
    fn winner(&self) -> Option<&'static str> {
        self.position.outcome().and_then(|outcome| outcome.winner()).map(side_word)
    }

    /// Why the game ended, if it has.
    #[getter]
    fn end_reason(&self) -> Option<String> {
        self.position.end_reason().map(|reason| reason.to_string())
    }

    /// Whether the game is over.
    #[getter]
    fn is_over(&self) -> bool {
        self.position.outcome().is_some()
    }

    /// Whether the side to move may claim a draw.
    #[getter]
    fn claimable_draw(&self) -> bool {
        self.position.claimable_draw()
    }

    /// A 64-bit key that agrees with equality.
    #[getter]
    fn key(&self) -> u64 {
        self.position.key()
    }

    /// Plies played since the start of the game, as far as the position knows.
    #[getter]
    fn ply(&self) -> u32 {
        self.position.ply()
    }

    /// Whether a move may be played here.
    #[pyo3(signature = (r#move, /))]
    fn is_legal(&self, r#move: &str) -> bool {
        self.position.parse_move(r#move).is_ok()
    }

    /// A move in its standard spelling; in chess, algebraic notation is read too.
    #[pyo3(signature = (r#move, /))]
    fn parse_move(&self, r#move: &str) -> PyResult<String> {
        let mv = self.position.parse_move(r#move).map_err(bad_input)?;
        Ok(self.position.move_text(mv))
    }

    /// Plays a move.
    #[pyo3(signature = (r#move, /))]
    fn push(&mut self, r#move: &str) -> PyResult<()> {
        let mv = self.position.parse_move(r#move).map_err(bad_input)?;
        self.play(mv);
        Ok(())
    }

    /// Takes the last move back and returns it.
    fn pop(&mut self) -> PyResult<String> {
        let Some((&last, before)) = self.moves.split_last() else {
            return Err(pyo3::exceptions::PyIndexError::new_err("no move to take back"));
        };
        let mut position = AnyPosition::clone(self.start());
        before.iter().for_each(|&mv| position.play_unchecked(mv));
        self.position = Arc::new(position);
        self.moves.pop();
        Ok(self.position.move_text(last))
    }

    /// A copy with a move played.
    #[pyo3(signature = (r#move, /))]
    fn after(&self, r#move: &str) -> PyResult<Self> {
        let mut after = self.clone();
        after.push(r#move)?;
        Ok(after)
    }

    /// A copy that can be played on by itself.
    fn copy(&self) -> Self {
        self.clone()
    }

    /// The size of the symmetry group, the identity included.
    #[getter]
    fn n_symmetries(&self) -> usize {
        self.position.n_symmetries()
    }

    /// The position under a symmetry (0 is the identity), without the moves before it.
    fn transformed(&self, symmetry: usize) -> PyResult<Self> {
        let symmetry = self.checked_symmetry(symmetry)?;
        Ok(Self::at(Arc::new(self.position.transformed(symmetry))))
    }

    /// The same move in the transformed position.
    fn transformed_move(&self, symmetry: usize, r#move: &str) -> PyResult<String> {
        let symmetry = self.checked_symmetry(symmetry)?;
        let mv = self.position.parse_move(r#move).map_err(bad_input)?;
        let mv = self.position.transformed_move(symmetry, mv);
        Ok(self.position.transformed(symmetry).move_text(mv))
    }

    /// The number of move sequences of a length.
    fn perft(&self, py: Python<'_>, depth: u32) -> u64 {
        py.detach(|| perft(&*self.position, depth))
    }

    /// Planes for small networks as bytes of float32, with their shape `(height, width, channels)`.
    fn _planes<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyByteArray>, [usize; 3])> {
        let shape = self.position.shape();
        let mut planes = vec![0.0; shape.iter().product()];
        self.position.write(&mut planes);
        Ok((bytes_of(py, &planes)?, shape))
    }

    /// The numbers of the legal moves as actions of such networks.
    fn _actions(&self) -> Vec<usize> {
        self.position.legal_moves().iter().map(|&mv| self.position.action(mv)).collect()
    }

    /// Planes for small networks, `float32[height, width, channels]`, seen from the side to move.
    fn planes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._arrays")?.call_method1("planes", (slf,))
    }

    /// The numbers of the legal moves among `n_actions`, `int64[n_legal_moves]`, for policies over all actions.
    fn actions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._arrays")?.call_method1("actions", (slf,))
    }

    /// The number of actions, legal or not, that `actions` numbers.
    #[getter]
    fn n_actions(&self) -> usize {
        self.position.n_actions()
    }

    /// The position as a `chess.Board` of python-chess, with its moves.
    fn to_chess<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._chess")?.call_method1("to_chess", (slf,))
    }

    /// A position from a `chess.Board` of python-chess, with its moves.
    #[classmethod]
    #[pyo3(signature = (board, /))]
    fn from_chess<'py>(cls: &Bound<'py, PyType>, board: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        cls.py().import("mavis._chess")?.call_method1("from_chess", (board,))
    }

    fn _repr_svg_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._svg")?.call_method1("svg", (slf,))
    }

    fn __str__(&self) -> String {
        self.position.drawing()
    }

    fn __repr__(&self) -> String {
        format!("Position({:?}, {:?})", self.position.rules().to_string(), self.position.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.borrow();
            self.position.rules() == other.position.rules() && self.position == other.position
        })
    }

    fn __copy__(&self) -> Self {
        self.clone()
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> Self {
        let _ = memo;
        self.clone()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.borrow();
        let arguments = (this.game(), this.start_text(), this.moves());
        (slf.get_type(), arguments).into_pyobject(slf.py())
    }
}
