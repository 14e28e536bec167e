"""Tables 1 and 2 and figure 2 of paper 002: models without search on puzzles, actions and rankings."""

from figures import plot
from markdown import NOT_MEASURED, metric, overall, plain, share, table, wilson

MODELS = (("9m", "9m"), ("30m", "30m"))
# Row of the paper, run of recipes/predictors.sh.
PREDICTORS = (
    ("target", (("AV", "av"), ("SV", "sv"), ("BC", "bc"))),
    ("bins of SV", (("16 bins", "bins16"), ("32 bins", "bins32"), ("64 bins", "bins64"), ("128 bins", "bins128"), ("256 bins", "bins256"))),
    ("loss of SV", (("log loss", "bins128"), ("L2 loss", "l2"))),
)


def sections(page):
    return [*table1(page), *table2(page), *bands(page), *connect4(page)]


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


def table2(page):
    paper = page.papers["predictors"]
    rows, logs = [], []
    for group, members in PREDICTORS:
        for title, run in members:
            found = page.result(f"predictor-{run}")
            puzzles, actions, tau = measured(page, run)
            seen = [f"{found['samples'] / 1e6:.1f} M", f"{found['seconds'] / 60:.1f}"] if found else [NOT_MEASURED, ""]
            theirs = paper["rows"][title]
            rows.append([group, title, share(puzzles), share(actions), plain(tau), *seen, f"{theirs[0]:.1f}", f"{theirs[1]:.1f}", f"{theirs[2]:.3f}"])
            # Only the targets are measured by their files too.
            names = [f"predictor-{run}", f"puzzles-{run}", f"actions-{run}"] if group == "target" else [f"predictor-{run}"]
            logs += [name for name in names if name not in logs]
    out = ["", "## Table 2 of paper 002: targets, bins and loss", ""]
    out.append(f"Puzzles and actions in percent; the paper: {paper['source']}, {paper['note']}.")
    out.append("All are the paper's 9M network; ours were trained by `recipes/predictors.sh` on the same 3.1 million positions, annotated by Stockfish 15.1 with 5,000 nodes.")
    out.append("Our bins and losses are of SV, which learns fastest in so short a time; each has the same samples in the same order, and the run of 128 bins is that of the log loss.")
    out.append("Puzzles and validation positions are those of table 1; tau is tau-b, and without an interval where it was measured in training.")
    header = ["", "", "puzzles", "actions", "Kendall's tau", "samples seen", "minutes", "paper, puzzles", "paper, actions", "paper, tau"]
    return [*out, *table(header, rows), *page.sources(*logs)]


def measured(page, run):
    """Puzzles, actions and tau of a predictor: by its file where that was measured, else at the end of its training."""
    at_end = page.result(f"predictor-{run}")
    kept = lambda key, n: wilson(at_end[key], at_end[n]) if at_end else None
    tau = {key: at_end["tau"] for key in ("value", "low", "high")} if at_end else None
    actions = page.result(f"actions-{run}")
    return (
        overall(page.result(f"puzzles-{run}"), "puzzles solved") or kept("puzzles", "n_puzzles"),
        overall(actions, "action accuracy") or kept("actions", "positions"),
        overall(actions, "Kendall's tau-b") or tau,
    )


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
