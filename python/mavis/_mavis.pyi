"""The compiled half of the package: positions, models, searches, players, oracles and the language."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from mavis._game import Game
from mavis._model import Evaluations, Generated
from mavis._oracle import Verdict
from mavis._player import Analysis

if TYPE_CHECKING:
    import chess

__all__ = [
    "ExampleStream",
    "Free",
    "Model",
    "Oracle",
    "Player",
    "Position",
    "Scripted",
    "Search",
    "Stream",
    "bucket",
    "bucket_value",
    "calibration",
    "check",
    "decode",
    "elo",
    "encode",
    "example",
    "kendall_tau",
    "league",
    "parse",
    "players",
    "prompt",
    "rate",
    "search_options",
    "solve",
    "tokenizer_config_json",
    "tokenizer_json",
    "train_probs",
    "vocabulary",
    "win_probability",
]

@final
class Position:
    """A position of one of the six games, with the moves that led to it.

    `game` is a name with its parameters (`chess`, `hex:size=7`), `text` a position text (a FEN in chess; the start position
    if absent), and `moves` are played from there. Moves are text everywhere. Equality looks at the board, the side to move
    and rights, not at history or counters.
    """

    def __new__(cls, game: str = "chess", text: str | None = None, moves: Iterable[str] | None = None) -> Position: ...
    @property
    def game(self) -> str:
        """The game with its parameters, such as `hex:size=7`."""
    @property
    def text(self) -> str:
        """The position as text; a FEN in chess."""
    @property
    def turn(self) -> Literal["first", "second"]:
        """Whose turn it is."""
    @property
    def legal_moves(self) -> list[str]:
        """Every legal move, in a fixed order; none once the game is over."""
    @property
    def n_legal_moves(self) -> int:
        """The number of legal moves."""
    @property
    def moves(self) -> list[str]:
        """The moves played since `start_text`."""
    @property
    def start_text(self) -> str:
        """The text of the position where `moves` begin."""
    @property
    def outcome(self) -> Literal["1-0", "0-1", "1/2-1/2"] | None:
        """The result once the game is over."""
    @property
    def winner(self) -> Literal["first", "second"] | None:
        """The winner; nothing for a draw and for a game that is not over."""
    @property
    def end_reason(self) -> str | None:
        """Why the game ended, if it has."""
    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
    @property
    def claimable_draw(self) -> bool:
        """Whether the side to move may claim a draw."""
    @property
    def key(self) -> int:
        """A 64-bit key that agrees with equality."""
    @property
    def ply(self) -> int:
        """Plies played since the start of the game, as far as the position knows."""
    @property
    def n_symmetries(self) -> int:
        """The size of the symmetry group, the identity included."""
    @property
    def n_actions(self) -> int:
        """The number of actions, legal or not, that `actions` numbers."""
    def is_legal(self, move: str, /) -> bool:
        """Whether a move may be played here."""
    def parse_move(self, move: str, /) -> str:
        """A move in its standard spelling; in chess, algebraic notation is read too."""
    def push(self, move: str, /) -> None:
        """Plays a move."""
    def pop(self) -> str:
        """Takes the last move back and returns it."""
    def after(self, move: str, /) -> Position:
        """A copy with a move played."""
    def copy(self) -> Position:
        """A copy that can be played on by itself."""
    def transformed(self, symmetry: int) -> Position:
        """The position under a symmetry (0 is the identity), without the moves before it."""
    def transformed_move(self, symmetry: int, move: str) -> str:
        """The same move in the transformed position."""
    def perft(self, depth: int) -> int:
        """The number of move sequences of a length."""
    def planes(self) -> NDArray[np.float32]:
        """Planes for small networks, `float32[height, width, channels]`, seen from the side to move."""
    def actions(self) -> NDArray[np.int64]:
        """The numbers of the legal moves among `n_actions`, for policies over all actions."""
    def to_chess(self) -> chess.Board:
        """The position as a `chess.Board` of python-chess, with its moves."""
    @classmethod
    def from_chess(cls, board: chess.Board, /) -> Position:
        """A position from a `chess.Board` of python-chess, with its moves."""
    def _planes(self) -> tuple[bytearray, list[int]]: ...
    def _actions(self) -> list[int]: ...
    def _repr_svg_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Position: ...
    def __deepcopy__(self, memo: object, /) -> Position: ...
    def __reduce__(self) -> tuple[type[Position], tuple[str, str, list[str]]]: ...
    __hash__: None  # type: ignore[assignment]

@final
class Model:
    """A trained MAV model. Many threads and searches may use one at a time; their requests share its passes."""

    @staticmethod
    def bundled(*, device: str = "cpu", precision: str = "bf16", threads: int | None = None) -> Model:
        """The model that ships with the package; it knows all six games.

        `device` is `cpu`, `cuda` or `auto`; `cuda` needs a package built with that feature (`docs/python.md`).
        """
    @staticmethod
    def load(
        path: str | PathLike[str], *, device: str = "cpu", precision: str = "bf16", threads: int | None = None
    ) -> Model:
        """A model from a file; `device` as for `bundled`."""
    @property
    def n_parameters(self) -> int:
        """The number of parameters."""
    @property
    def full_input(self) -> bool:
        """Whether the input is read with full attention."""
    def evaluate(self, positions: Sequence[Position], /) -> Evaluations:
        """Values of every legal move of every position, all in shared passes, without the interpreter's lock."""
    def generate(self, position: Position, commands: str | None = None, *, track: str | None = None) -> Generated:
        """The model's own words on a position, token by token.

        `commands` are those of a header (default `%state %top_all %best_action`). With a move in `track` the model is asked
        what follows it.
        """
    def write(self, text: str, *, max_tokens: int = 256, temperature: float = 0.0, seed: int = 0) -> str:
        """Continues any text of the language, token by token, and returns what was added."""
    def _evaluate(
        self, positions: Sequence[Position], /
    ) -> tuple[bytearray, bytearray, bytearray, bytearray, bytearray]: ...
    def _generate(self, position: Position, commands: str | None = None, track: str | None = None) -> str: ...

@final
class Free:
    """An evaluator that costs nothing: every legal move is worth one half. For measuring searches."""

    def __new__(cls) -> Free: ...

@final
class Scripted:
    """An evaluator with made-up values from a seed, the same everywhere. For tests."""

    def __new__(cls, seed: int = 0) -> Scripted: ...

@final
class Oracle:
    """The right value of every legal move, or the best there is: `connect4`, `othello:nodes=300000`,
    `stockfish:nodes=5000`, `hex:playouts=20000`, `togyz`, `syzygy:DIR`, `uci:PROGRAM`, `htp:PROGRAM`."""

    def __new__(cls, spec: str, /) -> Oracle: ...
    @property
    def identity(self) -> str:
        """Name, version and settings."""
    def evaluate(self, position: Position, /) -> Verdict:
        """The verdict on a position that is not over."""
    def _evaluate(self, position: Position, /) -> str: ...

@final
class Player:
    """A player by its line, as on the command line: `mav-mcts:sims=200`, `lookahead:2`, `uci:stockfish,nodes=2000`."""

    def __new__(cls, spec: str, /, *, seed: int = 0) -> Player: ...
    @property
    def name(self) -> str:
        """A short name for tables."""
    @property
    def spec(self) -> str:
        """The line that names it."""
    def choose(
        self, position: Position | Game, *, time: float | None = None, nodes: int | None = None, depth: int | None = None
    ) -> str:
        """Chooses a move. Time is in seconds; without limits the player's own hold."""
    def analyze(
        self, position: Position | Game, *, time: float | None = None, nodes: int | None = None, depth: int | None = None
    ) -> Analysis:
        """What the player thinks of every move. Limits are as in `choose`."""
    def new_game(self, game: str) -> None:
        """Forgets the game so far."""
    def __call__(self, position: Position | Game, /) -> str: ...
    def _analyze(
        self, position: Position | Game, *, time: float | None = None, nodes: int | None = None, depth: int | None = None
    ) -> str: ...

@final
class Search:
    """A search that keeps its tree from one position to the next."""

    def __new__(cls, source: object, options: Sequence[tuple[str, str]]) -> Search: ...
    @property
    def settings(self) -> str:
        """The options that differ from their defaults, `name=value` with commas between."""
    def run(self, position: Position | Game, only: Sequence[str] | None = None) -> str:
        """Searches a position and returns the report as JSON."""
    def stream(self, position: Position | Game) -> Stream:
        """Searches a position on another thread and reports as it goes."""
    def tree_json(self, own: bool = False) -> str | None:
        """The tree as it stands, as JSON; nothing before the first search. With `own` that of a game written in Python."""
    def resume(self, tree: str, own: bool = False) -> None:
        """Goes on from a saved tree when its position is searched next."""
    def clear(self) -> None:
        """Forgets the tree."""

@final
class Stream:
    """Reports of a search under way."""

    def stop(self) -> None:
        """Asks the search to end with what it has; its last report still comes."""
    def __iter__(self) -> Stream: ...
    def __next__(self) -> str: ...

@final
class ExampleStream:
    """Examples of a table of annotations, one for each row, in the order of the rows."""

    def __new__(
        cls, paths: Sequence[str | PathLike[str]], seed: int, plain: bool, part: int, n_parts: int
    ) -> ExampleStream: ...
    @property
    def n_refused(self) -> int:
        """Rows left out so far, because they do not value every legal move."""
    def __iter__(self) -> ExampleStream: ...
    def __next__(self) -> tuple[bytearray, int]: ...

def search_options() -> list[tuple[str, str, str, str]]: ...
def players() -> list[tuple[str, str, list[tuple[str, str]]]]: ...
def solve(position: Position, /) -> str: ...
def league(
    config: str,
    folder: str | PathLike[str],
    callables: dict[str, Callable[[Any], str]],
    concurrency: int | None,
    game: type[Game] | None,
) -> str: ...
def train_probs(
    game: str | type[Game], settings: str, folder: str | PathLike[str], device: str
) -> str: ...
def rate(games: Sequence[tuple[str, str, float, int]], /) -> str: ...
def encode(text: str, /) -> bytearray: ...
def decode(tokens: Sequence[int], /) -> str: ...
def vocabulary() -> list[str]: ...
def tokenizer_json() -> str: ...
def tokenizer_config_json() -> str: ...
def prompt(position: Position, commands: str | None = None, track: str | None = None) -> bytearray: ...
def example(game: str, seed: int) -> tuple[bytearray, int]: ...
def parse(text: str, /) -> str: ...
def check(text: str, /) -> str: ...
def win_probability(centipawns: int, /) -> float:
    """The win probability of a chess score in centipawns."""

def bucket(probability: float, /) -> int:
    """The bucket, 1 to 64, of a win probability."""

def bucket_value(number: int, /) -> float:
    """The win probability in the middle of a bucket."""

def kendall_tau(first: Sequence[float], second: Sequence[float], /) -> float | None: ...
def elo(score: float, /) -> float:
    """The Elo difference that an expected score from 0 to 1 stands for."""

def calibration(predicted: Sequence[float], results: Sequence[float], n_bins: int) -> str: ...
