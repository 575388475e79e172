#!/usr/bin/env bash
# build.sh
# Builds the fuzz targets of scripts/oss-fuzz/targets.txt as OSS-Fuzz runs them: $OUT receives a
# program for each target, its seeds as NAME_seed_corpus.zip and its dictionary as NAME.dict.
# OSS-Fuzz sets SRC, OUT, CC and CFLAGS, and its image contains COMPILE. Environment:
#
#   COMPILE=compile_native_go_fuzzer_v2  the command that builds a target: COMPILE PACKAGE FUNCTION NAME
#   TARGETS=.                            regular expression that selects targets by name
#   DEPS=1                               0: the C libraries are built already
set -euo pipefail
cd "${ROOT:-$SRC/hyperslab}"
compile=${COMPILE:-compile_native_go_fuzzer_v2}
module=$(go list -m)
forms=scripts/oss-fuzz

# The C libraries with the sanitizer of this build, so that their errors are found too.
if [[ ${DEPS:-1} != 0 ]]; then
    DEPS_TOOLS=0 AUTO_INSTALL=0 DEPS_CFLAGS="-O1 -fPIC -DNDEBUG ${CFLAGS:-}" scripts/deps.sh
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# seeds NAME PREFIX FILE... makes the seeds of a target. The bytes of PREFIX, in hexadecimal, are
# the arguments of fixed size and the shares of the others, as the form of COMPILE expects them.
seeds() {
    local name=$1 prefix=$2 file n=0 bytes='' i
    for ((i = 0; i < ${#prefix}; i += 2)); do bytes+="\\x${prefix:i:2}"; done
    mkdir "$work/$name"
    for file in "${@:3}"; do
        n=$((n + 1))
        { printf '%b' "$bytes" && cat "$file"; } >"$work/$name/$n"
    done
    (cd "$work/$name" && zip -q "$OUT/${name}_seed_corpus.zip" ./*)
}

while read -r package function dictionary prefix files; do
    [[ -n $package && $package != '#' ]] || continue
    name=${package//\//_}_$function
    [[ $name =~ ${TARGETS:-.} ]] || continue
    "$compile" "$module/$package" "$function" "$name"
    [[ $dictionary == - ]] || cp "$forms/$dictionary.dict" "$OUT/$name.dict"
    # shellcheck disable=SC2086 # patterns of files
    [[ $prefix == - ]] || seeds "$name" "$prefix" $files
done <"$forms/targets.txt"
