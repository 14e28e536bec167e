"""What a player thinks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mavis import _mavis

if TYPE_CHECKING:
    from mavis._game import Game
    from mavis._mavis import Player, Position


@dataclass(frozen=True)
class MoveAnalysis:
    """What a player thinks of one move. What it has no notion of is `None`; values are win probabilities of the mover."""

    move: str
    value: float | None
    model_value: float | None
    """The evaluator's own value before any search."""
    visits: int | None
    prior: float | None
    centipawns: int | None
    mate: int | None
    """Moves to a certain end: above 0 a win, below 0 a loss."""
    line: list[str]
    distribution: NDArray[np.float32] | None
    """The weights of the 64 value buckets."""


@dataclass(frozen=True)
class Analysis:
    """A player's choice and what it thinks of the moves, best first."""

    best: str
    value: float | None
    nodes: int
    kept: int
    note: str | None
    moves: list[MoveAnalysis]


def analyze(
    player: Player, position: Position | Game, time: float | None, nodes: int | None, depth: int | None
) -> Analysis:
    """`Player.analyze`."""
    shown = json.loads(player._analyze(position, time=time, nodes=nodes, depth=depth))
    rows = []
    for row in shown.pop("moves"):
        weights = row.pop("distribution", None)
        distribution = None if weights is None else np.array(weights, dtype=np.float32)
        rows.append(MoveAnalysis(**row, distribution=distribution))
    return Analysis(**shown, moves=rows)


@dataclass(frozen=True)
class PlayerKind:
    """A kind of player and its options with their help."""

    name: str
    help: str
    options: dict[str, str]


def players() -> list[PlayerKind]:
    """Every kind of player: what may stand before the colon of a line, and which options behind it."""
    return [PlayerKind(name, help, dict(options)) for name, help, options in _mavis.players()]
