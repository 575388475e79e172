#!/usr/bin/env bash
# hostile.sh [FLAG...]
# Runs scripts/hostile, whose cases create and delete very many files: on a disk this can take more
# time than all calls together.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

temporary_directory
go run ./scripts/hostile "$@"
