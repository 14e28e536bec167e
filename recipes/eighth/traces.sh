#!/usr/bin/env bash
# Makes the traces of recipes/eighth/search.toml in traces/: chess labelled by a larger model, Connect Four from eleven stones on by the solver, the rest by
# the bundled model, which was the fourth stage then. Half a minute of one H200 for the models; the solver made some 30,000 traces in 100 seconds of 10 cores and was stopped there.
# These are the commands of that run one by one; the script as a whole has not been run. --model bundled takes the model of today: for the traces of
# that run name a file of the fourth stage (recipes/sixth/1.toml) in its place.
#   recipes/eighth/traces.sh 30M-CHESS.safetensors [DEVICE=cuda] [SECONDS=100]
# Needs data/, g/ and roots/ (roots.sh).
set -uo pipefail
mavis=${MAVIS:-target/release/mavis}
large=$1 device=${2:-cuda} seconds=${3:-100}
mkdir -p traces
usual=(--per-root 3 --compact 0.8 --top "5,5,all" --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3)
make() {
    local name=$1 roots=$2
    shift 2
    "$mavis" data traces "$@" --roots "$roots" --breadth-first 0.2 --seed 31 --shard-size 512 --out "traces/$name"
}
by_model() {
    make "$@" --device "$device" &
}
# Ctrl-C keeps what is finished; the same command would go on.
(exec timeout -s INT "$seconds" "$mavis" data traces roots/c4late.parquet g/connect4_14/annotations g/connect4_11/annotations --oracle connect4 "${usual[@]}" \
    --roots 30000 --breadth-first 0.2 --seed 31 --shard-size 512 -j 10 --out traces/c4exact) &
by_model chess 14000 data/chess_000 data/chess_010 --model "$large" "${usual[@]}"
by_model chess2 12000 data/chess_000 data/chess_010 --model "$large" --per-root 2 --compact 0.9 --top 5 --sizes 3x2,4x2
by_model chessr 16000 roots/chess.parquet --model "$large" --per-root 3 --compact 0.8 --top "5,5,all" --sizes 3x1,4x1,2x2,3x2,4x2
by_model chess960 3000 data/chess960_000 roots/chess960.parquet --model "$large" "${usual[@]}"
by_model c4early 12000 roots/c4early.parquet --model bundled "${usual[@]}"
by_model othello 10000 g/othello/annotations roots/othello.parquet --model bundled "${usual[@]}"
by_model hex 12000 g/hex/annotations g/hex{6,7,8,9}/annotations roots/hex{5,6,7,8,9}.parquet --model bundled "${usual[@]}"
by_model togyz 6000 g/togyz/annotations roots/togyz.parquet --model bundled "${usual[@]}"
wait
