#!/usr/bin/env bash
# Formatting and clippy over the whole workspace; a warning is an error.

. "$(dirname "$0")/common.sh"

cd "$ROOT"
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings
