#!/usr/bin/env bash
# newest.sh
# Builds cblosc with -tags system_libs against the newest C-Blosc2 there is a package of: the one in the
# blosc2 wheel of `make peers`, which carries the library, its headers and a pkg-config file for this
# use. Runs the tests of the binding and of what stands on it; cblosc/versions.h says what is supported.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need gcc:gcc /usr/include/stdio.h:libc6-dev pkg-config:pkg-config

python=${HYPERSLAB_PYTHON:-.venv/bin/python}
[[ -x $python ]] || die "no $python: run make peers"
wheel=$("$python" -c 'import blosc2, os; print(os.path.dirname(blosc2.__file__))')
[[ -f $wheel/lib/pkgconfig/blosc2.pc ]] || die "the blosc2 wheel in $wheel has no pkg-config file"

export PKG_CONFIG_PATH=$wheel/lib/pkgconfig LD_LIBRARY_PATH=$wheel/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
say "C-Blosc2 $(pkg-config --modversion blosc2)"
go vet -tags system_libs ./cblosc/...
go test -tags system_libs ./cblosc/...
