#!/usr/bin/env bash
# Trains what table 2 of paper 002 compares, by recipes/predictor.toml: the three targets, then bins and loss.
#   recipes/predictors.sh             every row below that is not done, in this order
#   recipes/predictors.sh sv bc       some of them; `ablations` stands for all after bc
#   recipes/predictors.sh --list      the rows, and how far each is
# The ablations are of SV, which learns fastest per second at this length; the paper's are of AV. Every row has a number of steps, not of minutes,
# so all see as many samples whatever else the machine does, and a second call continues a row that was killed from its last checkpoint.
# A step of 1,024 samples takes about 16 ms on an H200 (80,000 tokens, 4 TFLOP): 27,000 are seven minutes.
# A row keeps model.safetensors, settings.toml and metrics.jsonl in W/predictors/NAME, and its output in NAME.log beside it.
# Environment: MAVIS the program (target/release/mavis), W the folder of the runs (runs), STEPS of a target (27000), ABLATION of the other rows (1800),
# MORE arguments for every row, e.g. "--set preset=test --set device=cpu".
set -euo pipefail
recipe=$(dirname "$0")/predictor.toml
mavis=${MAVIS:-target/release/mavis} work=${W:-runs}/predictors
read -ra more <<<"${MORE:-}"

# Name, steps, then what is different from the recipe.
rows() {
    local long=${STEPS:-27000} short=${ABLATION:-1800}
    cat <<ROWS
av      $long  --target av
sv      $long  --target sv
bc      $long  --target bc
bins16  $short --target sv --set bins=16
bins32  $short --target sv --set bins=32
bins64  $short --target sv --set bins=64
bins128 $short --target sv --set bins=128
bins256 $short --target sv --set bins=256
l2      $short --target sv --set loss=l2
ROWS
}

# Whether a row has been measured at its last step: NAME STEPS.
is_done() {
    grep -qE "\"event\": ?\"measure\", ?\"step\": ?$2\b" "$work/$1/metrics.jsonl" 2>/dev/null
}

wanted=("$@")
[ "${1:-}" != --list ] || wanted=()
for name in "${wanted[@]}"; do
    if [ "$name" != ablations ] && ! rows | grep -q "^$name "; then
        echo "$name: no such row; --list shows them" >&2
        exit 2
    fi
done
while read -r -u 3 name steps arguments; do
    group=$name
    case $name in av | sv | bc) ;; *) group=ablations ;; esac
    if [ "${#wanted[@]}" -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* && " ${wanted[*]} " != *" $group "* ]]; then
        continue
    fi
    if is_done "$name" "$steps"; then
        echo "$name: done"
    elif [ "${1:-}" = --list ]; then
        echo "$name: to do: $steps steps, $arguments"
    else
        echo "$name: $steps steps, $arguments ${MORE:-}"
        mkdir -p "$work"
        # Arguments hold no spaces.
        # shellcheck disable=SC2086
        "$mavis" train predictor --config "$recipe" --out "$work/$name" --set "budget={steps=$steps}" $arguments "${more[@]}" 2>>"$work/$name.log" || {
            tail -n 3 "$work/$name.log" >&2
            exit 1
        }
    fi
done 3< <(rows)
