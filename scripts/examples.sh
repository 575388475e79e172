#!/usr/bin/env bash
# examples.sh [update]
# Runs each program of examples/ in an empty directory and compares its standard output with
# output.txt beside it. With "update" it writes output.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -ldflags=-w -o "$work/bin/" ./examples/...
failed=0
for dir in examples/*/; do
    name=$(basename "$dir")
    mkdir "$work/$name"
    ln -s "$root/testdata" "$work/$name/testdata"
    (cd "$work/$name" && "$work/bin/$name") >"$work/$name.txt" || {
        echo "examples/$name: exit code $?" >&2
        failed=1
    }
    [[ ${1:-} != update ]] || cp "$work/$name.txt" "$dir/output.txt"
    diff -u "$dir/output.txt" "$work/$name.txt" || failed=1
done
((failed == 0)) && say "all programs printed the expected output"
exit "$failed"
