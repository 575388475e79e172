#!/usr/bin/env bash
# nightly.sh [LANE ...]
# Runs the lanes that take too long for .ci/run: all, or the named ones. Lanes that wait much or use
# one core run beside the others, and the benchmarks alone at the end. A lane that fails does not stop
# the next one. Each lane appends a line to .nightly/results.tsv: date, commit, lane, result, seconds.
# The output of a lane is in .nightly/LANE.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us

# run_lane LANE runs one lane: the complete sets of tests, and everything that needs other libraries
# or much time. A failed command does not end it, because its caller tests its status: join with &&.
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
    hostile) MUTANTS=3000 HOSTILE="-workers 4" make hostile && HYPERSLAB_ALL=1 go test -count=1 -timeout 30m ./internal/testkit/judge ;;
    fuzz) FUZZTIME=2000x make fuzz ;;
    crash) make crash ;;
    writers) HYPERSLAB_ALL=1 go test -count=1 -timeout 30m ./internal/testkit/writers ;;
    histories) RAPID_CHECKS=10000 go test -count=1 -timeout 100m -run TestHistories ./internal/testkit/histories -rapid.shrinktime=5m ;;
    soak) SOAK=5m make soak ;;
    files) make files ;;
    cluster) scripts/cluster.sh ;;
    bench) BENCH="-runs 5" make bench ;;
    remote) scripts/s3.sh && scripts/caterva2.sh && remote_tests && make bench-remote ;;
    crosscheck) make crosscheck-peers && make crosscheck-full ;;
    web) scripts/web-test.sh ;;
    ways) HYPERSLAB_ALL=1 go test -count=1 -timeout 60m -run '^TestWays' ./internal/testkit/ways ./cmd/hyperslab/internal/cli ;;
    esac
}

# remote_tests compares kerchunk references with xarray, and counts the requests of reads.
remote_tests() {
    export HYPERSLAB_ALL=1
    go test -count=1 -run 'TestRun_index|TestRun_cloud|TestRun_url|TestWrite|TestDump_csv' ./cmd/hyperslab/... &&
        go test -count=1 ./remote &&
        go test -count=1 -run '_url' -bench 'Read_url' -benchtime 3x ./internal/tree/opened
}

first=(tests race api guards properties newest sanitize hostile fuzz)
beside=(ways deps dist crash writers histories files cluster remote web crosscheck soak)
alone=(bench)
lanes=("${first[@]}" "${beside[@]}" "${alone[@]}")

wanted=("$@")
((${#wanted[@]})) || wanted=("${lanes[@]}")
for lane in "${wanted[@]}"; do
    [[ " ${lanes[*]} " == *" $lane "* ]] || die "unknown lane: got $lane, want ${lanes[*]}"
done
mkdir -p .nightly
commit=$(git rev-parse --short HEAD)
[[ -z $(git status --porcelain --untracked-files=no) ]] || commit=$commit+changes

# run_lanes LANE... runs those of the lanes that are wanted, one after the other. It fails if one does.
run_lanes() {
    local lane begun result good=0
    for lane in "$@"; do
        [[ " ${wanted[*]} " == *" $lane "* ]] || continue
        begun=$SECONDS result=ok
        say "$lane"
        (run_lane "$lane") >".nightly/$lane.log" 2>&1 || result=failed
        [[ $result == ok ]] || good=1
        printf '%s\t%s\t%s\t%s\t%d\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$commit" "$lane" "$result" "$((SECONDS - begun))" |
            tee -a .nightly/results.tsv
    done
    return "$good"
}

good=0
make --no-print-directory deps vendor modules peers # once, before lanes that need them run at the same time
# The make that called us did not find peers that were installed just now.
export HYPERSLAB_PYTHON=${HYPERSLAB_PYTHON:-$root/.venv/bin/python}
export HYPERSLAB_OLD_PYTHON=${HYPERSLAB_OLD_PYTHON:-$root/.venv-old/bin/python}
export HYPERSLAB_REMOTE_PYTHON=${HYPERSLAB_REMOTE_PYTHON:-$root/.venv-remote/bin/python}
run_lanes "${beside[@]}" &
run_lanes "${first[@]}" || good=1
wait $! || good=1
run_lanes "${alone[@]}" || good=1
((good == 0)) || die "a lane failed (results and logs: .nightly)"
