#!/usr/bin/env bash
# deb.sh ROOT VERSION ARCH TARGET
# Makes a Debian package of the files below ROOT, the same bytes on every run (SOURCE_DATE_EPOCH).
set -euo pipefail
root=$1 version=$2 arch=$3 target=$4
mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: hyperslab
Version: ${version/-/\~}
Architecture: $arch
Maintainer: The Hyperslab authors <maintainers@users.noreply.github.com>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: libc6 (>= 2.34)
Section: science
Priority: optional
Homepage: https://github.com/hyperslab/hyperslab
Description: read, write, convert and check Blosc2, Caterva, bcolz and HDF5 arrays
 The command of the Go module of the same name, linked with the reference
 libraries C-Blosc2 and HDF5.
END
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$target" >/dev/null
rm -r "$root/DEBIAN"
