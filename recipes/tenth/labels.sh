#!/usr/bin/env bash
# Which labels teach internal search better in Connect Four: two runs of recipes/tenth/labels.toml, alike but for the values in the traces, and matches
# of both against the fourth stage (docs/internal-search.md): 40 seconds of an H200 for each training, alone on it, and a minute of matches. Needs roots/c4late.parquet (roots.sh), traces/c4exact (traces.sh exact), p/connect4_11 and p/connect4_14; results in labels/.
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} here=$(cd "$(dirname "$0")" && pwd)
mkdir -p labels
# models/mavis-9m.safetensors, and the default of mav, were the fourth stage (recipes/sixth/1.toml) when this ran; with the bundled model of today it is
# another experiment.
# The same roots in the same shards; what the solver has not finished is left out.
"$mavis" data traces roots/c4late.parquet --model models/mavis-9m.safetensors --device cuda --per-root 3 --compact 0.8 --top "5,5,all" \
    --sizes 2x1,3x1,4x1,2x2,3x2,4x2,2x3 --roots 30000 --breadth-first 0.1 --seed 51 --shard-size 256 --out traces/c4all
mkdir -p traces/c4model
for shard in traces/c4exact/*.parquet; do cp "traces/c4all/${shard##*/}" traces/c4model/ || exit 1; done
arm() {
    sed "s#traces/c4exact#traces/$1#" "$here/labels.toml" >"labels/$1.toml"
    "$mavis" train mav --config "labels/$1.toml" --out "labels/$1" --from models/mavis-9m.safetensors >"labels/$1.log" 2>&1 || return 1
    local model="labels/$1/model.safetensors"
    for tree in 3,1 2,2 4,2; do
        "$mavis" match "mav-is:breadth=${tree%,*},depth=${tree#*,},model=$model,device=cuda" mav:device=cuda --game connect4 --games 400 --random-plies 4 \
            --concurrency 64 --json >"labels/$1-$tree.json"
    done
    "$mavis" match "mav:model=$model,device=cuda" mav:device=cuda --game connect4 --games 400 --random-plies 4 --concurrency 64 --json >"labels/$1-none.json"
}
# One after the other: two trainings at once on one GPU have failed (docs/performance.md).
arm c4exact && arm c4model
