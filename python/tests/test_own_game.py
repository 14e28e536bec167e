"""A game of one's own."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pytest

import mavis

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToe(mavis.Game):
    """Three in a row on nine cells, 1 to 9."""

    def __init__(self, cells: str = "." * 9) -> None:
        self.cells = cells

    @property
    def text(self) -> str:
        return self.cells

    @property
    def ply(self) -> int:
        return 9 - self.cells.count(".")

    @property
    def turn(self) -> Literal["first", "second"]:
        return "first" if self.cells.count(".") % 2 else "second"

    @property
    def legal_moves(self) -> list[str]:
        return [str(i + 1) for i, cell in enumerate(self.cells) if cell == "."]

    @property
    def outcome(self) -> Literal["1-0", "0-1", "1/2-1/2"] | None:
        for a, b, c in LINES:
            if self.cells[a] != "." and self.cells[a] == self.cells[b] == self.cells[c]:
                return "1-0" if self.cells[a] == "x" else "0-1"
        return None if "." in self.cells else "1/2-1/2"

    def after(self, move: str) -> Self:
        i = int(move) - 1
        return type(self)(self.cells[:i] + "xo"[self.turn == "second"] + self.cells[i + 1 :])

    @classmethod
    def from_text(cls, text: str) -> Self:
        if len(text) != 9 or not set(text) <= set("xo."):
            raise ValueError(f"nine cells of x, o and ., not {text!r}")
        return cls(text)


def uniform(positions: list[TicTacToe]) -> list[list[float]]:
    assert all(type(position) is TicTacToe and not position.is_over for position in positions)
    return [[0.5] * position.n_legal_moves for position in positions]


@pytest.mark.parametrize("evaluator", [uniform, mavis.Free(), mavis.Scripted(3)])
def test_a_search_finds_wins_and_blocks(evaluator: mavis._search.Evaluator) -> None:
    search = mavis.Search(evaluator, sims=300, batch=4)
    report = search.run(TicTacToe("xx.oo...."))
    assert report.best == "3" and report.proof == "win"
    forced = mavis.Search(evaluator, sims=500).run(TicTacToe("xx..o...."))
    assert forced.best == "3"


def test_an_ending_is_proven() -> None:
    report = mavis.Search(mavis.Free(), sims=2_000).run(TicTacToe("xoxxoo..."))
    assert report.proof is not None and report.stopped == "settled"


def test_trees_and_streams() -> None:
    search = mavis.Search(uniform, sims=200)
    reports = list(search.stream(TicTacToe()))
    assert reports[-1].stopped == "simulations"
    tree = search.tree
    assert tree is not None and tree.game == "TicTacToe" and tree.position == "." * 9
    assert {edge.move for edge in tree.root.moves} == set("123456789")
    again = mavis.Search(uniform, sims=300)
    again.resume(tree)
    assert again.run(TicTacToe()).kept > 150
    next_one = TicTacToe().after(reports[-1].line[0])
    assert search.run(next_one).kept > 0
    # The same object searches the six games too, with a tree of its own.
    both = mavis.Search(mavis.Free(), sims=50)
    assert both.run(TicTacToe()).best in set("123456789")
    assert both.run(mavis.Position("connect4")).best in set("1234567")
    assert both.tree is not None and both.tree.game == "connect4"


def test_the_same_seed_is_the_same_search() -> None:
    visits = [mavis.Search(mavis.Scripted(1), sims=300, seed=9, noise=0.25).run(TicTacToe()).visits for _ in range(2)]
    assert visits[0] == visits[1]


class Broken(TicTacToe):
    error: type[Exception] = KeyError

    def after(self, move: str) -> Self:
        if self.cells.count(".") < 8:
            raise self.error("on purpose")
        return super().after(move)


class Odd(TicTacToe):
    what = "outcome"

    @property
    def outcome(self) -> Literal["1-0", "0-1", "1/2-1/2"] | None:
        return "x wins" if self.what == "outcome" and "x" in self.cells else None  # type: ignore[return-value]

    @property
    def legal_moves(self) -> list[str]:
        return [] if self.what == "moves" and "x" in self.cells else super().legal_moves


def test_exceptions_of_the_rules_come_out() -> None:
    with pytest.raises(KeyError, match="on purpose"):
        mavis.Search(mavis.Free(), sims=300).run(Broken())
    with pytest.raises(KeyError, match="on purpose"):
        list(mavis.Search(mavis.Free(), sims=300).stream(Broken()))
    with pytest.raises(ValueError, match="an outcome is '1-0'"):
        mavis.Search(mavis.Free(), sims=300).run(Odd())
    Odd.what = "moves"
    with pytest.raises(ValueError, match="1 to 362 legal moves, not 0"):
        mavis.Search(mavis.Free(), sims=300).run(Odd())
    # What failed once is not remembered.
    assert mavis.Search(mavis.Free(), sims=3).run(TicTacToe()).best is not None


def test_ctrl_c_interrupts_slow_rules() -> None:
    class Slow(TicTacToe):
        pass

    def endless(positions: list[Slow]) -> list[list[float]]:
        return [[0.5] * position.n_legal_moves for position in positions]

    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        mavis.Search(endless, sims=100_000_000, solver=False, reuse=False).run(Slow())


def test_models_and_oracles_know_the_six_games_only(model: mavis.Model) -> None:
    with pytest.raises(TypeError, match="a Model knows the six games only"):
        mavis.Search(model).run(TicTacToe())
    with pytest.raises(TypeError, match="mavis.Position or a mavis.Game, not str"):
        mavis.Search(mavis.Free()).run("start")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="illegal move 1"):
        mavis.Search(mavis.Free()).run(TicTacToe("xx.oo...."), only=["1"])


@pytest.mark.parametrize("spec", ["mcts:sims=300", "lookahead:2"])
def test_players_play_it(spec: str) -> None:
    player = mavis.Player(spec, seed=1)
    assert player.choose(TicTacToe("xx.oo....")) == "3" == player(TicTacToe("xx.oo...."))
    assert player.analyze(TicTacToe("xx..o....")).best == "3"
    with pytest.raises(ValueError, match="the game is over"):
        player.choose(TicTacToe("xxxoo...."))
    with pytest.raises(ValueError, match="unknown player 'mav'"):
        mavis.Player("mav").choose(TicTacToe())


def test_a_league_of_it() -> None:
    def first(position: TicTacToe) -> str:
        assert type(position) is TicTacToe
        return position.legal_moves[0]

    players = {"first": first, "search": mavis.Search(mavis.Free(), sims=100), "rollouts": "mcts:sims=100", "random": "random"}
    standings = mavis.league(TicTacToe, players, pairs=4, seed=2, random_plies=1, concurrency=2)
    assert all(row.games == 24 for row in standings.players)
    assert standings["rollouts"].wins > standings["random"].wins
    with pytest.raises(KeyError, match="on purpose"):
        mavis.league(Broken, ["random", "lookahead"], pairs=1)


class Planned(TicTacToe):
    """The same with planes, so that PROBS can learn it."""

    n_actions = 9

    def planes(self) -> np.ndarray[Any, Any]:
        mine, other = ("x", "o") if self.turn == "first" else ("o", "x")
        cells = np.array(list(self.cells)).reshape(3, 3)
        return np.stack([cells == mine, cells == other], axis=-1).astype(np.float32)

    def action(self, move: str) -> int:
        return int(move) - 1


def test_probs_learns_it(tmp_path: Path) -> None:
    settings = {"rounds": 2, "games": 20, "evaluation": {"every": 2, "games": 4, "plies": 1}}
    lines = mavis.probs.train(Planned, tmp_path / "run", **settings)
    assert len(lines) >= 2 and (tmp_path / "run" / "model.safetensors").exists()
    player = mavis.Player(f"probs:{tmp_path / 'run' / 'model.safetensors'}")
    assert player.choose(Planned()) in "123456789"
    with pytest.raises(ValueError, match="rounds"):
        mavis.probs.train(Planned, tmp_path / "other", rounds=0)
    with pytest.raises(NotImplementedError, match="planes"):
        mavis.probs.train(TicTacToe, tmp_path / "third", rounds=1)
