#!/usr/bin/env bash
# modules.sh
# Fetches the Go modules of go.mod. It does not access the network if they are in Go's cache or in
# vendor/.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

command -v go >/dev/null || die "missing: go; install Go $(awk '$1 == "go" { print $2 }' go.mod) or newer"
[[ -d vendor ]] && exit 0
GOPROXY=off GOFLAGS=-mod=mod go mod download >/dev/null 2>&1 && exit 0

# A bare Debian has no certificate authorities, and Go does not include any.
[[ ${SSL_CERT_FILE:-} || ! -d /etc/apt ]] || need /etc/ssl/certs/ca-certificates.crt:ca-certificates
say "fetching the Go modules"
log=$(go mod download 2>&1) || die "cannot fetch the Go modules: $(head -n 1 <<<"$log")"
