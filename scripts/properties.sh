#!/usr/bin/env bash
# properties.sh CHECKS
# Runs every property test of the module on CHECKS random inputs, with new seeds each time. .ci/run
# does not search for counterexamples, because its seeds are fixed so that its result is
# reproducible.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
found=0
while read -r package dir; do
    files=("$dir"/*_test.go)
    ((${#files[@]})) || continue
    # The tests that call rapid.
    names=$(cat "${files[@]}" | awk '
        /^func Test/ { name = $2; sub(/\(.*/, "", name) }
        /^}/ { name = "" }
        /rapid\.(Check|MakeCheck)/ && name && !seen[name]++ { printf "%s%s", sep, name; sep = "|" }')
    [[ -n $names ]] || continue
    found=1
    echo "properties: $package"
    RAPID_CHECKS=$1 RAPID_NOFAILFILE=true go test -count=1 -timeout 2h -run "^($names)\$" "$package"
done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...)
((found)) || { echo "properties: no property test found" >&2; exit 1; }
