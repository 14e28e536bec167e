"""Leagues of Mavis beside fastchess, in turn on one machine: Stockfish against itself, two games at once.

    python3 bench/fastchess.py --mavis target/release/mavis --fastchess fastchess --nodes 50 2000 --rounds 5

Prints plies a second and the manager's own processor time a ply for each run, and the ratios (Mavis by fastchess; of the
processor time fastchess by Mavis, so that more is better for Mavis in both). Both play the positions of table 4 of paper 001
in the same order, each from both sides; games differ all the same, so times are given by ply.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

BOOK = pathlib.Path(__file__).parent / "../crates/league/data/tcec_book_table4.fen"


def timed(command, folder):
    """Runs a command; seconds by the clock, and the processor seconds of the process itself, without its children."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    own = 0.0
    while process.poll() is None:
        try:
            stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            own = (int(stat[11]) + int(stat[12])) / 100
        except (OSError, IndexError):
            pass
        time.sleep(0.01)
    seconds = time.monotonic() - began
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {process.stdout.read().decode()[-500:]}")
    return seconds, own


def mavis(arguments, nodes, folder):
    player = f'player = "uci:{arguments.engine},nodes={nodes}"'
    (folder / "league.toml").write_text(
        f"""name = "bench"
game = "chess"
concurrency = 2
[schedule]
pairs = {arguments.games // 2}
[openings]
book = "book.fen"
in_order = true
[[players]]
name = "one"
{player}
[[players]]
name = "other"
{player}
"""
    )
    command = [arguments.mavis, "league", "run", "--config", "league.toml", "--out", "league", "--json"]
    seconds, own = timed(command, folder)
    games = [json.loads(line) for line in (folder / "league/games.jsonl").read_text().splitlines()]
    return sum(len(game["moves"]) for game in games), seconds, own


def fastchess(arguments, nodes, folder):
    command = [arguments.fastchess]
    for name in ("one", "other"):
        command += ["-engine", f"cmd={arguments.engine}", f"name={name}"]
    command += ["-each", "proto=uci", f"nodes={nodes}", "tc=inf", "-concurrency", "2"]
    command += ["-rounds", str(arguments.games // 2), "-games", "2", "-repeat"]
    command += ["-openings", "file=book.fen", "format=epd", "order=sequential"]
    command += ["-pgnout", "file=games.pgn", "-log", "level=err"]
    seconds, own = timed(command, folder)
    plies = re.findall(r'\[PlyCount "(\d+)"\]', (folder / "games.pgn").read_text())
    return sum(map(int, plies)), seconds, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mavis", default="target/release/mavis")
    parser.add_argument("--fastchess", default="fastchess")
    parser.add_argument("--engine", default=shutil.which("stockfish") or "/usr/games/stockfish")
    parser.add_argument("--nodes", type=int, nargs="+", default=[50, 2000])
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for path in ("mavis", "fastchess"):
        setattr(arguments, path, str(pathlib.Path(shutil.which(getattr(arguments, path)) or "missing").resolve()))
    for nodes in arguments.nodes:
        ratios = []
        for round_ in range(arguments.rounds):
            results = {}
            # Who begins takes turns, since a machine does not stay the same.
            for manager in [mavis, fastchess][:: 1 if round_ % 2 == 0 else -1]:
                with tempfile.TemporaryDirectory() as name:
                    folder = pathlib.Path(name)
                    shutil.copy(BOOK, folder / "book.fen")
                    plies, seconds, own = manager(arguments, nodes, folder)
                results[manager.__name__] = (plies / seconds, 1e6 * own / plies)
                print(
                    f"{nodes:>6} nodes  {manager.__name__:<10} {plies:>6} plies  {plies / seconds:>7.0f} plies/s"
                    f"  {1e6 * own / plies:>6.0f} µs/ply of its own",
                    flush=True,
                )
            (ours, our_own), (theirs, their_own) = results["mavis"], results["fastchess"]
            ratios.append((ours / theirs, their_own / our_own))
        speed, own = (statistics.median(column) for column in zip(*ratios))
        speeds = " ".join(f"{ratio:.2f}" for ratio, _ in ratios)
        print(f"{nodes:>6} nodes  plies/s: {speeds}, median {speed:.2f}; processor time: median {own:.2f}", flush=True)


if __name__ == "__main__":
    main()
