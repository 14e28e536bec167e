"""Tables: Parquet for others, tokenized examples for PyTorch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import _binary

from mavis import _arrays, _mavis, lang


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real table: games of the Hex oracle against itself."""
    folder = tmp_path_factory.mktemp("tables") / "hex"
    oracle = ["--oracle", "hex:playouts=50,solver_nodes=10", "--n-games", "20", "--seed", "5"]
    arguments = ["data", "selfplay", "--game", "hex:size=4", *oracle, "--out", str(folder)]
    subprocess.run([_binary(), *arguments], check=True, capture_output=True)
    return folder / "annotations"


def test_pyarrow_opens_the_table(table: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.ParquetDataset(table).read().to_pylist()
    assert len(rows) > 20 and {"game", "position", "moves", "best"} <= set(rows[0])


def test_examples_stream_in_parts(table: Path) -> None:
    def read(part: int, n_parts: int) -> list[tuple[list[int], int]]:
        stream = _mavis.ExampleStream([table], 3, False, part, n_parts)
        return [(_arrays.tokens(buffer).tolist(), length) for buffer, length in stream]

    whole = read(0, 1)
    assert len(whole) > 20 and whole == read(0, 1)
    assert whole[0::2] == read(0, 2) and whole[1::2] == read(1, 2)
    for tokens, length in whole:
        parsed = lang.parse(lang.decode(tokens))
        assert parsed.answer is not None and parsed.mistakes == []
        assert lang.parse(lang.decode(tokens[:length])).answer is None
    with pytest.raises(ValueError, match="part 2 of 2"):
        _mavis.ExampleStream([table], 3, False, 2, 2)
    with pytest.raises(ValueError):
        _mavis.ExampleStream([table / "missing"], 3, False, 0, 1)


def test_pytorch_trains_on_the_table(table: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    from mavis import torch as mavis_torch

    examples = mavis_torch.Examples(table, seed=3, plain=True)
    alone = [item["tokens"].tolist() for item in examples]
    for n_workers in (0, 2):
        loader = DataLoader(examples, batch_size=4, num_workers=n_workers, collate_fn=mavis_torch.collate)
        rows = []
        for batch in loader:
            assert batch["tokens"].shape == batch["labels"].shape and batch["tokens"].dtype == torch.int64
            # What has a label is the token that follows.
            seen = batch["labels"][:, :-1] != mavis_torch.IGNORED
            assert (batch["labels"][:, :-1][seen] == batch["tokens"][:, 1:][seen]).all()
            rows += [row[row != 0].tolist() for row in batch["tokens"]]
        assert sorted(rows) == sorted([token for token in row if token] for row in alone)
    n_tokens = len(lang.vocabulary())
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Embedding(n_tokens, 32), torch.nn.Linear(32, n_tokens))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    losses = []
    for _ in range(4):
        for batch in DataLoader(examples, batch_size=8, collate_fn=mavis_torch.collate):
            loss = torch.nn.functional.cross_entropy(network(batch["tokens"]).transpose(1, 2), batch["labels"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert np.mean(losses[-3:]) < 0.5 * losses[0]
