#!/usr/bin/env bash
# fuzz.sh TIME
# Runs every fuzz target of the module for TIME, one after the other. TIME is a number of inputs
# (20000x) or a duration (1m). With a duration `go test` may report a deadline that passed in a
# worker as a failure ("context deadline exceeded", and no file is saved under testdata/fuzz). With
# a number it does not.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while read -r package dir; do
    while read -r target; do
        found=1
        echo "fuzz: $package $target"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 10x "$package"
    done < <(cat "$dir"/*_test.go 2>/dev/null | sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p')
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)
((found)) || { echo "fuzz: no fuzz target found" >&2; exit 1; }
