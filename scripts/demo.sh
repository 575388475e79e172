#!/usr/bin/env bash
# demo.sh: takes real measurements there and back through every format and proves that nothing
# changed. `make demo` builds what it needs and calls it.
#
# The data is that of measurements.sh; where apt has none of it, the small file in testdata/ is used.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/measurements.sh
. "$(dirname "$0")/measurements.sh"
cd "$root"

for tool in bin/hyperslab third_party/build/bin/h5diff; do
    [[ -x $tool ]] || die "$tool is missing; run: make demo"
done

measurements
if ((${#files[@]} == 0)); then
    say "using the small file in testdata instead"
    files=(testdata/etopo120.h5)
fi

go build -o .demo/demo ./scripts/demo
exec .demo/demo "${files[@]}"
