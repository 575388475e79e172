#!/usr/bin/env bash
# demo.sh: converts real measurements to every format and back, and proves that the values are
# unchanged. `make demo` builds what it needs and calls it.
#
# The data are those of measurements.sh. If apt does not have them, the small file in testdata/ is
# used.
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
