"""Solvers and oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import random_positions

import mavis


def test_solutions_are_those_of_the_command_line(command: Callable[..., Any]) -> None:
    for moves in ["2552354651517435227466", "7177345646744675423112", "6173566267355516627533"]:
        shown = command("solve", "--game", "connect4", moves)
        solved = mavis.solve("connect4", moves)
        assert solved.score == shown["score"] and solved.position == shown["position"]
        assert [vars(row) for row in solved.moves] == shown["moves"]
    line = "2552354651517435227466"
    position = mavis.Position("connect4", moves=list(line))
    assert mavis.solve(position) == mavis.solve("connect4", line)
    assert position.ply == len(line)


def test_refusals_are_those_of_the_command_line(refusal: Callable[..., str]) -> None:
    for game, moves in [("hex", "a1"), ("connect4", "8"), ("connect4", "4343434"), ("nim", "")]:
        with pytest.raises(ValueError) as error:
            mavis.solve(game, [moves] if game == "hex" else moves)
        if game != "hex":
            assert str(error.value) == refusal("solve", "--game", game, *([moves] if moves else []))
    with pytest.raises(ValueError, match="no exact solver for hex"):
        mavis.solve(mavis.Position("hex"))


def test_oracles() -> None:
    for spec, game in [("connect4", "connect4"), ("othello:nodes=2000,depth=4", "othello"),
                       ("togyz:nodes=2000", "togyz"), ("hex:playouts=500", "hex:size=4")]:
        oracle = mavis.Oracle(spec)
        assert oracle.identity
        position = random_positions(game, 1, seed=8, plies=14)[0]
        verdict = oracle.evaluate(position)
        assert {row.move for row in verdict.moves} == set(position.legal_moves)
        values = [row.win_probability for row in verdict.moves]
        assert verdict.best == verdict.moves[0].move and values == sorted(values, reverse=True)
    with pytest.raises(ValueError, match="does not evaluate"):
        mavis.Oracle("connect4").evaluate(mavis.Position("hex"))
    with pytest.raises(ValueError, match="unknown oracle 'delphi'"):
        mavis.Oracle("delphi")
    with pytest.raises(ValueError, match="takes no 'nodes'"):
        mavis.Oracle("connect4:nodes=5")


def test_an_oracle_guides_a_search() -> None:
    position = mavis.Position("connect4", moves=list("2552354651517435227466"))
    search = mavis.Search(mavis.Oracle("connect4"), sims=40, batch=4)
    report = search.run(position)
    best = mavis.solve(position)
    winning = {row.move for row in best.moves if (row.score > 0) == (best.score > 0)}
    assert report.best in winning
