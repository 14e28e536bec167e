#!/usr/bin/env python3
"""recipes/ninth/empty_roots.py MAVIS ROOTS: positions of the first 0 to 3 plies of every game, as ROOTS/empty_NAME.parquet.

Random games of three plies find all positions where there are few; of many, all of the first plies that fit and a sample of the next one.
Positions of ROOTS/NAME.valid.parquet (ROOTS/c4valid.parquet) are left out, so that evaluation shares none.
"""
import json, pathlib, random, subprocess, sys, tempfile

MAVIS, ROOTS, MOST = sys.argv[1], pathlib.Path(sys.argv[2]), 300
GAMES = [("connect4", "connect4", "c4valid", 6000), ("hex7", "hex:size=7", "hex7.valid", 3000), ("hex11", "hex", "hex11.valid", 4000),
         ("hex5", "hex:size=5", "hex5.valid", 3000), ("hex9", "hex:size=9", "hex9.valid", 3000), ("othello", "othello", "othello.valid", 2000),
         ("togyz", "togyz", "togyz.valid", 20000)]

def run(*args):
    return subprocess.run([MAVIS, *map(str, args)], check=True, stdout=subprocess.PIPE, text=True).stdout

def rows(table):
    return [json.loads(line) for line in run("data", "export", table, "--format", "jsonl").splitlines()]

for name, game, valid, games in GAMES:
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "league.toml").write_text(f'''name = "first plies"
game = "{game}"
seed = 9
openings.random_plies = 0
concurrency = 1
schedule = {{ kind = "round-robin", pairs = {games // 2} }}
adjudication = {{ max_plies = 3 }}
players = [ {{ name = "a", player = "random" }}, {{ name = "b", player = "random" }} ]
''')
        run("league", "run", "--config", work / "league.toml", "--out", work / "league")
        run("data", "import", work / "league", "--out", work / "all.parquet")
        found = {}
        for row in rows(work / "all.parquet"):
            found.setdefault(row["position"], row["ply"])
        apart = {row["position"] for row in rows(ROOTS / f"{valid}.parquet")}
        start = next(p for p, ply in found.items() if ply == 0)
        left_out = [p for p in found if p in apart and p != start]
        by_ply = [sorted(p for p, ply in found.items() if ply == n and p not in left_out) for n in range(4)]
        kept, generator = [], random.Random(9)
        # The room that is left is shared evenly by the plies that do not fit.
        for n, positions in enumerate(by_ply):
            share = (MOST - len(kept)) // (4 - n)
            whole = len(positions) <= max(share, 130) and len(kept) + len(positions) <= MOST
            kept += positions if whole else generator.sample(positions, min(share, len(positions)))
        if len(kept) < MOST and len(kept) < sum(map(len, by_ply)):
            rest = [p for positions in by_ply for p in positions if p not in kept]
            kept += generator.sample(rest, min(MOST - len(kept), len(rest)))
        (work / "positions.fen").write_text("".join(f"{p}\n" for p in kept))
        out = ROOTS / f"empty_{name}.parquet"
        print(run("data", "import", work / "positions.fen", "--format", "positions", "--game", game, "--out", out).strip())
        counts = [sum(found[p] == n for p in kept) for n in range(4)]
        print(name, "found", [len(p) for p in by_ply], "kept by ply", counts, "left out as validation", len(left_out), "start in validation", start in apart, flush=True)
