"""The six games as PettingZoo environments: `mavis.pettingzoo.env("connect4")`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from mavis._mavis import Position

AGENTS = ("first", "second")
RENDER_MODES = ("ansi", "svg")


def env(game: str = "connect4", *, text: str | None = None, render_mode: str | None = None) -> Environment:
    """An environment of a game; `text` is a position to start from."""
    return Environment(game, text=text, render_mode=render_mode)


class Environment(AECEnv):  # type: ignore[misc]
    """A game between the agents `first` and `second`.

    An observation is a dict of `observation` (`Position.planes`, seen from the side to move) and `action_mask` (over
    `Position.n_actions`, all 0 for the agent that is not to move). Rewards are 1, 0 and -1 at the end of the game. An illegal
    action ends the game, and the agent that chose it loses.
    """

    metadata = {"render_modes": list(RENDER_MODES), "name": "mavis_v0", "is_parallelizable": False}

    def __init__(self, game: str = "connect4", *, text: str | None = None, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"unknown render mode '{render_mode}' (known: ansi svg)")
        self.render_mode = render_mode
        self._start = Position(game, text)
        self.position = self._start.copy()
        """The position as it stands."""
        self.possible_agents = list(AGENTS)
        self.agents = list(AGENTS)
        planes = self._start.planes()
        self._n_actions = self._start.n_actions
        observation = gymnasium.spaces.Dict(
            {
                "observation": gymnasium.spaces.Box(-np.inf, np.inf, planes.shape, np.float32),
                "action_mask": gymnasium.spaces.Box(0, 1, (self._n_actions,), np.int8),
            }
        )
        self.observation_spaces = {agent: observation for agent in AGENTS}
        self.action_spaces = {agent: gymnasium.spaces.Discrete(self._n_actions) for agent in AGENTS}

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.position = self._start.copy()
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, self.position.is_over)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self.agent_selection: str = self.position.turn

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        mask = np.zeros(self._n_actions, dtype=np.int8)
        if agent == self.position.turn:
            mask[self.position.actions()] = 1
        return {"observation": self.position.planes(), "action_mask": mask}

    def move(self, action: int) -> str | None:
        """The move of an action here; nothing for one that is not legal."""
        found = np.flatnonzero(self.position.actions() == action)
        return self.position.legal_moves[int(found[0])] if len(found) else None

    def action(self, move: str) -> int:
        """The action of a legal move here."""
        index = self.position.legal_moves.index(self.position.parse_move(move))
        return int(self.position.actions()[index])

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        move = None if action is None else self.move(int(action))
        if move is None:
            loser = agent
            self.rewards = {other: -1.0 if other == loser else 1.0 for other in AGENTS}
            self.terminations = dict.fromkeys(AGENTS, True)
            self.infos[agent] = {"illegal_action": action}
        else:
            self.position.push(move)
            if self.position.is_over:
                winner = self.position.winner
                self.rewards = {
                    other: 0.0 if winner is None else 1.0 if other == winner else -1.0 for other in AGENTS
                }
                self.terminations = dict.fromkeys(AGENTS, True)
        # In Othello a player without a move passes by a move of its own, so the other agent is always next.
        self.agent_selection = AGENTS[1] if agent == AGENTS[0] else AGENTS[0]
        self._accumulate_rewards()

    def render(self) -> str | None:
        if self.render_mode is None:
            return None
        return self.position._repr_svg_() if self.render_mode == "svg" else str(self.position)

    def close(self) -> None:
        """Nothing to close."""
