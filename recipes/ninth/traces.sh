#!/usr/bin/env bash
# Makes the traces of recipes/ninth/1.toml in traces/: chess labelled by a larger model, Connect Four from eleven stones on by the solver, the
# rest by the fourth stage (recipes/sixth/1.toml), the bundled model of then. Half a minute of one H200 for the models.
#   recipes/ninth/traces.sh 30M-CHESS.safetensors FOURTH-STAGE.safetensors          all but Connect Four by the solver, which the next makes:
#   recipes/ninth/traces.sh exact [JOBS=7]
# Needs data/, g/, g2/ (recipes/small_games.sh with SEED=61 and SEED=62) and roots/ (recipes/eighth/roots.sh, recipes/ninth/empty_roots.py).
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} device=${DEVICE:-cuda}
mkdir -p traces
usual=(--per-root 3 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3)
make() {
    local name=$1 roots=$2
    shift 2
    "$mavis" data traces "$@" --roots "$roots" --breadth-first 0.15 --seed 41 --shard-size 512 --out "traces/$name"
}
if [ "$1" = exact ]; then
    make c4exact 30000 roots/c4late.parquet g/connect4_14/annotations g/connect4_11/annotations g2/connect4_14/annotations --oracle connect4 "${usual[@]}" -j "${2:-7}"
    exit
fi
large=$1 small=$2
by_model() {
    make "$@" --device "$device" &
}
by_model chess 14000 data/chess_000 data/chess_010 --model "$large" "${usual[@]}"
by_model chess2 12000 data/chess_000 data/chess_010 --model "$large" --per-root 2 --compact 0.9 --top 5 --sizes 3x2,4x2
by_model chessr 16000 roots/chess.parquet --model "$large" --per-root 3 --compact 0.8 --top "5,5,all" --sizes 3x1,4x1,2x2,3x2,4x2
by_model chess960 3000 data/chess960_000 roots/chess960.parquet --model "$large" "${usual[@]}"
by_model c4early 12000 roots/c4early.parquet --model "$small" "${usual[@]}"
by_model othello 12000 g/othello/annotations g2/othello/annotations roots/othello.parquet --model "$small" "${usual[@]}"
by_model hex 14000 g/hex/annotations g/hex{6,7,8,9}/annotations roots/hex{5,6,7,8,9}.parquet --model "$small" "${usual[@]}"
by_model togyz 12000 g/togyz/annotations g2/togyz/annotations roots/togyz.parquet --model "$small" "${usual[@]}"
by_model empty 1500 roots/empty_*.parquet --model "$small" --per-root 4 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3
wait
