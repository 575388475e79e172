// Initialization and versions of the library.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_codec_library
// #cgo nocallback goblosc2_codec_library
import "C"

import (
	"fmt"
	"unsafe"
)

// headerVersion is the version of the headers that this package was compiled with.
const headerVersion = C.BLOSC2_VERSION_STRING

// init initializes the library. The library registers codecs and I/O functions without a lock, so
// this must happen once, before any other call. The library is never shut down, because every open
// handle would lose its codec tables.
func init() {
	C.goblosc2_blosc1_init()
	C.goblosc2_init()
	if v := Version(); v != headerVersion {
		panic(fmt.Sprintf("cblosc: compiled with the headers of C-Blosc2 %s and linked with %s", headerVersion, v))
	}
}

// Version returns the version of the linked library, for example "3.3.2"
// (blosc2_get_version_string).
func Version() string { return C.GoString(C.blosc2_get_version_string()) }

// CodecVersion is the library that implements a codec.
type CodecVersion struct {
	Codec   Codec
	Library string // "BloscLZ", "LZ4", "Zlib", "Zstd"
	Version string // version of that library
}

// CodecVersions returns the linked codecs in order of their id (blosc2_get_complib_info).
// Compressed bytes depend on these versions.
func CodecVersions() ([]CodecVersion, error) {
	var vs []CodecVersion
	for _, c := range Codecs() {
		var cerr C.goblosc2_err_t
		var library, version *C.char
		if C.goblosc2_codec_library(&cerr, cString(c.String()), &library, &version) < 0 {
			return nil, failed("codec versions", "", &cerr)
		}
		vs = append(vs, CodecVersion{c, C.GoString(library), C.GoString(version)})
		C.goblosc2_release(unsafe.Pointer(library))
		C.goblosc2_release(unsafe.Pointer(version))
	}
	return vs, nil
}

// cString returns s with a terminating zero byte, for one call of the library. s must not contain a
// zero byte.
func cString(s string) *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(append([]byte(s), 0))))
}
