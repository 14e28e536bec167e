"""Exact scores and oracles."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mavis import _mavis

if TYPE_CHECKING:
    from mavis._mavis import Oracle, Position


@dataclass(frozen=True)
class MoveVerdict:
    """An oracle's judgment of one move, as the player who makes it sees it."""

    move: str
    score: float
    unit: str
    """`centipawns`, `mate` (moves), `solved` (stones left), `win rate` or `margin` (points)."""
    plies: int | None
    """Plies to the end of the game with best play, where the oracle knows."""
    win_probability: float


@dataclass(frozen=True)
class Verdict:
    """An oracle's judgment of every legal move, best first."""

    moves: list[MoveVerdict]

    @property
    def best(self) -> str:
        """The move to play."""
        return self.moves[0].move


def evaluate(oracle: Oracle, position: Position) -> Verdict:
    """`Oracle.evaluate`."""
    return Verdict([MoveVerdict(**row) for row in json.loads(oracle._evaluate(position))])


@dataclass(frozen=True)
class SolvedMove:
    """The exact score of one move."""

    move: str
    score: int
    plies: int | None
    """Plies to the end of the game; nothing for a draw."""


@dataclass(frozen=True)
class Solution:
    """Exact scores: stones the winner has left when he wins, positive for the side to move, zero for a draw."""

    position: str
    score: int
    moves: list[SolvedMove]


def solve(game: str | Position, moves: str | Iterable[str] = "") -> Solution:
    """Solves a Connect Four position exactly: `solve(position)`, or `solve("connect4", "4455")`."""
    position = _mavis.Position(game) if isinstance(game, str) else game.copy()
    for number, move in enumerate(moves, 1):
        try:
            position.push(move)
        except ValueError as error:
            text = moves if isinstance(moves, str) else " ".join(moves)
            raise ValueError(f"move {number} of '{text}': {error}") from None
    solved = json.loads(_mavis.solve(position))
    rows = [SolvedMove(**row) for row in solved["moves"]]
    return Solution(solved["position"], solved["score"], rows)
