#!/usr/bin/env bash
# Plays in headless Chromium against the program: run.sh [MAVIS]. Screenshots go to target/page/shots.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
mavis=${1:-$root/target/debug/mavis}
[ -x "$mavis" ] || cargo build --manifest-path "$root/Cargo.toml" -p mavis
work=$root/target/page
mkdir -p "$work"
cp "$here/package.json" "$here/test.mjs" "$work/"
cd "$work"
[ -d node_modules/playwright-core ] && [ -d node_modules/axe-core ] || npm install --silent --no-audit --no-fund --no-package-lock
timeout 600 node test.mjs "$mavis" "$work/shots"
