#!/usr/bin/env bash
# Algorithm 4 as printed against batch=1 in chess: a sequential test of -30 Elo against 0 for each batch, at most 400 games (docs/search.md, for the fourth stage).
#   recipes/virtual-chess-sprt.sh OUT
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} out=$1
mkdir -p "$out"
pids=()
for batch in 4 16 64; do
    "$mavis" match "mav-mcts:sims=128,batch=$batch,virtual=dynamic,virtual_value=draw,collision=wait,device=cuda" mav-mcts:sims=128,batch=1,device=cuda \
        --book table4 --games 400 --concurrency 48 --sprt --elo0=-30 --elo1 0 --out "$out/$batch" --json >"$out/$batch.json" &
    pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
