"""Speed of the module beside OpenSpiel and the command line, as ratios of runs that take turns.

    python python/bench/speed.py [path of the mavis binary]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts

import mavis

ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(work: Callable[[], object]) -> float:
    """Of all threads of this process: other programs on the machine count less than by the clock on the wall."""
    began = time.process_time()
    work()
    return time.process_time() - began


def taking_turns(*works: Callable[[], object]) -> list[float]:
    """Medians of works that take turns, so that all see the same machine."""
    times = [[processor_seconds(work) for work in works] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


class FreeEvaluator(mcts.Evaluator):
    """Costs nothing, as `mavis.Free`."""

    def evaluate(self, state: object) -> np.ndarray:
        return np.zeros(2)

    def prior(self, state: object) -> list[tuple[int, float]]:
        legal = state.legal_actions()
        return [(action, 1.0 / len(legal)) for action in legal]


def connect_four(n: int) -> None:
    """Searches of `n` simulations from the empty board, on every side the same number."""
    game = pyspiel.load_game("connect_four")
    state, position = game.new_initial_state(), mavis.Position("connect4")

    # One of ours is too short to time by itself.
    n_searches = max(1, 40_000 // n)

    def ours() -> None:
        for _ in range(n_searches):
            assert mavis.Search(mavis.Free(), sims=n, solver=False).run(position).simulations == n

    def ours_rollouts() -> None:
        mavis.Player(f"mcts:sims={n}", seed=1).choose(position)

    def python_bot(evaluator: mcts.Evaluator) -> Callable[[], None]:
        return lambda: mcts.MCTSBot(game, 2.0, n, evaluator, solve=False).step(state)

    def cpp_bot() -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 7)
        pyspiel.MCTSBot(game, evaluator, 2.0, n, 1_000, False, 7, False).step(state)

    rollouts = mcts.RandomRolloutEvaluator(1, np.random.RandomState(7))
    works = (ours, python_bot(FreeEvaluator()), python_bot(rollouts), cpp_bot, ours_rollouts)
    free, python, python_rollouts, cpp, player = (n / time for time in taking_turns(*works))
    free *= n_searches
    print(f"Connect Four from the empty board, searches of {n:,} simulations, simulations a second of processor time:")
    print(f"  mavis.Search(mavis.Free())                    {free:>12,.0f}")
    print(f"  OpenSpiel, Python MCTS, free evaluator        {python:>12,.0f}   ratio {free / python:.1f}")
    print(f"  OpenSpiel, Python MCTS, one random game each  {python_rollouts:>12,.0f}   ratio {free / python_rollouts:.1f}")
    print(f"  OpenSpiel, C++ MCTS, one random game each     {cpp:>12,.0f}   ratio {free / cpp:.1f}")
    print(f"  mavis.Player('mcts'), one random game each    {player:>12,.0f}   ratio to C++ {player / cpp:.1f}")


def bench_positions(n: int) -> list[mavis.Position]:
    """The positions of `mavis bench model --batch`: 64 of random chess games, over and over."""
    mask = (1 << 64) - 1
    lcg = (11 * 0x9E37_79B9_7F4A_7C15 & mask) | 1

    def draw() -> int:
        nonlocal lcg
        lcg = (lcg * 0xD134_2543_DE82_EF95 + 1) & mask
        return lcg >> 32

    found: list[mavis.Position] = []
    while len(found) < 64:
        position = mavis.Position("chess")
        for _ in range(2 + draw() % 30):
            number = draw()
            moves = position.legal_moves
            if not moves:
                break
            position.push(moves[number * len(moves) >> 32])
        if not position.is_over:
            found.append(position)
    return [found[i % 64] for i in range(n)]


def evaluations(binary: str) -> None:
    model, positions = mavis.Model.bundled(), bench_positions(256)
    model.evaluate(positions)
    weights = "models/mavis-9m.safetensors"
    command = [binary, "bench", "model", weights, "--seconds", "1", "--batch", "256", "--positions", "1", "--json"]
    ratios, rates = [], []
    for _ in range(3):
        before = [256 / seconds(lambda: model.evaluate(positions)) for _ in range(2)]
        there = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        after = [256 / seconds(lambda: model.evaluate(positions)) for _ in range(2)]
        rate = there["batches"][0]["evaluations_per_second"]
        rates.append(rate)
        ratios.append(statistics.median(before + after) / rate)
    print("Chess positions in batches of 256, evaluations a second:")
    print(f"  mavis bench model                             {statistics.median(rates):>12,.1f}")
    print(f"  Model.evaluate, as a ratio of it              {statistics.median(ratios):>12.3f}")


def callable_cost() -> None:
    position = mavis.Position("connect4")
    inside, n_batches = 0.0, 0

    def constant(positions: list[mavis.Position]) -> np.ndarray:
        nonlocal inside, n_batches
        began = time.process_time()
        values = np.full(sum(one.n_legal_moves for one in positions), 0.5, dtype=np.float32)
        n_batches += 1
        inside += time.process_time() - began
        return values

    def by_callable() -> None:
        mavis.Search(constant, sims=8_000, solver=False).run(position)

    def free() -> None:
        mavis.Search(mavis.Free(), sims=8_000, solver=False).run(position)

    costs = []
    for _ in range(ROUNDS):
        inside, n_batches = 0.0, 0
        whole, bare = processor_seconds(by_callable), processor_seconds(free)
        costs.append(1e6 * (whole - inside - bare) / n_batches)
    print("A Python callable in a search with batches of 16:")
    print(f"  microseconds a batch beyond its own time      {statistics.median(costs):>12.1f}")


if __name__ == "__main__":
    for n_simulations in (2_000, 20_000):
        connect_four(n_simulations)
    callable_cost()
    if len(sys.argv) > 1:
        evaluations(sys.argv[1])
