#!/usr/bin/env bash
# Trains the nets of models/probs-*.safetensors and what docs/probs.md compares them with, side by side:
#   recipes/probs.sh            all runs below, then the files of each in $W/probs/out
#   recipes/probs.sh collect    the files of the runs as they stand now
# Cost: four of the nets that ship took 33 (connect4-azero), 4 (othello-probs), 20 (togyz-azero) and 22 minutes (hex7-azero) with one
# thread each on two cores that had other work too; idle cores need less. A round with the settings of the paper takes 10 s of one.
# A second call continues every run. On processors of one kind a run gives the same nets, whatever the number of threads and stops.
# Environment: MAVIS the binary, W the folder of the runs (runs), RUNS names of some runs (all), THREADS of each run (1),
# MINUTES after which none begins another round (no limit), DEVICE (cpu; nets of a GPU differ).
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} work=${W:-runs}/probs device=${DEVICE:-cpu}
out=$work/out

# Name and arguments. hex11-azero has no end that was tried and is stopped by MINUTES; it wants a GPU (DEVICE=cuda): 29 rounds (15,000 games, 61 M evaluations)
# took 993 s of one H200 that trained something else as well, and a round takes about 10 s where it is alone.
runs() {
    local few="--set net=10k --set evaluation.games=40" azero="--algorithm azero"
    local long="$azero $few --set learning_rate_decay=0.99 --set evaluation.every=20"
    cat <<RUNS
connect4-probs --game connect4
connect4-azero --game connect4 $azero --rounds 38
othello-probs  --game othello $few --set games=60
othello-azero  --game othello $long --rounds 120 --set games=100 --set simulations=32
togyz-probs    --game togyz $few --set games=60
togyz-azero    --game togyz $long --rounds 81 --set games=100 --set simulations=32
hex7-azero     --game hex:size=7 $long --rounds 124 --set games=128 --set simulations=64 --set c_puct=1.0 --set learning_rate=0.003
hex11-azero    --game hex $azero --rounds 200 --set net=190k --set games=512 --set simulations=64 --set c_puct=1.5 --set alpha=0.1 --set random_plies=2 --set drawn_plies=20 --set unvisited=parent --set epochs=2 --set batch=256 --set learning_rate=0.002 --set learning_rate_decay=0.975 --set evaluation.plies=1 --set evaluation.every=10
paper-seed1    --game connect4 --preset paper --seed 1
paper-seed2    --game connect4 --preset paper --seed 2
paper-seed3    --game connect4 --preset paper --seed 3
RUNS
}

# The last nets and the best rated ones. Ratings end where every agent is beaten, so the best rated net of a strong run may be an early one.
collect() {
    mkdir -p "$out"
    local name
    while read -r name _; do
        [ -d "$work/$name" ] || continue
        for file in model.safetensors best.safetensors metrics.jsonl elo.svg settings.toml; do
            cp -f "$work/$name/$file" "$out/$name-$file" 2>/dev/null
        done
        cp -f "$work/$name.log" "$out/$name.log" 2>/dev/null
    done < <(runs)
    echo "in $out:"
    grep -H "rounds in" "$out"/*.log 2>/dev/null
}

# One run: NAME ARGUMENTS...
train() {
    local name=$1
    shift
    RAYON_NUM_THREADS=${THREADS:-1} "$mavis" probs train --out "$work/$name" --device "$device" \
        ${MINUTES:+--max-minutes "$MINUTES"} "$@" &
    local child=$!
    # The program ends the round in hand and rates the net.
    trap 'kill "$child" 2>/dev/null; wait "$child"; exit 143' TERM
    wait "$child"
}

if [ "${1:-}" = collect ]; then
    collect
    exit
fi
mkdir -p "$work"
pids=()
while read -r name arguments; do
    case " ${RUNS:-$name} " in *" $name "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    train "$name" $arguments >>"$work/$name.log" 2>&1 </dev/null &
    pids+=($!)
done < <(runs)
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
wait
collect
