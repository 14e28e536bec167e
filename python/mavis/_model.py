"""What a model says, as arrays and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from mavis import _arrays, _mavis

if TYPE_CHECKING:
    from mavis._mavis import Model, Position


@dataclass(frozen=True)
class Evaluation:
    """What a model says of one position. Values are win probabilities of the player who makes the move."""

    position: Position
    value: float
    """The value of the position for the side to move: that of its best move, or of the result once the game is over."""
    means: NDArray[np.float32]
    """The expected value of each legal move, in the order of `position.legal_moves`."""
    modes: NDArray[np.float32]
    """The likeliest value of each move."""
    distributions: NDArray[np.float32]
    """The weights of the 64 value buckets of each move, from lost to won, `[n_moves, 64]`."""

    @property
    def moves(self) -> list[str]:
        """The legal moves."""
        return self.position.legal_moves

    @property
    def best(self) -> str | None:
        """The move of the highest mean; nothing once the game is over."""
        return self.moves[int(self.means.argmax())] if len(self.means) else None


class Evaluations(Sequence[Evaluation]):
    """What a model says of several positions: flat arrays over all their moves, and each position by index."""

    def __init__(
        self,
        positions: Sequence[Position],
        offsets: NDArray[np.int64],
        means: NDArray[np.float32],
        modes: NDArray[np.float32],
        distributions: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        self.positions = positions
        """Copies of the positions."""
        self.offsets = offsets
        """Moves of position `i` are rows `offsets[i]` to `offsets[i + 1]` of the arrays below, `[n_positions + 1]`."""
        self.means = means
        """The expected value of each move, `[n_moves]`."""
        self.modes = modes
        """The likeliest value of each move, `[n_moves]`."""
        self.distributions = distributions
        """The weights of the 64 value buckets, `[n_moves, 64]`."""
        self.values = values
        """The value of each position for its side to move, `[n_positions]`."""

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> Evaluation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Evaluation]: ...
    def __getitem__(self, index: int | slice) -> Evaluation | list[Evaluation]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return Evaluation(
            self.positions[i],
            float(self.values[i]),
            self.means[rows],
            self.modes[rows],
            self.distributions[rows],
        )

    def __iter__(self) -> Iterator[Evaluation]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True)
class Meaning:
    """What an answer says."""

    tracked: str | None
    """The text of the position after the given move, where that was asked for."""
    outcome: str | None
    """The result, where the answer calls the game over."""
    moves: list[tuple[str, int]]
    """Moves with the number of their value bucket, 1 to 64, in the order they were written."""
    best: str | None
    """The best action."""
    next: str | None
    """The text of the position after it."""


@dataclass(frozen=True)
class Generated:
    """An answer in the model's own words."""

    prompt: str
    answer: str
    meaning: Meaning | None
    """What the answer says; nothing where it is not of the language."""
    hallucination: str | None
    """Why it is not."""
    mistakes: list[str]
    """What the rules say against it."""


def evaluate(model: Model, positions: Sequence[Position]) -> Evaluations:
    """`Model.evaluate`."""
    for position in positions:
        if not isinstance(position, _mavis.Position):
            raise TypeError(f"a model evaluates positions, not {type(position).__name__}")
    positions = [position.copy() for position in positions]
    offsets, means, modes, weights, values = model._evaluate(positions)
    return Evaluations(
        positions,
        _arrays.integers(offsets),
        _arrays.floats(means),
        _arrays.floats(modes),
        _arrays.floats(weights).reshape(-1, 64),
        _arrays.floats(values),
    )


def meaning(fields: dict[str, object] | None) -> Meaning | None:
    """The answer in a JSON object of the compiled module."""
    if fields is None:
        return None
    read = Meaning(**fields)  # type: ignore[arg-type]
    return Meaning(read.tracked, read.outcome, [(move, bucket) for move, bucket in read.moves], read.best, read.next)


def generate(model: Model, position: Position, commands: str | None, track: str | None) -> Generated:
    """`Model.generate`."""
    written = json.loads(model._generate(position, commands, track))
    return Generated(
        written["prompt"],
        written["answer"],
        meaning(written["meaning"]),
        written["hallucination"],
        written["mistakes"],
    )
