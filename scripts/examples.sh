#!/usr/bin/env bash
# examples.sh [update]
# Runs each program of examples/ in an empty directory and compares its standard output with
# output.txt beside it. With "update" it writes output.txt. On Linux the programs that read files of
# vectors are also linked statically, and run in a root directory that contains no other file.
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

# bare NAME runs a static program in an empty root, as in an image made from scratch.
bare() {
    local root=$work/$1.root
    mkdir "$root"
    go build -ldflags '-w -linkmode external -extldflags -static' -o "$root/$1" "./examples/$1" 2>"$work/$1.log" ||
        { cat "$work/$1.log" >&2; return 1; }
    unshare --map-root-user --root="$root" "/$1" | diff -u "examples/$1/output.txt" -
}
if [[ $(go env GOOS) == linux ]]; then
    for name in vald weaviate gomlx; do
        bare "$name" || failed=1
    done
fi
((failed == 0)) && say "all programs printed the expected output"
exit "$failed"
