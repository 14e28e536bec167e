"""Tables 2 and 3 and figures 7, 8 and 10 of paper 001."""

import math
import re

from figures import plot
from markdown import NOT_MEASURED, elo, overall, plain, players, share, table

GAMES = (("chess", "chess"), ("chess960", "Chess960"), ("connect4", "Connect Four"), ("hex", "Hex 11x11"))
INTERNAL = (("chess", "chess"), ("connect4", "Connect Four"), ("othello", "Othello"), ("hex5", "Hex 5x5"), ("hex", "Hex 7x7"), ("hex9", "Hex 9x9"), ("hex11", "Hex 11x11"))
SIZES = ("(2,1)", "(3,1)", "(4,1)", "(2,2)", "(3,2)", "(4,2)")
# Connect Four (2,2) has a match of its own, so its gauntlet is without it.
AGAINST_NONE = (
    ("internal-goal-chess", "chess", ("(4,2)",)),
    ("internal-goal-connect4", "Connect Four", ("(2,2)",)),
    ("internal-pairs-connect4", "Connect Four", tuple(size for size in SIZES if size != "(2,2)")),
    ("internal-pairs-hex5", "Hex 5x5", SIZES),
)
AGAINST_EACH_OTHER = (("connect4", "Connect Four"), ("hex5", "Hex 5x5"))


def sections(page):
    return [*table2(page), *simulations(page), *reuse(page), *scoring(page), *sizes(page), *table3(page), *internal(page), *seen(page)]


def table2(page):
    paper = page.papers["table2"]
    out = ["## Table 2 of paper 001: strength of players", "", f"The paper's numbers: {paper['source']}, {paper['note']}."]
    out.append("Ours: Elo with MCTS of 100 rollouts at 0; our Stockfish levels play with 10,000 nodes per move.")
    out.append("External Elo is a straight line fitted to the levels' ratings in the paper's table, a scale to read the table by.")
    for game, title in GAMES:
        ours = players(page.result(f"table2-{game}"))
        theirs = paper[game]
        # By our rating; below them what only the paper has, by its own.
        names = sorted(ours, key=lambda name: (-ours[name]["elo"]["value"], name))
        names += sorted((name for name in theirs if name not in ours), key=lambda name: (-theirs[name][0], name))
        has_external = game == "chess"
        rows = []
        for name in names:
            player = ours.get(name)
            row = [name, elo(player and player["elo"])]
            if has_external:
                row.append(external(player))
            row += [str(player["games"]), f"{100 * player['score']:.1f} %"] if player else ["", ""]
            rows.append(row + [str(value) for value in theirs.get(name, [])] + ["", ""][: 1 + has_external - len(theirs.get(name, []))])
        middle = ["external"] if has_external else []
        last = ["paper", "paper, external"] if has_external else ["paper"]
        out += ["", f"### {title[0].upper()}{title[1:]}"]
        out += table(["player", "Elo", *middle, "games", "score", *last], rows)
        out += page.sources(f"table2-{game}")
    return out


def external(player):
    if player is None:
        return NOT_MEASURED
    found = player["external"]
    return "" if found is None else elo(found) if isinstance(found, dict) else f"{found:.0f}"


def simulations(page):
    """Figure 7a: Elo by simulations."""
    out = ["", "## Figure 7a of paper 001: Elo by simulations"]
    lines, names = [], []
    for game, title in GAMES:
        names.append(f"table2-{game}")
        ours = players(page.result(f"table2-{game}"))
        found = by_simulations({name: player["elo"] for name, player in ours.items()})
        if found:
            lines.append((f"{title}, ours", found))
    if not lines:
        return [*out, "", f"{NOT_MEASURED.capitalize()}."]
    paper = page.papers["table2"]["chess"]
    lines.append(("chess, the paper's", by_simulations({name: {"value": at[0], "low": None, "high": None} for name, at in paper.items()})))
    svg = plot("Elo by simulations (1: the model without search)", "simulations per move", "Elo above MCTS", lines, logarithmic=True)
    return [*out, *page.figure("simulations", "Elo by simulations per move, ours and the paper's", svg), "", "Numbers and sources: the tables above."]


def by_simulations(ratings):
    """Points of a curve: mean scoring without search stands at one simulation."""
    points = []
    for name, estimate in ratings.items():
        found = re.fullmatch(r"MAV-MCTS \(M = (\d+)\)", name)
        if found or name == "MAV (mean scoring)":
            points.append((int(found[1]) if found else 1, estimate["value"], estimate["low"], estimate["high"]))
    return sorted(points) if len(points) > 1 else []


def reuse(page):
    paper = page.papers["reuse"]
    rows = []
    for game, title in GAMES:
        counts = (page.result(f"table2-{game}") or {}).get("counts", {})
        names = [name for name in counts if name.startswith("MAV-MCTS")]
        beside = f"{paper['low']} to {paper['high']} %" if game == "chess" else ""
        if not names:
            rows.append([title, "MAV-MCTS", NOT_MEASURED, "", beside])
        for name in sorted(names, key=lambda name: int(re.search(r"\d+", name)[0])):
            rows.append([title, name, share(share_kept(counts[name])), str(counts[name]["moves"]), beside])
    out = ["", "## Calls saved by tree reuse", "", f"The share of simulations kept from the tree of the move before, in percent; the paper: {paper['source']}."]
    return [*out, *table(["game", "player", "saved, %", "moves", "paper"], rows), "", "Sources: the tables above."]


def share_kept(sums):
    """Kept simulations among all, a ratio of sums over games: the interval is that of a ratio estimator with games as units."""
    calls = sums["made"] + sums["kept"]
    ratio = sums["kept"] / calls if calls else 0.0
    spread = sums["kept_kept"] - 2 * ratio * sums["kept_calls"] + ratio**2 * sums["calls_calls"]
    n = sums["games"]
    half = 1.96 * math.sqrt(max(0.0, spread) * n / (n - 1)) / calls if n > 1 and calls else 1.0
    return {"value": ratio, "low": max(0.0, ratio - half), "high": min(1.0, ratio + half)}


def scoring(page):
    """Figure 10: mean against max scoring."""
    paper = page.papers["scoring"]
    ours = players(page.result("scoring"))
    rows, lines = [], {"mean": [], "max": []}
    for sims in (100, 250, 500):
        cells = []
        for kind in ("mean", "max"):
            player = ours.get(f"{kind}, M = {sims}")
            cells.append(elo(player and player["elo"]))
            if player:
                at = player["elo"]
                lines[kind].append((sims, at["value"], at["low"], at["high"]))
        rows.append([str(sims), *cells, f"mean {paper['low']} to {paper['high']} above max"])
    out = ["", "## Figure 10 of paper 001: mean and max scoring in the search", "", f"Elo with max scoring at M = 100 at 0; the paper: {paper['source']}."]
    out += [*table(["simulations", "mean", "max", "paper"], rows), *page.sources("scoring")]
    if lines["mean"] and lines["max"]:
        svg = plot("Mean and max scoring", "simulations per move", "Elo", list(lines.items()), logarithmic=True)
        out += page.figure("scoring", "Elo of mean and max scoring by simulations", svg)
    result = page.result("scoring-9m")
    rows = []
    for name, show in (("action accuracy", share), ("co-best accuracy", share), ("regret", plain)):
        rows.append([name, *(show(overall(result, f"{name}, {kind}")) for kind in ("mean scoring", "max scoring", "gain of mean scoring"))])
    out += ["", "Without search, the same answers read both ways (shares in percent):"]
    return [*out, *table(["", "mean", "max", "gain of mean"], rows), *page.sources("scoring-9m")]


def sizes(page):
    ours = players(page.result("sizes"))
    rows = []
    for name in ("9m", "30m", "9m, M = 100", "30m, M = 100", "9m, M = 400", "30m, M = 400", "Stockfish-L0", "Stockfish-L5", "Stockfish-L10"):
        player = ours.get(name)
        more = [str(player["games"]), f"{100 * player['score']:.1f} %", f"{1000 * player['seconds']:.0f}"] if player else ["", "", ""]
        rows.append([name, elo(player and player["elo"]), external(player), *more])
    out = ["", "## Two sizes", "", "Chess, Elo with the 9m model without search at 0; the paper's two sizes are in its table 2 above."]
    return [*out, *table(["player", "Elo", "external", "games", "score", "ms per move"], rows), *page.sources("sizes")]


def table3(page):
    paper = page.papers["table3"]
    logs = ["legality-fen-9m", "legality-fen-30m", "legality-9m", "legality-30m"]
    names = ["%best_action legal", "%top_all precision", "%top_all recall", "%top_all F1 score", "%top_all whole set right"]
    names += ["state after %best_action right", "state after a given move right"]
    out = ["", "## Table 3 of paper 001: errors of the model", "", f"The paper: {paper['source']}, in FEN form."]
    out.append("The paper's last row is the state after a move, which we ask for in two ways.")
    for key, title, at in (("puzzles", "Lichess puzzles", 0), ("ood", "Random boards (out of distribution)", 1)):
        rows = []
        for name in names:
            cells = []
            for log in logs:
                result = page.result(log)
                cells.append(plain(overall(result and result["sets"][at], name)))
            value = paper[key].get("updated state correct" if name.startswith("state") else name)
            rows.append([f"`{name}`" if name.startswith("%") else name, *cells, "" if value is None else f"{value:.3f}"])
        out += ["", f"### {title}"]
        out += table(["", "9m, FEN", "30m, FEN", "9m, `%state`", "30m, `%state`", "paper"], rows)
    return [*out, *page.sources(*logs)]


def internal(page):
    """Figure 7b: strength by tokens of internal search."""
    out = ["", "## Figure 7b of paper 001: strength by tokens of internal search", "", "The model writes a minimax search of a breadth and depth as text; `none` is the model without search."]
    out.append("The paper shows external Elo rising with the tokens in a figure without a table.")
    lines = []
    for game, title in INTERNAL:
        ours = players(page.result(f"internal-{game}"))
        rows = []
        engines = [name for name in ours if name.startswith("Stockfish")]
        for name in ("none", *SIZES, "MCTS 4", "MCTS 16", "MCTS 64", *engines):
            # A league may be played without some of its players.
            if player := ours.get(name):
                tokens = f"{player['tokens']:.0f}" if "tokens" in player else ""
                rows.append([name, elo(player["elo"]), tokens, str(player["games"])])
        rows = rows if ours else [["all", NOT_MEASURED, "", ""]]
        out += ["", f"### {title[0].upper()}{title[1:]}", *table(["player", "Elo", "tokens per move", "games"], rows), *page.sources(f"internal-{game}")]
        points = sorted((p["tokens"], p["elo"]["value"], p["elo"]["low"], p["elo"]["high"]) for p in ours.values() if "tokens" in p)
        if points:
            lines.append((title, points))
    out += ["", "### Each size against the model without search", "", "No search is at 0; more games for each pair of players than in the leagues above, so narrower intervals."]
    rows, logs = [], []
    for log, title, sizes in AGAINST_NONE:
        ours = players(page.result(log))
        for size in sizes:
            player = ours.get(size)
            more = [f"{player['tokens']:.0f}", str(player["games"])] if player else ["", ""]
            rows.append([title, size, elo(player and player["elo"]), *more])
        logs.append(log)
    out += [*table(["game", "player", "Elo", "tokens per move", "games"], rows), *page.sources(*logs)]
    for game, title in AGAINST_EACH_OTHER:
        out += each_other(page, f"internal-sizes-{game}", title)
    if lines:
        svg = plot("Elo by tokens of internal search (no search: 0)", "tokens per move", "Elo", lines, logarithmic=True)
        out += page.figure("internal", "Elo of internal search by tokens per move", svg)
    return out


def each_other(page, log, title):
    """A league of sizes alone: the points that each scores against each other."""
    out = ["", f"### Sizes against each other: {title}", "", "Points of the row's player in percent, and its Elo with (2,1) at 0."]
    result = page.result(log)
    if result is None:
        return [*out, *page.sources(log)]
    order = sorted(range(len(result["players"])), key=lambda idx: result["players"][idx]["name"].strip("()").split(",")[::-1])
    names = [result["players"][idx]["name"] for idx in order]
    rows = []
    for name, row in zip(names, order):
        games = [result["cross"][row][column] for column in order]
        cells = [f"{100 * (wins + draws / 2) / (wins + draws + losses):.1f}" if wins + draws + losses else "" for wins, draws, losses in games]
        player = result["players"][row]
        rows.append([name, *cells, elo(player["elo"]), f"{player['tokens']:.0f}", str(player["games"])])
    return [*out, *table(["", *names, "Elo", "tokens per move", "games"], rows), *page.sources(log)]


def seen(page):
    """Figure 8: positions of games that are in the training data."""
    paper = page.papers["seen"]
    result = page.result("seen")
    found = None if result is None else result["metrics"][0]
    out = ["", "## Figure 8 of paper 001: positions seen in training", "", f"The paper: {paper['source']}: {paper['all']} % of all positions, {paper['middle']}."]
    rows = [["all moves", share(found and found["overall"]), str(found["n"]) if found else "", f"{paper['all']} %"]]
    rows += [[f"moves {band['band']}", share(band["estimate"]), str(band["n"]), ""] for band in (found["bands"] if found else [])]
    out += [*table(["", "seen, %", "positions", "paper"], rows), "", "The games are those of `table2-chess`, with its weights.", *page.sources("seen")]
    if found:
        points = [(sum(map(int, band["band"].split("-"))) / 2, *(100 * band["estimate"][key] for key in ("value", "low", "high"))) for band in found["bands"]]
        svg = plot("Positions of games that were trained on", "move number", "percent seen", [("MAV (mean scoring)", points)])
        out += page.figure("seen", "Share of positions seen in training by move number", svg)
    return out
