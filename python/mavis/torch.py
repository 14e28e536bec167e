"""Tokenized examples for PyTorch, streamed from tables of annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from mavis import _arrays, _mavis

IGNORED = -100
"""The label of tokens without a loss, which `torch.nn.functional.cross_entropy` leaves out."""


class Examples(IterableDataset):  # type: ignore[type-arg, misc, unused-ignore]
    """Examples of tables of annotations (Parquet files or folders of them), one for each row.

    Each item is a dict of `tokens` (int64) and `labels`: the token that follows each place, or `IGNORED` in the input. The
    rows are shared out among the workers of a `DataLoader`; a row's example depends on the seed and its place in the table
    alone. `plain` asks for all moves and the best action of every position; otherwise commands vary as in training.
    """

    def __init__(
        self, paths: str | PathLike[str] | Sequence[str | PathLike[str]], *, seed: int = 0, plain: bool = False
    ) -> None:
        super().__init__()
        self.paths = [paths] if isinstance(paths, str | PathLike) else list(paths)
        self.seed = seed
        self.plain = plain

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        worker = get_worker_info()
        part, n_parts = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for buffer, input_len in _mavis.ExampleStream(self.paths, self.seed, self.plain, part, n_parts):
            tokens = torch.from_numpy(_arrays.tokens(buffer).astype(np.int64))
            labels = torch.full_like(tokens, IGNORED)
            labels[input_len - 1 : -1] = tokens[input_len:]
            yield {"tokens": tokens, "labels": labels}


def collate(examples: list[dict[str, torch.Tensor]], pad: int = 0) -> dict[str, torch.Tensor]:
    """A batch of examples, padded to the longest: the `collate_fn` of a `DataLoader`."""

    def padded(name: str, value: int) -> Any:
        rows = [example[name] for example in examples]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)

    return {"tokens": padded("tokens", pad), "labels": padded("labels", IGNORED)}
