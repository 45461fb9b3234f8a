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
# The consumer that users would write instead; left out where node is missing.
prepare_node_consumer() {
    local folder
    have node && have npm || return 0
    folder="$(work_dir)/bench-peer"
    mkdir -p "$folder"
    cp bench/peer/package.json bench/peer/consumer.mjs "$folder/"
    [ -d "$folder/node_modules" ] || npm install --silent --no-fund --no-audit --prefix "$folder" >&2 || return 0
    export REA_NODE_CONSUMER="$folder/consumer.mjs"
}

prepare_node_consumer
options=()
case "${QUICK:-}" in '' | 0) ;; *) options+=(--quick) ;; esac
REA_PG_BIN="$bin" exec "$target/release/rea-bench" --results bench/RESULTS.md "${options[@]}" "$@"
