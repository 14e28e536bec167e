#!/usr/bin/env bash
# Trains the nets of models/probs-*.safetensors, and what docs/probs.md compares them with, side by side and by the clock:
#   recipes/probs.sh            all runs below, then the files of each in $W/probs/out
#   recipes/probs.sh collect    the files of the runs as they stand now
# Cost: 23 minutes (MINUTES) of 16 cores and of one GPU, which other work may share. A second call continues every run.
# Environment: MAVIS the binary (built with --features cuda), W the folder of the runs (runs), DEVICE (cuda), RUNS names of some runs.
# A run that fails on the GPU in its first minute continues on the CPU; none stops the others.
set -uo pipefail
mavis=${MAVIS:-target/release/mavis} work=${W:-runs}/probs minutes=${MINUTES:-23} device=${DEVICE:-cuda}
out=$work/out

# Name, threads, device, arguments. 230k nets in bf16 are 0.9 MB, 420k nets 1.7 MB, both nets of a model together.
runs() {
    local more="--rounds 400 --set net=230k --set epochs=2 --set evaluation.every=6"
    local probs="$more --set learning_rate_decay=0.985" azero="$more --algorithm azero"
    cat <<RUNS
connect4-probs 2 $device --game connect4 $probs --set games=400 --set expansions=20 --set learning_rate=0.002
connect4-azero 2 $device --game connect4 $azero --set games=1024 --set simulations=64 --set learning_rate=0.002
othello-probs  2 $device --game othello $probs --set games=200 --set expansions=12 --set evaluation.games=100
othello-azero  2 $device --game othello $azero --set games=512 --set simulations=48 --set evaluation.games=100
togyz-probs    2 $device --game togyz $probs --set games=128 --set evaluation.games=100
togyz-azero    2 $device --game togyz $azero --set games=512 --set simulations=32 --set evaluation.games=100
hex7-azero     2 $device --game hex:size=7 $azero --set games=1024 --set simulations=64 --set c_puct=1.0
hex11-azero    2 $device --game hex $azero --set net=420k --set games=256 --set simulations=64 --set c_puct=1.0 --set evaluation.plies=1
paper-seed1    1 cpu --game connect4 --preset paper --seed 1
paper-seed2    1 cpu --game connect4 --preset paper --seed 2
paper-seed3    1 cpu --game connect4 --preset paper --seed 3
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
    # In parts, since some ways back take files of at most 16 MB.
    tar -C "$out" -czf "$work/out-model.tar.gz" --exclude '*best.safetensors' . 2>/dev/null
    (cd "$out" && tar -czf "../out-best.tar.gz" ./*best.safetensors 2>/dev/null)
    echo "in $out, $work/out-model.tar.gz and $work/out-best.tar.gz:"
    grep -H "rounds in" "$out"/*.log 2>/dev/null
}

# One run on a device: NAME THREADS DEVICE ARGUMENTS...
train_on() {
    local name=$1 threads=$2 on=$3
    shift 3
    # The last round and its rating come after --max-minutes; whatever is then still at work ends with the limit.
    RAYON_NUM_THREADS=$threads timeout -k 10 $((minutes * 60)) "$mavis" probs train --out "$work/$name" --device "$on" \
        --max-minutes $((minutes > 5 ? minutes - 3 : minutes)) "$@" &
    local child=$!
    trap 'kill "$child" 2>/dev/null; exit 143' TERM
    wait "$child"
}

# The same, and on the CPU where the device fails.
train() {
    local name=$1 threads=$2 on=$3 began=$SECONDS
    shift 3
    train_on "$name" "$threads" "$on" "$@" && return
    if [ "$on" != cpu ] && [ $((SECONDS - began)) -lt 60 ]; then
        echo "$name: again on the CPU"
        train_on "$name" "$threads" cpu "$@"
    fi
}

if [ "${1:-}" = collect ]; then
    collect
    exit
fi
mkdir -p "$work"
pids=()
while read -r name threads on arguments; do
    case " ${RUNS:-$name} " in *" $name "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    train "$name" "$threads" "$on" $arguments >>"$work/$name.log" 2>&1 </dev/null &
    pids+=($!)
done < <(runs)
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
wait
collect
