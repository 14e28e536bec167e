#!/usr/bin/env python3
"""The nets of Hex 11x11 against its anchors, the built-in oracle and a program from elsewhere, by `mavis match`.

    recipes/results/hex_anchors.py OUT [MATCH...]      all of MATCHES, or those named

`probs-oracle`, `mav-oracle` and `probs-mav` give both players the same time for a move, the others stated numbers of playouts.
Every match plays openings of two random plies with sides swapped, one match after the other, since they would share the GPU.
OUT gets a folder of games and the standings of each match as NAME.json, and summary.json: points with Wilson's interval, from the first
player's view, and the mean seconds of a move that each player took. Games that did not end by the rules (a program that crashed, did not
answer, or ran out of time) are counted apart and give no points. The same command continues what was stopped. Environment:

    MAVIS        the program (target/release/mavis)
    DEVICE       of the nets: cpu, cuda or auto (auto)
    NET          bundled nets by name, or a file (hex11)
    MOHEX        the player line of MoHex; its matches are skipped where this is not set
    MOVETIME     seconds of a move where time is equal (1)
    GAMES        of each match (40)
    BUDGET       seconds after which a match begins no more games (240)
    DRAIN        seconds that its running games get then before they are dropped (60)
    CONCURRENCY  games at once (the cores); with more than that, or on a processor, timed players slow each other down
"""

import json
import os
import pathlib
import sys
import tomllib
import types

from folders import moves_of
from markdown import wilson
from measure import run

PROBS = "probs:{net},time={seconds},device={device}"
ORACLE = "oracle:movetime={milliseconds}"
MAV = "mav-mcts:sims=1000000,time={milliseconds},batch=16,device={device}"
MAV400 = "mav-mcts:sims=400,batch=16,device={device}"
MATCHES = {
    "probs-oracle": (PROBS, ORACLE),
    "probs-mohex": (PROBS, "{mohex}"),
    "mav400-mohex": (MAV400, "{mohex}"),
    "mav-oracle": (MAV, ORACLE),
    "probs-mav": (PROBS, MAV),
    "mav400-oracle": (MAV400, "oracle:nodes=20000"),
    "probs400-oracle": ("probs:{net},expand=400,device={device}", "oracle:nodes=20000"),
}


def main(arguments):
    if not arguments or any(name not in MATCHES for name in arguments[1:]):
        print(f"expected OUT and names of {', '.join(MATCHES)}", file=sys.stderr)
        return 2
    out, names = pathlib.Path(arguments[0]), arguments[1:] or list(MATCHES)
    out.mkdir(parents=True, exist_ok=True)
    get = lambda name, default: os.environ.get(name) or default
    failed = 0
    for name in names:
        players = [line_of(player, get) for player in MATCHES[name]]
        if "" in players:
            print(f"{name}: skipped, MOHEX is not set", file=sys.stderr)
            continue
        failed += not play(name, players, out, get)
        # After every match, so that a kill leaves what was played.
        text = json.dumps(summaries(out), indent=1, ensure_ascii=False) + "\n"
        (out / "summary.json").write_text(text)
    for found in summaries(out):
        print(shown(found))
    return 1 if failed else 0


def line_of(player, get):
    """A player line with its placeholders filled in; empty where MoHex is not there."""
    seconds = float(get("MOVETIME", "1"))
    return player.format(
        net=get("NET", "hex11"),
        device=get("DEVICE", "auto"),
        seconds=f"{seconds:g}",
        milliseconds=max(1, round(1000 * seconds)),
        mohex=get("MOHEX", ""),
    )


def play(name, players, out, get):
    """Plays a match within its budget; whether it ended well."""
    command = [get("MAVIS", "target/release/mavis"), "match", *players, "--game", "hex", "--random-plies", "2", "--seed", "1"]
    command += ["--games", get("GAMES", "40"), "--concurrency", get("CONCURRENCY", str(os.cpu_count()))]
    command += ["--out", str(out / name), "--json"]
    print(f"{name}: {' '.join(command)}", file=sys.stderr, flush=True)
    budget = types.SimpleNamespace(budget=float(get("BUDGET", "240")), drain=float(get("DRAIN", "60")))
    output, _ = run(command, budget)
    if output is None:
        print(f"{name}: failed, or its running games were dropped", file=sys.stderr)
        return False
    (out / f"{name}.json").write_bytes(output)
    return True


def summaries(out):
    """What the games of every match in a folder add up to."""
    logs = {name: out / name / "games.jsonl" for name in MATCHES}
    return [summary(name, log) for name, log in logs.items() if log.is_file()]


def summary(name, log):
    """Points of the first player in games that ended by the rules, the other games by what ended them, and seconds of a move."""
    players = tomllib.loads((log.parent / "config.toml").read_text())["players"]
    first, second = (player["name"] for player in players)
    games = [json.loads(line) for line in log.read_text().splitlines()]
    ruled = [game for game in games if game["end"]["by"] == "rules"]
    won = sum((game["result"] == "1-0") == (game["first"] == first) for game in ruled)
    faults = [{"loser": loser(game), "reason": game["end"]["reason"]} for game in games if game not in ruled]
    points = wilson(won / len(ruled), len(ruled)) if ruled else None
    seconds = {player: mean_seconds(games, player) for player in (first, second)}
    found = {"name": name, "first": first, "second": second, "games": len(ruled), "won": won, "points": points}
    return found | {"by_faults": faults, "seconds": seconds}


def loser(game):
    return game["second"] if game["result"] == "1-0" else game["first"]


def mean_seconds(games, player):
    times = [move["t"] for game in games for name, move in moves_of(game) if name == player]
    return round(sum(times) / len(times), 4) if times else None


def shown(found):
    """A summary as one line."""
    points = found["points"]
    share = f"{100 * points['value']:.1f} % ({100 * points['low']:.1f} to {100 * points['high']:.1f})" if points else "no games"
    seconds = " and ".join(f"{value} s" for value in found["seconds"].values())
    return f"{found['name']}: {found['won']} of {found['games']} games, {share}; {len(found['by_faults'])} by faults; {seconds} a move"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
