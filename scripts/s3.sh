#!/usr/bin/env bash
# s3.sh
# Builds the S3 gateway versitygw from its Go module, and runs the tests that write to it and read
# from it on the loopback address.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

version=v1.8.0
tools=$root/.bench/versitygw-$version
if [[ ! -x $tools/versitygw ]]; then
    mkdir -p "$tools"
    GOFLAGS="" GOBIN=$tools go install "github.com/versity/versitygw/cmd/versitygw@$version"
fi
HYPERSLAB_S3GATEWAY=$tools/versitygw go test -count=1 -run '_gateway' -v ./remote ./plan
