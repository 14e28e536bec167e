#!/usr/bin/env bash
# Makes the traces of recipes/tenth/1.toml in traces/: chess labelled by a larger model, Connect Four from eleven stones on by the solver, the
# rest by the fourth stage (recipes/sixth/1.toml), the bundled model of then. About a minute of one H200 for the models.
#   recipes/tenth/traces.sh 30M-CHESS.safetensors FOURTH-STAGE.safetensors          all but Connect Four by the solver, which the next makes:
#   recipes/tenth/traces.sh exact [JOBS=3]
# ONLY="chess togyz" makes some of them. Needs data/, p/ (positions.sh) and roots/ (roots.sh).
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} device=${DEVICE:-cuda}
mkdir -p traces
usual=(--per-root 3 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3)
deep=(--per-root 2 --compact 0.9 --top 5 --sizes 2x2,3x2,4x2)
make() {
    local name=$1 roots=$2
    shift 2
    "$mavis" data traces "$@" --roots "$roots" --breadth-first 0.1 --seed 51 --shard-size 512 --out "traces/$name"
}
if [ "$1" = exact ]; then
    # Ctrl-C keeps what is finished: three cores had 8,448 roots after 255 seconds.
    exec "$mavis" data traces roots/c4late.parquet --oracle connect4 "${usual[@]}" --roots 30000 --breadth-first 0.1 --seed 51 --shard-size 256 -j "${2:-3}" --out traces/c4exact
fi
large=$1 small=$2
pids=()
by_model() {
    [[ " ${ONLY:-$1} " == *" $1 "* ]] || return 0
    make "$@" --device "$device" &
    pids+=($!)
}
by_model chess 14000 data/chess_000 data/chess_010 --model "$large" "${usual[@]}"
by_model chess2 12000 data/chess_000 data/chess_010 --model "$large" "${deep[@]}"
by_model chessr 16000 roots/chess.parquet --model "$large" --per-root 3 --compact 0.8 --top "5,5,all" --sizes 3x1,4x1,2x2,3x2,4x2
by_model chess960 3000 data/chess960_000 roots/chess960.parquet --model "$large" "${usual[@]}"
by_model c4early 12000 roots/c4early.parquet --model "$small" "${usual[@]}"
by_model othello 14000 p/othello roots/othello.parquet --model "$small" "${usual[@]}"
by_model hex 10000 p/hex{6,7,8,9} roots/hex{5,6,7,8,9}.parquet --model "$small" "${usual[@]}"
by_model hex11 12000 p/hex roots/hex11.parquet --model "$small" "${deep[@]}"
by_model togyz 16000 p/togyz roots/togyz.parquet --model "$small" "${usual[@]}"
by_model empty 1500 roots/empty_*.parquet --model "$small" --per-root 4 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
