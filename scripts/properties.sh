#!/usr/bin/env bash
# properties.sh CHECKS
# Runs every property test of the module on CHECKS random draws, with new seeds each time: the search
# for counterexamples that .ci/run, whose seeds are fixed so that its verdict repeats, leaves to us.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while read -r package dir; do
    # The tests in whose bodies rapid runs.
    names=$(cat "$dir"/*_test.go 2>/dev/null | awk '
        /^func Test/ { name = $2; sub(/\(.*/, "", name) }
        /^}/ { name = "" }
        /rapid\.(Check|MakeCheck)/ && name && !seen[name]++ { printf "%s%s", sep, name; sep = "|" }')
    [[ -n $names ]] || continue
    found=1
    echo "properties: $package"
    RAPID_CHECKS=$1 RAPID_NOFAILFILE=true go test -count=1 -timeout 2h -run "^($names)\$" "$package"
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)
((found)) || { echo "properties: no property test found" >&2; exit 1; }
