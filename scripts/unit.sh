#!/usr/bin/env bash
# Unit tests of the extension. Those that need a server (#[pg_test]) run on a
# private copy of PostgreSQL 15, because pgrx installs the library for them over
# the one in place.

. "$(dirname "$0")/common.sh"

cd "$ROOT"
if ! grep -rqE '#\[(pgrx::)?pg_test' src; then
    exec cargo test --package "$EXTENSION" --lib
fi

work=$(work_dir)
bin=$("$ROOT/scripts/copy-server.sh" "$(pg15_config)" "$work/pg15-unit")
options=()
if is_root; then
    # pgrx becomes the server's user with sudo, which a bare machine lacks.
    mkdir -p "$work/stand-in"
    cat >"$work/stand-in/sudo" <<'SUDO'
#!/bin/sh
# Stand-in for sudo where the caller is root: sudo [-u USER] [NAME=VALUE]... COMMAND
user=root
if [ "$1" = -u ]; then user=$2; shift 2; fi
cd / && exec runuser -u "$user" -- env -u RUST_BACKTRACE "$@"
SUDO
    chmod 755 "$work/stand-in/sudo"
    export PATH="$work/stand-in:$PATH"
    data=$(server_folder unit)
    trap 'rm -rf "$data"' EXIT
    options=(--runas "$SERVER_USER" --pgdata "$data/data")
fi
PGRX_PG_CONFIG_PATH="$bin/pg_config" CARGO_TARGET_DIR="$ROOT/target/unit" \
    cargo pgrx test --package "$EXTENSION" --no-default-features --features pg15 \
    "${options[@]}" pg15
