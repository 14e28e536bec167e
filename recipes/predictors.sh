#!/usr/bin/env bash
# Trains what table 2 of paper 002 compares, by recipes/predictor.toml: the three targets, then bins and loss.
#   recipes/predictors.sh             every row below that is not done, in this order
#   recipes/predictors.sh sv bc       some of them; `ablations` stands for all after bc
#   recipes/predictors.sh --list      the rows, and how far each is
# The ablations are of SV, which learns fastest per second at this length; the paper's are of AV. Each has the same number of steps, so all rows see the
# same samples in the same order whatever else the machine does: 1,800 steps are about 29 seconds on an H200, 8 minutes about 30,000.
# A row keeps model.safetensors, settings.toml and metrics.jsonl in W/predictors/NAME, and its output in NAME.log beside it.
# A second call continues a row that was killed, from its last checkpoint: by steps exactly; by the clock with the minutes that are left, its
# learning rate on the line where it was.
# Environment: MAVIS the program (target/release/mavis), W the folder of the runs (runs), MINUTES of a target (8), STEPS of an ablation (1800),
# MORE arguments for every row, e.g. "--set preset=test --set device=cpu".
set -euo pipefail
recipe=$(dirname "$0")/predictor.toml
mavis=${MAVIS:-target/release/mavis} work=${W:-runs}/predictors minutes=${MINUTES:-8} steps=${STEPS:-1800}
read -ra more <<<"${MORE:-}"

# Name, then what is different from the recipe.
rows() {
    local ablation="--target sv --set budget={steps=$steps}"
    cat <<ROWS
av      --target av
sv      --target sv
bc      --target bc
bins16  $ablation --set bins=16
bins32  $ablation --set bins=32
bins64  $ablation --set bins=64
bins128 $ablation --set bins=128
bins256 $ablation --set bins=256
l2      $ablation --set loss=l2
ROWS
}

# Of a row by the clock, the arguments for the rest of it; of one by steps none. Exit code 3 means that it is done, and any other failure that it is not known.
rest() {
    python3 - "$recipe" "$work/$1/metrics.jsonl" "$minutes" "$2" "$steps" <<'PYTHON'
import json, os, re, sys

recipe, metrics, minutes, kind, steps = sys.argv[1:]
text = open(recipe).read()
setting = lambda key: float(re.search(rf"^{key} = (\S+)$", text, re.MULTILINE)[1])
lines = []
if os.path.exists(metrics):
    for line in open(metrics):
        try:
            lines.append(json.loads(line))
        except ValueError:
            pass  # A kill in the middle of a line.
if kind == "steps":
    done = any(line["event"] == "measure" and line["step"] >= int(steps) for line in lines)
    sys.exit(3 if done else 0)
# Seconds start over in each process. One that ended kept all of them, one that was killed those up to its last checkpoint.
processes = []
for line in lines:
    if not processes or processes[-1][-1]["event"] == "measure" or line["seconds"] < processes[-1][-1]["seconds"]:
        processes.append([])
    processes[-1].append(line)
trained = 0.0
for process in processes:
    last = process[-1]
    saved = last["step"] - last["step"] % setting("checkpoint_every")
    kept = [line["seconds"] for line in process if line["step"] == saved or last["event"] == "measure"]
    trained += kept[-1] if kept else 0.0
done = trained / (60 * float(minutes))
if done >= 0.999:
    sys.exit(3)
arguments = ["--max-minutes", f"{float(minutes) * (1 - done):.4f}"]
if done > 0:
    # The same line of the trapezoid as a whole run: it falls to peak * end over the last `decay` of all minutes.
    decay, peak, end = setting("decay"), setting("peak"), setting("end")
    high = min(1.0, (1 - done) / decay)
    now = end + (1 - end) * high
    decay = min(1.0, decay / (1 - done))
    for key, value in (("peak", peak * now), ("end", end / now), ("decay", decay)):
        arguments += ["--set", f"schedule.{key}={value:.6g}"]
print(" ".join(arguments))
PYTHON
}

wanted=("$@")
is_wanted() {
    local name
    if [ "${#wanted[@]}" -eq 0 ]; then return 0; fi
    for name in "${wanted[@]}"; do
        case $name in
            "$1") return 0 ;;
            ablations) case $1 in av | sv | bc) ;; *) return 0 ;; esac ;;
        esac
    done
    return 1
}
list_only=
if [ "${1:-}" = --list ]; then
    list_only=yes wanted=()
fi
for name in "${wanted[@]}"; do
    if [ "$name" != ablations ] && ! rows | grep -q "^$name "; then
        echo "$name: no such row; --list shows them" >&2
        exit 2
    fi
done
while read -r -u 3 name arguments; do
    is_wanted "$name" || continue
    case $arguments in *budget=*) kind=steps ;; *) kind=minutes ;; esac
    code=0
    left=$(rest "$name" "$kind") || code=$?
    if [ "$code" -eq 3 ]; then
        echo "$name: done"
        continue
    fi
    [ "$code" -eq 0 ] || exit "$code"
    if [ -n "$list_only" ]; then
        echo "$name: to do: $arguments $left"
        continue
    fi
    echo "$name: $arguments $left ${MORE:-}"
    mkdir -p "$work"
    # Arguments hold no spaces.
    # shellcheck disable=SC2086
    "$mavis" train predictor --config "$recipe" --out "$work/$name" $arguments $left "${more[@]}" 2>>"$work/$name.log" || {
        tail -n 3 "$work/$name.log" >&2
        exit 1
    }
    grep -E "^(.*measured|.*puzzles)" "$work/$name.log" | tail -n 2
done 3< <(rows)
