// Build information of the vendored C libraries, including HDF5.

package cblosc

// #include "shim.h"
// #ifdef HYPERSLAB_STAMP
// enum { goblosc2_vendored = 1 };
// #else
// enum { goblosc2_vendored = 0 };
// #define HYPERSLAB_RECIPE ""
// #define HYPERSLAB_COMPILER ""
// #define HYPERSLAB_CFLAGS ""
// #define HYPERSLAB_VERSIONS ""
// #endif
import "C"

// Build describes how `make deps` built the C libraries of this module.
type Build struct {
	Recipe   string // sha256 of the pins, the scripts, the flags and the compiler
	Compiler string // name and version that the compiler reports
	Flags    string // flags of the C compiler
	Sources  string // pinned releases: "c-blosc2 3.3.2, hdf5 2.2.0, …"
}

// BuildInfo returns how the linked C libraries were built. ok is false for the system's libraries
// (-tags system_libs), because their build is unknown.
func BuildInfo() (b Build, ok bool) {
	return Build{
		Recipe: C.HYPERSLAB_RECIPE, Compiler: C.HYPERSLAB_COMPILER,
		Flags: C.HYPERSLAB_CFLAGS, Sources: C.HYPERSLAB_VERSIONS,
	}, C.goblosc2_vendored != 0
}
