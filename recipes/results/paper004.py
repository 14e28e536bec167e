"""The figures of paper 004: PROBS learning games by self-play."""

from figures import plot
from markdown import NOT_MEASURED, elo, table

STUDENT = {2: 12.706, 3: 4.303}
"""The 97.5 % point of Student's distribution for the mean of so many values."""
RUNS = (
    ("paper-seed1", "Connect Four, the paper's settings, seed 1"),
    ("paper-seed2", "Connect Four, the paper's settings, seed 2"),
    ("paper-seed3", "Connect Four, the paper's settings, seed 3"),
    ("connect4-probs", "Connect Four, PROBS"),
    ("connect4-azero", "Connect Four, AlphaZero-style"),
    ("othello-probs", "Othello, PROBS"),
    ("othello-azero", "Othello, AlphaZero-style"),
    ("togyz-probs", "Togyz Kumalak, PROBS"),
    ("togyz-azero", "Togyz Kumalak, AlphaZero-style"),
    ("hex7-azero", "Hex 7x7, AlphaZero-style"),
    ("hex11-azero", "Hex 11x11, AlphaZero-style"),
)


def sections(page):
    paper = page.papers["probs"]
    agents = ", ".join(f"{name} {rating}" for name, rating in paper["agents"].items())
    out = ["", "## Figures of paper 004: PROBS", "", f"Ratings of the greedy player against the paper's four agents ({agents}: {paper['source']}); its figures have curves without a table."]
    out.append("In Connect Four its text says that PROBS ends above the three-ply lookahead, also with depth limit 2.")
    out.append("In other games than Connect Four the agents' ratings are those of Connect Four, so only the slope of a curve is meaningful; ratings end where every agent is beaten.")
    rows, lines = [], {}
    for run, title in RUNS:
        found = (page.result(f"probs-{run}") or {}).get("ratings", [])
        if not found:
            rows.append([title, NOT_MEASURED, "", "", "", ""])
            continue
        last, best = found[-1], max(found, key=lambda rating: rating["elo"])
        shown = [elo({"value": at["elo"], **at}) for at in (found[0], last, best)]
        rows.append([title, *shown, str(last["round"]), f"{last['evaluations'] / 1e6:.1f} M"])
        figure = "probs-paper" if run.startswith("paper") else "probs"
        lines.setdefault(figure, []).append((title.split(", ")[-1] if figure == "probs-paper" else title, found))
    seeds = lines.get("probs-paper", [])
    rows.append(["Connect Four, the paper's settings, mean over seeds", *(mean_of_seeds(seeds)), "", ""])
    out += table(["run", "at first", "at last", "best", "rounds", "evaluations"], rows)
    for figure, shown in lines.items():
        axis = "rating by round" if figure == "probs-paper" else "rating by minutes"
        points = [(title, [(at["round"] if figure == "probs-paper" else at["seconds"] / 60, at["elo"], at["low"], at["high"]) for at in found]) for title, found in shown]
        out += page.figure(figure, f"Ratings of self-play: {axis}", plot(axis.capitalize(), axis.split()[-1], "rating", points))
    return [*out, *page.sources(*(f"probs-{run}" for run, _ in RUNS))]


def mean_of_seeds(seeds):
    """The means over seeds of the first and of the last rating that all of them have, with Student's interval, and nothing for the best."""
    if len(seeds) < 2:
        return [NOT_MEASURED, NOT_MEASURED, ""]
    rounds = sorted(set.intersection(*({at["round"] for at in found} for _, found in seeds)))
    cells = []
    for which in (rounds[0], rounds[-1]):
        values = [next(at["elo"] for at in found if at["round"] == which) for _, found in seeds]
        n, mean = len(values), sum(values) / len(values)
        half = STUDENT[n] * (sum((value - mean) ** 2 for value in values) / (n - 1) / n) ** 0.5
        cells.append(elo({"value": mean, "low": mean - half, "high": mean + half}) + f" after {which} rounds")
    return [*cells, ""]
