"""What the folders of leagues and training runs say."""

import json
import pathlib
import subprocess
import tomllib

RECIPES = pathlib.Path(__file__).resolve().parent.parent


def rated(folder, answer, mavis):
    """The standings of a league without the games in which a model failed, and what its games add up to.

    A model whose evaluation fails (a GPU out of memory) plays the first legal move, without a value: such a game says nothing.
    It is taken out of the folder, so that the same command plays it again.
    """
    config = tomllib.loads((folder / "config.toml").read_text())
    models = {player["name"] for player in config["players"] if str(player["player"]).startswith("mav")}
    games = (folder / "games.jsonl").read_text().splitlines()
    kept = [line for line in games if not has_failed(json.loads(line), models)]
    if len(kept) < len(games):
        (folder / "games.jsonl").write_text("".join(line + "\n" for line in kept))
        shown = subprocess.run([mavis, "league", "table", str(folder), "--json"], capture_output=True, check=True)
        answer = json.loads(shown.stdout)
    if not kept:
        return None
    answer["removed"] = len(games) - len(kept)
    answer["counts"] = counts(folder / "games.jsonl")
    answer.pop("superiority", None)
    return answer


def has_failed(game, models):
    """Whether a model made a move of which it had no value."""
    return any(player in models and "v" not in move for player, move in moves_of(game))


def moves_of(game):
    """The moves of a game with the players who made them."""
    sides = [game["first"], game["second"]]
    # The side to move after the opening: in chess the start position names it.
    offset = len(game.get("opening", [])) + (" b " in game.get("start", ""))
    return [(sides[(i + offset) % 2], move) for i, move in enumerate(game["moves"])]


def counts(games):
    """Moves, simulations made and kept, and written tokens of each player of a league.

    The sums of squares and products over games are what the interval of the share kept needs.
    """
    found = {}
    for line in games.read_text().splitlines():
        game = json.loads(line)
        for name in (game["first"], game["second"]):
            moves = [move for player, move in moves_of(game) if player == name]
            made, kept = (sum(move.get(key, 0) for move in moves) for key in ("n", "k"))
            tokens = sum(move.get("tok", 0) for move in moves)
            sums = {"games": 1, "moves": len(moves), "made": made, "kept": kept, "tokens": tokens}
            calls = made + kept
            sums |= {"kept_kept": kept * kept, "kept_calls": kept * calls, "calls_calls": calls * calls}
            player = found.setdefault(name, dict.fromkeys(sums, 0))
            for key, value in sums.items():
                player[key] += value
    return dict(sorted(found.items()))


def played_seconds(folder):
    """From the start of each session of a league to the last game that ended in it."""
    starts = [json.loads(line)["started"] for line in (folder / "sessions.jsonl").read_text().splitlines()]
    ends = [json.loads(line)["finished"] for line in (folder / "games.jsonl").read_text().splitlines()]
    total = 0
    for start, following in zip(starts, [*starts[1:], float("inf")]):
        total += max((end - start for end in ends if start <= end < following), default=0)
    return total


def training_command(metrics, run):
    """The command of a training run with every setting that it had: recipes may have changed since."""
    settings = tomllib.loads(metrics.with_name(metrics.name.replace("metrics.jsonl", "settings.toml")).read_text())
    shown = lambda value: f"{value:.6g}" if isinstance(value, float) else str(value).lower()
    flags = [f"--{key} {shown(settings.pop(key))}" for key in ("game", "algorithm", "seed", "rounds")]
    settings |= {f"evaluation.{key}": value for key, value in settings.pop("evaluation").items()}
    flags += [f"--set {key}={shown(value)}" for key, value in settings.items()]
    return " ".join(["mavis probs train", *flags, f"--out runs/probs/{run}"])


def ratings(metrics):
    """The ratings of a training run, one for each evaluation, or none if it did not get to one."""
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    keys = ("round", "elo", "low", "high", "evaluations", "seconds")
    found = [{key: line[key] for key in keys} for line in lines if line["event"] == "evaluation"]
    # The untrained net alone is no result.
    return {"ratings": found} if len(found) > 1 else None


def predictor_command(metrics, run):
    """The command of a predictor's training run, with what it had that recipes/predictor.toml has not."""
    settings = tomllib.loads(metrics.with_name("settings.toml").read_text())
    recipe = tomllib.loads((RECIPES / "predictor.toml").read_text())
    flags = [f"--target {settings['target']}", "--config recipes/predictor.toml"]
    budget = settings.pop("budget")
    flags.append(f"--max-minutes {budget['minutes']:g}" if "minutes" in budget else f"--set budget={{steps={budget['steps']}}}")
    for key in ("preset", "bins", "loss", "samples", "seed", "placement"):
        if settings[key] != recipe[key]:
            flags.append(f"--set {key}={settings[key]}")
    return " ".join(["mavis train predictor", *flags, f"--out runs/predictors/{run}"])


def predictor_result(metrics):
    """What a predictor was at the end of its training, or none if it did not get there.

    Seconds are those of all processes of the run, work that a kill lost included.
    """
    settings = tomllib.loads(metrics.with_name("settings.toml").read_text())
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    if not lines or lines[-1]["event"] != "measure":
        return None
    last = lines[-1]
    ends = [line for line, following in zip(lines, [*lines[1:], {"seconds": -1}]) if following["seconds"] < line["seconds"]]
    quality = next(iter(last["predictions"].values()))
    return {
        "target": settings["target"],
        "bins": settings["bins"],
        "loss": settings["loss"],
        "steps": last["step"],
        "samples": last["step"] * settings["samples"],
        "seconds": sum(line["seconds"] for line in ends),
        "positions": quality["n_positions"],
        "actions": quality["action_accuracy"],
        "tau": quality["kendall_tau"],
        "puzzles": last["puzzles"][0],
        "n_puzzles": settings["puzzles"]["limit"],
    }
