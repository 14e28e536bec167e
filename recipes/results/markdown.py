"""Tables, numbers with intervals and the line under each table that says where it comes from."""

NOT_MEASURED = "not measured"


class Page:
    """What the sections read (logs by name, the papers' numbers) and what they leave behind (figures by file name)."""

    def __init__(self, logs, papers):
        self.logs = logs
        self.papers = papers
        self.figures = {}

    def result(self, name):
        """The program's output in a log, or none if it is not measured."""
        log = self.logs.get(name)
        return None if log is None else log["result"]

    def figure(self, name, alt, svg):
        """Keeps a figure and gives the line that shows it."""
        self.figures[f"{name}.svg"] = svg
        return ["", f"![{alt}](results/{name}.svg)"]

    def sources(self, *names):
        """A line for each log: its command and weights, or how to make it."""
        return ["", *(source(name, self.logs.get(name)) for name in names)]


def table(header, rows):
    """A Markdown table; cells are text."""
    return ["", line(header), "|" + "---|" * len(header), *(line(row) for row in rows)]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def source(name, log):
    """One sentence about a log."""
    if log is None:
        return f"`{name}`: {NOT_MEASURED}; `recipes/results/measure.py {name}` measures it."
    parts = [f"`{name}`: `{log['command']}`"]
    if log["changes"]:
        parts.append("with " + ", ".join(f"`{change}`" for change in log["changes"]))
    for path, digest in log["models"].items():
        parts.append(f"`{path}` `{digest[:12]}`")
    parts.append(log["device"])
    if log["result"].get("removed"):
        parts.append(f"without {log['result']['removed']} games in which a model's evaluation failed")
    if log["stopped"]:
        parts.append("stopped by its time budget" + progress(log["result"]))
    return ", ".join(parts) + "."


def progress(result):
    """How far a measurement came that its budget stopped."""
    if "planned" in result:
        return f" after {result['finished']} of {result['planned']} games"
    if "n_asked" in result:
        return f" after {result['n']} of {result['n_asked']} positions"
    return ""


def wilson(share, n):
    """A share of n cases with Wilson's interval, draws as half a win."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5 / (1 + z * z / n)
    return {"value": share, "low": max(0.0, middle - half), "high": min(1.0, middle + half)}


def share(estimate):
    """A share as a percentage with its interval."""
    return interval(estimate, lambda value: f"{100 * value:.1f}") if estimate else NOT_MEASURED


def plain(estimate):
    """A number with three decimals and its interval."""
    return interval(estimate, lambda value: f"{value:.3f}") if estimate else NOT_MEASURED


def elo(estimate):
    """A rating with its interval."""
    # Adding 0 turns -0 into 0.
    return interval(estimate, lambda value: f"{round(value) + 0}") if estimate else NOT_MEASURED


def interval(estimate, show):
    if estimate["low"] == estimate["high"] == estimate["value"]:
        return show(estimate["value"])
    return f"{show(estimate['value'])} ({show(estimate['low'])} to {show(estimate['high'])})"


def metric(result, name):
    """A metric of `mavis eval` by its name, or none."""
    if result is None:
        return None
    return next((metric for metric in result["metrics"] if metric["name"] == name), None)


def overall(result, name):
    """The estimate over all positions of a metric, or none."""
    found = metric(result, name)
    return None if found is None else found["overall"]


def players(result):
    """The players of a league by name."""
    return {} if result is None else {player["name"]: player for player in result["players"] if player["games"]}
