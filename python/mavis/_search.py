"""Searches over a model or any callable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mavis import _mavis
from mavis._game import Game
from mavis._mavis import Free, Model, Oracle, Position, Scripted
from mavis._tree import Tree

EvaluatorFunction: TypeAlias = Callable[[list[Any]], Sequence[ArrayLike | Mapping[str, float]] | NDArray[Any]]
"""Takes positions that are not over and returns the win probabilities of their legal moves, in the order of
`legal_moves`, for the player who makes the move: a list with a list, array or dict for each position, or one array
over all moves of all positions. An array may also hold 64 bucket weights for each move."""

Evaluator: TypeAlias = Model | Oracle | Free | Scripted | EvaluatorFunction


# Asked for once: small searches would feel it.
_OPTION_NAMES = tuple(name for name, *_ in _mavis.search_options())

_Kind = TypeVar("_Kind", "MoveReport", "Report")

_SIX = ("chess", "chess960", "connect4", "hex", "othello", "togyz")


@dataclass(frozen=True)
class MoveReport:
    """What a search found out about one root move. Values are win probabilities of the player who makes it."""

    move: str
    visits: int
    value: float | None
    """The mean value; nothing before the first visit."""
    model_value: float
    """The evaluator's own value."""
    prior: float
    proof: str | None
    """`win`, `loss` or `draw` where that is proven."""
    plies: int | None
    """Plies after the move to the proven end."""
    line: list[str]


@dataclass(frozen=True)
class Report:
    """The result of a search, or how it stands."""

    best: str | None
    """The move to play; nothing once the game is over."""
    value: float
    """Its win probability for the side to move."""
    proof: str | None
    fallback: bool
    """Whether `best` comes from no search at all: the root could not be evaluated, or every line is dead."""
    line: list[str]
    moves: list[MoveReport]
    """Every root move, the most visited first."""
    stopped: str
    """`running`, `simulations`, `limit`, `full`, `settled` or `no root`."""
    kept: int
    """Simulations kept from earlier searches of the tree."""
    simulations: int
    evaluations: int
    failed: int
    timed_out: int
    hallucinations: int
    nodes: int
    deepest: int

    @property
    def visits(self) -> dict[str, int]:
        """Visits by move."""
        return {entry.move: entry.visits for entry in self.moves}


def _report(text: str) -> Report:
    shown = json.loads(text)
    shown["moves"] = [_made(MoveReport, row) for row in shown["moves"]]
    return _made(Report, shown)


def _made(kind: type[_Kind], fields: dict[str, object]) -> _Kind:
    """An object with these fields, which are all it has: the constructor of a frozen class sets one after the other, which takes
    longer than a small search."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made


class Search:
    """MCTS over an evaluator: the bundled model, an oracle, or any callable that takes a list of positions.

    Each option is explained in `docs/search.md`; `mavis.search_options()` lists them. Times are milliseconds there and here.
    The tree is kept between calls where the next position follows the last one by at most two moves.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        sims: int = 100,
        nodes: int = 0,
        time: int = 0,
        tau: float | str = 1.0,
        k: int = 5,
        epsilon: float = 0.1,
        c_puct: float = 2.0,
        batch: int = 16,
        groups: int = 0,
        timeout: int = 0,
        virtual: Literal["dynamic", "fixed", "estimate"] = "estimate",
        n_min: int = 2,
        n_max: int = 0,
        n_fixed: int = 2,
        virtual_value: Literal["none", "draw", "loss"] = "none",
        collision: Literal["elsewhere", "wait"] = "wait",
        unvisited: Literal["zero", "model"] = "zero",
        scoring: Literal["mean", "max"] = "mean",
        final: Literal["visits", "value", "sample"] = "visits",
        final_temperature: float = 1.0,
        reuse: bool = True,
        solver: bool = True,
        noise: float = 0.0,
        noise_alpha: float = 0.3,
        seed: int = 0,
        world: Literal["rules", "model"] = "rules",
        order: Literal["launch", "arrival"] = "launch",
        memory: int = 1024,
    ) -> None:
        given = locals()
        # Only what was given is read: small searches would feel the rest.
        options = [
            (name, _text(name, given[name])) for name in _OPTION_NAMES if given[name] is not _DEFAULTS[name]
        ]
        self._search = _mavis.Search(evaluator, options)
        self._own = False
        self.evaluator = evaluator

    @property
    def settings(self) -> str:
        """The options that differ from their defaults, as in a player's line."""
        return self._search.settings

    def run(self, position: Position | Game, *, only: Sequence[str] | None = None) -> Report:
        """Searches a position; `only` restricts the root moves.

        Ctrl-C ends the search, and an exception of the evaluator comes out of it.
        """
        self._own = isinstance(position, Game)
        return _report(self._search.run(position, None if only is None else list(only)))

    def __call__(self, position: Position | Game) -> str:
        """The move to play, so that a search is a player in `mavis.league`."""
        best = self.run(position).best
        if best is None:
            raise ValueError(f"the game is over: {position.outcome}")
        return best

    def stream(self, position: Position | Game) -> Iterator[Report]:
        """Searches on another thread and reports each time the number of simulations has doubled, and at the end.

        Leaving the loop ends the search.
        """
        self._own = isinstance(position, Game)
        reports = self._search.stream(position)
        try:
            for report in reports:
                yield _report(report)
        finally:
            reports.stop()

    @property
    def tree(self) -> Tree | None:
        """The tree as it stands; nothing before the first search."""
        text = self._search.tree_json(self._own)
        return None if text is None else Tree.from_json(text)

    def resume(self, tree: Tree) -> None:
        """Goes on from a saved tree when its position is searched next."""
        self._own = tree.game.split(":")[0] not in _SIX
        self._search.resume(tree.json, self._own)

    def clear(self) -> None:
        """Forgets the tree."""
        self._search.clear()

    def __repr__(self) -> str:
        return f"<mavis.Search {self.settings or 'with the defaults'} over {self.evaluator!r}>"


_DEFAULTS: dict[str, object] = Search.__init__.__kwdefaults__ or {}


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float | str):
        return str(value)
    raise TypeError(f"option '{name}' is a number, a word or a bool, not {type(value).__name__}")


@dataclass(frozen=True)
class SearchOption:
    """One option of a search."""

    name: str
    default: str
    expected: str
    help: str


def search_options() -> list[SearchOption]:
    """Every option of `Search` with its default, what it may be and help."""
    return [SearchOption(*row) for row in _mavis.search_options()]


def from_state_values(
    function: Callable[[list[Position]], ArrayLike],
) -> Callable[[list[Position]], NDArray[np.float32]]:
    """An evaluator from a function of positions alone: its win probabilities are for the side to move of each position.

    A move is worth what the position after it is worth to the opponent, turned around; positions that are over are not asked.
    """

    def evaluate(positions: list[Position]) -> NDArray[np.float32]:
        after = [position.after(move) for position in positions for move in position.legal_moves]
        values = np.empty(len(after), dtype=np.float32)
        running = [index for index, position in enumerate(after) if not position.is_over]
        for index, position in enumerate(after):
            if position.is_over:
                points = 0.5 if position.winner is None else float(position.winner == position.turn)
                values[index] = 1.0 - points
        if running:
            found = np.asarray(function([after[index] for index in running]), dtype=np.float32).reshape(-1)
            values[running] = 1.0 - found
        return values

    return evaluate
