#!/usr/bin/env bash
# Builds the wheel with what the Rust tests compiled, installs it in a fresh virtual environment that sees no Rust toolchain,
# and runs the Python tests and the notebooks there: run.sh [MAVIS]. Arguments after it go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/.." && pwd)
export MAVIS_BINARY=${1:-$root/target/debug/mavis}
shift || true
[ -x "$MAVIS_BINARY" ] || cargo build --manifest-path "$root/Cargo.toml" -p mavis
work=$root/target/python
tools=$work/tools
[ -x "$tools/bin/maturin" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install -q 'maturin>=1.9.4,<2'; }
rm -rf "$work/wheels"
# The dev profile and the features of the workspace: nothing but the module itself is compiled.
(cd "$here" && CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target} \
    "$tools/bin/maturin" build -q --profile dev --features shared-build --out "$work/wheels")
wheel=$(ls "$work"/wheels/mavis-*.whl)
venv=$work/venv
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -q --upgrade-strategy only-if-needed "$wheel[test,notebooks]"
# Again by itself: a wheel of the same version that is there already would stay.
"$venv/bin/pip" install -q --force-reinstall --no-deps "$wheel"
# No cargo, no rustc, and not the sources: what is tested is the installed wheel.
without_rust=$(printf %s "$PATH" | tr ':' '\n' | grep -v '/\.cargo/' | paste -sd:)
copy=$work/tests
rm -rf "$copy" && mkdir -p "$copy/tests"
cp "$here/pyproject.toml" "$copy/"
cp "$here"/tests/*.py "$copy/tests/"
cp -r "$here/examples" "$copy/"
cd "$copy"
export MAVIS_ROOT=$root
PATH=$without_rust "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@" tests
# The notebook with PyTorch runs where PyTorch is: from the standard index it is gigabytes.
notebooks=(examples/*.ipynb)
"$venv/bin/python" -c 'import torch' 2>/dev/null || notebooks=("${notebooks[@]/examples\/own_evaluator.ipynb/}")
PATH=$without_rust "$venv/bin/python" -m pytest -q -p no:cacheprovider --nbmake --nbmake-timeout=600 ${notebooks[@]}
