#!/usr/bin/env bash
# Makes the traces of recipes/sixth/search.toml in traces/, with the model of the third stage as oracle, on a GPU: 22 seconds on one H200.
#   recipes/sixth/traces.sh THIRD-STAGE.safetensors [DEVICE=cuda]
# c4pos.parquet, which this does not make, holds 40,000 different Connect Four positions of random play from 1 to 26 stones (lines of columns,
# mavis data import --format connect4), so that the model learns to search from the opening on.
set -euo pipefail
mavis=${MAVIS:-target/release/mavis}
model=$1 device=${2:-cuda}
mkdir -p traces
make() {
    local name=$1 roots=$2
    shift 2
    "$mavis" data traces "$@" --roots "$roots" --model "$model" --device "$device" --per-root 3 --compact 0.7 --top 5,all \
        --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3 --seed 8 --shard-size 512 --out "traces/$name" &
}
make chess 30000 data/chess_000 data/chess_001 data/chess_010
make chess960 4000 data/chess960_000
make connect4 16000 c4pos.parquet
make othello 12000 g/othello/annotations
make hex 8000 h/hex/annotations h/hex5/annotations h/hex6/annotations
make togyz 6000 g/togyz/annotations
wait
