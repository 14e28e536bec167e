"""docs/results.md is what recipes/results makes of its logs, and a measurement keeps what the program said."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("MAVIS_ROOT", pathlib.Path(__file__).parents[2]))
RECIPES = ROOT / "recipes" / "results"
MAVIS = os.environ.get("MAVIS_BINARY", str(ROOT / "target" / "debug" / "mavis"))


def run(script, *arguments, **environment):
    command = [sys.executable, "-B", RECIPES / script, *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)


def test_the_page_is_what_its_logs_say():
    checked = run("page.py", "--check")
    assert checked.returncode == 0, checked.stderr


def test_a_missing_log_is_a_row_without_a_number(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    assert run("page.py", LOGS=str(logs), DOCS=str(tmp_path)).returncode == 0
    page = (tmp_path / "results.md").read_text()
    assert "| ours, 9m | not measured | not measured | not measured |" in page
    assert "| MAV (mean scoring) | not measured | not measured |  |  | 1367 | 2923 |" in page
    assert not list((tmp_path / "results").iterdir())
    # What the papers measured stays, ours is nowhere: no interval and no hash.
    assert not re.search(r"\d \(-?[\d.]+ to|`[0-9a-f]{12}`", page)


def test_another_log_is_another_page(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "puzzles-9m.json").write_text(json.dumps(puzzles(0.25)))
    assert run("page.py", LOGS=str(logs), DOCS=str(tmp_path)).returncode == 0
    page = (tmp_path / "results.md").read_text()
    assert "| ours, 9m | 25.0 (20.0 to 30.0) | not measured | not measured |" in page
    assert "`models/mavis-9m.safetensors` `abababababab`" in page
    assert (tmp_path / "results" / "puzzles.svg").read_text().count("<circle") == 2
    assert run("page.py", "--check", LOGS=str(logs), DOCS=str(tmp_path)).returncode == 0
    (logs / "puzzles-9m.json").write_text(json.dumps(puzzles(0.26)))
    checked = run("page.py", "--check", LOGS=str(logs), DOCS=str(tmp_path))
    assert checked.returncode == 1 and "docs/results.md" in checked.stderr


def puzzles(value):
    estimate = {"value": value, "low": 0.2, "high": 0.3}
    solved = {"name": "puzzles solved", "n": 9, "overall": estimate, "bands": [{"band": "800-999", "n": 9, "estimate": estimate}]}
    log = {"name": "puzzles-9m", "command": "mavis eval puzzles", "changes": [], "models": {"models/mavis-9m.safetensors": "ab" * 32}}
    log |= {"version": "mavis 1", "device": "cpu", "date": "2026-01-01", "seconds": 1, "stopped": False}
    return log | {"result": {"player": "mav", "n": 9, "n_asked": 9, "metrics": [solved]}}


def test_half_a_measurement_is_not_kept():
    code = "import measure as m; print([m.is_partial(x) for x in ({'n': 3, 'n_asked': 9}, {'finished': 3, 'planned': 4}, {'n': 9, 'n_asked': 9}, {'cells': []})])"
    shown = subprocess.run([sys.executable, "-B", "-c", code], cwd=RECIPES, capture_output=True, text=True)
    assert shown.stdout.strip() == "[True, True, False, False]", shown.stderr


def test_a_measurement_is_kept_and_not_repeated(tmp_path):
    """Two measurements with the real program: puzzles, and a league whose games are counted."""
    recipes = tmp_path / "recipes"
    shutil.copytree(RECIPES, recipes / "results", ignore=shutil.ignore_patterns("logs", "__pycache__"))
    (recipes / "small.toml").write_text(
        'name = "small"\ngame = "connect4"\nopenings.random_plies = 9\nschedule = { kind = "round-robin", pairs = 7 }\nplayers = [\n'
        '  { name = "MCTS", player = "mcts:sims=20" },\n'
        '  { name = "out", player = "random" },\n'
        '  { name = "MAV-MCTS (M = 8)", player = "mav-mcts:sims=8,device=auto" },\n]\n'
    )
    measurements = [
        {"name": "puzzles-9m", "kind": "eval", "arguments": ["eval", "puzzles", "--player", "mav:model=models/mavis-9m.safetensors,device={device}", "--input", "data/puzzles.csv", "--limit", "{n:300}", "--json"]},
        {"name": "table2-connect4", "kind": "league", "config": "small.toml", "pairs": 100},
    ]
    (recipes / "results" / "measurements.json").write_text(json.dumps(measurements))
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "data").symlink_to(ROOT / "samples")
    environment = os.environ | {"MAVIS": MAVIS, "SCALE": "1", "WITHOUT": "^out", "LOGS": "logs", "WORK": "work"}
    command = [sys.executable, "-B", recipes / "results" / "measure.py"]
    measure = lambda *names: subprocess.run([*command, *names], env=environment, cwd=tmp_path, capture_output=True, text=True)

    first = measure()
    assert first.returncode == 0, first.stderr
    log = json.loads((tmp_path / "logs" / "puzzles-9m.json").read_text())
    assert log["command"].startswith("mavis eval puzzles --player mav:model=models/mavis-9m.safetensors,device=cpu")
    assert log["result"]["n"] == 3 and re.fullmatch("[0-9a-f]{64}", log["models"]["models/mavis-9m.safetensors"])
    league = json.loads((tmp_path / "logs" / "table2-connect4.json").read_text())
    assert league["changes"] == ["without out", "pairs = 1"]
    assert league["result"]["finished"] == league["result"]["planned"] == 2
    games = [json.loads(line) for line in next(tmp_path.glob("work/*/games.jsonl")).read_text().splitlines()]
    counts = league["result"]["counts"]
    assert sum(player["moves"] for player in counts.values()) == sum(len(game["moves"]) for game in games)
    # Nine plies were drawn, so the second side moves first; simulations tell whose moves were counted.
    assert counts["MCTS"]["made"] == 20 * counts["MCTS"]["moves"] and counts["MCTS"]["kept"] == 0

    again = measure()
    assert again.returncode == 0 and again.stderr.splitlines() == ["puzzles-9m: measured", "table2-connect4: measured"]
    assert measure("nothing").returncode == 2

    # A move that the model made without a value: its evaluation failed, and the game does not count.
    folder = next(tmp_path.glob("work/*/games.jsonl")).parent
    sides = [games[0]["first"], games[0]["second"]]
    failed = next(move for i, move in enumerate(games[0]["moves"]) if sides[(i + 9) % 2] == "MAV-MCTS (M = 8)")
    del failed["v"]
    (folder / "games.jsonl").write_text("".join(json.dumps(game) + "\n" for game in games))
    (tmp_path / "logs" / "table2-connect4.json").unlink()
    assert measure("table2-connect4").returncode == 0
    league = json.loads((tmp_path / "logs" / "table2-connect4.json").read_text())
    assert (league["result"]["finished"], league["result"]["removed"]) == (1, 1)
    assert len((folder / "games.jsonl").read_text().splitlines()) == 1

    page = subprocess.run([sys.executable, "-B", recipes / "results" / "page.py"], env=environment | {"DOCS": str(tmp_path / "docs")}, cwd=tmp_path)
    assert page.returncode == 0
    assert "| Connect Four | MAV-MCTS (M = 8) |" in (tmp_path / "docs" / "results.md").read_text()
