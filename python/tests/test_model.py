"""The model: arrays, text, threads and memory."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, ROOT, random_positions

import mavis
from mavis import lang


def test_evaluations_are_those_of_the_command_line(model: mavis.Model, command: Callable[..., Any]) -> None:
    for game in GAMES:
        position = random_positions(game, 1, seed=3)[0]
        arguments = ["--game", game, "--position", position.text, "--player", "mav"]
        shown = {row["move"]: row for row in command("analyze", *arguments)["moves"]}
        found = model.evaluate([position])[0]
        for move, mean, weights in zip(found.moves, found.means, found.distributions, strict=True):
            assert mean == pytest.approx(shown[move]["value"], abs=1e-6)
            assert weights == pytest.approx(shown[move]["distribution"], abs=1e-6)


def test_arrays(model: mavis.Model) -> None:
    over = mavis.Position("connect4", moves=list("4343434"))
    positions = [*random_positions("chess", 3, seed=1), over, mavis.Position("othello")]
    found = model.evaluate(positions)
    n_moves = [position.n_legal_moves for position in positions]
    assert found.offsets.tolist() == [0, *np.cumsum(n_moves)] and found.offsets.dtype == np.int64
    assert found.means.shape == found.modes.shape == (sum(n_moves),)
    assert found.distributions.shape == (sum(n_moves), 64) and found.distributions.dtype == np.float32
    assert found.distributions.sum(axis=1) == pytest.approx(1, abs=1e-5)
    middles = (np.arange(64) + 0.5) / 64
    assert found.distributions @ middles == pytest.approx(found.means, abs=1e-4)
    assert middles[found.distributions.argmax(axis=1)] == pytest.approx(found.modes, abs=1e-6)
    # The side to move at the end of that game has lost.
    assert found.values[3] == 0.0 and found[3].best is None and len(found[3].means) == 0
    assert found.values[0] == found[0].means.max() and len(found) == len(list(found)) == 5
    assert found[-1].moves == positions[-1].legal_moves and len(found[1:3]) == 2
    found.means[0] = 0.25
    assert found[0].means[0] == np.float32(0.25), "arrays are the caller's own"
    empty = model.evaluate([])
    assert len(empty) == 0 and empty.distributions.shape == (0, 64)
    positions[0].push(positions[0].legal_moves[0])
    assert len(found[0].moves) == n_moves[0], "positions were copied"
    with pytest.raises(TypeError):
        model.evaluate(["e2e4"])  # type: ignore[list-item]


def test_a_batch_gives_what_single_positions_give(model: mavis.Model) -> None:
    positions = random_positions("connect4", 70, seed=6)
    together = model.evaluate(positions)
    for position, found in zip(positions[::9], together[::9], strict=True):
        assert (model.evaluate([position]).distributions == found.distributions).all()


def test_models_are_loaded_and_refused(tmp_path: Path, refusal: Callable[..., str]) -> None:
    path = ROOT / "models" / "mavis-9m.safetensors"
    loaded = mavis.Model.load(path, precision="exact", threads=1)
    assert loaded.n_parameters > 8_000_000
    position = mavis.Position("connect4")
    exact, bf16 = loaded.evaluate([position]), mavis.Model.bundled().evaluate([position])
    assert np.abs(exact.means - bf16.means).max() < 0.02
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"nothing")
    for wrong in (broken, tmp_path / "missing.safetensors"):
        with pytest.raises(ValueError) as error:
            mavis.Model.load(wrong)
        assert str(error.value) == refusal("model", "ask", str(wrong), "--game", "connect4")
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        mavis.Model.bundled(device="tpu")
    with pytest.raises(ValueError, match="threads"):
        mavis.Model.bundled(threads=0)


def test_the_model_writes_its_language(model: mavis.Model) -> None:
    position = mavis.Position("connect4", moves=list("44443526"))
    written = model.generate(position)
    assert written.hallucination is None and written.meaning is not None
    assert {move for move, _ in written.meaning.moves} == set("1234567")
    assert all(1 <= bucket <= 64 for _, bucket in written.meaning.moves)
    assert lang.parse(written.prompt + written.answer).answer == written.meaning
    start = mavis.Position("chess")
    tracked = model.generate(start, track="e2e4")
    assert tracked.meaning is not None and tracked.meaning.tracked == start.after("e2e4").text
    continued = model.write(written.prompt)
    assert continued == written.answer
    drawn = [model.write(written.prompt, temperature=1.0, seed=seed, max_tokens=8) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    with pytest.raises(ValueError, match="commands"):
        model.generate(position, "%nonsense")
    with pytest.raises(ValueError, match="temperature"):
        model.write(written.prompt, temperature=-1)


def test_four_threads_share_a_model(model: mavis.Model) -> None:
    positions = random_positions("connect4", 40, seed=9)
    expected = model.evaluate(positions).distributions
    found: list[Any] = [None] * 4

    def work(place: int) -> None:
        for _ in range(3):
            found[place] = model.evaluate(positions).distributions

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == expected).all() for result in found)


def test_other_threads_run_while_the_model_computes(model: mavis.Model) -> None:
    positions = random_positions("chess", 64, seed=2)
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.001):
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    model.evaluate(positions)
    done.set()
    counter.join()
    assert counted > 10


def grown(model: mavis.Model, n: int) -> int:
    """Kilobytes that n evaluations add to the most memory this process ever had."""
    positions = random_positions("connect4", 250, seed=12)
    model.evaluate(positions)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(n // len(positions)):
        model.evaluate(positions)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def test_evaluations_leak_no_memory(model: mavis.Model) -> None:
    # Their arrays alone are 1.8 MB for each 1,000; a leak of one in ten would show.
    assert grown(model, 4_000) < 4_000


@pytest.mark.slow
def test_a_hundred_thousand_evaluations_leak_no_memory(model: mavis.Model) -> None:
    assert grown(model, 100_000) < 8_000
