"""Minimax outside a model, over its own values, against the same model without search, in Connect Four.

    python bench/minimax.py WEIGHTS mean|mode BREADTH DEPTH GAMES

Every node of the tree is asked for by itself; docs/internal-search.md compares that with trees that the model writes. Games begin with four
random plies, each opening once with either side.
"""

import random
import sys

import mavis
import numpy as np

model = mavis.Model.load(sys.argv[1])
kind, (breadth, depth, n_games) = sys.argv[2], map(int, sys.argv[3:6])


def values(positions, kind):
    """The value of every legal move, for each position."""
    if not positions:
        return []
    answer = model.evaluate(positions)
    flat = answer.means if kind == "mean" else answer.modes
    return np.split(np.asarray(flat, dtype=float).reshape(-1), answer.offsets[1:-1])


def result(position):
    """What a finished game is worth for the player to move; None while it goes on."""
    if not position.is_over:
        return None
    if position.winner is None:
        return 0.5
    return 1.0 if position.winner == position.turn else 0.0


class Node:
    def __init__(self, position):
        self.position, self.children, self.result = position, [], result(position)

    def value(self):
        if self.result is not None:
            return self.result
        if not self.children:
            return self.values.max()
        return max(1 - child.value() for _, child in self.children)


def search(positions):
    """The moves that minimax chooses, all trees level by level."""
    roots = [Node(position) for position in positions]
    level = roots
    for ply in range(depth + 1):
        nodes = [node for node in level if node.result is None]
        for node, known in zip(nodes, values([node.position for node in nodes], kind)):
            node.values, node.moves = known, list(node.position.legal_moves)
        level = []
        for node in nodes if ply < depth else []:
            best = np.argsort(-node.values, kind="stable")[:breadth]
            node.children = [(int(i), Node(node.position.after(node.moves[i]))) for i in best]
            level += [child for _, child in node.children]
    chosen = [max(root.children, key=lambda child: (1 - child[1].value(), root.values[child[0]])) for root in roots]
    return [root.moves[i] for root, (i, _) in zip(roots, chosen)]


def greedy(positions):
    return [list(p.legal_moves)[int(v.argmax())] for p, v in zip(positions, values(positions, "mean"))]


draw = random.Random(1)
games = []
while len(games) < n_games:
    position = mavis.Position("connect4")
    for _ in range(4):
        position.push(draw.choice(list(position.legal_moves)))
    games += [[position.copy(), True], [position.copy(), False]]
score = 0.0
while games:
    for searches, choose in [(True, search), (False, greedy)]:
        mine = [game for game in games if game[1] == searches]
        for game, move in zip(mine, choose([game[0] for game in mine])):
            game.append(move)
    for game in games:
        game[0].push(game.pop())
        game[1] = not game[1]
        if (worth := result(game[0])) is not None:
            score += worth if game[1] else 1 - worth
    games = [game for game in games if not game[0].is_over]
share = score / n_games
print(f"{kind}, breadth {breadth}, depth {depth}: {score} of {n_games}, {share:.3f} ± {1.96 * (share * (1 - share) / n_games) ** 0.5:.3f}")
