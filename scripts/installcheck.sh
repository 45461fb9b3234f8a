#!/usr/bin/env bash
# Runs pg_regress/ with PostgreSQL's own pg_regress: installcheck.sh BINDIR
# BINDIR is the bin folder of a server that has rea installed; a throwaway
# cluster is made for the run, and beside it the receiver that the tests call
# (they read its address from REA_RECEIVER). The test named setup comes first.
# A test without an expected file fails the run.

. "$(dirname "$0")/common.sh"

[ $# -eq 1 ] || die "usage: installcheck.sh BINDIR"
bin=$(realpath "$1")
regress="$("$bin/pg_config" --pkglibdir)/pgxs/src/test/regress/pg_regress"
[ -x "$regress" ] || die "no pg_regress beside $bin (package postgresql-server-dev)"

tests=()
for file in "$ROOT"/pg_regress/sql/{setup,*}.sql; do
    [ -e "$file" ] || continue
    name=$(basename "$file" .sql)
    [ "${tests[0]:-}" != setup ] || [ "$name" != setup ] || continue
    compgen -G "$ROOT/pg_regress/expected/$name.out" >/dev/null ||
        { echo "test $name ... FAILED (no expected file)"; missing=1; continue; }
    tests+=("$name")
done
[ ${#tests[@]} -gt 0 ] || { echo "no tests in pg_regress/"; exit "${missing:-0}"; }

base=$(server_folder installcheck)
trap 'stop_server "$bin" "$base/data"; [ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null || true; rm -rf "$base"' EXIT
receiver_port=$(free_port)
python3 "$ROOT/pg_regress/receiver.py" "$receiver_port" &
receiver=$!
export REA_RECEIVER="http://127.0.0.1:$receiver_port"
port=$(free_port)
start_server "$bin" "$base/data" "$port" fsync=off
mkdir -p "$(work_dir)/regress"
status=0
"$regress" --bindir="$bin" --host=127.0.0.1 --port="$port" --user=postgres \
    --inputdir="$ROOT/pg_regress" --outputdir="$(work_dir)/regress" \
    --dbname=rea_regress "${tests[@]}" || status=$?
if [ "$status" -ne 0 ]; then
    cat "$(work_dir)/regress/regression.diffs" 2>/dev/null || true
fi
exit $((status + ${missing:-0}))
