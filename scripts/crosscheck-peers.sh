#!/usr/bin/env bash
# crosscheck-peers.sh [LANGUAGE...]
# Installs the peers of crosscheck: other implementations of the formats with their adapters, into
# scripts/crosscheck/.installed. LANGUAGE is python, javascript, rust, java or c; without one, all.
# A language whose tools or packages are missing is reported, and the script goes on with the next
# one. CROSSCHECK_PYTHON names an interpreter that has the Python peers.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
from=$root/scripts/crosscheck
to=$from/.installed
failed=()

# changed DIRECTORY FILE... returns 0 if the peers in the directory were not made of these files.
changed() {
    local dir=$1
    shift
    [[ $(cat "$dir/made-of" 2>/dev/null) != "$(cat "$@" | sha256sum)" ]]
}

# made DIRECTORY FILE... records the files of which the peers in the directory were made.
made() {
    local dir=$1
    shift
    cat "$@" | sha256sum >"$dir/made-of"
}

# tools FILE:PACKAGE... makes sure that the files exist, if this user may install packages.
tools() {
    if ((EUID == 0)) && [[ ${AUTO_INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
        need "$@"
    else
        local pair
        for pair; do
            command -v "${pair%:*}" >/dev/null || [[ -e ${pair%:*} ]] || { say "no ${pair%:*} (Debian: ${pair#*:})"; return 1; }
        done
    fi
}

python() {
    [[ -z ${CROSSCHECK_PYTHON:-} ]] || return 0
    changed "$to/python" "$from/python/requirements.txt" || return 0
    rm -rf "$to/python"
    python3 -m venv "$to/python"
    "$to/python/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r "$from/python/requirements.txt"
    made "$to/python" "$from/python/requirements.txt"
}

javascript() {
    tools node:nodejs npm:npm
    changed "$to/javascript" "$from"/javascript/* || return 0
    rm -rf "$to/javascript"
    mkdir -p "$to/javascript"
    cp "$from"/javascript/* "$to/javascript"
    (cd "$to/javascript" && npm install --no-audit --no-fund --no-package-lock --loglevel=error)
    made "$to/javascript" "$from"/javascript/*
}

rust() {
    tools cargo:cargo
    changed "$to/rust" "$from/rust/Cargo.toml" "$from/rust/src/main.rs" || return 0
    mkdir -p "$to/rust"
    cargo build --quiet --release --manifest-path "$from/rust/Cargo.toml" --target-dir "$to/rust"
    made "$to/rust" "$from/rust/Cargo.toml" "$from/rust/src/main.rs"
}

java() {
    tools javac:default-jdk-headless mvn:maven
    changed "$to/java" "$from/java/pom.xml" "$from/java/Adapter.java" || return 0
    rm -rf "$to/java"
    mkdir -p "$to/java"
    mvn -q -B -f "$from/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$to/java/lib"
    javac -cp "$to/java/lib/*" -d "$to/java" "$from/java/Adapter.java"
    # The adapter gets the versions as properties, because the archives do not contain them.
    sed -nE 's#.*<artifactId>jhdf</artifactId><version>(.*)</version>.*#-Djhdf=\1#p; s#.*<artifactId>cdm</artifactId><version>(.*)</version>.*#-Dnetcdf-java=\1#p' \
        "$from/java/pom.xml" >"$to/java/versions"
    made "$to/java" "$from/java/pom.xml" "$from/java/Adapter.java"
}

c() {
    tools gcc:gcc /usr/include/netcdf.h:libnetcdf-dev
    changed "$to/c" "$from/c/adapter.c" || return 0
    mkdir -p "$to/c"
    gcc -O2 -Wall -Wextra -o "$to/c/adapter" "$from/c/adapter.c" -lnetcdf
    made "$to/c" "$from/c/adapter.c"
}

languages=("$@")
((${#languages[@]})) || languages=(python javascript rust java c)
for language in "${languages[@]}"; do
    # A subshell without a condition around it, so that set -e applies inside.
    set +e
    (set -e; "$language")
    status=$?
    set -e
    ((status == 0)) || failed+=("$language")
done
if ((${#failed[@]})); then
    say "not installed: ${failed[*]}; their peers are reported as not available" >&2
    exit 3
fi
