#!/usr/bin/env bash
# Makes positions of the small games for recipes/tenth/1.toml, by the clock: self-play of our oracles as in recipes/small_games.sh, with fewer nodes for
# each position, so that there are more of them. What a run gets depends on the machine.
#   SEED=71 GEN=g recipes/tenth/positions.sh SECONDS [PROCESSES=9]      (at least one for each of the nine jobs)
# Shards are whole as soon as they are there, and a second call resumes. All shards of a game together are p/NAME:
#   for f in g*/*/annotations/*.parquet; do d=p/$(basename "${f%/annotations/*}"); mkdir -p "$d"; ln -f "$f" "$d/${f%%/*}-${f##*/}"; done
# v/NAME, to measure on, are games of SEED=79 with GEN=w, linked the same way (Hex with 6,000 and 3,000 playouts); v/connect4_8 is connect4_8 of
# recipes/small_games.sh with SEED=79.
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} gen=${GEN:-g} seed=${SEED:-71}
seconds=$1 processes=${2:-9}
mkdir -p "$gen"
pids=()
# name, processes out of nine, arguments
while read -r name share arguments; do
    n=$(((share * processes + 4) / 9))
    [ "$n" -ge 1 ] || n=1
    # shellcheck disable=SC2086
    timeout -s INT "$seconds" "$mavis" data selfplay $arguments --seed "$seed" -n 1000000 --jobs "$n" --out "$gen/$name" \
        >"$gen/$name.log" 2>&1 </dev/null &
    pids+=($!)
done <<JOBS
othello     2 --game othello --oracle othello:nodes=8000,exact_from=12,depth=8 --shard-size 10
togyz       1 --game togyz --oracle togyz:nodes=6000 --shard-size 8
hex         3 --game hex --oracle hex:playouts=2500,solver_nodes=0 --shard-size 2
connect4_11 1 --game connect4 --epsilon 0.8 --random-plies 11 --shard-size 20
connect4_14 1 --game connect4 --epsilon 1.0 --random-plies 14 --shard-size 100
hex6        0 --game hex:size=6 --oracle hex:playouts=2000,solver_nodes=0 --epsilon 0.2 --shard-size 10
hex7        0 --game hex:size=7 --oracle hex:playouts=2000,solver_nodes=0 --epsilon 0.2 --shard-size 10
hex8        0 --game hex:size=8 --oracle hex:playouts=2000,solver_nodes=0 --epsilon 0.2 --shard-size 4
hex9        0 --game hex:size=9 --oracle hex:playouts=2000,solver_nodes=0 --epsilon 0.2 --shard-size 4
JOBS
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
wait
for folder in "$gen"/*/annotations; do
    echo "$(dirname "${folder#"$gen"/}"): $(find "$folder" -name '*.parquet' | wc -l) shards"
done
