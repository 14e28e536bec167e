#!/usr/bin/env python3
"""roots.py N: so many different Connect Four games of random play, each cut after 1 to 26 moves and none won, one line of columns each."""

import random
import sys


def wins(stones, column, row):
    """Whether the stone there is one of four in a line of its own color."""
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        count = 1
        for sign in (1, -1):
            x, y = column + sign * dx, row + sign * dy
            while (x, y) in stones:
                count, x, y = count + 1, x + sign * dx, y + sign * dy
        if count >= 4:
            return True
    return False


def game(generator):
    """The columns of a game of random play that nobody has won yet; `None` if somebody did."""
    length, heights, stones, moves = generator.randint(1, 26), [0] * 7, (set(), set()), []
    for ply in range(length):
        column = generator.choice([c for c in range(7) if heights[c] < 6])
        stones[ply % 2].add((column, heights[column]))
        if wins(stones[ply % 2], column, heights[column]):
            return None
        heights[column] += 1
        moves.append(str(column + 1))
    return "".join(moves)


def main():
    n, generator, seen = int(sys.argv[1]), random.Random(8), set()
    while len(seen) < n:
        moves = game(generator)
        if moves is not None and moves not in seen:
            seen.add(moves)
            print(moves)


if __name__ == "__main__":
    main()
