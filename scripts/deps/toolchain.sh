#!/usr/bin/env bash
# toolchain.sh TARGET
# Prints CMake's toolchain file of a cross build with $CC. Programs of the target run by $EMULATOR.
set -euo pipefail
system=Linux
case $1 in
    *mingw*) system=Windows ;;
    *darwin* | *macos*) system=Darwin ;;
esac
cat <<END
set(CMAKE_SYSTEM_NAME $system)
set(CMAKE_SYSTEM_PROCESSOR ${1%%-*})
set(CMAKE_C_COMPILER "$CC")
set(CMAKE_AR "$(command -v "$AR")")
set(CMAKE_RANLIB "$(command -v "$RANLIB")")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
END
[[ ! $EMULATOR ]] || printf 'set(CMAKE_CROSSCOMPILING_EMULATOR "%s")\n' "${EMULATOR// /;}"
