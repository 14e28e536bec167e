#!/usr/bin/env bash
# Makes the positions of the small games that recipes/second.toml, third.toml and sixth/ learn from, in gen/, by the clock:
#   recipes/small_games.sh [SECONDS=540] [CORES=9]     (GEN: another folder, SEED: other games)
# Each job is self-play of one of our own oracles, in small shards that are whole as soon as they are there, and a second
# call resumes. Few positions are learned by heart (docs/learning.md): make hundreds of thousands before training. What a run gets depends on the machine; counts are printed at the end.
set -uo pipefail
mavis=${MAVIS:-target/release/mavis}
seconds=${1:-540} cores=${2:-9}
gen=${GEN:-gen}
mkdir -p "$gen"
# name, share of the cores in ninths, arguments. Hex has the noisiest values and the most moves, so it gets most of the time.
# Connect Four is solved exactly: cheap from 16 stones on, dear from 8, and openings matter.
jobs() {
    cat <<JOBS
hex        5 --game hex --oracle hex:playouts=6000,solver_nodes=0 --shard-size 4
othello    2 --game othello --oracle othello:nodes=20000,exact_from=14,depth=8 --shard-size 20
togyz      1 --game togyz --oracle togyz:nodes=15000 --shard-size 10
connect4_8 1 --game connect4 --epsilon 0.7 --random-plies 8 --shard-size 5
connect4_11 0 --game connect4 --epsilon 0.8 --random-plies 11 --shard-size 20
connect4_14 0 --game connect4 --epsilon 1.0 --random-plies 14 --shard-size 100
hex6       0 --game hex:size=6 --oracle hex:playouts=3000,solver_nodes=0 --epsilon 0.2 --shard-size 20
hex7       0 --game hex:size=7 --oracle hex:playouts=3000,solver_nodes=0 --epsilon 0.2 --shard-size 20
hex8       0 --game hex:size=8 --oracle hex:playouts=3000,solver_nodes=0 --epsilon 0.2 --shard-size 20
hex9       0 --game hex:size=9 --oracle hex:playouts=3000,solver_nodes=0 --epsilon 0.2 --shard-size 20
JOBS
}
pids=()
while read -r name ninths arguments; do
    n=$((ninths * cores / 9))
    [ "$n" -ge 1 ] || n=1
    # shellcheck disable=SC2086
    timeout "$seconds" "$mavis" data selfplay $arguments --seed "${SEED:-7}" -n 1000000 --jobs "$n" --out "$gen/$name" \
        >"$gen/$name.log" 2>&1 </dev/null &
    pids+=($!)
done < <(jobs)
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
wait
for folder in "$gen"/*/annotations; do
    echo "$(dirname "${folder#"$gen"/}"): $(find "$folder" -name '*.parquet' | wc -l) shards"
done
