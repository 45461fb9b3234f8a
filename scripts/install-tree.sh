#!/usr/bin/env bash
# Makes a private copy of a PostgreSQL server with the present rea in it:
#   install-tree.sh PG_CONFIG DEST
# Prints the copy's bin folder, and nothing else, on stdout. Tests and
# benchmarks run on such copies and never touch an installed server.

. "$(dirname "$0")/common.sh"

[ $# -eq 2 ] || die "usage: install-tree.sh PG_CONFIG DEST"
config=$(real_pg_config "$1")
bin=$("$ROOT/scripts/copy-server.sh" "$config" "$2")
REA_BUILD_PG_CONFIG="$config" "$ROOT/scripts/install.sh" "$bin/pg_config"
printf '%s\n' "$bin"
