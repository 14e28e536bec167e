"""Plans in board games with language models.

Positions of six games, the MAV model, searches over it or over any Python callable, players, leagues, solvers and the
language that the model speaks. `docs/python.md` in the repository is the manual.

    >>> import mavis
    >>> position = mavis.Position("connect4", moves=["4", "4", "3"])
    >>> mavis.solve(position).score
    -2
"""

from mavis import lang, metrics, probs
from mavis._game import Game
from mavis._league import Standing, Standings, league
from mavis._mavis import Free, Model, Oracle, Player, Position, Scripted
from mavis._model import Evaluation, Evaluations, Generated
from mavis._oracle import MoveVerdict, Solution, SolvedMove, Verdict, solve
from mavis._player import Analysis, MoveAnalysis, PlayerKind, players
from mavis._search import MoveReport, Report, Search, SearchOption, from_state_values, search_options
from mavis._tree import Edge, Node, Tree

__all__ = [
    "Analysis",
    "Edge",
    "Evaluation",
    "Evaluations",
    "Free",
    "Game",
    "Generated",
    "Model",
    "MoveAnalysis",
    "MoveReport",
    "MoveVerdict",
    "Node",
    "Oracle",
    "Player",
    "PlayerKind",
    "Position",
    "Report",
    "Scripted",
    "Search",
    "SearchOption",
    "Solution",
    "SolvedMove",
    "Standing",
    "Standings",
    "Tree",
    "Verdict",
    "from_state_values",
    "lang",
    "league",
    "metrics",
    "players",
    "probs",
    "search_options",
    "solve",
]
