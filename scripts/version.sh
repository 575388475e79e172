#!/usr/bin/env bash
# version.sh
# Prints the version of this tree: the content of the file VERSION of a source archive, otherwise
# git's description of the commit, otherwise "unknown".
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ -e VERSION ]]; then
    cat VERSION
else
    git describe --tags --always --dirty 2>/dev/null || echo unknown
fi
