#!/usr/bin/env bash
# crosscheck-full.sh [-update] [AREA...]
# Emits all vectors of crosscheck with every combination of parameters, area by area. Prints their
# number, size and time, and compares the manifests, which contain the digest of every vector and the
# versions of the libraries, with crosscheck/testdata/full.sha256, which was written at another time.
# -update writes the digests of the areas there, after vectors or libraries changed on purpose.
# Keeps one area at a time in TMPDIR, which takes gigabytes.
# CROSSCHECK_FULL_LOG names a file to which each line is also written.
set -euo pipefail
cd "$(dirname "$0")/.."
cli=${HYPERSLAB:-bin/hyperslab}
known=crosscheck/testdata/full.sha256
update=false
if [[ ${1:-} == -update ]]; then update=true && shift; fi
areas=("$@")
((${#areas[@]})) || mapfile -t areas < <("$cli" __complete crosscheck emit directory --area "" 2>/dev/null | grep -E '^[a-z0-9]+$')
((${#areas[@]})) || { echo "crosscheck-full: no areas" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

say() { echo "$*" | tee -a "${CROSSCHECK_FULL_LOG:-/dev/null}"; }

# emit AREA writes an area and keeps only the digest of its manifest.
emit() {
    local TIMEFORMAT='%1R s, %1U s of a processor and %1S s in the system' facts
    facts=$({ time "$cli" crosscheck emit "$tmp/v" --full --area "$1" >"$tmp/table"; } 2>&1) || { say "crosscheck-full: $1: $facts" >&2; exit 1; }
    digest=$(sha256sum <"$tmp/v/manifest.json")
    digest=${digest%% *}
    say "$(awk 'NR > 1 { printf "%s: %d accept, %d refuse, %s %s", $1, $2, $3, $4, $5 }' "$tmp/table") in $facts"
    rm -rf "$tmp/v"
}

failed=()
touch "$known"
for area in "${areas[@]}"; do
    emit "$area"
    if $update; then
        sed -i "/  $area\$/d" "$known"
        echo "$digest  $area" >>"$known"
        sort -k 2 -o "$known" "$known"
        continue
    fi
    want=$(sed -n "s/  $area\$//p" "$known")
    [[ $digest == "$want" ]] || failed+=("$area: got $digest, want ${want:-a line in $known}")
done
((${#failed[@]} == 0)) || { printf 'crosscheck-full: manifest of %s\n' "${failed[@]}" >&2; exit 1; }
$update || say "the manifests are those of $known: ${areas[*]}"
