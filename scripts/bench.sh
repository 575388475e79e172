#!/usr/bin/env bash
# bench.sh: builds the benchmark and its peers into .bench/, gets the real data, and runs the
# benchmark with the arguments of this script (bench -h lists them). `make bench` builds everything
# else and calls it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/measurements.sh
. "$(dirname "$0")/measurements.sh"
cd "$root"

mkdir -p .bench
measurements
field=testdata/etopo120.h5
for file in "${files[@]}"; do
    [[ $file != */levitus_climatology.h5 ]] || field=$file
done
cp "$field" .bench/field.h5

# The peers are linked with the same archives as the packages.
for peer in blosc2 hdf5; do
    "${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -I"$(library_dir)" "scripts/bench/peers/$peer.c" -o ".bench/peer-$peer" \
        -L"$(library_dir)" "-lgo$peer" -lpthread -ldl -lm
done
"${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra scripts/bench/peers/run.c -o .bench/peer-run
go build -o .bench/bench ./scripts/bench
rm -rf .bench/scratch
exec .bench/bench "$@"
