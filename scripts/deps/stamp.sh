#!/usr/bin/env bash
# stamp.sh OUT FLAGS RECIPE [LIBRARY ...]
# Writes OUT/lib/zz_stamp.h: a hash of the archives and headers in OUT/lib, by which Go's build
# cache notices new ones, and what `hyperslab version --libs` reports: the release of each library,
# the compiler and its flags, the recipe's hash. The named libraries were left out.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/pins.sh"

without=("${@:4}")

cd "$1/lib"
stamp=$(find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1)
szip=0
linked | grep -q '^libaec ' && szip=1
{
    cat <<EOF
/* zz_stamp.h: the C libraries that \`make deps\` built. Generated, and never in git. */
#ifndef HYPERSLAB_STAMP
#define HYPERSLAB_STAMP "$stamp"  /* hash of the archives and headers */
#define HYPERSLAB_RECIPE "$3" /* hash of pins, scripts, flags and compiler */
#define HYPERSLAB_COMPILER "$("$CC" --version | head -n 1)"
#define HYPERSLAB_CFLAGS "$2"
#define HYPERSLAB_HAVE_SZIP $szip
EOF
    linked | awk '{ name = toupper($1); gsub(/-/, "_", name); printf "#define HYPERSLAB_VERSION_%s \"%s\"\n", name, $2 }'
    linked | awk '{ all = all (NR > 1 ? ", " : "") $1 " " $2 } END { printf "#define HYPERSLAB_VERSIONS \"%s\"\n", all }'
    printf '#endif\n'
} >zz_stamp.h
