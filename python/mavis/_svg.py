"""Positions as SVG, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mavis._mavis import Position

_CELL = 40
_DARK, _LIGHT = "#b58863", "#f0d9b5"
_FIRST, _SECOND = "#222222", "#fafafa"
_PIECES = dict(zip("KQRBNPkqrbnp", "♔♕♖♗♘♙♚♛♜♝♞♟", strict=True))
_MARGIN = 20


def svg(position: Position) -> str:
    """The board of a position as an SVG image."""
    name = position.game.split(":")[0]
    draw = {"chess": _chess, "chess960": _chess, "connect4": _connect4, "hex": _hex, "othello": _othello, "togyz": _togyz}
    width, height, body = draw[name](position)
    words = f"{position.game}, {_state(position)}"
    caption = _label(_MARGIN, height + 14, words, anchor="start")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 22}" '
        f'width="{width}" height="{height + 22}" font-family="sans-serif">'
        f"<title>{words}: {position.text}</title>"
        f'<rect width="100%" height="100%" fill="white"/>{body}{caption}</svg>'
    )


def _state(position: Position) -> str:
    if position.outcome is not None:
        return f"{position.outcome} ({position.end_reason})"
    return f"{position.turn} to move"


def _label(x: float, y: float, text: str, *, size: int = 11, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="#444">{text}</text>'


def _square(x: float, y: float, fill: str, stroke: str = "none") -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{_CELL}" height="{_CELL}" fill="{fill}" stroke="{stroke}"/>'


def _disc(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{0.38 * _CELL:g}" fill="{fill}" stroke="#444"/>'


def _chess(position: Position) -> tuple[int, int, str]:
    parts = []
    for row, rank in enumerate(position.text.split()[0].split("/")):
        squares = "".join("." * int(mark) if mark.isdigit() else mark for mark in rank)
        y = row * _CELL
        parts.append(_label(_MARGIN / 2, y + 0.6 * _CELL, str(8 - row)))
        for column, mark in enumerate(squares):
            x = _MARGIN + column * _CELL
            parts.append(_square(x, y, _DARK if (row + column) % 2 else _LIGHT))
            if mark in _PIECES:
                place = f'x="{x + _CELL / 2:g}" y="{y + 0.78 * _CELL:g}"'
                parts.append(f'<text {place} font-size="32" text-anchor="middle">{_PIECES[mark]}</text>')
    size = 8 * _CELL
    parts += [_label(_MARGIN + (i + 0.5) * _CELL, size + 12, "abcdefgh"[i]) for i in range(8)]
    return size + _MARGIN + 4, size + _MARGIN, "".join(parts)


def _connect4(position: Position) -> tuple[int, int, str]:
    rows = position.text.split()[0].split("/")
    width, height = 7 * _CELL, 6 * _CELL
    parts = [f'<rect x="{_MARGIN}" y="0" width="{width}" height="{height}" fill="#2a5cab"/>']
    colors = {"x": "#e8c33c", "o": "#c7402d", ".": "white"}
    for row, marks in enumerate(rows):
        for column, mark in enumerate(marks):
            parts.append(_disc(_MARGIN + (column + 0.5) * _CELL, (row + 0.5) * _CELL, colors[mark]))
    parts += [_label(_MARGIN + (i + 0.5) * _CELL, height + 13, str(i + 1)) for i in range(7)]
    return width + 2 * _MARGIN, height + _MARGIN, "".join(parts)


def _othello(position: Position) -> tuple[int, int, str]:
    marks = position.text.split()[0]
    legal = set(position.legal_moves)
    parts = []
    for index, mark in enumerate(marks):
        row, column = divmod(index, 8)
        x, y = _MARGIN + column * _CELL, _MARGIN + row * _CELL
        parts.append(_square(x, y, "#2e7d4f", "#1b4d31"))
        center = x + _CELL / 2, y + _CELL / 2
        if mark in "XO":
            parts.append(_disc(*center, _FIRST if mark == "X" else _SECOND))
        elif f"{'abcdefgh'[column]}{row + 1}" in legal:
            parts.append(f'<circle cx="{center[0]:g}" cy="{center[1]:g}" r="4" fill="#1b4d31"/>')
    for i in range(8):
        parts.append(_label(_MARGIN + (i + 0.5) * _CELL, 14, "abcdefgh"[i]))
        parts.append(_label(_MARGIN / 2, _MARGIN + (i + 0.6) * _CELL, str(i + 1)))
    size = 8 * _CELL + _MARGIN
    return size + 4, size, "".join(parts)


def _hex(position: Position) -> tuple[int, int, str]:
    rows = position.text.split()[0].split("/")
    radius = 18.0
    wide, high = radius * 3**0.5, radius * 1.5
    parts = []
    colors = {"x": _FIRST, "o": _SECOND, ".": "#e8dcc0"}
    for row, marks in enumerate(rows):
        for column, mark in enumerate(marks):
            x = _MARGIN + (column + 0.5 * row + 0.5) * wide
            y = _MARGIN + row * high + radius
            corners = ((0, -1), (0.866, -0.5), (0.866, 0.5), (0, 1), (-0.866, 0.5), (-0.866, -0.5))
            points = " ".join(f"{x + radius * a:.1f},{y + radius * b:.1f}" for a, b in corners)
            parts.append(f'<polygon points="{points}" fill="#e8dcc0" stroke="#777"/>')
            if mark != ".":
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="12" fill="{colors[mark]}" stroke="#444"/>')
    size = len(rows)
    for i in range(size):
        parts.append(_label(_MARGIN + (i + 0.5) * wide, 14, "abcdefghijklmnopqrs"[i]))
        parts.append(_label(_MARGIN / 2 + 0.5 * i * wide, _MARGIN + i * high + radius + 4, str(i + 1)))
    width = _MARGIN + (1.5 * size) * wide
    return int(width) + 4, int(_MARGIN + size * high + radius), "".join(parts)


def _togyz(position: Position) -> tuple[int, int, str]:
    pits, stores, _ = position.text.split()
    first, second = ([mark for mark in side.split(",")] for side in pits.split("/"))
    scores = stores.split(",")
    parts = []
    # The second player's pits run from right to left, opposite the first player's.
    for row, side in enumerate((second[::-1], first)):
        for column, mark in enumerate(side):
            x, y = _MARGIN + column * _CELL, row * 2 * _CELL
            parts.append(_square(x, y, "#e0c79a", "#8a6d3b"))
            parts.append(_label(x + _CELL / 2, y + 0.62 * _CELL, mark, size=14))
    middle = 1.6 * _CELL
    width = 9 * _CELL + 2 * _MARGIN
    words = f"kazan: second {scores[1]}, first {scores[0]}"
    parts.append(_label(width / 2, middle, words, size=14))
    return width, 3 * _CELL + 4, "".join(parts)
