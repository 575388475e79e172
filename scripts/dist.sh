#!/usr/bin/env bash
# dist.sh
# Writes dist/hyperslab-<version>.tar.gz: the sources of HEAD, every pinned file of the C libraries
# under third_party/cache/, and the Go modules under vendor/. It builds without network access and
# needs a C compiler, cmake, make and Go. The same HEAD gives the same bytes. The last word of the
# output is the archive's path.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
need git:git tar:tar gzip:gzip
commit=$(git -C "$root" rev-parse --verify --quiet HEAD) || die "not a git checkout; a source archive is made from one"

version=$(git -C "$root" describe --tags --always "$commit")
name=hyperslab-$version
git -C "$root" diff --quiet HEAD || say "the archive holds HEAD; your uncommitted changes are not in it"
"$here/deps/fetch.sh" "$root/third_party/cache"
"$here/modules.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/$name
git -C "$root" archive --prefix="$name/" "$commit" | tar --extract --directory "$work"
mkdir -p "$tree/third_party/cache"
# shellcheck source=scripts/deps/pins.sh
. "$here/deps/pins.sh"
while read -r _ _ path; do
    cp "$root/third_party/cache/$(basename "$path")" "$tree/third_party/cache/"
done < <(files)
(cd "$tree" && go mod vendor)
printf '%s\n' "$version" >"$tree/VERSION"

mkdir -p "$root/dist"
tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w \
    --mtime="@$(git -C "$root" log -1 --format=%ct "$commit")" "$name" | gzip -n9 >"$root/dist/$name.tar.gz.new"
mv "$root/dist/$name.tar.gz.new" "$root/dist/$name.tar.gz"
say "$(du -h "$root/dist/$name.tar.gz" | cut -f 1) $root/dist/$name.tar.gz"
