#!/usr/bin/env bash
# Makes the positions of the small games that recipes/first.toml learns from, in gen/.
# It is close to what the published run had, not the same: there each job was stopped after some 200 seconds on four cores,
# and the Connect Four positions were drawn at random outside the program and annotated by `mavis data annotate`.
# This script as a whole has not been run yet; its commands for Othello, Togyz Kumalak and Hex have.
set -euo pipefail
mavis=${MAVIS:-target/release/mavis}
mkdir -p gen
# Connect Four: random games to 16 stones and more, judged exactly.
"$mavis" data selfplay --game connect4 --epsilon 1.0 --random-plies 16 -n 20000 --out gen/connect4_games
"$mavis" data split gen/connect4_games/annotations/*.parquet --train gen/connect4.train.parquet --valid gen/connect4.valid.parquet --share 0.02
"$mavis" data selfplay --game othello --oracle othello:nodes=15000,exact_from=12,depth=8 -n 4000 --shard-size 100 --out gen/othello
"$mavis" data selfplay --game togyz --oracle togyz:nodes=10000 -n 3000 --shard-size 50 --out gen/togyz
"$mavis" data selfplay --game hex --oracle hex:playouts=4000,nodes=0 -n 2000 --shard-size 20 --out gen/hex
for game in othello togyz hex; do
    "$mavis" data split gen/$game/annotations/*.parquet --train gen/$game.train.parquet --valid gen/$game.valid.parquet --share 0.02
done
