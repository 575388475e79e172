#!/usr/bin/env bash
# crosscheck-full.sh [AREA...]
# Emits all vectors of crosscheck with every combination of parameters, twice, at least a minute
# apart, area by area. Prints their number, size and time, and compares the manifests, which contain
# the digest of every vector. Keeps one area at a time in TMPDIR, which takes gigabytes.
# CROSSCHECK_FULL_LOG names a file to which each line is also written.
set -euo pipefail
cd "$(dirname "$0")/.."
cli=${HYPERSLAB:-bin/hyperslab}
areas=("$@")
((${#areas[@]})) || mapfile -t areas < <("$cli" __complete crosscheck emit directory --area "" 2>/dev/null | grep -E '^[a-z0-9]+$')
((${#areas[@]})) || { echo "crosscheck-full: no areas" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

say() { echo "$*" | tee -a "${CROSSCHECK_FULL_LOG:-/dev/null}"; }

# emit NAME AREA writes an area and keeps only the digest of its manifest.
emit() {
    local TIMEFORMAT='%1R s, %1U s of a processor and %1S s in the system' facts
    facts=$({ time "$cli" crosscheck emit "$tmp/v" --full --area "$2" >"$tmp/table"; } 2>&1) || { say "crosscheck-full: $2: $facts" >&2; exit 1; }
    sha256sum <"$tmp/v/manifest.json" >"$tmp/$1-$2"
    say "$1 $(awk 'NR > 1 { printf "%s: %d accept, %d refuse, %s %s", $1, $2, $3, $4, $5 }' "$tmp/table") in $facts"
    rm -rf "$tmp/v"
}

started=$SECONDS
for area in "${areas[@]}"; do emit first "$area"; done
((SECONDS - started > 61)) || sleep $((61 - SECONDS + started))
failed=()
for area in "${areas[@]}"; do
    emit second "$area"
    cmp -s "$tmp/first-$area" "$tmp/second-$area" || failed+=("$area")
done
((${#failed[@]} == 0)) || { say "crosscheck-full: two emits differ: ${failed[*]}"; exit 1; }
say "both emits are the same: ${areas[*]}"
