#!/usr/bin/env bash
# Makes the traces that recipes/internal/train.toml learns internal search from, in traces/, with a model as oracle:
#   recipes/internal.sh [MODEL=bundled] [DEVICE=cuda]     (MAVIS: the program, TRACES: another folder, SCALE: percent of the roots, JOBS: threads)
# Roots come from the training tables of recipes/fourth/3.toml; inputs that are not there are left out. Every folder is a job: a second call
# goes on where a stopped one was. 100,000 roots, three traces each.
set -euo pipefail
mavis=${MAVIS:-target/release/mavis}
model=${1:-bundled} device=${2:-cuda}
traces=${TRACES:-traces} scale=${SCALE:-100}
mkdir -p "$traces"
make() {
    local name=$1 roots=$(($2 * scale / 100)) inputs=()
    shift 2
    for input in "$@"; do
        if [ -e "$input" ] || [ -e "$input.fen.zst" ]; then inputs+=("$input"); fi
    done
    if [ "${#inputs[@]}" -eq 0 ]; then
        echo "$name: none of its tables is there, left out" >&2
        return
    fi
    echo "$name: $roots roots" >&2
    "$mavis" data traces "${inputs[@]}" --roots "$roots" --model "$model" --device "$device" --per-root 3 --compact 0.7 \
        --seed 7 ${JOBS:+--jobs "$JOBS"} --out "$traces/$name"
}
make chess 40000 data/chess_000 data/chess_004 data/chess_010
make chess960 8000 data/chess960_000
make connect4 15000 gen/connect4_8/annotations gen/connect4_14/annotations
make othello 15000 gen/othello/annotations
make hex 12000 gen/hex/annotations
make togyz 10000 gen/togyz/annotations
