#!/usr/bin/env bash
# Makes roots/ for recipes/tenth: recipes/eighth/roots.sh, positions of random play of Hex 11x11 as well, and the first plies of every game.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mavis=${MAVIS:-target/release/mavis}
"$here/../eighth/roots.sh"
work=$(mktemp -d)
cat >"$work/league.toml" <<TOML
name = "random play"
game = "hex"
seed = 21
openings.random_plies = 2
schedule = { kind = "round-robin", pairs = 150 }
adjudication = { max_plies = 60 }
players = [ { name = "a", player = "random" }, { name = "b", player = "random" } ]
TOML
"$mavis" league run --config "$work/league.toml" --out "$work/league" >/dev/null
"$mavis" data import "$work/league" --out "$work/all.parquet"
"$mavis" data split "$work/all.parquet" --train roots/hex11.parquet --valid roots/hex11.valid.parquet --share 0.05
rm -r "$work"
python3 "$here/../ninth/empty_roots.py" "$mavis" roots
