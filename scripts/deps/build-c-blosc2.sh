#!/usr/bin/env bash
# build-c-blosc2.sh SRC OBJ STAGE
# Builds libblosc2.a, with its plugins and with the zfp beside SRC, on the lz4, zlib and zstd under STAGE,
# and installs it there. (Its CMake file ignores $CFLAGS of the environment; hence CMAKE_C_FLAGS_RELEASE.
# It downloads what it does not find; FETCHCONTENT_FULLY_DISCONNECTED makes that an error.)
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

# 3.3.2 (and 3.3.5) takes the file numbers of a sparse frame for offsets into it, and does not open a frame
# with a number above its compressed size: for example 400 chunks, of which all but the last became zeros.
bound='offset > INT64_MAX - header_len || offset > cbytes - BLOSC_EXTENDED_HEADER_LENGTH'
[[ $(grep -cF "if ($bound) {" "$src/blosc/frame.c") == 1 ]] || { echo "error: the bound of offsets is not in frame.c"; exit 1; }
sed -i "s/if ($bound) {/if (!frame->sframe \&\& ($bound)) {/" "$src/blosc/frame.c"

# 3.3.2 (and 3.3.5) copies the dictionary of LZ4 within the chunk by memcpy, although the two places overlap.
copy='memcpy(context->dict_buffer, samples_buffer, (size_t)dict_actual_size);'
[[ $(grep -cF "$copy" "$src/blosc/blosc2.c") == 3 ]] || { echo "error: the copies of dictionaries are not in blosc2.c"; exit 1; }
sed -i "s/$copy/${copy/memcpy/memmove}/" "$src/blosc/blosc2.c"

# The library of zfp is C. Its CMake file also asks for a C++ compiler, which a bare machine does not have.
zfp=$(dirname "$src")/zfp
project="project(ZFP VERSION \${ZFP_VERSION}"
[[ $(grep -cF "$project)" "$zfp/CMakeLists.txt") == 1 ]] || { echo "error: the languages of zfp are not in its CMakeLists.txt"; exit 1; }
sed -i "s/$project)/$project LANGUAGES C)/" "$zfp/CMakeLists.txt"

# For macOS it merges archives with Apple's libtool. The archiver of the compiler can do it too.
merge=$src/cmake/merge_static_libs.cmake
[[ $(grep -cF 'elseif(SYSTEM_NAME STREQUAL "Darwin")' "$merge") == 1 ]] || { echo "error: the case of macOS is not in merge_static_libs.cmake"; exit 1; }
sed -i 's/elseif(SYSTEM_NAME STREQUAL "Darwin")/elseif(NOT AR)/' "$merge"

cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_STATIC=ON -DBUILD_SHARED=OFF -DBUILD_PLUGINS=ON \
    -DBUILD_TESTS=OFF -DBUILD_FUZZERS=OFF -DBUILD_BENCHMARKS=OFF -DBUILD_EXAMPLES=OFF \
    -DPREFER_EXTERNAL_LZ4=ON -DLZ4_LIBRARY="$stage/lib/liblz4.a" -DLZ4_INCLUDE_DIR="$stage/include" \
    -DPREFER_EXTERNAL_ZLIB=ON -DZLIB_LIBRARY="$stage/lib/libz.a" -DZLIB_INCLUDE_DIR="$stage/include" \
    -DPREFER_EXTERNAL_ZSTD=ON -DZSTD_LIBRARY="$stage/lib/libzstd.a" -DZSTD_INCLUDE_DIR="$stage/include" \
    -DBLOSC_ENABLE_ZFP=ON -DBLOSC_ZFP_SOURCE_DIR="$zfp" \
    -DFETCHCONTENT_FULLY_DISCONNECTED=ON -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB_NG=ON
cmake --build "$obj" --parallel "$JOBS" --target install
