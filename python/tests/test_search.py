"""Searches over the model and over callables."""

from __future__ import annotations

import dataclasses
import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from conftest import random_positions

import mavis


def uniform(positions: list[mavis.Position]) -> list[list[float]]:
    return [[0.5] * position.n_legal_moves for position in positions]


def seeded(positions: list[mavis.Position]) -> list[np.ndarray[Any, Any]]:
    """Values that depend on the position alone, so that searches can be compared."""
    return [np.random.default_rng(position.key).random(position.n_legal_moves) for position in positions]


def test_every_option_of_the_manual_is_a_keyword_with_its_default() -> None:
    parameters = inspect.signature(mavis.Search).parameters
    options = mavis.search_options()
    assert list(parameters)[1:] == [option.name for option in options]
    for option in options:
        default = parameters[option.name].default
        assert str(default).lower().removesuffix(".0") == option.default, option
    assert mavis.Search(mavis.Free()).settings == ""


def test_a_report_has_the_fields_of_its_class_and_cannot_be_changed() -> None:
    report = mavis.Search(mavis.Free(), sims=20).run(mavis.Position("connect4"))
    for made in (report, report.moves[0]):
        assert set(vars(made)) == {field.name for field in dataclasses.fields(made)}
        assert dataclasses.replace(made) == made
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.value = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("scoring", ["mean", "max"])
def test_a_callable_on_other_threads_grows_the_same_tree(scoring: Literal["mean", "max"]) -> None:
    def weights(positions: list[mavis.Position]) -> np.ndarray[Any, Any]:
        return np.concatenate(
            [np.random.default_rng(position.key).random((position.n_legal_moves, 64)) for position in positions]
        )

    for evaluator in (seeded, weights):
        here = mavis.Search(evaluator, sims=200, scoring=scoring).run(mavis.Position("connect4"))
        there = mavis.Search(evaluator, sims=200, scoring=scoring, timeout=600_000).run(mavis.Position("connect4"))
        assert here == there


def test_a_callable_is_not_called_again_after_an_exception() -> None:
    n_calls = 0

    def breaks(positions: list[mavis.Position]) -> list[list[float]]:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            raise KeyError("third call")
        return uniform(positions)

    search = mavis.Search(breaks, sims=500)
    with pytest.raises(KeyError, match="third call"):
        search.run(mavis.Position("connect4"))
    assert n_calls == 3
    # The next search of the same object asks again.
    assert search.run(mavis.Position("connect4")).simulations > 0
    assert n_calls > 3


@pytest.mark.parametrize("game", ["connect4", "chess", "othello"])
def test_the_same_seed_is_the_same_search_as_on_the_command_line(
    model: mavis.Model, command: Callable[..., Any], game: str
) -> None:
    position = random_positions(game, 1, seed=4)[0]
    search = mavis.Search(model, sims=48, seed=7, noise=0.25)
    report = search.run(position)
    spec = "mav-mcts:sims=48,noise=0.25"
    shown = command("analyze", "--game", game, "--position", position.text, "--player", spec, "--seed", "7")
    assert report.best == shown["best"] and report.simulations == shown["nodes"]
    rows = {row["move"]: row for row in shown["moves"]}
    for entry in report.moves:
        row = rows[entry.move]
        assert (entry.visits, entry.line) == (row["visits"], row["line"])
        assert entry.prior == pytest.approx(row["prior"], abs=1e-7)
        assert entry.model_value == pytest.approx(row["model_value"], abs=1e-7)
    player = mavis.Player(spec, seed=7)
    assert player.choose(position) == report.best
    analysis = player.analyze(mavis.Position(game, position.text))
    assert analysis.best == report.best and analysis.moves[0].distribution is not None


@pytest.mark.parametrize(
    "give",
    [
        lambda values: [list(map(float, row)) for row in values],
        lambda values: [tuple(row) for row in values],
        lambda values: [row.astype(np.float32) for row in values],
        lambda values: np.concatenate(values),
        lambda values: np.concatenate(values).astype(np.float32),
    ],
    ids=["lists", "tuples", "arrays", "one array", "one float32 array"],
)
def test_callables_may_return_lists_or_arrays(give: Callable[[Any], Any]) -> None:
    position = mavis.Position("connect4")
    expected = mavis.Search(seeded, sims=200, batch=8).run(position)
    found = mavis.Search(lambda positions: give(seeded(positions)), sims=200, batch=8).run(position)
    assert [(row.move, row.visits) for row in found.moves] == [(row.move, row.visits) for row in expected.moves]
    by_move = mavis.Search(
        lambda positions: [dict(zip(p.legal_moves, v, strict=True)) for p, v in zip(positions, seeded(positions), strict=True)],
        sims=200,
        batch=8,
    )
    assert by_move.run(position).visits == expected.visits


def test_a_model_behind_a_callable_is_the_model(model: mavis.Model) -> None:
    position = mavis.Position("connect4", moves=["4"])
    direct = mavis.Search(model, sims=40).run(position)
    wrapped = mavis.Search(lambda positions: model.evaluate(positions).distributions, sims=40).run(position)
    assert wrapped.visits == direct.visits


def test_positions_of_a_batch_are_not_over_and_follow_the_root() -> None:
    root = mavis.Position("connect4", moves=list("434343"))
    sizes = []

    def evaluator(positions: list[mavis.Position]) -> list[list[float]]:
        sizes.append(len(positions))
        assert all(not position.is_over and position.ply >= root.ply for position in positions)
        return uniform(positions)

    report = mavis.Search(evaluator, sims=100, batch=8).run(root)
    assert report.best == "4" and report.proof == "win" and max(sizes) <= 8
    assert sum(sizes) <= report.evaluations


def test_state_values_become_move_values() -> None:
    calls = []

    def value(positions: list[mavis.Position]) -> list[float]:
        calls.append(len(positions))
        assert not any(position.is_over for position in positions)
        return [0.75 if position.turn == "first" else 0.25 for position in positions]

    evaluate = mavis.from_state_values(value)
    position = mavis.Position("connect4", moves=list("434343"))
    values = dict(zip(position.legal_moves, evaluate([position]), strict=True))
    assert values["4"] == 1.0 and values["1"] == 0.75 and calls == [6]
    assert mavis.Search(evaluate, sims=30).run(position).best == "4"


def test_trees_are_objects_and_json(tmp_path: Path, command: Callable[..., Any]) -> None:
    position = mavis.Position("connect4", moves=["4"])
    search = mavis.Search(seeded, sims=300)
    assert search.tree is None
    report = search.run(position)
    tree = search.tree
    assert tree is not None and tree.game == "connect4" and tree.position == position.text
    assert {edge.move: edge.visits for edge in tree.root.moves} == report.visits
    assert tree.root.best.move == report.best and tree.root[report.line[0]].child is not None
    assert tree.n_nodes == report.nodes == sum(1 for _ in tree.walk())
    for path, node in tree.walk():
        after = mavis.Position("connect4", position.text, path)
        assert set(edge.move for edge in node.moves) == set(after.legal_moves)
    tree.save(tmp_path / "tree.json")
    assert mavis.Tree.load(tmp_path / "tree.json") == tree
    lines = command("tree", "lines", str(tmp_path / "tree.json"))
    assert lines
    again = mavis.Search(seeded, sims=400)
    again.resume(tree)
    more = again.run(position)
    assert more.kept > 290 and more.simulations <= 110
    with pytest.raises(ValueError, match="not a saved tree"):
        again._search.resume("{}")


def test_trees_are_kept_between_moves() -> None:
    search = mavis.Search(seeded, sims=200)
    position = mavis.Position("connect4")
    line = search.run(position).line
    position.push(line[0])
    position.push(line[1])
    assert search.run(position).kept > 0
    search.clear()
    assert search.run(position).kept == 0
    only = search.run(position, only=["1", "7"])
    assert set(only.visits) == {"1", "7"}


def test_reports_come_while_it_searches() -> None:
    search = mavis.Search(seeded, sims=1_000)
    reports = list(search.stream(mavis.Position("connect4")))
    counts = [report.simulations for report in reports]
    assert len(reports) > 5 and counts == sorted(counts) and reports[-1].stopped == "simulations"
    assert all(report.stopped == "running" for report in reports[:-1])
    assert reports[-1].visits == mavis.Search(seeded, sims=1_000).run(mavis.Position("connect4")).visits
    endless = mavis.Search(seeded, sims=100_000_000)
    for report in endless.stream(mavis.Position("hex")):
        if report.simulations > 200:
            break
    tree = endless.tree
    assert tree is not None and tree.root.visits >= 200, "the search has ended, and its tree is there"


@pytest.mark.parametrize("options", [{}, {"order": "arrival"}, {"timeout": 10_000}])
def test_an_exception_of_the_evaluator_comes_out(options: dict[str, Any]) -> None:
    class Special(Exception):
        pass

    error = Special("on purpose")

    def failing(positions: list[mavis.Position]) -> list[list[float]]:
        if positions[0].ply > 1:
            raise error
        return uniform(positions)

    search = mavis.Search(failing, sims=500, **options)
    with pytest.raises(Special) as caught:
        search.run(mavis.Position("connect4"))
    assert caught.value is error
    assert caught.value.__traceback__ is not None
    with pytest.raises(Special):
        list(search.stream(mavis.Position("othello")))


@pytest.mark.parametrize(
    ("result", "kind", "message"),
    [
        (lambda p: [[0.5]] * len(p), ValueError, "7 legal moves, 1 values"),
        (lambda p: [], ValueError, "1 positions, 0 results"),
        (lambda p: [[2.0] * 7], ValueError, "from 0 to 1, not 2"),
        (lambda p: np.full(7, np.nan), ValueError, "from 0 to 1, not NaN"),
        (lambda p: np.zeros((7, 3)), ValueError, "shape"),
        (lambda p: None, TypeError, "an evaluator returns"),
        (lambda p: [["x"] * 7], TypeError, ""),
        (lambda p: [{"1": 0.5}], ValueError, "no value for the move"),
    ],
)
def test_wrong_results_are_named(result: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        mavis.Search(result, sims=10).run(mavis.Position("connect4"))


def test_wrong_options_have_the_message_of_the_command_line(refusal: Callable[..., str]) -> None:
    analyze = ["analyze", "--game", "connect4", "--player"]
    for name, value in [("epsilon", 2), ("sims", 0), ("order", "random"), ("tau", "hot")]:
        with pytest.raises(ValueError) as error:
            mavis.Search(mavis.Free(), **{name: value})  # type: ignore[arg-type]
        assert str(error.value) in refusal(*analyze, f"mav-mcts:{name}={value}")
    with pytest.raises(TypeError, match="unexpected keyword argument 'simz'"):
        mavis.Search(mavis.Free(), simz=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="option 'sims'"):
        mavis.Search(mavis.Free(), sims=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an evaluator is a Model"):
        mavis.Search(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="world=model needs a Model"):
        mavis.Search(uniform, world="model")
    for spec in ["nobody", "mav-mcts:simz=3", "mav:temperature=x", "lookahead:9", "mav,device=cpu"]:
        with pytest.raises(ValueError) as error:
            mavis.Player(spec)
        # The command line knows one player more, the human at the terminal.
        assert str(error.value) == refusal(*analyze, spec).replace(" human)", ")")


def test_the_model_alone_can_be_the_world(model: mavis.Model) -> None:
    report = mavis.Search(model, sims=20, world="model").run(mavis.Position("connect4"))
    assert report.best in mavis.Position("connect4").legal_moves and report.nodes > 1


def test_arrival_order_and_threads_give_whole_searches() -> None:
    def slow(positions: list[mavis.Position]) -> list[list[float]]:
        time.sleep(0.001)
        return uniform(positions)

    report = mavis.Search(slow, sims=200, order="arrival", batch=4).run(mavis.Position("connect4"))
    assert report.simulations == 200
    given_up = mavis.Search(lambda p: time.sleep(0.2) or uniform(p), sims=4, timeout=20).run(mavis.Position("connect4"))
    assert given_up.timed_out > 0 and given_up.best is not None


def test_four_threads_search_at_once(model: mavis.Model) -> None:
    position = mavis.Position("connect4")
    expected = mavis.Search(model, sims=40).run(position).visits
    by_callable = mavis.Search(seeded, sims=200).run(position).visits
    shared = mavis.Search(seeded, sims=200, reuse=False)
    found: list[tuple[Any, Any, Any]] = []

    def work() -> None:
        found.append(
            (
                mavis.Search(model, sims=40).run(position).visits,
                mavis.Search(seeded, sims=200).run(position).visits,
                shared.run(position).best,
            )
        )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(row[0] == expected and row[1] == by_callable for row in found)


def _in_child(model: mavis.Model, search: mavis.Search, player: mavis.Player, queue: Any) -> None:
    position = mavis.Position("connect4", moves=["4"])
    queue.put(
        (
            model.evaluate([position]).means.tolist(),
            search.run(position).best,
            player.choose(position),
            mavis.Player("mav-mcts:sims=10", seed=1).choose(position, time=5.0),
            model.generate(position).answer,
        )
    )


def test_everything_works_after_fork(model: mavis.Model) -> None:
    position = mavis.Position("connect4", moves=["4"])
    search = mavis.Search(model, sims=30)
    player = mavis.Player("mav-mcts:sims=30")
    expected = (model.evaluate([position]).means.tolist(), search.run(position).best, player.choose(position))
    answer = model.generate(position).answer
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(model, search, player, queue))
    child.start()
    means, best, chosen, other, text = queue.get(timeout=120)
    child.join(30)
    assert child.exitcode == 0
    assert (means, best, chosen) == expected and other in position.legal_moves and text == answer
    assert model.evaluate([position]).means.tolist() == expected[0], "the parent goes on"


INTERRUPTED = """
import os, signal, sys, threading, mavis
kind = sys.argv[1]
evaluators = {
    "model": mavis.Model.bundled,
    "free": mavis.Free,
    "callable": lambda: lambda positions: [[0.5] * p.n_legal_moves for p in positions],
    "player": lambda: None,
}
evaluator = evaluators[kind]()
if kind == "player":
    player = mavis.Player("mav-mcts:sims=100000000")
    work = lambda: player.choose(mavis.Position("hex"))
else:
    search = mavis.Search(evaluator, sims=100000000)
    work = lambda: search.run(mavis.Position("hex"))
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    work()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("kind", ["model", "free", "callable", "player"])
def test_ctrl_c_interrupts_a_search(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, kind], capture_output=True, text=True, timeout=120, env=os.environ
    )
    assert done.stdout == "interrupted\n", done
    assert signal.SIGINT  # The child got a real signal.


def test_players_and_kinds() -> None:
    kinds = {kind.name: kind for kind in mavis.players()}
    assert {"random", "mav", "mav-mcts", "mpc", "oracle"} <= set(kinds) and "sims" in kinds["mav-mcts"].options
    player = mavis.Player("mcts:sims=300", seed=3)
    assert player.name and player.spec == "mcts:sims=300"
    position = mavis.Position("connect4", moves=list("434343"))
    assert player.choose(position) == "4" == player(position)
    player.new_game("connect4")
    with pytest.raises(ValueError, match="the game is over"):
        player.choose(position.after("4"))
    with pytest.raises(ValueError, match="seconds above 0"):
        player.choose(position, time=-1)
    limited = mavis.Player("mav-mcts").analyze(position, nodes=10)
    assert limited.nodes <= 10 and limited.best == "4"


def test_leagues(tmp_path: Path) -> None:
    searches = []

    def mine(position: mavis.Position) -> str:
        searches.append(position.moves)
        return mavis.Search(uniform, sims=60, seed=position.ply).run(position).best or ""

    players = {
        "random": "random",
        "mine": mine,
        "lookahead": mavis.Player("lookahead:2"),
        "search": mavis.Search(mavis.Scripted(3), sims=30),
    }
    standings = mavis.league("connect4", players, pairs=3, seed=5, random_plies=2, out=tmp_path / "league")
    assert {row.name for row in standings.players} == set(players)
    assert all(row.games == 18 for row in standings.players) and standings["mine"].wins > standings["random"].wins
    assert standings.json["finished"] == 36 and "mine" in str(standings)
    assert any(len(moves) > 4 for moves in searches), "a position knows the moves of its game"
    asked = len(searches)
    again = mavis.league("connect4", players, pairs=3, seed=5, random_plies=2, out=tmp_path / "league")
    assert again.json == standings.json and len(searches) == asked, "finished games are not played again"
    counts = [
        [(row.name, row.wins, row.draws) for row in mavis.league("connect4", ["random", "lookahead:1"], seed=1).players]
        for _ in range(2)
    ]
    assert counts[0] == counts[1]


def test_wrong_leagues() -> None:
    with pytest.raises(ValueError, match="at least two players"):
        mavis.league("connect4", ["random"])
    with pytest.raises(ValueError, match="unknown game"):
        mavis.league("nim", ["random", "lookahead"])
    with pytest.raises(ValueError, match="unknown player 'nobody'"):
        mavis.league("connect4", ["random", "nobody"])
    with pytest.raises(TypeError, match="a line, a Player or a callable"):
        mavis.league("connect4", {"a": 3, "b": "random"})  # type: ignore[dict-item]
    with pytest.raises(ZeroDivisionError):
        mavis.league("connect4", {"a": lambda position: str(1 // 0), "b": "random"}, pairs=1)
    with pytest.raises(ValueError, match="a: illegal move 9|a: '9' is not a move"):
        mavis.league("connect4", {"a": lambda position: "9", "b": "random"}, pairs=1)
