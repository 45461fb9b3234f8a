#!/usr/bin/env bash
# Measures rea beside its references on a throwaway cluster of its own and
# writes bench/RESULTS.md. QUICK=1 takes a tenth of the work and writes nothing.
# Arguments name single figures (see bench/src/main.rs); default: all.

. "$(dirname "$0")/common.sh"

cd "$ROOT"
bin=$("$ROOT/scripts/install-tree.sh" "$(pg15_config)" "$(work_dir)/pg15-bench")
cargo build --quiet --release --package rea-bench
target=$(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
options=()
case "${QUICK:-}" in '' | 0) ;; *) options+=(--quick) ;; esac
REA_PG_BIN="$bin" exec "$target/release/rea-bench" --results bench/RESULTS.md "${options[@]}" "$@"
