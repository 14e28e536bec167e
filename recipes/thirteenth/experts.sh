#!/usr/bin/env bash
# One round of expert iteration, its first half: games of mav-mcts over the bundled weights, by the clock, with the value of every move as the search left it,
# in x/ (docs/learning.md, Expert iteration).
#   recipes/thirteenth/experts.sh SECONDS
# Shards are whole as soon as they are there, and a second call resumes. What a run gets depends on the machine: 95 seconds of one H200 and 16 cores, which labelled chess beside it, made
# 256 games of Hex, 304 of Togyz Kumalak and 896 of Connect Four, some 64,000 positions.
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} device=${DEVICE:-cuda} seconds=$1
mkdir -p x
pids=()
while read -r name jobs sims arguments; do
    # shellcheck disable=SC2086
    timeout -s INT "$seconds" "$mavis" data selfplay $arguments --oracle "player:{mav-mcts:sims=$sims,batch=16,device=$device,model=models/mavis-9m.safetensors}" \
        --seed "${SEED:-131}" -n 1000000 --jobs "$jobs" --out "x/$name" >"x/$name.log" 2>&1 </dev/null &
    pids+=($!)
done <<JOBS
hex      48 200 --game hex --epsilon 0.15 --random-plies 2 --shard-size 32
togyz    48 200 --game togyz --epsilon 0.15 --random-plies 4 --shard-size 16
connect4 24 400 --game connect4 --epsilon 0.5 --random-plies 3 --shard-size 64
JOBS
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
wait
for folder in x/*/annotations; do
    echo "$(dirname "${folder#x/}"): $(find "$folder" -name '*.parquet' | wc -l) shards"
done
