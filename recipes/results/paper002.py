"""Table 1 and figure 2 of paper 002: a model without search on puzzles, actions and rankings."""

from figures import plot
from markdown import NOT_MEASURED, metric, overall, plain, share, table

MODELS = (("9m", "9m"), ("30m", "30m"))


def sections(page):
    return [*table1(page), *bands(page), *connect4(page)]


def table1(page):
    paper = page.papers["searchless"]
    rows, logs = [], []
    for size, title in MODELS:
        puzzles, actions = page.result(f"puzzles-{size}"), page.result(f"actions-{size}")
        search = page.result(f"puzzles-{size}-search")
        tau = overall(actions, "Kendall's tau-b")
        rows.append([f"ours, {title}", share(overall(puzzles, "puzzles solved")), share(overall(actions, "action accuracy")), plain(tau)])
        rows.append([f"ours, {title}, M = 100", share(overall(search, "puzzles solved")), "", ""])
        logs += [f"puzzles-{size}", f"actions-{size}", f"puzzles-{size}-search"]
    for name, values in paper["rows"].items():
        shown = [f"{value:.1f}" if value is not None else "" for value in values[:2]]
        rows.append([f"paper, {name}", *shown, f"{values[2]:.3f}" if values[2] is not None else ""])
    out = ["", "## Table 1 of paper 002: without search", "", f"Puzzles and actions in percent; the paper: {paper['source']}."]
    out.append("Puzzles: the whole listed solution; the paper's 10,000 were curated by others, ours are the first 10,000 of the Lichess database by id.")
    out.append("Actions and Kendall's tau: validation positions of games in no training file, annotated by Stockfish 15.1 with 5,000 nodes; the paper's oracle had 0.05 s per move.")
    out.append("Our tau is tau-b, averaged over positions.")
    out += table(["model", "puzzles", "actions", "Kendall's tau"], rows)
    rows = []
    for name, show in (("co-best accuracy", share), ("regret", plain), ("value error", plain), ("value error by move", plain)):
        rows.append([name, *(show(overall(page.result(f"actions-{size}"), name)) for size, _ in MODELS)])
    out += ["", "Other metrics of the same answers (`docs/league.md` defines them):", *table(["", *(title for _, title in MODELS)], rows)]
    return [*out, *page.sources(*logs)]


def bands(page):
    """Figure 2: puzzles by rating."""
    lines, cells, names = [], {}, []
    for size, title in MODELS:
        for log, kind in ((f"puzzles-{size}", title), (f"puzzles-{size}-search", f"{title}, M = 100")):
            found = metric(page.result(log), "puzzles solved")
            names.append(kind)
            points = []
            for band in found["bands"] if found else []:
                cells[band["band"], kind] = share(band["estimate"])
                low, high = (int(end) for end in band["band"].split("-"))
                at = band["estimate"]
                points.append(((low + high + 1) / 2, 100 * at["value"], 100 * at["low"], 100 * at["high"]))
            if points:
                lines.append((kind, points))
    out = ["", "## Figure 2 of paper 002: puzzles by rating", "", "Percent solved; the paper shows its 270M model in a figure without a table."]
    order = sorted({band for band, _ in cells}, key=lambda band: int(band.split("-")[0]))
    rows = [[band, *(cells.get((band, kind), NOT_MEASURED) for kind in names)] for band in order] or [["all", *[NOT_MEASURED] * len(names)]]
    out += table(["rating", *names], rows)
    if lines:
        svg = plot("Puzzles solved by rating", "rating of the puzzle", "percent solved", lines)
        out += page.figure("puzzles", "Share of puzzles solved by rating", svg)
    return out


def connect4(page):
    rows = []
    for log, title in (("solver-9m", "9m"), ("solver-9m-search", "9m, M = 200")):
        result = page.result(log)
        kept = [share(overall(result, name)) for name in ("moves that keep the value", "the same where it could be lost")]
        rows.append([title, *kept, plain(overall(result, "mean loss in points"))])
    out = ["", "## Connect Four against the exact solver", "", "Percent of moves that keep the value of the game; no paper has these numbers."]
    return [*out, *table(["player", "all positions", "where it could be lost", "points lost per move"], rows), *page.sources("solver-9m", "solver-9m-search")]
