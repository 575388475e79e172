/* versions.h: the HDF5 this package compiles against, found and checked.
 *
 * Every C file of the package includes this header, and it alone includes <hdf5.h>.
 * An older release than the oldest supported one is refused here, at compile time, with one sentence. */
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

/* What `make deps` built. It changes with the archives, so that Go's build cache, which does not
 * look into them, compiles this package again; it says nothing about the system's libraries. */
#if !defined(HYPERSLAB_SYSTEM_LIBS) && __has_include("zz_stamp.h")
#include "zz_stamp.h"
#endif

#endif
