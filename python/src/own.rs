//! A game of one's own: rules written in Python behind the trait that searches, players and leagues use.

use crate::{bad_input, position::Position};
use mavis_game::{
    EndReason, FromRules, Game, Move, MoveError, Moves, Outcome, Position as AnyPosition, PositionError, Side,
};
use mavis_probs::Planes;
use mavis_search::Cancel;
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyRuntimeError, PyTypeError},
    prelude::*,
    types::PyType,
};
use std::{
    collections::HashMap,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    str::FromStr,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

/// A game whose positions Python knows.
pub(crate) trait PythonGame: FromRules {
    /// The object that Python sees of a position.
    fn object(this: Arc<Self>, py: Python<'_>) -> PyResult<Py<PyAny>>;

    /// The object of a position of a game, with the moves that led to it where Python knows them.
    fn reached(start: &Self, moves: &[Move], position: &Self, py: Python<'_>) -> PyResult<Py<PyAny>>;

    /// A move as text, legal here or not.
    fn any_move_text(&self, mv: Move) -> String;
}

impl PythonGame for AnyPosition {
    fn object(this: Arc<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Position::at(this))?.into_any())
    }

    fn reached(start: &Self, moves: &[Move], _: &Self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Position::reached(start, moves))?.into_any())
    }

    fn any_move_text(&self, mv: Move) -> String {
        match self.is_legal(mv) {
            true => self.move_text(mv),
            // A move that a model made up.
            false => mavis_lang::moves::move_text(self.rules(), mv).unwrap_or("?").to_owned(),
        }
    }
}

/// A position given by Python.
pub(crate) enum State {
    /// Of one of the six games.
    Six(Position),
    /// Of a game written in Python.
    Own(OwnGame),
}

impl State {
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(position) = object.cast::<Position>() {
            return Ok(Self::Six(position.borrow().clone()));
        }
        let base = object.py().import("mavis._game")?.getattr("Game")?;
        if object.is_instance(&base)? {
            return OwnGame::of(object).map(Self::Own);
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!("a position is a mavis.Position or a mavis.Game, not {kind}")))
    }
}

/// A position of a game written in Python, with what its rules say of it.
#[derive(Clone)]
pub(crate) struct OwnGame {
    node: Arc<OwnState>,
}

struct OwnState {
    class: Arc<Class>,
    /// The Python object; `None` after its rules raised an exception, which ends the game.
    state: Option<Py<PyAny>>,
    /// All that the rules know of the position: equal texts are equal positions.
    text: String,
    side: Side,
    moves: Vec<Move>,
    outcome: Option<Outcome>,
    ply: u32,
}

/// A class of positions.
struct Class {
    name: String,
    class: Py<PyType>,
    words: Mutex<Words>,
    runs: Mutex<Runs>,
}

/// Moves by code: a code is the place of a move's text in the order in which texts were first seen.
#[derive(Default)]
struct Words {
    texts: Vec<String>,
    codes: HashMap<String, Move>,
}

/// What is running on the rules of a class.
#[derive(Default)]
struct Runs {
    cancels: Vec<Cancel>,
    failure: Option<PyErr>,
}

/// Names a class of positions; classes are found by name while the program runs.
#[derive(Clone)]
pub(crate) struct OwnRules(Arc<Class>);

static CLASSES: LazyLock<Mutex<HashMap<String, Arc<Class>>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Class {
    /// The class by its Python object; one that was defined again under its name takes the place of the old one.
    fn of(class: &Bound<'_, PyType>) -> PyResult<Arc<Self>> {
        let name = class.getattr("__qualname__")?.extract::<String>()?;
        let mut classes = lock(&CLASSES);
        if let Some(known) = classes.get(&name)
            && known.class.bind(class.py()).is(class)
        {
            return Ok(known.clone());
        }
        let (words, runs) = Default::default();
        let made = Arc::new(Self { name: name.clone(), class: class.clone().unbind(), words, runs });
        classes.insert(name, made.clone());
        Ok(made)
    }

    fn code(&self, text: &str) -> PyResult<Move> {
        let mut words = lock(&self.words);
        if let Some(&code) = words.codes.get(text) {
            return Ok(code);
        }
        let code = u16::try_from(words.texts.len())
            .map_err(|_| bad_input(format!("{} has more than 65,536 different moves", self.name)))?;
        words.texts.push(text.to_owned());
        words.codes.insert(text.to_owned(), Move(code));
        Ok(Move(code))
    }

    fn fail(&self, error: PyErr) {
        let mut runs = lock(&self.runs);
        runs.failure.get_or_insert(error);
        runs.cancels.iter().for_each(Cancel::cancel);
    }
}

/// Work on the rules of a class, from begin to end: an exception in the rules cancels it and comes out of it.
pub(crate) struct RulesUse {
    class: Arc<Class>,
}

impl OwnRules {
    /// The rules of a class of positions.
    pub(crate) fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        Class::of(class).map(Self)
    }

    /// Begins work that `cancel` ends.
    pub(crate) fn begin(&self, cancel: &Cancel) -> RulesUse {
        let mut runs = lock(&self.0.runs);
        if runs.cancels.is_empty() {
            runs.failure = None;
        }
        runs.cancels.push(cancel.clone());
        RulesUse { class: self.0.clone() }
    }
}

impl RulesUse {
    /// Ends the work; the exception of the rules, if there was one.
    pub(crate) fn end(self, py: Python<'_>) -> PyResult<()> {
        lock(&self.class.runs).failure.as_ref().map_or(Ok(()), |error| Err(error.clone_ref(py)))
    }
}

impl Drop for RulesUse {
    fn drop(&mut self) {
        // One token for one run; which of them it is does not matter, as an exception cancels all.
        lock(&self.class.runs).cancels.pop();
    }
}

impl OwnGame {
    /// A position by its Python object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(&Class::of(&object.get_type())?, object, 0)
    }

    fn read(class: &Arc<Class>, object: &Bound<'_, PyAny>, ply: u32) -> PyResult<Self> {
        let text: String = object.getattr("text")?.extract()?;
        let outcome = match object.getattr("outcome")?.extract::<Option<String>>()?.as_deref() {
            None => None,
            Some("1-0") => Some(Outcome::Win(Side::First)),
            Some("0-1") => Some(Outcome::Win(Side::Second)),
            Some("1/2-1/2") => Some(Outcome::Draw),
            Some(other) => {
                return Err(bad_input(format!(
                    "{}: an outcome is '1-0', '0-1', '1/2-1/2' or None, not '{other}'",
                    class.name
                )));
            }
        };
        let side = match object.getattr("turn")?.extract::<String>()?.as_str() {
            "first" => Side::First,
            "second" => Side::Second,
            other => {
                return Err(bad_input(format!(
                    "{}: a turn is 'first' or 'second', not '{other}'",
                    class.name
                )));
            }
        };
        let mut moves = Vec::new();
        if outcome.is_none() {
            for text in object.getattr("legal_moves")?.try_iter()? {
                moves.push(class.code(&text?.extract::<String>()?)?);
            }
            let most = Moves::new().capacity();
            if moves.is_empty() || moves.len() > most {
                let n = moves.len();
                return Err(bad_input(format!(
                    "{}: a position that is not over has 1 to {most} legal moves, not {n}: {text}",
                    class.name
                )));
            }
        }
        // A position that counts its plies lets a search keep its tree for the next one.
        let ply = ply.max(object.getattr("ply")?.extract()?);
        let state = Some(object.clone().unbind());
        Ok(Self { node: Arc::new(OwnState { class: class.clone(), state, text, side, moves, outcome, ply }) })
    }

    /// What takes the place of a position that the rules failed to give: the work on it ends, and its result is not used.
    fn broken(class: &Arc<Class>, ply: u32) -> Self {
        let node = OwnState {
            class: class.clone(),
            state: None,
            text: "an exception".to_owned(),
            side: Side::First,
            moves: Vec::new(),
            outcome: Some(Outcome::Draw),
            ply,
        };
        Self { node: Arc::new(node) }
    }

    fn after(&self, mv: Move) -> PyResult<Self> {
        Python::attach(|py| {
            let Some(state) = &self.node.state else {
                return Err(PyRuntimeError::new_err("the game ended with an exception"));
            };
            let after = state.bind(py).call_method1("after", (self.move_text(mv),))?;
            Self::read(&self.node.class, &after, self.node.ply + 1)
        })
    }

    fn make(class: &Arc<Class>, make: impl FnOnce(&Bound<'_, PyType>) -> PyResult<Self>) -> PyResult<Self> {
        Python::attach(|py| make(class.class.bind(py)))
    }
}

impl PythonGame for OwnGame {
    fn object(this: Arc<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let lost = || PyRuntimeError::new_err("the game ended with an exception");
        this.node.state.as_ref().map(|state| state.clone_ref(py)).ok_or_else(lost)
    }

    fn reached(_: &Self, _: &[Move], position: &Self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::object(Arc::new(position.clone()), py)
    }

    fn any_move_text(&self, mv: Move) -> String {
        self.move_text(mv)
    }
}

impl OwnGame {
    /// Calls Python on the position; what goes wrong there ends the work in hand.
    fn ask<T: Default>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        let asked = Python::attach(|py| match &self.node.state {
            Some(state) => ask(state.bind(py)),
            // The exception that ended the game is known already.
            None => Ok(T::default()),
        });
        asked.unwrap_or_else(|error| {
            self.node.class.fail(error);
            T::default()
        })
    }
}

impl Planes for OwnGame {
    fn shape(&self) -> [usize; 3] {
        self.ask(|state| {
            let shape = state.call_method0("planes")?.getattr("shape")?.extract::<Vec<usize>>()?;
            shape[..]
                .try_into()
                .map_err(|_| bad_input(format!("planes are [height, width, channels], not {shape:?}")))
        })
    }

    fn n_actions(&self) -> usize {
        self.ask(|state| state.getattr("n_actions")?.extract())
    }

    fn write(&self, planes: &mut [f32]) {
        let numbers = self.ask(|state| {
            let planes = state.call_method0("planes")?;
            let numpy = state.py().import("numpy")?;
            let plain = numpy.call_method1("ascontiguousarray", (planes, "float32"))?;
            PyBuffer::<f32>::get(&plain)?.to_vec(state.py())
        });
        if numbers.len() == planes.len() {
            planes.copy_from_slice(&numbers);
        }
    }

    fn action(&self, mv: Move) -> usize {
        let text = self.move_text(mv);
        self.ask(|state| {
            let (action, n_actions): (usize, usize) =
                (state.call_method1("action", (&text,))?.extract()?, state.getattr("n_actions")?.extract()?);
            if action < n_actions {
                return Ok(action);
            }
            Err(bad_input(format!(
                "action {action} of the move {text}: actions are below n_actions, {n_actions}"
            )))
        })
    }
}

impl Game for OwnGame {
    type Rules = OwnRules;

    fn rules(&self) -> OwnRules {
        OwnRules(self.node.class.clone())
    }

    fn side_to_move(&self) -> Side {
        self.node.side
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        moves.extend(self.node.moves.iter().copied());
    }

    fn n_legal_moves(&self) -> usize {
        self.node.moves.len()
    }

    fn is_legal(&self, mv: Move) -> bool {
        self.node.moves.contains(&mv)
    }

    fn play_unchecked(&mut self, mv: Move) {
        match self.after(mv) {
            Ok(after) => *self = after,
            Err(error) => {
                self.node.class.fail(error);
                *self = Self::broken(&self.node.class, self.node.ply + 1);
            }
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        self.node.outcome
    }

    fn end_reason(&self) -> Option<EndReason> {
        self.node.outcome.map(|_| EndReason::Other("own rules"))
    }

    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.node.text.hash(&mut hasher);
        hasher.finish()
    }

    fn ply(&self) -> u32 {
        self.node.ply
    }

    fn move_text(&self, mv: Move) -> String {
        lock(&self.node.class.words).texts.get(usize::from(mv.0)).cloned().unwrap_or_else(|| "?".to_owned())
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        let code = lock(&self.node.class.words).codes.get(text).copied();
        code.filter(|&mv| self.is_legal(mv)).ok_or_else(|| MoveError::Illegal { text: text.to_owned() })
    }

    fn drawing(&self) -> String {
        let shown = Python::attach(|py| -> PyResult<String> {
            self.node
                .state
                .as_ref()
                .map_or_else(|| Ok(String::new()), |state| state.bind(py).str()?.extract())
        });
        // A drawing is for people only; a class that cannot be shown is no failure of its rules.
        format!("{}\n", shown.unwrap_or_else(|_| self.node.text.clone()).trim_end())
    }
}

impl FromRules for OwnGame {
    fn start(rules: OwnRules) -> Self {
        let class = rules.0;
        let made = Self::make(&class, |object| Self::read(&class, &object.call0()?, 0));
        made.unwrap_or_else(|error| {
            class.fail(error);
            Self::broken(&class, 0)
        })
    }

    fn parse(rules: OwnRules, text: &str) -> Result<Self, PositionError> {
        let class = rules.0;
        let made =
            Self::make(&class, |object| Self::read(&class, &object.call_method1("from_text", (text,))?, 0));
        made.map_err(|error| PositionError { game: "own", reason: error.to_string() })
    }
}

impl PartialEq for OwnGame {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node.class, &other.node.class) && self.node.text == other.node.text
    }
}

impl Eq for OwnGame {}

impl fmt::Debug for OwnGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnGame").field(&self.node.class.name).field(&self.node.text).finish()
    }
}

impl fmt::Display for OwnGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.node.text)
    }
}

impl PartialEq for OwnRules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for OwnRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnRules").field(&self.0.name).finish()
    }
}

impl fmt::Display for OwnRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl FromStr for OwnRules {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        lock(&CLASSES)
            .get(name)
            .cloned()
            .map(Self)
            .ok_or_else(|| format!("no class of positions named '{name}'"))
    }
}
