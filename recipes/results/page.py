#!/usr/bin/env python3
"""Writes docs/results.md and the figures in docs/results/ from the logs of measure.py and from papers.json, and from nothing else.

    recipes/results/page.py [--check]       writes them, or exits with 1 if what is there differs

A measurement without a log is a row that says "not measured". LOGS names another folder of logs, DOCS another docs/.
"""

import json
import os
import pathlib
import sys

import paper001
import paper002
import paper003
import paper004
from markdown import NOT_MEASURED, Page, table

HERE = pathlib.Path(__file__).resolve().parent
INTRODUCTION = """# Results

The tables and figures of the four papers beside our own measurements.
`recipes/results/page.py` writes this page from the logs in `recipes/results/logs` and the papers' numbers in `recipes/results/papers.json`; do not edit it.
`recipes/results/measure.py` makes the logs: each is one command of `mavis`, its JSON output, and the SHA-256 of the weights it used.
Under each table stands the command behind it, with the first twelve digits of that hash; a row without a log says "not measured".
Brackets hold 95 % intervals.
A league that its time budget stopped finished its running games as far as it could; the ones that took longest were dropped, which favors short games a little.
Our models are far smaller than those of papers 001 and 002 and were trained for far less time (`models/README.md`), so the papers' numbers show the distance."""


def main(arguments):
    logs = pathlib.Path(os.environ.get("LOGS") or HERE / "logs")
    docs = pathlib.Path(os.environ.get("DOCS") or HERE.parent.parent / "docs")
    files = made(logs)
    if "--check" in arguments:
        wrong = [name for name, text in files.items() if not is_same(docs / name, text)]
        wrong += [f"results/{path.name}" for path in sorted((docs / "results").glob("*.svg")) if f"results/{path.name}" not in files]
        for name in wrong:
            print(f"docs/{name} is not what recipes/results/page.py makes of the logs", file=sys.stderr)
        return 1 if wrong else 0
    (docs / "results").mkdir(parents=True, exist_ok=True)
    for path in (docs / "results").glob("*.svg"):
        path.unlink()
    for name, text in files.items():
        (docs / name).write_text(text)
    return 0


def is_same(path, text):
    return path.exists() and path.read_text() == text


def made(logs):
    """Every file of the page by its path below docs/."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(pathlib.Path(logs).glob("*.json"))}
    page = Page(found, json.loads((HERE / "papers.json").read_text()))
    lines = [INTRODUCTION, ""]
    for part in (paper001, paper002, paper003, paper004):
        lines += part.sections(page)
    lines += weights(page) + runs(page)
    files = {"results.md": "\n".join(lines) + "\n"}
    return files | {f"results/{name}": svg for name, svg in sorted(page.figures.items())}


def weights(page):
    """Which files were measured."""
    found = {}
    for name, log in page.logs.items():
        for path, digest in log["models"].items():
            found.setdefault((path, digest), []).append(f"`{name}`")
    rows = [[f"`{path}`", f"`{digest}`", ", ".join(names)] for (path, digest), names in sorted(found.items())]
    return ["", "## Weights", *table(["file", "SHA-256", "logs"], rows or [[NOT_MEASURED, "", ""]])]


def runs(page):
    """When and where each log was made, and how long that took."""
    rows = []
    for measurement in json.loads((HERE / "measurements.json").read_text()):
        log = page.logs.get(measurement["name"])
        cells = [log["date"], log["device"], str(log["seconds"]), log["version"]] if log else [NOT_MEASURED, "", "", ""]
        rows.append([f"`{measurement['name']}`", *cells])
    return ["", "## Measurements", *table(["log", "date", "device", "seconds", "program"], rows)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
