#!/usr/bin/env bash
# Builds rea for a server and installs it there: install.sh PG_CONFIG [DESTDIR]
# Files are created and renamed, never overwritten in place, so that a running
# server keeps the library it has mapped. REA_BUILD_PG_CONFIG names another
# pg_config to build with (that of the tree's original).

. "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || die "usage: install.sh PG_CONFIG [DESTDIR]"
target=$1
destdir=${2:-}
build=${REA_BUILD_PG_CONFIG:-$target}
build=$(real_pg_config "$build")
major=$(pg_major "$build")
stage=$(mktemp -d "$(work_dir)/package-pg$major.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# pgrx and plain cargo use different flags; a target folder for each of them
# and for each server version saves rebuilding everything at every change.
export CARGO_TARGET_DIR="${REA_PACKAGE_TARGET_DIR:-$ROOT/target/pg$major}"
say "install: building $EXTENSION for PostgreSQL $major"
(cd "$ROOT" && PGRX_PG_CONFIG_PATH="$build" cargo pgrx package --package "$EXTENSION" \
    --pg-config "$build" --out-dir "$stage" \
    --no-default-features --features "pg$major") >&2

library=$(find "$stage" -name "$EXTENSION.so")
[ -n "$library" ] || die "the build made no $EXTENSION.so"
place_file "$library" "$destdir$("$target" --pkglibdir)/$EXTENSION.so"
folder="$destdir$("$target" --sharedir)/extension"
find "$stage" \( -name "$EXTENSION.control" -o -name "$EXTENSION--*.sql" \) -print0 |
    while IFS= read -r -d '' file; do
        place_file "$file" "$folder/$(basename "$file")"
    done
say "install: done, into $destdir$("$target" --pkglibdir)"
