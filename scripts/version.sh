#!/usr/bin/env bash
# version.sh
# Prints the version of this tree: what the file VERSION of a source archive says, else git's
# description of the commit, else "unknown".
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ -e VERSION ]]; then
    cat VERSION
else
    git describe --tags --always --dirty 2>/dev/null || echo unknown
fi
