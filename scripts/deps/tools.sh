#!/usr/bin/env bash
# tools.sh STAGE OUT
# Installs HDF5's reference programs, without their symbols, under OUT/bin.
set -euo pipefail
mkdir -p "$2/bin"
for tool in "$1"/tools/*; do
    "$STRIP" -o "$2/bin/${tool##*/}" "$tool"
done
