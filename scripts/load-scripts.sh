#!/usr/bin/env bash
# Defines every *.luau file of a folder as a script of its name, all or none:
#   load-scripts.sh FOLDER [PSQL-OPTION…]
# Prints name and version of each. What has not changed keeps its version. The
# connection is psql's: PGHOST, PGDATABASE and so on, or options.

set -euo pipefail

folder=${1:?usage: load-scripts.sh FOLDER [PSQL-OPTION…]}
shift
cd "$folder"
{
    printf '\\set ON_ERROR_STOP on\nbegin;\n'
    for file in *.luau; do
        name=${file%.luau}
        if [[ ! $name =~ ^[A-Za-z0-9_.-]+$ ]]; then
            echo "load-scripts: $file: use letters, digits, _, . and - only" >&2
            exit 1
        fi
        printf "\\\\set name '%s'\n\\\\set source \`cat '%s'\`\n" "$name" "$file"
        printf "select :'name', rea.define_script(:'name', :'source');\n"
    done
    printf 'commit;\n'
} | psql --no-psqlrc --quiet --tuples-only --no-align --field-separator=' ' "$@"
