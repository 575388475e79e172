#!/usr/bin/env bash
# fuzz.sh TIME
# Runs every fuzz target of the module for TIME (such as 10s), one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while read -r package dir; do
    while read -r target; do
        found=1
        echo "fuzz: $package $target"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package"
    done < <(cat "$dir"/*_test.go 2>/dev/null | sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p')
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)
((found)) || { echo "fuzz: no fuzz target found" >&2; exit 1; }
