"""The MAV language: tokens, prompts, examples, and what a text means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mavis import _arrays, _mavis
from mavis._model import Meaning, meaning

if TYPE_CHECKING:
    from mavis._mavis import Position

__all__ = [
    "Checked",
    "Example",
    "Meaning",
    "Mistake",
    "Parsed",
    "check",
    "decode",
    "encode",
    "example",
    "parse",
    "prompt",
    "save_tokenizer",
    "vocabulary",
]


def encode(text: str) -> NDArray[np.uint16]:
    """Splits a text into tokens; a `ValueError` names the place of anything that is not of the language."""
    return _arrays.tokens(_mavis.encode(text))


def decode(tokens: ArrayLike) -> str:
    """The text of tokens."""
    return _mavis.decode([int(token) for token in np.asarray(tokens).reshape(-1)])


def vocabulary() -> list[str]:
    """Every token's string in the order of ids."""
    return _mavis.vocabulary()


def prompt(position: Position, commands: str | None = None, *, track: str | None = None) -> NDArray[np.uint16]:
    """The tokens that ask about a position.

    `commands` are those of a header, such as `"%state %top_all %best_action"` (the default). With a move in `track` the
    request is about what follows it, by default the state alone.
    """
    return _arrays.tokens(_mavis.prompt(position, commands, track))


@dataclass(frozen=True)
class Example:
    """A training example: tokens, the first `input_len` of which are given and carry no loss."""

    tokens: NDArray[np.uint16]
    input_len: int

    @property
    def text(self) -> str:
        """The example as text."""
        return decode(self.tokens)


def example(game: str, seed: int = 0) -> Example:
    """An example from a seed: a position of random play, its moves valued by random games."""
    buffer, input_len = _mavis.example(game, seed)
    return Example(_arrays.tokens(buffer), input_len)


@dataclass(frozen=True)
class Parsed:
    """What a text of the language means."""

    game: str
    commands: str
    position: str
    """The position that the input gives."""
    action: str | None
    """The move played in it, where state tracking is asked for."""
    answer: Meaning | None
    """Nothing where the text ends with the input."""
    mistakes: list[str]
    """What the rules say against the answer."""


def parse(text: str) -> Parsed:
    """Reads a request, or a request with its answer; a `ValueError` says what is not of the language."""
    fields = json.loads(_mavis.parse(text))
    fields["answer"] = meaning(fields["answer"])
    return Parsed(**fields)


@dataclass(frozen=True)
class Mistake:
    """One mistake in a text of answers."""

    record: int
    line: int
    kind: str
    reason: str


@dataclass(frozen=True)
class Checked:
    """The verdict on a text of answers."""

    n_answers: int
    n_right: int
    n_unreadable: int
    mistakes: list[Mistake]


def check(text: str) -> Checked:
    """Judges model answers: prompts with their answers, or traces, separated by empty lines."""
    fields = json.loads(_mavis.check(text))
    return Checked(
        fields["n_answers"],
        fields["n_right"],
        fields["n_unreadable"],
        [Mistake(**row) for row in fields["mistakes"]],
    )


def save_tokenizer(folder: str | PathLike[str]) -> None:
    """Writes a folder that `transformers.AutoTokenizer.from_pretrained` loads; ids agree with ours on every text."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(_mavis.tokenizer_json())
    (folder / "tokenizer_config.json").write_text(_mavis.tokenizer_config_json())
