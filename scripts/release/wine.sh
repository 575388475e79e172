#!/usr/bin/env bash
# wine.sh PROGRAM [ARGUMENT ...]
# Runs a program for Windows with Wine, in the current directory. A program of Go needs Wine 9, and Debian
# 12 has Wine 8, so it runs in a Debian 13 below .fresh/wine, which the first call makes. The files of this
# machine are below Z:\host there. The environment is empty except for HOME, PATH and the names in WINE_KEEP.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
base=$root/.fresh/wine
system=$base/trixie
mkdir -p "$base"
exec 9>"$base/lock"
flock 9 # one call makes the system, the others wait
if [[ ! -e $system/usr/lib/wine/wine64 ]]; then
    # shellcheck source=scripts/roots.sh
    . "$here/../roots.sh"
    bare trixie wine64 >"$base/trixie.log" 2>&1 || die "cannot make $system: $(tail -n 1 "$base/trixie.log")"
fi
exec 9>&-
environment=(HOME=/root PATH=/usr/bin:/bin LC_ALL=C.UTF-8 WINEDEBUG=-all) # names of files are UTF-8
for name in ${WINE_KEEP:-}; do
    [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
done
program=$(realpath "$1")
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount --propagation private bash -euc '
    system=$1 directory=$2
    shift 2
    mkdir -p "$system/host"
    mount --rbind / "$system/host"
    mount -t proc proc "$system/proc"
    cd "$system/host$directory"
    exec chroot "$system" /usr/bin/env --ignore-environment --chdir="/host$directory" "$@"
' wine "$system" "$PWD" "${environment[@]}" /usr/lib/wine/wine64 "/host$program" "${@:2}"
