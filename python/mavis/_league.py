"""Leagues between players."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from mavis import _mavis
from mavis._game import Game
from mavis._mavis import Player


@dataclass(frozen=True)
class Standing:
    """One player of a league."""

    name: str
    elo: float
    low: float
    high: float
    """`low` and `high` bound the rating with 95 % confidence."""
    games: int
    wins: int
    draws: int
    losses: int
    score: float | None
    """Points a game."""


@dataclass(frozen=True)
class Standings:
    """Where a league stands, the best player first."""

    players: list[Standing]
    json: dict[str, Any]
    """Everything, as `mavis league run --json` prints it."""

    def __getitem__(self, name: str) -> Standing:
        for player in self.players:
            if player.name == name:
                return player
        raise KeyError(name)

    def __str__(self) -> str:
        rows = [f"{'player':<24} {'elo':>7} {'95 %':>17} {'games':>6} {'score':>6}"]
        for row in self.players:
            score = "-" if row.score is None else f"{100 * row.score:.1f} %"
            interval = f"{row.low:.0f} to {row.high:.0f}"
            rows.append(f"{row.name:<24} {row.elo:>7.0f} {interval:>17} {row.games:>6} {score:>6}")
        return "\n".join(rows)


def league(
    game: str | type[Game],
    players: Mapping[str, str | Player | Callable[[Any], str]] | Iterable[str],
    *,
    pairs: int = 10,
    seed: int = 0,
    random_plies: int = 0,
    out: str | PathLike[str] | None = None,
    concurrency: int | None = None,
    **config: Any,
) -> Standings:
    """Plays a league of a game, by name or by the class of one's own, and rates the players.

    Players are lines (`"mav-mcts:sims=100"`), or a mapping of names to lines, `Player` objects and callables that take a
    position and return a move, such as a `Search`. Each pairing plays `pairs` openings with sides swapped, each opening
    `random_plies` random plies long. With a folder `out` every game is kept there, and the same call resumes after a stop.
    Other sections of the configuration (`docs/league.md`) are keywords: `limits={"nodes": 1000}`, `schedule={...}`.
    """
    named = dict(players) if isinstance(players, Mapping) else {line: line for line in players}
    rows: list[dict[str, str]] = []
    callables: dict[str, Callable[[Any], str]] = {}
    for name, player in named.items():
        if isinstance(player, str):
            rows.append({"name": name, "player": player})
        elif isinstance(player, Player):
            rows.append({"name": name, "player": player.spec})
        elif callable(player):
            callables[name] = player
            rows.append({"name": name, "player": f"python:{{{name}}}"})
        else:
            kind = type(player).__name__
            raise TypeError(f"player '{name}' is a line, a Player or a callable, not {kind}")
    schedule = {"pairs": pairs, **config.pop("schedule", {})}
    openings = {"random_plies": random_plies, **config.pop("openings", {})}
    own = None if isinstance(game, str) else game
    name = game if isinstance(game, str) else game.__qualname__
    settings = {"name": "league", **config, "game": name, "seed": seed}
    settings |= {"schedule": schedule, "openings": openings, "players": rows}
    if out is not None:
        return _standings(_mavis.league(json.dumps(settings), str(out), callables, concurrency, own))
    with tempfile.TemporaryDirectory() as folder:
        return _standings(_mavis.league(json.dumps(settings), folder + "/league", callables, concurrency, own))


def _standings(text: str) -> Standings:
    shown = json.loads(text)
    rows = [
        Standing(
            row["name"],
            row["elo"]["value"],
            row["elo"]["low"],
            row["elo"]["high"],
            row["games"],
            row["wins"],
            row["draws"],
            row["losses"],
            row["score"],
        )
        for row in shown["players"]
    ]
    return Standings(rows, shown)
