#!/usr/bin/env bash
# action.sh
# Tests an implementation for action.yml, which sets the variables ADAPTER, READ, WRITE, AREAS, VECTORS,
# REPORTS and FAIL_ON_ERROR. HYPERSLAB is the command. The results are in the directory REPORTS:
# result.json, junit.xml and, for an adapter, pages.
set -euo pipefail
hyperslab=${HYPERSLAB:-hyperslab}
results=${REPORTS:-crosscheck-results}
die() { echo "crosscheck: $*" >&2; exit 2; }

case ${VECTORS:-small} in
small) set=(--small) ;;
default) set=() ;;
full) set=(--full) ;;
*) die "vectors: got $VECTORS, want small, default or full" ;;
esac
areas=()
for area in ${AREAS:-}; do areas+=(--area "$area"); done
run=()
if [[ -n ${ADAPTER:-} ]]; then
    run+=(--adapter "$ADAPTER" --reports "$results/pages")
fi
[[ -z ${READ:-} ]] || run+=(--read "$READ")
[[ -z ${WRITE:-} ]] || run+=(--write "$WRITE")
((${#run[@]})) || die "no adapter, read or write command"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$hyperslab" crosscheck emit "$tmp/vectors" "${set[@]}" "${areas[@]}"
mkdir -p "$results"
code=0
"$hyperslab" crosscheck run "$tmp/vectors" "${run[@]}" "${areas[@]}" --json --junit "$results/junit.xml" --force >"$results/result.json" || code=$?
if ((code == 1)) && [[ ${FAIL_ON_ERROR:-true} == false ]]; then
    code=0
fi
exit "$code"
