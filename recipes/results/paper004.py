"""The figures of paper 004: PROBS learning games by self-play."""

from figures import plot
from markdown import NOT_MEASURED, elo, table

RUNS = (
    ("probs-connect4-paper", "Connect Four, the paper's settings, seed 1"),
    ("probs-connect4-paper-2", "the same, seed 2"),
    ("probs-connect4-paper-3", "the same, seed 3"),
    ("probs-connect4-small", "Connect Four, small preset"),
    ("probs-connect4-azero", "the same by the AlphaZero-style learner"),
    ("probs-connect4-depth2", "Connect Four, small preset, depth limit 2"),
    ("probs-othello", "Othello, small preset"),
    ("probs-togyz", "Togyz Kumalak, small preset"),
)


def sections(page):
    paper = page.papers["probs"]
    agents = ", ".join(f"{name} {rating}" for name, rating in paper["agents"].items())
    out = ["", "## Figures of paper 004: PROBS", "", f"Ratings against the paper's four agents ({agents}: {paper['source']}); its figures have curves without a table."]
    out.append("In Connect Four its text says that PROBS ends above the three-ply lookahead, also with depth limit 2.")
    rows, lines = [], []
    for log, title in RUNS:
        found = (page.result(log) or {}).get("ratings", [])
        if not found:
            rows.append([title, NOT_MEASURED, "", "", "", ""])
            continue
        last, best = found[-1], max(found, key=lambda rating: rating["elo"])
        shown = [elo({"value": at["elo"], **at}) for at in (found[0], last, best)]
        rows.append([title, *shown, str(last["round"]), f"{last['evaluations'] / 1e6:.1f} M"])
        lines.append((title, [(at["round"], at["elo"], at["low"], at["high"]) for at in found]))
    out += table(["run", "at first", "at last", "best", "rounds", "evaluations"], rows)
    if lines:
        svg = plot("PROBS: rating by round", "round", "rating", [(title[:28], line) for title, line in lines])
        out += page.figure("probs", "Ratings by round of self-play", svg)
    return [*out, *page.sources(*(log for log, _ in RUNS))]
