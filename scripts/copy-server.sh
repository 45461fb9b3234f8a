#!/usr/bin/env bash
# Makes a private, relocatable copy of a PostgreSQL server:
#   copy-server.sh PG_CONFIG DEST
# Prints the copy's bin folder, and nothing else, on stdout. PostgreSQL finds
# its other folders relative to bin, so the copy keeps the original's layout and
# uses nothing of it. A copy of the same version that is there already is kept.

. "$(dirname "$0")/common.sh"

[ $# -eq 2 ] || die "usage: copy-server.sh PG_CONFIG DEST"
config=$(real_pg_config "$1")
dest=$(realpath -m "$2")
folders=("$("$config" --bindir)" "$("$config" --pkglibdir)" \
    "$("$config" --sharedir)" "$("$config" --includedir-server)")

copy() {
    local base folder
    base=$(python3 -c 'import os, sys; print(os.path.commonpath(sys.argv[1:]))' "${folders[@]}")
    for folder in "${folders[@]}"; do
        mkdir -p "$dest.new${folder#"$base"}"
        cp -a --reflink=auto "$folder/." "$dest.new${folder#"$base"}/"
    done
    printf '%s\n' "${folders[0]#"$base/"}" >"$dest.new/BINDIR"
    "$config" --version >"$dest.new/VERSION"
}

if [ "$(cat "$dest/VERSION" 2>/dev/null)" != "$("$config" --version)" ]; then
    say "copy-server: copying $("$config" --version) to $dest"
    rm -rf "$dest" "$dest.new"
    copy
    mv "$dest.new" "$dest"
fi
printf '%s\n' "$dest/$(cat "$dest/BINDIR")"
