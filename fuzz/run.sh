#!/usr/bin/env bash
# Runs one fuzz target under libFuzzer, on the stable compiler: fuzz/run.sh TARGET [libFuzzer's options].
# What it finds interesting goes to fuzz/corpus/TARGET, which is not in the repository; inputs that break a promise to fuzz/.
set -euo pipefail
cd "$(dirname "$0")"
export TARGET="${1:?name a target, as in crates/fuzz/corpus}"
shift
# The flags that cargo-fuzz sets: count edges, and tell the fuzzer what comparisons expect.
flags=(--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
# Named, so that build scripts and macros are built without the flags.
host="$(rustc -vV | sed -n 's/^host: //p')"
CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f'; echo "${flags[*]}")" cargo build --release --target "$host"
mkdir -p "corpus/$TARGET"
exec "target/$host/release/any" "$@" "corpus/$TARGET" "../crates/fuzz/corpus/$TARGET"
