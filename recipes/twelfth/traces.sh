#!/usr/bin/env bash
# Makes the traces of recipes/twelfth/1.toml in traces/, half a minute of one H200: chess labelled by a larger model of chess alone, the rest by the
# weights that the training starts from.
#   recipes/twelfth/traces.sh 30M-CHESS.safetensors ELEVENTH.safetensors
# Needs data/, p/ (recipes/tenth/positions.sh) and roots/ (recipes/tenth/roots.sh).
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} device=${DEVICE:-cuda}
large=$1 small=$2
mkdir -p traces
usual=(--per-root 3 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3)
deep=(--per-root 2 --compact 0.9 --top 5 --sizes 2x2,3x2,4x2)
pids=()
make() {
    local name=$1 roots=$2 model=$3
    shift 3
    "$mavis" data traces "$@" --roots "$roots" --model "$model" --device "$device" --breadth-first 0.1 --seed 111 --shard-size 512 \
        --out "traces/$name" &
    pids+=($!)
}
make chess 8000 "$large" data/chess_000 data/chess_010 "${usual[@]}"
make chess2 7000 "$large" data/chess_001 data/chess_011 "${deep[@]}"
make chessr 9000 "$large" roots/chess.parquet --per-root 3 --compact 0.8 --top "5,5,all" --sizes 3x1,4x1,2x2,3x2,4x2
make chess960 2500 "$large" data/chess960_000 roots/chess960.parquet "${usual[@]}"
make c4early 8000 "$small" roots/c4early.parquet "${usual[@]}"
make c4late 6000 "$small" roots/c4late.parquet "${usual[@]}"
make othello 8000 "$small" p/othello roots/othello.parquet "${usual[@]}"
make hex 6000 "$small" p/hex{6,7,8,9} roots/hex{5,6,7,8,9}.parquet "${usual[@]}"
make hex11 7000 "$small" p/hex roots/hex11.parquet "${deep[@]}"
make togyz 12000 "$small" p/togyz roots/togyz.parquet "${usual[@]}"
make empty 1500 "$small" roots/empty_*.parquet --per-root 4 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
