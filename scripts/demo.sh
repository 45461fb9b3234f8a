#!/usr/bin/env bash
# Shows rea at work: demo.sh [stop]
# Starts a throwaway PostgreSQL server and a small HTTP receiver, places orders
# with SQL, and prints what rea made of them. Both keep running to be played
# with; "demo.sh stop" ends them and removes everything. REA_DEMO_DIR names
# another folder than /tmp/rea-demo.

. "$(dirname "$0")/common.sh"

dir=${REA_DEMO_DIR:-/tmp/rea-demo}
data="$dir/server/data"

# Ends what an earlier run left. Only a folder that a demo made is removed.
stop_demo() {
    [ -e "$dir" ] || return 0
    [ -f "$dir/made-by-rea-demo" ] || die "$dir exists and no demo made it"
    if [ -f "$dir/bindir" ]; then stop_server "$(cat "$dir/bindir")" "$data"; fi
    local pid
    pid=$(cat "$dir/receiver.pid" 2>/dev/null || true)
    # A number alone may belong to another process by now.
    if [ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe")" = "$dir/receiver" ]; then kill "$pid"; fi
    rm -rf "$dir"
}

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start_receiver() {
    cp "$1" "$dir/receiver"
    setsid nohup "$dir/receiver" >"$dir/receiver.log" 2>&1 </dev/null &
    echo $! >"$dir/receiver.pid"
    wait_for "the receiver listens" grep -q '^listening on ' "$dir/receiver.log"
    receiver="http://$(sed -n 's/^listening on //p' "$dir/receiver.log")"
}

# wait_for WHAT COMMAND...: repeats the command until it succeeds, 60 s at most.
wait_for() {
    local what=$1 deadline=$((SECONDS + 60))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || die "waited in vain until $what"
        sleep 0.1
    done
}

sql() { "$bin/psql" -X -q -v ON_ERROR_STOP=1 -v receiver="$receiver" -h 127.0.0.1 -p "$port" -U postgres -d shop "$@"; }
all_done() { [ "$(sql -At -f "$ROOT/demo/3_is_done.sql")" = t ]; }

if [ "${1:-}" = stop ]; then
    stop_demo
    say "demo: stopped"
    exit 0
fi

say "demo: building (the first time takes some minutes; progress is in $(work_dir)/demo-build.log)"
bin=$("$ROOT/scripts/install-tree.sh" "$(pg15_config)" "$(work_dir)/pg15" 2>"$(work_dir)/demo-build.log") ||
    { tail -n 40 "$(work_dir)/demo-build.log" >&2; die "rea could not be built"; }
(cd "$ROOT" && cargo build --quiet --release --package rea-bench --bin receiver --no-default-features)
target=$(cd "$ROOT" && cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

stop_demo
mkdir -p "$dir/server"
touch "$dir/made-by-rea-demo"
echo "$bin" >"$dir/bindir"
if is_root; then chown "$SERVER_USER" "$dir/server"; fi
port=54329
port_is_free "$port" || port=$(free_port)
start_server "$bin" "$data" "$port"
"$bin/createdb" -h 127.0.0.1 -p "$port" -U postgres shop
start_receiver "$target/release/receiver"

sql -f "$ROOT/demo/1_setup.sql"
sql -f "$ROOT/demo/2_orders.sql"
wait_for "all orders are followed up" all_done
sql -f "$ROOT/demo/4_story.sql"

cat <<END

The server keeps running. Look around, or place an order of your own:
  $bin/psql -h 127.0.0.1 -p $port -U postgres shop
    select rea.fire_event('order.created', 'SO-1004', '{"sku": "tray", "qty": 1, "amount": 12}');
    select * from rea.query_instance('SO-1004');
    select * from rea.timeline('SO-1004');
Stop it with:
  make demo-stop
END
