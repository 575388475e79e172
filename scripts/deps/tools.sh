#!/usr/bin/env bash
# tools.sh STAGE OUT
# Installs HDF5's tools, without their symbols, under OUT/bin. Left out are the compiler wrappers,
# which know only the folder they were built in, and the benchmark.
set -euo pipefail
mkdir -p "$2/bin"
for tool in "$1"/bin/h5*; do
    case ${tool##*/} in
    h5cc | h5hlcc | h5fuse | h5perf*) ;;
    *) strip -o "$2/bin/${tool##*/}" "$tool" ;;
    esac
done
