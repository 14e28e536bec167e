"""Bytes of the compiled module as NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mavis._mavis import Position


def floats(buffer: bytearray) -> NDArray[np.float32]:
    return np.frombuffer(buffer, dtype=np.float32)


def integers(buffer: bytearray) -> NDArray[np.int64]:
    return np.frombuffer(buffer, dtype=np.int64)


def tokens(buffer: bytearray) -> NDArray[np.uint16]:
    return np.frombuffer(buffer, dtype=np.uint16)


def planes(position: Position) -> NDArray[np.float32]:
    """`Position.planes`."""
    buffer, shape = position._planes()
    return floats(buffer).reshape(shape)


def actions(position: Position) -> NDArray[np.int64]:
    """`Position.actions`."""
    return np.array(position._actions(), dtype=np.int64)
