"""Players of Mavis as bots of OpenSpiel: `MavisBot(pyspiel.load_game("connect_four"), mavis.Player("mav"))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mavis._mavis import Position


def position_of(state: Any) -> Position:
    """The position of an OpenSpiel state of chess, Connect Four, Hex or Othello, with the moves that led to it."""
    game = state.get_game()
    name, parameters = game.get_type().short_name, game.get_parameters()
    if name == "chess":
        return _chess(state)
    if name == "connect_four":
        position = Position("connect4")
    elif name == "othello":
        position = Position("othello")
    elif name == "hex":
        size = parameters.get("board_size", 11)
        if (parameters.get("num_rows", size), parameters.get("num_cols", size)) != (size, size):
            raise ValueError(f"only square Hex boards are known, not {parameters}")
        if parameters.get("swap", False):
            raise ValueError("Hex with the swap rule has other moves here and there")
        position = Position(f"hex:size={size}")
    else:
        raise ValueError(f"no game of Mavis is {name} (known: chess connect_four hex othello)")
    for action in state.history():
        position.push(move_of(position, action))
    return position


def _chess(state: Any) -> Position:
    game = state.get_game()
    current = game.new_initial_state()
    position = Position("chess", str(current))
    for action in state.history():
        position.push(position.parse_move(current.action_to_string(current.current_player(), action)))
        current.apply_action(action)
    return position


def move_of(position: Position, action: int) -> str:
    """The move of an OpenSpiel action in Connect Four, Hex or Othello."""
    name, _, size = position.game.partition(":size=")
    if name == "connect4":
        return str(action + 1)
    if name == "othello":
        return "pass" if action == 64 else _cell(action, 8)
    return _cell(action, int(size or 11))


def action_of(position: Position, move: str) -> int:
    """The OpenSpiel action of a move in Connect Four, Hex or Othello."""
    name, _, size = position.game.partition(":size=")
    if name == "connect4":
        return int(move) - 1
    width = 8 if name == "othello" else int(size or 11)
    if move == "pass":
        return 64
    return (int(move[1:]) - 1) * width + ord(move[0]) - ord("a")


def _cell(action: int, width: int) -> str:
    row, column = divmod(action, width)
    return f"{chr(ord('a') + column)}{row + 1}"


class MavisBot(pyspiel.Bot):  # type: ignore[misc]
    """A player, a search, or any callable from a position to a move, as a bot."""

    def __init__(self, game: Any, player: Callable[[Position], str], player_id: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._game = game
        self._player = player
        self._player_id = player_id

    def player_id(self) -> int:
        """The side it plays."""
        return self._player_id

    def restart_at(self, state: Any) -> None:
        """Nothing to forget: a player looks at the position it is given."""

    def provides_policy(self) -> bool:
        """Whether `step_with_policy` says more than the chosen action."""
        return False

    def step(self, state: Any) -> int:
        """The action of the chosen move."""
        position = position_of(state)
        move = self._player(position.copy())
        if position.game == "chess":
            return _chess_action(state, position, move)
        return action_of(position, position.parse_move(move))

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """The chosen action, with all of the probability on it."""
        chosen = self.step(state)
        return [(action, float(action == chosen)) for action in state.legal_actions()], chosen


def _chess_action(state: Any, position: Position, move: str) -> int:
    wanted = position.parse_move(move)
    for action in state.legal_actions():
        if position.parse_move(state.action_to_string(state.current_player(), action)) == wanted:
            return int(action)
    raise ValueError(f"OpenSpiel does not know the move {move} in {position.text}")


def returns_of(position: Position) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The result in OpenSpiel's form: points of its players 0 and 1, each 1, 0 or -1."""
    if position.winner is None:
        return np.zeros(2)
    # In chess OpenSpiel counts Black as player 0.
    sign = 1.0 if (position.winner == "first") != (position.game == "chess") else -1.0
    return np.array([sign, -sign])
