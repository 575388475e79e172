//go:build darwin && arm64 && !system_libs

// Package darwin_arm64 links the C libraries of this directory. See package lib.
package darwin_arm64

// #cgo LDFLAGS: -L${SRCDIR} -lgoblosc2 -lgohdf5 -lgocodec
// #if __has_include("zz_stamp.h")
// #include "zz_stamp.h"
// #else
// #error "the C libraries are missing: run `make deps` in the Hyperslab checkout, require a released version, or build with -tags system_libs"
// #endif
//
// // Go's build cache does not read the archives. This hash of them is part of the compiled package,
// // so that everything that depends on the package is built again.
// __attribute__((used)) static const char stamp[] = HYPERSLAB_STAMP;
import "C"

import ( // directories of headers
	_ "github.com/hyperslab/hyperslab/third_party/lib/darwin_arm64/blosc2"
	_ "github.com/hyperslab/hyperslab/third_party/lib/darwin_arm64/gocodec"
)
