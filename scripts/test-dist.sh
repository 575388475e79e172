#!/usr/bin/env bash
# test-dist.sh
# Makes the source archive and builds it in an empty directory, without network, with an empty Go
# module cache and without installing packages: the C libraries, then the command, which is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us
need unshare:util-linux

made=$("$here/dist.sh")
printf '%s\n' "$made" # not by tee /dev/stderr, which empties a log file that stderr goes to
archive=${made##* }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar --extract --directory "$work" --file "$archive"

apart=(unshare --net)
((EUID == 0)) || apart=(unshare --net --map-root-user)
"${apart[@]}" true || die "this system allows no network namespace; run this as root"
cd "$work/$(basename "$archive" .tar.gz)"
version=$(<VERSION)
"${apart[@]}" env AUTO_INSTALL=0 GOPROXY=off GOMODCACHE="$work/modules" make build
printed=$("${apart[@]}" bin/hyperslab version)
grep -qF "$version" <<<"$printed" || die "the command built from the archive does not say $version: $printed"
say "the archive builds with networking off; the command says: $(head -n 1 <<<"$printed")"
