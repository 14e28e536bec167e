"""PROBS: a game learned from self-play, one of the six or one of one's own."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from mavis import _mavis
from mavis._game import Game

__all__ = ["train"]


def train(
    game: str | type[Game], out: str | PathLike[str], *, device: str = "cpu", **settings: Any
) -> list[dict[str, Any]]:
    """Trains in a folder, from the start or from where it stopped, and returns the metrics of each round.

    `game` is a name, or a `mavis.Game` with `planes`, `n_actions` and `action`. Settings are those of `docs/probs.md`
    (`rounds`, `games`, `algorithm`, ...); what is not named is as in the preset `small`. The net plays as
    `mavis.Player("probs:OUT/best.safetensors")`. Ctrl-C ends the training after the round in hand.
    """
    lines = _mavis.train_probs(game, json.dumps(settings), str(out), device)
    return [json.loads(line) for line in lines.splitlines()]
