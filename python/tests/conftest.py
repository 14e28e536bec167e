"""What the tests share: the command line they compare with, and random positions."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mavis

ROOT = Path(os.environ.get("MAVIS_ROOT", Path(__file__).resolve().parents[2]))
GAMES = ["chess", "chess960", "connect4", "hex", "othello", "togyz"]

# A shell starts background jobs with Ctrl-C ignored; the tests that send it want what a person at a terminal has.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _binary() -> str:
    named = os.environ.get("MAVIS_BINARY")
    built = [ROOT / "target" / profile / "mavis" for profile in ("release", "debug")]
    found = named or next((str(path) for path in built if path.exists()), None) or shutil.which("mavis")
    if found is None:
        pytest.fail("no mavis binary: cargo build, or set MAVIS_BINARY")
    return found


@pytest.fixture(scope="session")
def command() -> Callable[..., Any]:
    """Runs the command line and returns the JSON it prints."""
    binary = _binary()

    def run(*arguments: str) -> Any:
        done = subprocess.run([binary, *arguments, "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def refusal() -> Callable[..., str]:
    """Runs the command line on bad input and returns its message."""
    binary = _binary()

    def run(*arguments: str) -> str:
        done = subprocess.run([binary, *arguments], capture_output=True, text=True)
        assert done.returncode == 2, done
        return done.stderr.removeprefix("mavis: ").rstrip("\n")

    return run


@pytest.fixture(scope="session")
def model() -> mavis.Model:
    return mavis.Model.bundled()


def random_positions(game: str, n: int, seed: int, *, plies: int = 12) -> list[mavis.Position]:
    """Positions of random games that are not over."""
    rng = random.Random(seed)
    found: list[mavis.Position] = []
    while len(found) < n:
        position = mavis.Position(game)
        for _ in range(rng.randrange(plies)):
            if position.is_over:
                break
            position.push(rng.choice(position.legal_moves))
        if not position.is_over:
            found.append(position)
    return found
