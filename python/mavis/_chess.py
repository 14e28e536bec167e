"""Positions of python-chess and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mavis._mavis import Position

if TYPE_CHECKING:
    import chess


def to_chess(position: Position) -> chess.Board:
    """`Position.to_chess`."""
    import chess

    name = position.game
    if name not in ("chess", "chess960"):
        raise ValueError(f"no chess.Board for a position of {name}")
    board = chess.Board(position.start_text, chess960=name == "chess960")
    for move in position.moves:
        board.push_uci(move)
    return board


def from_chess(board: chess.Board) -> Position:
    """`Position.from_chess`."""
    name = "chess960" if board.chess960 else "chess"
    root = board.root()
    start = root.fen(shredder=board.chess960, en_passant="fen")
    moves = []
    for move in board.move_stack:
        moves.append(root.uci(move))
        root.push(move)
    return Position(name, start, moves)
