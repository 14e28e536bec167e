#!/usr/bin/env bash
# Makes roots/: positions of random play of every game, split by game into roots of traces (NAME.parquet) and positions to evaluate on
# (NAME.valid.parquet), none on both sides. Seconds on one core.
set -euo pipefail
mavis=${MAVIS:-target/release/mavis}
mkdir -p roots
cd "$(dirname "$0")" && here=$PWD && cd - >/dev/null
make() {
    local name=$1 game=$2 plies=$3 pairs=$4 seed=$5 work
    work=$(mktemp -d)
    cat >"$work/league.toml" <<TOML
name = "random play"
game = "$game"
seed = $seed
openings.random_plies = 2
schedule = { kind = "round-robin", pairs = $pairs }
adjudication = { max_plies = $plies }
players = [ { name = "a", player = "random" }, { name = "b", player = "random" } ]
TOML
    "$mavis" league run --config "$work/league.toml" --out "$work/league" >/dev/null
    "$mavis" data import "$work/league" --out "$work/all.parquet"
    "$mavis" data split "$work/all.parquet" --train "roots/$name.parquet" --valid "roots/$name.valid.parquet" --share 0.05
    rm -r "$work"
}
make chess chess 60 500 11
make chess960 chess960 60 150 12
make othello othello 52 200 13
make togyz togyz 60 200 14
make hex7 hex:size=7 24 120 16
make hex5 hex:size=5 12 120 17
make hex6 hex:size=6 18 100 18
make hex8 hex:size=8 32 100 19
make hex9 hex:size=9 40 100 20
# Connect Four by the number of stones: the solver is slow for few.
python3 "$here/connect4_roots.py" roots
for name in c4valid c4early c4late; do
    "$mavis" data import "roots/$name.txt" --format connect4 --out "roots/$name.parquet"
done
