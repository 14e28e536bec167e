"""Search trees as Python objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path


@dataclass(frozen=True)
class Edge:
    """A move of a node. Values are from -1 to 1 for the player who makes the move, as in the file."""

    move: str
    visits: int
    value: float | None
    """The mean value; nothing before the first visit."""
    model_value: float
    """The evaluator's own value."""
    prior: float
    proof: str | None
    """`win`, `loss` or `draw` where that is certain, `dead` where only hallucinations are behind it."""
    plies: int | None
    """Plies after the move to a proven end."""
    child: Node | None = field(repr=False)
    """The node behind it, where it was expanded."""


@dataclass(frozen=True)
class Node:
    """An expanded node and its moves, in the evaluator's order."""

    moves: list[Edge]
    proof: str | None
    state: str | None
    """The position text as the model told it, where the model is the world."""

    @property
    def visits(self) -> int:
        """Visits of all moves."""
        return sum(edge.visits for edge in self.moves)

    @property
    def best(self) -> Edge:
        """The most visited move, ties by value."""
        return max(self.moves, key=lambda edge: (edge.visits, -2.0 if edge.value is None else edge.value))

    def __getitem__(self, move: str) -> Edge:
        for edge in self.moves:
            if edge.move == move:
                return edge
        raise KeyError(move)


@dataclass(frozen=True)
class Tree:
    """A search tree."""

    game: str
    position: str
    settings: str
    evaluator: str
    root: Node
    n_nodes: int
    json: str = field(repr=False)
    """The tree as JSON, the file of `mavis tree` and of `mavis analyze --tree`."""

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Reads a saved tree."""
        saved = json.loads(text)
        nodes: dict[int, Node] = {}
        rows = saved["nodes"]
        if not rows:
            raise ValueError("a saved tree without nodes")
        # Children come after their parents, so the last nodes are built first.
        for index in range(len(rows) - 1, -1, -1):
            row = rows[index]
            edges = [
                Edge(
                    move=edge["move"],
                    visits=edge["visits"],
                    value=edge.get("value"),
                    model_value=edge["model_value"],
                    prior=edge["prior"],
                    proof=edge.get("proof"),
                    plies=edge.get("plies"),
                    child=nodes[edge["child"]] if "child" in edge else None,
                )
                for edge in row["moves"]
            ]
            nodes[index] = Node(edges, row.get("proof"), row.get("state"))
        return cls(
            saved["game"], saved["position"], saved["settings"], saved["evaluator"], nodes[0], len(rows), text
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the tree to a file."""
        Path(path).write_text(self.json)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tree:
        """Reads a tree from a file."""
        return cls.from_json(Path(path).read_text())

    def walk(self) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Every node with the moves that lead to it, parents first."""
        stack: list[tuple[tuple[str, ...], Node]] = [((), self.root)]
        while stack:
            path, node = stack.pop()
            yield path, node
            stack.extend(((*path, edge.move), edge.child) for edge in reversed(node.moves) if edge.child)
