#!/usr/bin/env bash
# caterva2.sh
# Installs the server of the Caterva2 project and runs the tests that read its arrays on the
# loopback address.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

version=2026.9.2
tools=$root/.bench/caterva2-$version
if [[ ! -x $tools/bin/cat2-server ]]; then
    mkdir -p "$root/.bench"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet "caterva2[server]==$version"
fi
HYPERSLAB_CATERVA2_SERVER=$tools/bin/cat2-server go test -count=1 -run 'TestRun_caterva2' -v ./cmd/hyperslab/internal/cli
