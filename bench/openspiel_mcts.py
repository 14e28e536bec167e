"""Simulations a second of OpenSpiel's C++ MCTS bot with random rollouts, for scale beside `cargo bench -p mavis-search`.

Run by hand: `pip install open_spiel`, then `python bench/openspiel_mcts.py [GAME ...]`.
Times are processor time of one core, from the start position of each game.
"""

import sys
import time

import pyspiel

GAMES = {
    "connect4": ("connect_four", 50_000),
    "hex": ("hex(board_size=11)", 10_000),
    "othello": ("othello", 2_000),
    "chess": ("chess", 300),
}


def simulations_per_second(name: str, simulations: int) -> float:
    game = pyspiel.load_game(name)
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=1)
    bot = pyspiel.MCTSBot(
        game,
        evaluator,
        uct_c=2.0,
        max_simulations=simulations,
        max_memory_mb=1000,
        solve=False,
        seed=1,
        verbose=False,
    )
    state = game.new_initial_state()
    begun = time.process_time()
    bot.mcts_search(state)
    return simulations / (time.process_time() - begun)


def main() -> None:
    for label in sys.argv[1:] or GAMES:
        name, simulations = GAMES[label]
        print(f"{label:10} {simulations_per_second(name, simulations):12,.0f} simulations/s")


if __name__ == "__main__":
    main()
