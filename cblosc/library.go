// The library as a whole: started once, never stopped, its versions.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_codec_library
// #cgo nocallback goblosc2_codec_library
import "C"

import (
	"fmt"
	"unsafe"
)

// The version of the headers this package was compiled with.
const headerVersion = C.BLOSC2_VERSION_STRING

// The library registers codecs and I/O here, without a lock of its own: before
// any other call, once. It is never shut down, because every open handle would
// lose its codec tables.
func init() {
	C.goblosc2_blosc1_init()
	C.goblosc2_init()
	if v := Version(); v != headerVersion {
		panic(fmt.Sprintf("cblosc: compiled with the headers of C-Blosc2 %s and linked with %s", headerVersion, v))
	}
}

// Version returns the version of the linked library, such as "3.3.2"
// (blosc2_get_version_string).
func Version() string { return C.GoString(C.blosc2_get_version_string()) }

// CodecVersion names the library behind a codec.
type CodecVersion struct {
	Codec   Codec
	Library string // "BloscLZ", "LZ4", "Zlib", "Zstd"
	Version string // of that library
}

// CodecVersions returns the codecs that are linked, in order of their id
// (blosc2_get_complib_info). Compressed bytes depend on these versions.
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

// cString lends s, with a final zero byte, to one call of the library. The caller
// has made sure that s holds no zero byte.
func cString(s string) *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(append([]byte(s), 0))))
}
