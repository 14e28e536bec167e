"""Adapters against the real packages."""

from __future__ import annotations

import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python.bots import uniform_random
from pettingzoo.test import api_test

import mavis
from mavis import openspiel, pettingzoo


@pytest.mark.parametrize("game", ["connect4", "othello", "togyz", "hex:size=4", "chess"])
def test_pettingzoo_accepts_the_environments(game: str) -> None:
    api_test(pettingzoo.env(game), num_cycles=200)


def test_a_search_plays_in_pettingzoo() -> None:
    environment = pettingzoo.env("connect4", render_mode="ansi")
    search = mavis.Search(mavis.Free(), sims=200)
    rng = random.Random(2)
    rewards = {"first": 0.0, "second": 0.0}
    for _ in range(4):
        environment.reset()
        for agent in environment.agent_iter():
            observation, reward, over, cut, _ = environment.last()
            if over or cut:
                rewards[agent] += reward
                environment.step(None)
            elif agent == "first":
                environment.step(environment.action(search(environment.position)))
            else:
                legal = np.flatnonzero(observation["action_mask"])
                assert len(legal) == environment.position.n_legal_moves
                environment.step(int(rng.choice(legal)))
    assert rewards["first"] == 4.0 == -rewards["second"]
    assert "1 2 3 4 5 6 7" in (environment.render() or "")


def test_an_illegal_action_loses() -> None:
    environment = pettingzoo.env("othello")
    environment.reset()
    assert environment.move(0) is None
    environment.step(0)
    assert environment.terminations["first"] and environment.rewards == {"first": -1.0, "second": 1.0}


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("connect_four", "mcts:sims=200"),
        ("hex(board_size=5)", "mcts:sims=200"),
        ("othello", "lookahead:2"),
        ("chess", "lookahead:1"),
    ],
)
def test_a_player_is_a_bot_of_openspiel(name: str, spec: str) -> None:
    game = pyspiel.load_game(name)
    points = 0.0
    n_games = 1 if name == "chess" else 4
    for number in range(n_games):
        bot = openspiel.MavisBot(game, mavis.Player(spec, seed=number), number % 2)
        bots = [bot, uniform_random.UniformRandomBot(1 - number % 2, np.random.RandomState(number))]
        if number % 2:
            bots.reverse()
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(bots[state.current_player()].step(state))
        assert openspiel.returns_of(openspiel.position_of(state)).tolist() == state.returns()
        points += state.returns()[number % 2]
    if name != "chess":
        assert points >= 2
    policy, action = openspiel.MavisBot(game, mavis.Player("random")).step_with_policy(game.new_initial_state())
    assert dict(policy)[action] == 1.0


def test_openspiels_own_loop_takes_the_bot() -> None:
    game = pyspiel.load_game("connect_four")
    ours = openspiel.MavisBot(game, mavis.Search(mavis.Free(), sims=300))
    theirs = pyspiel.make_uniform_random_bot(1, 7)
    returns = pyspiel.evaluate_bots(game.new_initial_state(), [ours, theirs], 3)
    assert list(returns) == [1.0, -1.0]


def test_games_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="no game of Mavis is tic_tac_toe"):
        openspiel.position_of(pyspiel.load_game("tic_tac_toe").new_initial_state())
