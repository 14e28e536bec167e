"""The language, its tokenizer and the metrics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GAMES

import mavis
from mavis import lang, metrics


@pytest.mark.parametrize("game", [*GAMES, "hex:size=5"])
def test_examples_are_those_of_the_command_line_and_parse(game: str, command: Callable[..., Any]) -> None:
    for seed in range(5):
        example = lang.example(game, seed)
        shown = command("lang", "example", "--game", game, "--seed", str(seed))
        assert shown["text"] == example.text and shown["tokens"] == example.tokens.tolist()
        assert shown["input_len"] == example.input_len
        assert (lang.encode(example.text) == example.tokens).all() and example.tokens.dtype == np.uint16
        parsed = lang.parse(example.text)
        assert parsed.game == game and parsed.answer is not None
        assert parsed.commands in example.text
        question = lang.parse(lang.decode(example.tokens[: example.input_len]))
        assert question.answer is None and question.position == parsed.position


def test_prompts_and_what_is_not_of_the_language() -> None:
    position = mavis.Position("connect4", moves=["4"])
    text = lang.decode(lang.prompt(position))
    assert text.startswith("<mav game=connect4> %state %top_all %best_action </mav>\n[%state o")
    tracked = lang.parse(lang.decode(lang.prompt(position, track="4")))
    assert tracked.action == "4" and tracked.position == position.text
    with pytest.raises(ValueError, match="no token of the vocabulary begins at byte 2"):
        lang.encode("hello")
    with pytest.raises(ValueError):
        lang.parse("[%state x")
    with pytest.raises(ValueError, match="commands"):
        lang.prompt(position, "%best_action")
    with pytest.raises(ValueError, match="token 60000"):
        lang.decode([60_000])
    assert len(lang.vocabulary()) > 2_500


def test_mistakes_are_found() -> None:
    example = lang.example("connect4", 3)
    right = lang.check(example.text)
    assert (right.n_answers, right.n_unreadable) == (1, 0)
    wrong = lang.check("<mav game=connect4> %state %top_all </mav>\nnonsense")
    assert wrong.n_right == 0 and wrong.n_unreadable + len(wrong.mistakes) > 0


def test_the_tokenizer_of_hugging_face_agrees(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    lang.save_tokenizer(tmp_path / "tokenizer")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer" / "tokenizer.json"))
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
    for game in GAMES:
        for seed in range(20):
            example = lang.example(game, seed)
            assert theirs.encode(example.text).ids == example.tokens.tolist()
            assert opened(example.text)["input_ids"] == example.tokens.tolist()
            assert theirs.decode(example.tokens.tolist(), skip_special_tokens=False) == example.text


def test_metrics() -> None:
    assert metrics.win_probability(0) == 0.5
    assert metrics.win_probability(100) == pytest.approx(0.5910, abs=1e-4)
    assert [metrics.bucket(p) for p in (0.0, 0.5, 1.0)] == [1, 33, 64]
    assert metrics.bucket_value(64) == pytest.approx(63.5 / 64)
    assert metrics.kendall_tau([1, 2, 3], [1, 2, 3]) == 1.0
    assert metrics.kendall_tau([1, 2, 3], [3, 2, 1]) == -1.0
    assert metrics.kendall_tau([1, 1, 1], [3, 2, 1]) is None
    assert metrics.elo(0.75) == pytest.approx(190.85, abs=0.01)
    with pytest.raises(ValueError, match="from 0 to 1"):
        metrics.bucket(1.5)
    with pytest.raises(ValueError, match="1 to 64"):
        metrics.bucket_value(65)
    with pytest.raises(ValueError, match="one length"):
        metrics.kendall_tau([1], [1, 2])
    rng = np.random.default_rng(3)
    predicted = rng.random(4_000)
    fair = metrics.calibration(predicted, rng.random(4_000) < predicted)
    off = metrics.calibration(predicted, rng.random(4_000) < predicted**3)
    assert fair.expected_error.value < 0.03 < off.expected_error.value and fair.n == 4_000
    assert all(one.low <= one.predicted <= one.high for one in fair.bins)
    games = [("strong", "weak", 1.0, pair) for pair in range(15)] + [("weak", "strong", 0.5, pair) for pair in range(15)]
    ratings = metrics.rate(games)
    assert ratings["strong"].elo.value > ratings["weak"].elo.value and ratings["weak"].games == 30
    assert metrics.rate([("a", "b", 1), ("b", "a", 1)])["a"].score == 0.5
