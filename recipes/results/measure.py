#!/usr/bin/env python3
"""Runs the measurements behind docs/results.md, each a plain `mavis` command, and keeps one small log of each.

    recipes/results/measure.py [NAME...]      all of measurements.json, or those named
    recipes/results/measure.py --list         the measurements, and what each lacks
    recipes/results/measure.py --kept NAME... logs of leagues as far as they were played, without playing: for those that an error stopped

A measurement whose log has the same command and the same weights is skipped; a league that was killed resumes.
Paths are relative to the folder it is called from, as in the other recipes: models/ holds the weights and data/ the puzzles
and annotations. Environment:

    MAVIS        the program (target/release/mavis)
    DEVICE       cpu or cuda (cpu)
    LOGS         where the logs go (recipes/results/logs)
    WORK         where the league folders go (runs/results)
    SCALE        percent of the games, positions and puzzles (100)
    BUDGET       seconds after which a measurement stops and reports what it has (none)
    DRAIN        seconds that running games get after BUDGET before they are dropped (90)
    CONCURRENCY  games at once in leagues (as many as the program chooses)
    WITHOUT      a regular expression: league players whose name matches are left out
    MACHINE      the name of the device in logs (as its driver reports it; a training run that is read has no other)
    PROBS        the training runs of recipes/probs.sh (runs/probs); they are read, not made
    PREDICTORS   likewise those of recipes/predictors.sh (runs/predictors)

Each log has the seconds it took, which docs/results.md lists.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

from folders import played_seconds, predictor_command, predictor_result, rated, ratings, training_command

HERE = pathlib.Path(__file__).resolve().parent
RECIPES = HERE.parent
MODEL = re.compile(r"models/[\w.-]+|runs/[\w./-]+\.safetensors")
# Kinds of measurement that read a training run and run nothing.
TRAINED = ("probs", "predictor")
SIMPLE = re.compile(r"device[= ]\w+|--concurrency \d+ ?")


class Settings:
    """The environment variables above."""

    def __init__(self, environment):
        number = lambda name, default: float(environment.get(name) or default)
        self.mavis = environment.get("MAVIS") or "target/release/mavis"
        self.device = environment.get("DEVICE") or "cpu"
        self.logs = pathlib.Path(environment.get("LOGS") or "recipes/results/logs")
        self.work = pathlib.Path(environment.get("WORK") or "runs/results")
        self.scale = number("SCALE", 100)
        self.budget = number("BUDGET", 0) or None
        self.drain = number("DRAIN", 90)
        self.concurrency = environment.get("CONCURRENCY") or None
        self.without = environment.get("WITHOUT") or None
        self.trained_on = environment.get("MACHINE") or "device not recorded"
        self.machine = environment.get("MACHINE") or device_name(self.device)
        self.probs = pathlib.Path(environment.get("PROBS") or "runs/probs")
        self.predictors = pathlib.Path(environment.get("PREDICTORS") or "runs/predictors")


def main(arguments):
    settings = Settings(os.environ)
    measurements = load(HERE / "measurements.json")
    if "--list" in arguments:
        for measurement in measurements:
            print(f"{measurement['name']}: {state(measurement, settings)}")
        return 0
    kept = "--kept" in arguments
    arguments = [argument for argument in arguments if argument != "--kept"]
    names = {measurement["name"] for measurement in measurements}
    for name in arguments:
        if name not in names:
            print(f"{name}: no such measurement; --list names them", file=sys.stderr)
            return 2
    failed = 0
    for measurement in measurements:
        if not arguments or measurement["name"] in arguments:
            failed += not measure(measurement, settings, kept)
    return 1 if failed else 0


def load(path):
    """The measurements of a file, in its order."""
    return json.loads(pathlib.Path(path).read_text())


def state(measurement, settings):
    """`measured`, or what keeps the measurement from being skipped."""
    plan = Plan(measurement, settings)
    if plan.missing:
        return f"cannot run: {plan.missing}"
    log = read_log(settings.logs / f"{measurement['name']}.json")
    if log is None:
        return "not measured"
    if log["models"] != plan.models:
        return "measured with other weights"
    return "measured" if plan.same_command(log) else "measured with other settings"


def measure(measurement, settings, kept=False):
    """Runs one measurement unless its log is there, or logs what it has `kept`; whether a log is there in the end."""
    name = measurement["name"]
    what = state(measurement, settings)
    if what == "measured" or what.startswith("cannot run"):
        print(f"{name}: {what}", file=sys.stderr)
        return what == "measured"
    plan = Plan(measurement, settings)
    print(f"{name}: {plan.shown}", file=sys.stderr, flush=True)
    began = time.monotonic()
    if kept:
        output, stopped = plan.table(), True
    else:
        plan.prepare()
        output, stopped = run(plan.command, settings) if plan.command else ("", False)
    elapsed = time.monotonic() - began
    result = None if output is None else plan.result(output)
    if result is None or (not stopped and is_partial(result)):
        print(f"{name}: failed or interrupted, no log is written", file=sys.stderr)
        return False
    log = {
        "name": name,
        "command": plan.shown,
        "changes": plan.changes,
        "models": plan.models,
        "version": version(settings.mavis) if plan.command else "",
        "device": settings.machine if plan.command else settings.trained_on,
        "date": datetime.datetime.fromtimestamp(plan.finished(), datetime.timezone.utc).strftime("%Y-%m-%d"),
        "seconds": plan.seconds(result, elapsed),
        "stopped": stopped,
        "result": result,
    }
    settings.logs.mkdir(parents=True, exist_ok=True)
    path = settings.logs / f"{name}.json"
    # A kill in the middle leaves the old log or none.
    path.with_suffix(".tmp").write_text(json.dumps(log, ensure_ascii=False, separators=(",", ":")) + "\n")
    path.with_suffix(".tmp").replace(path)
    return True


class Plan:
    """The command of a measurement with these settings, and what it needs."""

    def __init__(self, measurement, settings):
        self.kind = measurement["kind"]
        self.settings = settings
        self.changes = []
        self.config = None
        self.read_config(measurement)
        text = (self.config or "") + " ".join(measurement.get("arguments", []))
        if self.kind == "predictor":
            text = f"runs/predictors/{measurement['run']}/model.safetensors"
        self.models = {path: sha256(self.place(path)) for path in sorted(set(MODEL.findall(text)))}
        # Other weights or players are another folder; more pairs continue the same one.
        key = [re.sub(r"pairs = \d+", "", text), self.models]
        self.key = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:8]
        self.folder = settings.work / f"{measurement['name']}-{self.key}"
        self.arguments = [self.fill(argument) for argument in measurement.get("arguments", [])]
        self.metrics = self.find_metrics(measurement)
        self.missing = self.first_missing(measurement)
        self.command, self.shown = self.commands(measurement)

    def read_config(self, measurement):
        """The league's TOML with the device, the weights and the number of pairs put in."""
        if "config" not in measurement:
            return
        text = (RECIPES / measurement["config"]).read_text()
        if "game" in measurement:
            was = re.search(r'^game = "(.*)"$', text, re.MULTILINE)[1]
            text = text.replace(was, measurement["game"])
            self.changes.append(f'game = "{measurement["game"]}"')
        if "schedule" in measurement:
            kind = f'kind = "{measurement["schedule"]}"'
            text = re.sub(r'kind = "[\w-]+"', kind, text)
            self.changes.append(kind)
        if "zero" in measurement:
            zero = f'ratings.zero = {{ player = "{measurement["zero"]}" }}'
            text = re.sub(r"ratings\.zero = .*", zero, text)
            self.changes.append(zero)
        if self.kind == "league":
            without = self.settings.without or measurement.get("without")
            if without:
                name_of = lambda line: (re.search(r'name = "([^"]*)", player', line) or ["", ""])[1]
                is_out = lambda line: name_of(line) and re.search(without, name_of(line))
                self.changes += [f"without {name_of(line)}" for line in text.split("\n") if is_out(line)]
                text = "\n".join(line for line in text.split("\n") if not is_out(line))
            pairs = max(1, round(measurement["pairs"] * self.settings.scale / 100))
            text, n = re.subn(r"pairs = \d+", f"pairs = {pairs}", text)
            if n:
                self.changes.append(f"pairs = {pairs}")
        text = re.sub(r"(mav(?:-mcts|-is)?:)(?![^\"}]*model=)", r"\1model=models/mavis-9m.safetensors,", text)
        self.config = text

    def place(self, path):
        """Where a file is that lies elsewhere here than in the log's command."""
        return path.replace("runs/predictors", str(self.settings.predictors), 1)

    def fill(self, argument):
        """An argument with its placeholders filled in."""
        if argument.startswith("{n:"):
            return str(max(1, round(int(argument[3:-1]) * self.settings.scale / 100)))
        if argument.startswith("{league:"):
            found = sorted(self.settings.work.glob(f"{argument[8:-1]}-????????/games.jsonl"), key=os.path.getmtime)
            return str(found[-1].parent) if found else ""
        return self.place(argument.replace("{device}", self.settings.device))

    def first_missing(self, measurement):
        """The first file that is not here."""
        for path, digest in self.models.items():
            if digest is None:
                return f"{path} is not there"
        if self.kind in TRAINED and self.metrics is None:
            script, folder = ("probs.sh", self.settings.probs) if self.kind == "probs" else ("predictors.sh", self.settings.predictors)
            return f"recipes/{script} has left no run {measurement['run']} in {folder}"
        for argument in self.arguments:
            if argument == "":
                return "the games of its league are not there"
            if argument.startswith("data/") and not any(pathlib.Path(argument + end).exists() for end in ("", ".fen.zst")):
                return f"{argument} is not there"
        return None

    def commands(self, measurement):
        """What is run, and what the log says: the recipe in place of its filled-in copy."""
        if self.kind == "eval":
            # The league's folder as a plain `mavis league run` of the log's command would name it.
            league = lambda argument: re.sub(r"^\{league:(.*)\}$", r"runs/results/\1", argument)
            shown = [self.fill(league(argument)).replace(str(self.settings.predictors), "runs/predictors") for argument in measurement["arguments"]]
            return [self.settings.mavis, *self.arguments], "mavis " + shlex.join(shown)
        if self.kind in TRAINED:
            command = training_command if self.kind == "probs" else predictor_command
            return None, command(self.metrics, measurement["run"]) if self.metrics else ""
        verb = {"league": ["league", "run"], "mpc": ["mpc", "table"]}[self.kind]
        more = ["--concurrency", self.settings.concurrency] if self.settings.concurrency else []
        name = measurement["name"]
        run = [self.settings.mavis, *verb, "--config", str(self.folder) + ".toml", "--out", str(self.folder), *more, "--json"]
        shown = ["mavis", *verb, "--config", f"recipes/{measurement['config']}", "--out", f"runs/results/{name}", *more]
        return run, shlex.join(shown)

    def find_metrics(self, measurement):
        """The metrics of a training run, in its folder or as its script collects them; or none."""
        if self.kind not in TRAINED:
            return None
        run = measurement["run"]
        if self.kind == "predictor":
            path = self.settings.predictors / run / "metrics.jsonl"
            return path if path.is_file() else None
        places = (self.settings.probs / run / "metrics.jsonl", self.settings.probs / "out" / f"{run}-metrics.jsonl")
        return next((path for path in places if path.is_file()), None)

    def finished(self):
        """When a measurement ended that ends now, or a run that was there."""
        return self.metrics.stat().st_mtime if self.metrics else time.time()

    def seconds(self, result, elapsed):
        """How long a measurement took; for leagues over all sessions, by the times in their folders."""
        if self.kind == "probs":
            return round(result["ratings"][-1]["seconds"])
        if self.kind == "predictor":
            return round(result["seconds"])
        if self.kind == "eval":
            return round(elapsed)
        return sum(played_seconds(path.parent) for path in self.folder.glob("**/sessions.jsonl"))

    def same_command(self, log):
        """Whether a log was made by this command, whatever the device and the games at once."""
        plain = lambda command, changes: (SIMPLE.sub("", command).strip(), changes)
        return plain(log["command"], log["changes"]) == plain(self.shown, self.changes)

    def prepare(self):
        """Writes the league's file."""
        if self.config is not None:
            self.settings.work.mkdir(parents=True, exist_ok=True)
            text = self.config.replace("device=auto", f"device={self.settings.device}").replace("runs/predictors", str(self.settings.predictors))
            pathlib.Path(str(self.folder) + ".toml").write_text(text)

    def table(self):
        """The standings of a league that lies on disk; none if there is none."""
        if self.kind != "league" or not (self.folder / "games.jsonl").is_file():
            return None
        shown = subprocess.run([self.settings.mavis, "league", "table", str(self.folder), "--json"], capture_output=True)
        return shown.stdout if shown.returncode == 0 else None

    def result(self, output):
        """The program's JSON; for a league also what its games add up to; for a training run what it measured."""
        if self.kind == "probs":
            return ratings(self.metrics)
        if self.kind == "predictor":
            return predictor_result(self.metrics)
        try:
            answer = json.loads(output)
        except ValueError:
            return None
        return rated(self.folder, answer, self.settings.mavis) if self.kind == "league" else answer


def run(command, settings):
    """The program's stdout, or none if it failed, and whether the budget stopped it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        stopped = False
        for patience in (settings.budget, settings.drain, 30):
            try:
                output, _ = child.communicate(timeout=patience)
                ok = child.returncode == 0 or (stopped and output.strip())
                return (output if ok else None), stopped
            except subprocess.TimeoutExpired:
                stopped = True
                child.send_signal(signal.SIGINT)
        child.kill()
        return None, stopped


def is_partial(result):
    """Whether someone stopped the program before its end: the same command resumes a league."""
    played = result.get("finished", 0) + result.get("removed", 0)
    return played < result.get("planned", 0) or result.get("n", 0) < result.get("n_asked", 0)


def read_log(path):
    """A log, or none if it is not there."""
    return json.loads(path.read_text()) if path.exists() else None


def sha256(path):
    """The SHA-256 of a file, or none if it is not there."""
    path = pathlib.Path(path)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def version(mavis):
    return subprocess.run([mavis, "--version"], capture_output=True, text=True).stdout.strip()


def device_name(device):
    """The GPU's name as its driver reports it, or `cpu`."""
    if device != "cuda":
        return device
    try:
        shown = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        return shown.stdout.strip().split("\n")[0] or device
    except OSError:
        return device


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
