"""Positions by themselves."""

from __future__ import annotations

import copy
import pickle
import random
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from conftest import GAMES, random_positions

import mavis


def test_a_game_is_played() -> None:
    position = mavis.Position("connect4")
    for move in ["4", "3", "4", "3", "4", "3"]:
        assert not position.is_over and position.outcome is None
        position.push(move)
    assert position.turn == "first" and position.ply == 6
    position.push("4")
    assert (position.outcome, position.winner, position.end_reason) == ("1-0", "first", "connection")
    assert position.legal_moves == [] and position.n_legal_moves == 0
    assert position.pop() == "4" and not position.is_over
    assert position.moves == ["4", "3", "4", "3", "4", "3"]
    with pytest.raises(IndexError):
        mavis.Position("connect4").pop()


def test_chess_reads_fen_and_algebraic_notation() -> None:
    position = mavis.Position("chess", moves=["e4", "e5", "Nf3"])
    assert position.text == "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2"
    assert position.moves == ["e2e4", "e7e5", "g1f3"]
    assert mavis.Position("chess", position.text) == position
    assert position.parse_move("Nc6") == "b8c6" and position.is_legal("b8c6") and not position.is_legal("b8d7")
    after = position.after("Nc6")
    assert after != position and after.pop() == "b8c6" and after == position


@pytest.mark.parametrize("game", [*GAMES, "hex:size=5,swap"])
def test_copies_pickles_and_texts_come_back(game: str) -> None:
    for position in random_positions(game, 20, seed=1, plies=30):
        for other in (pickle.loads(pickle.dumps(position)), copy.copy(position), copy.deepcopy(position)):
            assert other == position and other.text == position.text and other.moves == position.moves
            assert other.key == position.key
        assert mavis.Position(game, position.text) == position
        assert eval(repr(position), {"Position": mavis.Position}) == position
        other = position.copy()
        other.push(other.legal_moves[0])
        assert other.ply == position.ply + 1


def test_repetition_survives_a_pickle() -> None:
    position = mavis.Position("chess")
    for _ in range(2):
        for move in ["g1f3", "g8f6", "f3g1", "f6g8"]:
            position.push(move)
    assert position.claimable_draw
    assert pickle.loads(pickle.dumps(position)).claimable_draw
    assert not mavis.Position("chess", position.text).claimable_draw


@pytest.mark.parametrize("game", GAMES)
def test_symmetries_keep_the_legal_moves(game: str) -> None:
    for position in random_positions(game, 10, seed=2, plies=20):
        for symmetry in range(position.n_symmetries):
            image = position.transformed(symmetry)
            moves = {position.transformed_move(symmetry, move) for move in position.legal_moves}
            assert moves == set(image.legal_moves)
        with pytest.raises(ValueError, match="no symmetry"):
            position.transformed(position.n_symmetries)
    assert mavis.Position("othello").n_symmetries == 8 and mavis.Position("connect4").n_symmetries == 2


@pytest.mark.parametrize("game", [*GAMES, "hex:size=4"])
def test_boards_are_drawn(game: str) -> None:
    for position in random_positions(game, 5, seed=3, plies=20):
        image = ET.fromstring(position._repr_svg_())
        assert image.tag == "{http://www.w3.org/2000/svg}svg"
        title = image.find("{http://www.w3.org/2000/svg}title")
        assert title is not None and position.text in (title.text or "")
        assert str(position).count("\n") > 3
    stones = position.text.split()[0]
    if game == "connect4":
        circles = [part.get("fill") for part in image.iter("{http://www.w3.org/2000/svg}circle")]
        assert circles.count("#e8c33c") == stones.count("x") and circles.count("#c7402d") == stones.count("o")


@pytest.mark.parametrize("game", GAMES)
def test_planes_and_actions(game: str) -> None:
    for position in random_positions(game, 10, seed=4):
        planes, actions = position.planes(), position.actions()
        assert planes.ndim == 3 and planes.dtype == np.float32
        assert len(set(actions.tolist())) == position.n_legal_moves
        assert actions.max() < position.n_actions


def test_perft_numbers_that_are_published() -> None:
    assert mavis.Position("chess").perft(4) == 197_281
    assert mavis.Position("connect4").perft(6) == 117_649
    assert mavis.Position("othello").perft(6) == 8_200


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="unknown game 'go'"):
        mavis.Position("go")
    with pytest.raises(ValueError, match="bad chess position"):
        mavis.Position("chess", "nonsense")
    with pytest.raises(ValueError, match="illegal move"):
        mavis.Position("chess", moves=["e2e5"])
    with pytest.raises(TypeError):
        mavis.Position(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        mavis.Position("chess").push(7)  # type: ignore[arg-type]
    assert mavis.Position("chess") != "chess"
    with pytest.raises(TypeError):
        hash(mavis.Position("chess"))


def test_random_games_end_the_same_way_backwards() -> None:
    rng = random.Random(5)
    for game in GAMES:
        position = mavis.Position(game)
        texts = [position.text]
        for _ in range(40):
            if position.is_over:
                break
            position.push(rng.choice(position.legal_moves))
            texts.append(position.text)
        while position.moves:
            assert position.text == texts.pop()
            position.pop()
        assert position.text == texts[0]
