"""A game of one's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray


class Game(ABC):
    """A position of a game written in Python; its class is the game.

    The start position is the class called without arguments. A position never changes: `after` returns the next one.
    `Search`, `Player("mcts")`, `Player("lookahead:2")`, `Player("random")` and `league` take such positions and classes; an
    evaluator is a callable that takes a list of them. An exception in these methods comes out of the search.
    """

    @property
    @abstractmethod
    def text(self) -> str:
        """Everything the rules know of the position: equal texts are equal positions."""

    @property
    @abstractmethod
    def turn(self) -> Literal["first", "second"]:
        """Whose turn it is."""

    @property
    @abstractmethod
    def legal_moves(self) -> list[str]:
        """The legal moves as text, in a fixed order; at most 362. Not asked once the game is over."""

    @property
    @abstractmethod
    def outcome(self) -> Literal["1-0", "0-1", "1/2-1/2"] | None:
        """The result once the game is over, the first player's points first."""

    @abstractmethod
    def after(self, move: str) -> Self:
        """The position after a legal move."""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The position of a text; only saved trees need it."""
        raise NotImplementedError(f"{cls.__qualname__}.from_text")

    @property
    def ply(self) -> int:
        """Plies played since the start; a search keeps its tree between moves where positions count them."""
        return 0

    n_actions: int = 0
    """The number of actions of a network for this game, legal or not; for PROBS."""

    def planes(self) -> NDArray[np.float32]:
        """The position as a network sees it, `float32[height, width, channels]`, from the side to move; for PROBS."""
        raise NotImplementedError(f"{type(self).__qualname__}.planes")

    def action(self, move: str) -> int:
        """The number of a legal move, below `n_actions`; for PROBS."""
        raise NotImplementedError(f"{type(self).__qualname__}.action")

    @property
    def n_legal_moves(self) -> int:
        """The number of legal moves."""
        return len(self.legal_moves)

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self.outcome is not None

    @property
    def winner(self) -> Literal["first", "second"] | None:
        """The winner; nothing for a draw and for a game that is not over."""
        return {"1-0": "first", "0-1": "second"}.get(self.outcome or "")  # type: ignore[return-value]

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)
