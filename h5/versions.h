/* versions.h: checks of the HDF5 headers that this package is compiled with.
 *
 * Every C file of the package must include this header, and no other file includes <hdf5.h>.
 * Compilation fails here with one error message if HDF5 is older than the oldest supported
 * release. */
#ifndef HYPERSLAB_H5_VERSIONS_H
#define HYPERSLAB_H5_VERSIONS_H

#if __has_include(<hdf5.h>)
#include <hdf5.h>
#elif defined(HYPERSLAB_SYSTEM_LIBS)
#error "hdf5.h not found: install HDF5's headers (Debian: libhdf5-dev) or build without -tags system_libs"
#else
#error "hdf5.h not found: run `make deps` in the Hyperslab checkout, or build with -tags system_libs"
#endif

#if __has_include(<hdf5.h>)
#define HYPERSLAB_HDF5 (H5_VERS_MAJOR * 100 + H5_VERS_MINOR)
#if HYPERSLAB_HDF5 < 202
#error "HDF5 is older than 2.2: it cannot read current files and has known vulnerabilities; drop -tags system_libs"
#endif
#endif

/* The stamp of the archives: their hash, and how they were built. The system's libraries have none. */
#if !defined(HYPERSLAB_SYSTEM_LIBS) && __has_include("zz_stamp.h")
#include "zz_stamp.h"
#endif

#endif
