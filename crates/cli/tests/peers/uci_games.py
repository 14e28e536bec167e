"""Plays games against `mavis uci` under a clock of 1 s + 10 ms and reports what went wrong, as one JSON object.

Usage: uci_games.py MAVIS PLAYER N_GAMES. Needs the Python package chess. The opponent moves at random and at once, so games
are long and every kind of move comes up. Both kinds of chess are played in turn, both colors too.
"""

import json
import random
import sys
import time

import chess
import chess.engine

program, player, n_games = sys.argv[1], sys.argv[2], int(sys.argv[3])
BASE, INCREMENT = 1.0, 0.01
draw = random.Random(1)
report = {"games": 0, "finished": 0, "moves": 0, "lost_on_time": 0, "least_left": BASE, "errors": [], "results": {}}

engine = chess.engine.SimpleEngine.popen_uci([program, "uci", "--player", player], timeout=60)
for number in range(n_games):
    report["games"] += 1
    board = chess.Board.from_chess960_pos(draw.randrange(960)) if number % 4 >= 2 else chess.Board()
    ours = chess.WHITE if number % 2 == 0 else chess.BLACK
    clock = {chess.WHITE: BASE, chess.BLACK: BASE}
    try:
        while not board.is_game_over(claim_draw=True) and board.ply() < 200:
            side = board.turn
            if side == ours:
                limit = chess.engine.Limit(
                    white_clock=clock[chess.WHITE],
                    black_clock=clock[chess.BLACK],
                    white_inc=INCREMENT,
                    black_inc=INCREMENT,
                )
                began = time.monotonic()
                move = engine.play(board, limit, game=number).move
                clock[side] -= time.monotonic() - began
                report["moves"] += 1
                report["least_left"] = min(report["least_left"], clock[side])
                if clock[side] < 0:
                    report["lost_on_time"] += 1
                    break
                clock[side] += INCREMENT
            else:
                move = draw.choice(list(board.legal_moves))
            board.push(move)
        else:
            result = board.result(claim_draw=True)
            won = {"1-0": chess.WHITE, "0-1": chess.BLACK}.get(result)
            name = "unfinished" if result == "*" else "drawn" if won is None else "won" if won == ours else "lost"
            report["results"][name] = report["results"].get(name, 0) + 1
            report["finished"] += 1
    except chess.engine.EngineError as error:
        report["errors"].append(f"game {number + 1}: {error}")
        if isinstance(error, chess.engine.EngineTerminatedError):
            break
try:
    engine.quit()
except chess.engine.EngineError as error:
    report["errors"].append(f"quit: {error}")
print(json.dumps(report))
