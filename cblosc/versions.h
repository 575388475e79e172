/* versions.h: finds the C-Blosc2 that this package compiles against and checks its version.
 *
 * Every C file of the package includes this header, and only this header includes <blosc2.h>. A
 * release older than the oldest supported one fails to compile with a single error message. */
#ifndef HYPERSLAB_CBLOSC_VERSIONS_H
#define HYPERSLAB_CBLOSC_VERSIONS_H

#if __has_include(<blosc2.h>)
#include <blosc2.h>
#elif defined(HYPERSLAB_SYSTEM_LIBS)
#error "blosc2.h not found: install C-Blosc2's headers (Debian: libblosc2-dev) or build without -tags system_libs"
#else
#error "blosc2.h not found: run `make deps` in the Hyperslab checkout, or build with -tags system_libs"
#endif

#if __has_include(<blosc2.h>)
#define HYPERSLAB_BLOSC2 (BLOSC2_VERSION_MAJOR * 100 + BLOSC2_VERSION_MINOR)
#if HYPERSLAB_BLOSC2 < 303
#error "C-Blosc2 is older than 3.3: it cannot read current files and has known vulnerabilities; drop -tags system_libs"
#endif
#endif

/* The stamp of the archives: their hash, and how they were built. The system's libraries have none. */
#if !defined(HYPERSLAB_SYSTEM_LIBS) && __has_include("zz_stamp.h")
#include "zz_stamp.h"
#endif

#endif
