#!/usr/bin/env bash
# Runs the specs of tests/isolation with PostgreSQL's own isolation tester:
#   isolation.sh BINDIR
# BINDIR is the bin folder of a server that has rea installed; a throwaway
# cluster is made for the run. Workers are kept idle: the specs play their part.

. "$(dirname "$0")/common.sh"

[ $# -eq 1 ] || die "usage: isolation.sh BINDIR"
bin=$(realpath "$1")
tester="$("$bin/pg_config" --pkglibdir)/pgxs/src/test/isolation/pg_isolation_regress"
[ -x "$tester" ] || die "no pg_isolation_regress beside $bin (package postgresql-server-dev)"

base=$(server_folder isolation)
trap 'stop_server "$bin" "$base/data"; rm -rf "$base"' EXIT
work="$(work_dir)/isolation"
rm -rf "$work"
mkdir -p "$work/specs"
cp -r "$ROOT/tests/isolation/expected" "$work/expected"
# The statements are those of the library, not copies.
python3 - "$ROOT" "$work" <<'PY'
import pathlib, sys
root, work = map(pathlib.Path, sys.argv[1:])
claim = (root / "sql/query/claim_due.sql").read_text()
for spec in (root / "tests/isolation/specs").glob("*.spec"):
    (work / "specs" / spec.name).write_text(spec.read_text().replace("@claim_due@", claim))
PY
port=$(free_port)
start_server "$bin" "$base/data" "$port" fsync=off rea.enabled=off
status=0
"$tester" --bindir="$bin" --host=127.0.0.1 --port="$port" --user=postgres --load-extension=rea \
    --inputdir="$work" --outputdir="$work" --dbname=rea_isolation \
    $(basename -s .spec "$work"/specs/*.spec) || status=$?
[ "$status" -eq 0 ] || cat "$work/regression.diffs" 2>/dev/null || true
exit "$status"
