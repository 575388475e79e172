/* codecs.h: headers of the codecs, from libgocodec.a or, with -tags system_libs, from the
 * system. */
#ifndef HYPERSLAB_H5_FILTER_CODECS_H
#define HYPERSLAB_H5_FILTER_CODECS_H

#ifdef HYPERSLAB_SYSTEM_LIBS
#include <bzlib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>
#if __has_include(<szlib.h>)
#include <szlib.h>
#define GOH5Z_HAVE_SZIP 1
#endif
#elif !__has_include(<gocodec/gocodec.h>)
#error "gocodec/gocodec.h not found: run `make deps` in the Hyperslab checkout, or build with -tags system_libs"
#else
#include <gocodec/gocodec.h>
#if __has_include(<gocodec/szlib.h>)
#define GOH5Z_HAVE_SZIP 1
#endif
#endif

#ifndef GOH5Z_HAVE_SZIP
#define GOH5Z_HAVE_SZIP 0
#endif

#endif
