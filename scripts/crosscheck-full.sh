#!/usr/bin/env bash
# crosscheck-full.sh
# Emits all vectors of crosscheck, every combination of parameters, twice and over a
# minute apart, says how long that took and how large they are, and compares them.
# Takes gigabytes below TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for name in first second; do
    start=$SECONDS
    bin/hyperslab crosscheck emit "$tmp/$name" --full "$@"
    echo "emitted in $((SECONDS - start)) s, $(du -sh "$tmp/$name" | cut -f1)"
    sum=$(sha256sum "$tmp/$name/manifest.json" | cut -d' ' -f1) # holds the digest of every vector
    echo "manifest.json: sha256 $sum"
    [[ $name == second ]] || { first=$sum && rm -rf "${tmp:?}/$name" && sleep 61; }
done
[[ $first == "$sum" ]] || { echo "crosscheck-full: two emits differ" >&2; exit 1; }
