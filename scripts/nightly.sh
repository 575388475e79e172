#!/usr/bin/env bash
# nightly.sh [LANE ...]
# Runs the lanes that take too long for .ci/run, one after the other: all, or the named ones. A lane
# that fails does not stop the next one. Each lane appends a line to .nightly/results.tsv: date, commit,
# lane, result, seconds. The output of a lane is in .nightly/LANE.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us

# run_lane LANE runs one lane: the complete sets of tests, and everything that needs other libraries
# or much time.
run_lane() {
    case $1 in
    tests) HYPERSLAB_ALL=1 RAPID_CHECKS=100 TEST_FLAGS="-timeout 40m" make test ;;
    race) HYPERSLAB_RACE=all make race ;;
    api) go run ./scripts/api -prove ;;
    guards) go run ./scripts/guards ;;
    properties) CHECKS=300 make properties ;;
    newest) make newest ;;
    deps) make deps-test ;;
    dist) make dist-test ;;
    sanitize) SIZE=lane make sanitize ;;
    hostile) MUTANTS=5000 make hostile ;;
    fuzz) FUZZTIME=2000x make fuzz ;;
    crash) make crash ;;
    soak) SOAK=10m make soak ;;
    files) make files ;;
    cluster) scripts/cluster.sh ;;
    bench) make bench ;;
    remote) make peers && scripts/s3.sh && scripts/caterva2.sh && remote_tests && make bench-remote ;;
    crosscheck) make crosscheck-peers ;;
    web) make peers && scripts/web-test.sh ;;
    *) die "unknown lane $1: got $1, want ${lanes[*]}" ;;
    esac
}

# remote_tests compares kerchunk references with xarray, and counts the requests of reads.
remote_tests() {
    export HYPERSLAB_ALL=1 HYPERSLAB_REMOTE_PYTHON=$root/.venv-remote/bin/python
    go test -count=1 -run 'TestRun_index|TestRun_cloud|TestRun_url|TestWrite|TestDump_csv' ./cmd/hyperslab/...
    go test -count=1 ./remote
    go test -count=1 -run '_url' -bench 'Read_url' -benchtime 3x .
}

lanes=(tests race api guards properties newest deps dist sanitize hostile fuzz crash soak files cluster bench remote crosscheck web)

wanted=("$@")
((${#wanted[@]})) || wanted=("${lanes[@]}")
mkdir -p .nightly
commit=$(git rev-parse --short HEAD)
[[ -z $(git status --porcelain --untracked-files=no) ]] || commit=$commit+changes
failed=()
for lane in "${wanted[@]}"; do
    begun=$SECONDS result=ok
    say "$lane"
    (run_lane "$lane") >".nightly/$lane.log" 2>&1 || result=failed
    [[ $result == ok ]] || failed+=("$lane")
    printf '%s\t%s\t%s\t%s\t%d\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$commit" "$lane" "$result" "$((SECONDS - begun))" |
        tee -a .nightly/results.tsv
done
((${#failed[@]} == 0)) || die "failed: ${failed[*]} (logs: .nightly)"
