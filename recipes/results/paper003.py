"""The tables of paper 003: MPC-MC over engines."""

from markdown import NOT_MEASURED, table, wilson

SETS = (
    ("mpc-two-engines", "two engines", "Two engines: Stockfish evaluates, Toga is nominal and true opponent", "The paper's engines are Stockfish and Komodo Dragon"),
    ("mpc", "one engine", "One engine: Stockfish is evaluator, nominal and true opponent", "The paper's engine is Stockfish"),
    ("mpc-predictor", None, "A predictor as evaluator: SV evaluates, BC is the nominal and SV the true opponent", "It is not among the tables of the paper"),
    ("mpc-predictor-opponent", None, "A predictor as opponent: Stockfish evaluates, BC is the nominal and Stockfish the true opponent", "It is not among the tables of the paper"),
)


def sections(page):
    paper = page.papers["mpc"]
    out = ["", "## Tables of paper 003: MPC-MC over engines", "", f"Points of MPC-MC against the engine, percent with the interval over opening pairs; the paper: {paper['source']}, by its limit of time per call."]
    out.append("Limits of our calls are in the recipes.")
    for log, key, title, note in SETS:
        result = page.result(log)
        ours = {name(cell): cell for cell in (result["cells"] if result else [])}
        theirs = paper.get(key, {})
        known = sorted({*ours, *(kind for column in theirs.values() for kind in column)})
        rows = []
        for kind in known:
            steps, against, player = kind.split()
            rows.append([steps, against, player, points(ours.get(kind)), *(column.get(kind, "") for column in theirs.values())])
        rows = rows or [["all", "", "", NOT_MEASURED]]
        out += ["", f"### {title}", "", f"{note}."]
        if log == "mpc-two-engines":
            rows.append(["none", "stochastic", "Stockfish alone", alone(page.result("mpc-two-engines-alone")), "", "", ""])
        out += table(["steps", "opponent", "player", "ours", *(f"paper, {limit}" for limit in theirs)], rows)
        out += page.sources(log, *(["mpc-two-engines-alone"] if log == "mpc-two-engines" else []))
    return out


def alone(result):
    """The evaluator's own points against the opponent, in the words of a cell."""
    if result is None:
        return NOT_MEASURED
    player = next(player for player in result["players"] if player["name"] == "Stockfish")
    share = wilson(player["score"], player["games"])
    cell = {"wins": player["wins"], "draws": player["draws"], "losses": player["losses"], "share": [share["value"], share["low"], share["high"]]}
    return points(cell)


def name(cell):
    steps = cell["steps"].replace("half", "1/2")
    return f"{steps} {cell['against']} {'fortified' if cell['fortified'] else 'standard'}"


def points(cell):
    """Points won and lost, the share of them and its interval."""
    if cell is None or cell["share"] is None:
        return NOT_MEASURED
    won = cell["wins"] + cell["draws"] / 2
    lost = cell["losses"] + cell["draws"] / 2
    value, low, high = (100 * part for part in cell["share"])
    return f"{won:g}-{lost:g}: {value:.1f} % ({low:.1f} to {high:.1f})"
