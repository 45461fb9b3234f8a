#!/usr/bin/env bash
# Installs what building and testing rea needs and is not there yet.
# Does nothing, quickly, when nothing is missing. On a system without apt it
# only names what is missing and ends with 1.

. "$(dirname "$0")/common.sh"

has_pgrx() { [ "$(cargo pgrx --version 2>/dev/null)" = "cargo-pgrx $PGRX_VERSION" ]; }

# Names of the Debian packages whose content is not there.
missing_packages() {
    have make || echo make
    have pkg-config || echo pkg-config
    have gcc || echo gcc
    # Luau, the language of scripts, is C++.
    have g++ || echo g++
    have clang || echo clang
    have python3 || echo python3
    have runuser || echo util-linux
    ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* >/dev/null 2>&1 || echo libclang-dev
    [ -x /usr/lib/postgresql/15/bin/postgres ] || echo postgresql-15
    [ -f /usr/include/postgresql/15/server/postgres.h ] || echo postgresql-server-dev-15
    # cargo-pgrx is linked with OpenSSL.
    has_pgrx || [ -f /usr/include/openssl/ssl.h ] || echo libssl-dev
    python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    [ ${#missing[@]} -gt 0 ] || return 0
    have apt-get || die "please install: ${missing[*]}"
    say "setup: installing Debian packages: ${missing[*]}"
    keep_clusters_out
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# Debian's packages create and start a cluster of their own; nobody asked for it.
keep_clusters_out() {
    [ ! -e /etc/postgresql-common/createcluster.conf ] || return 0
    as_root mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' |
        as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
}

install_rust() {
    have cargo || die "Rust is missing: see https://rustup.rs"
    if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        have rustup || die "rustfmt and clippy are missing"
        say "setup: adding rustfmt and clippy"
        rustup component add rustfmt clippy >&2
    fi
}

install_pgrx() {
    if ! has_pgrx; then
        say "setup: installing cargo-pgrx $PGRX_VERSION (takes some minutes)"
        CARGO_TARGET_DIR="$(work_dir)/cargo-pgrx" \
            cargo install --quiet --locked cargo-pgrx --version "$PGRX_VERSION" >&2
        rm -rf "$(work_dir)/cargo-pgrx"
    fi
    local home="${PGRX_HOME:-$HOME/.pgrx}" config
    if ! grep -qs '^pg15 *=' "$home/config.toml"; then
        config=$(pg15_config)
        say "setup: telling pgrx about PostgreSQL 15 ($config)"
        mkdir -p "$home"
        PGRX_HOME="$home" cargo pgrx init --no-run --pg15 "$config" >&2
    fi
}

install_packages
install_rust
install_pgrx
