"""Values, agreement, calibration and ratings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mavis import _mavis
from mavis._mavis import bucket, bucket_value, elo, win_probability

__all__ = [
    "Bin",
    "Calibration",
    "Interval",
    "Rating",
    "bucket",
    "bucket_value",
    "calibration",
    "elo",
    "kendall_tau",
    "rate",
    "win_probability",
]


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bin:
    """Predictions of about one value."""

    low: float
    high: float
    predicted: float
    actual: Interval
    n: int


@dataclass(frozen=True)
class Calibration:
    """How often predicted values come true."""

    bins: list[Bin]
    expected_error: Interval
    brier: Interval
    n: int


@dataclass(frozen=True)
class Rating:
    """A player's rating."""

    elo: Interval
    games: int
    score: float | None


def _numbers(values: ArrayLike) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=np.float64).reshape(-1)]


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float | None:
    """Kendall's tau-b of two lists of scores; nothing where one of them does not vary."""
    return _mavis.kendall_tau(_numbers(first), _numbers(second))


def calibration(predicted: ArrayLike, results: ArrayLike, n_bins: int = 10) -> Calibration:
    """Reliability of win probabilities against results of 0, 0.5 or 1, or against annotated values."""
    found = json.loads(_mavis.calibration(_numbers(predicted), _numbers(results), n_bins))
    if found is None:
        raise ValueError("no samples")
    bins = [Bin(**{**row, "actual": Interval(**row["actual"])}) for row in found["bins"]]
    return Calibration(bins, Interval(**found["expected_error"]), Interval(**found["brier"]), found["n"])


def rate(games: Iterable[tuple[str, str, float] | tuple[str, str, float, int]]) -> dict[str, Rating]:
    """Ratings by maximum likelihood of games `(first, second, points of the first)`.

    A fourth number names the opening pair of a game; intervals count games of one pair as dependent.
    """
    rows = [(*game, number) if len(game) == 3 else game for number, game in enumerate(games)]
    found = json.loads(_mavis.rate(rows))
    return {name: Rating(Interval(**row["elo"]), row["games"], row["score"]) for name, row in found.items()}
