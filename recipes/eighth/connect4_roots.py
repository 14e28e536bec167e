#!/usr/bin/env python3
"""connect4_roots.py FOLDER: Connect Four positions of random play that nobody has won yet, one line of columns each.

c4valid.txt is for evaluation and shares no position with the others: c4early.txt (1 to 11 stones) and c4late.txt (12 to 26).
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "seventh"))
from roots import wins


def game(generator, least, most):
    """The columns of a game of so many moves and the stones of both sides; `None` if somebody won."""
    heights, stones, moves = [0] * 7, (set(), set()), []
    for ply in range(generator.randint(least, most)):
        column = generator.choice([c for c in range(7) if heights[c] < 6])
        stones[ply % 2].add((column, heights[column]))
        if wins(stones[ply % 2], column, heights[column]):
            return None
        heights[column] += 1
        moves.append(str(column + 1))
    return "".join(moves), tuple(frozenset(side) for side in stones)


def draw(generator, n, least, most, apart):
    """Up to n different positions that are not among `apart`, as columns by position."""
    found = {}
    for _ in range(40 * n):
        drawn = game(generator, least, most)
        if drawn and drawn[1] not in found and drawn[1] not in apart:
            found[drawn[1]] = drawn[0]
            if len(found) == n:
                break
    return found


def main():
    folder, generator = pathlib.Path(sys.argv[1]), random.Random(8)
    valid = draw(generator, 150, 0, 24, {})
    sets = {"c4valid": valid}
    for name, n, least, most in (("c4early", 16000, 1, 11), ("c4late", 30000, 12, 26)):
        sets[name] = draw(generator, n, least, most, valid)
    for name, positions in sets.items():
        (folder / f"{name}.txt").write_text("".join(f"{columns}\n" for columns in positions.values() if columns))


main()
