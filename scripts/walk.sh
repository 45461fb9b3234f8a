#!/usr/bin/env bash
# A long random walk (tests/random_walk.rs): SEED (default: a random one) and
# MINUTES (default 10) come from the environment. Prints the seed first, so that
# a walk that breaks a rule can be repeated.

. "$(dirname "$0")/common.sh"

minutes=${MINUTES:-10}
[ -z "${SEED:-}" ] || export WALK_SEED="$SEED"
bin=$("$ROOT/scripts/install-tree.sh" "$(pg15_config)" "$(work_dir)/pg15")
cd "$ROOT"
REA_PG_BIN="$bin" WALK_SECONDS=$((minutes * 60)) \
    cargo test --package rea-tests --test random_walk -- --nocapture
