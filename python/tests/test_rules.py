"""The rules against python-chess and OpenSpiel."""

from __future__ import annotations

import random

import chess
import pyspiel
import pytest

import mavis
from mavis import openspiel

# Positions of the chess programming wiki, with castling, promotion, pins and en passant.
PERFT = [
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 3),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4),
    ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 3),
    ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 3),
]


def perft(board: chess.Board, depth: int) -> int:
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize(("fen", "depth"), PERFT)
def test_perft_agrees_with_python_chess(fen: str, depth: int) -> None:
    assert mavis.Position("chess", fen).perft(depth) == perft(chess.Board(fen), depth)


@pytest.mark.parametrize("game", ["chess", "chess960"])
def test_random_games_agree_with_python_chess(game: str) -> None:
    rng = random.Random(11)
    for number in range(100):
        if game == "chess960":
            board = chess.Board.from_chess960_pos(rng.randrange(960))
        else:
            board = chess.Board()
        position = mavis.Position.from_chess(board)
        assert position.game == game
        for _ in range(rng.randrange(20, 160)):
            over = board.is_checkmate() or board.is_stalemate() or board.is_insufficient_material()
            over = over or board.is_fivefold_repetition() or board.is_seventyfive_moves()
            assert position.is_over == over, (number, board.fen())
            if over:
                assert position.outcome == board.result()
                break
            assert {board.uci(move) for move in board.legal_moves} == set(position.legal_moves), board.fen()
            assert position.claimable_draw == (board.is_repetition(3) or board.is_fifty_moves())
            move = rng.choice(list(board.legal_moves))
            position.push(board.uci(move))
            board.push(move)
        there = position.to_chess()
        assert there == board and there.move_stack == board.move_stack
        back = mavis.Position.from_chess(board)
        assert back == position and back.text == position.text and len(back.moves) == len(position.moves)


def test_only_chess_has_boards() -> None:
    with pytest.raises(ValueError, match=r"no chess\.Board for a position of othello"):
        mavis.Position("othello").to_chess()


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("connect_four", "connect4"),
        ("hex(board_size=5)", "hex:size=5"),
        ("hex(board_size=11)", "hex"),
        ("othello", "othello"),
    ],
)
def test_random_games_agree_with_openspiel(name: str, game: str) -> None:
    rng = random.Random(7)
    there = pyspiel.load_game(name)
    for _ in range(60):
        state, position = there.new_initial_state(), mavis.Position(game)
        while not state.is_terminal():
            assert not position.is_over
            assert position.turn == ("first", "second")[state.current_player()]
            moves = {openspiel.move_of(position, action) for action in state.legal_actions()}
            assert moves == set(position.legal_moves), str(state)
            action = rng.choice(state.legal_actions())
            position.push(openspiel.move_of(position, action))
            state.apply_action(action)
        assert position.is_over and position.legal_moves == []
        assert openspiel.returns_of(position).tolist() == state.returns(), str(state)
        assert openspiel.position_of(state) == position
