#!/usr/bin/env bash
# Makes the traces of recipes/seventh/ in traces/: 258,000 with a model as oracle, on a GPU (20 seconds on one H200), and 18,000 of Connect Four by the
# solver (10 seconds of 16 cores).
#   recipes/seventh/traces.sh MODEL.safetensors [DEVICE=cuda]
# Needs data/, g/ and h/ as recipes/seventh/1.toml has them.
set -euo pipefail
mavis=${MAVIS:-target/release/mavis}
model=$1 device=${2:-cuda}
mkdir -p traces
# Positions of random play from 1 to 26 stones, so that the model learns to search from the opening on.
python3 "$(dirname "$0")/roots.py" 40000 > traces/connect4.txt
"$mavis" data import traces/connect4.txt --format connect4 --out traces/roots.parquet
make() {
    local name=$1 roots=$2
    shift 2
    "$mavis" data traces "$@" --roots "$roots" --per-root 3 --compact 0.7 --top 5,all --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3 \
        --shard-size 512 --out "traces/$name"
}
labelled() {
    make "$@" --model "$model" --device "$device" --seed 9 &
}
labelled chess 30000 data/chess_000 data/chess_001 data/chess_010
labelled chess960 4000 data/chess960_000
labelled connect4 20000 traces/roots.parquet
labelled othello 12000 g/othello/annotations
labelled hex 14000 h/hex/annotations h/hex5/annotations h/hex6/annotations h/hex7/annotations h/hex8/annotations h/hex9/annotations
labelled togyz 6000 g/togyz/annotations
make c4exact 6000 g/connect4_14/annotations --oracle connect4 --seed 10
wait
