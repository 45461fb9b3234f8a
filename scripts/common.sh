# Ground shared by the scripts; sourced, never run.
# It knows where things live, how to act as a user whom PostgreSQL accepts
# (it refuses to run as root), and how to put files where a running server may
# have the old ones mapped. It prints only to stderr.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
EXTENSION=rea
PGRX_VERSION=0.18.1
WHEEL_VERSION_18=18.6.3
: "${SERVER_USER:=postgres}"
: "${PG_CONFIG:=pg_config}"
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# Runs a command as the server's user. RUST_BACKTRACE is taken away because it
# makes every error of a Rust extension tens of milliseconds slow.
as_server() (
    cd /
    if is_root; then
        exec runuser -u "$SERVER_USER" -- env -u RUST_BACKTRACE "$@"
    fi
    exec env -u RUST_BACKTRACE "$@"
)

# Runs a command as root if this user may become root.
as_root() {
    if is_root; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "root is needed for: $*"
    fi
}

# Folder for server trees and throwaway clusters. Both must be readable for the
# server's user, so a checkout that is closed to him moves it out of the way.
work_dir() {
    local dir="${REA_WORK_DIR:-$ROOT/.work}"
    if [ -z "${REA_WORK_DIR:-}" ] && ! as_server test -x "$ROOT" 2>/dev/null; then
        dir="/var/tmp/$EXTENSION-work-$(id -u)"
    fi
    mkdir -p "$dir"
    [ -O "$dir" ] || die "$dir belongs to somebody else"
    chmod 755 "$dir"
    printf '%s\n' "$dir"
}

# The pg_config program itself: Debian's /usr/bin/pg_config is a script in front
# of it, which knows nothing of copies.
real_pg_config() {
    local config
    have "$1" || die "$1 is not there"
    config="$("$1" --bindir)/pg_config"
    [ -x "$config" ] || config=$(command -v "$1")
    realpath "$config"
}

# The pg_config of PostgreSQL 15, which demo, tests and benchmarks run on.
pg15_config() {
    local config=/usr/lib/postgresql/15/bin/pg_config
    [ -x "$config" ] || config=$PG_CONFIG
    [ "$(pg_major "$config")" = 15 ] || die "no PostgreSQL 15 here; PG_CONFIG may name one"
    printf '%s\n' "$config"
}

# Major version of the server that a pg_config belongs to.
pg_major() { "$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'; }

# Puts one file in place by create-and-rename: a server that has the old file
# mapped keeps the old file. place_file SOURCE TARGET
place_file() {
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new.$$"
    chmod "$( [ "${2##*.}" = so ] && echo 755 || echo 644 )" "$2.new.$$"
    mv -f "$2.new.$$" "$2"
}

# A TCP port nobody listens on at the moment.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Starts a throwaway server. start_server BINDIR DATADIR PORT [SETTING=VALUE]...
# Its socket lies in DATADIR/.. and its log is DATADIR/../server.log.
start_server() {
    local bin=$1 data=$2 port=$3 base setting
    shift 3
    base=$(dirname "$data")
    as_server "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C >/dev/null
    {
        printf '%s\n' "port = $port" "listen_addresses = '127.0.0.1'" \
            "unix_socket_directories = '$base'" "shared_preload_libraries = '$EXTENSION'"
        for setting in "$@"; do
            printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}"
        done
    } | as_server sh -c 'cat >> "$1"' sh "$data/postgresql.conf"
    as_server "$bin/pg_ctl" -D "$data" -l "$base/server.log" -w -t 60 start >/dev/null ||
        { cat "$base/server.log" >&2; die "the server did not start"; }
}

# Stops a throwaway server if it runs. stop_server BINDIR DATADIR
stop_server() {
    as_server "$1/pg_ctl" -D "$2" -m immediate -w stop >/dev/null 2>&1 || true
}

# A folder under the work folder that belongs to the server's user.
server_folder() {
    local dir
    dir=$(mktemp -d "$(work_dir)/$1.XXXXXX")
    if is_root; then chown "$SERVER_USER" "$dir"; fi
    printf '%s\n' "$dir"
}
