// Reading by C-Blosc2 of chunk headers and codecs. It is the reference for tests of package
// guard, which checks headers everywhere else.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_chunk_facts
// #cgo nocallback goblosc2_chunk_facts
// #cgo noescape goblosc2_codec_code
// #cgo nocallback goblosc2_codec_code
// #cgo noescape goblosc2_codec_list
// #cgo nocallback goblosc2_codec_list
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// LibraryInfo is the library's reading of the first 16 bytes of a chunk. Sizes are in bytes.
type LibraryInfo struct {
	Version   int    // version of the format
	VersionLZ int    // version of the codec's format
	Flags     int    // byte of flags
	TypeSize  int    // size of an element, as stored
	NBytes    int    // size of the data
	CBytes    int    // size of the chunk
	BlockSize int    // size of the data of a block; at most NBytes
	Library   string // library of the codec: "BloscLZ", "LZ4", "Zlib", "Zstd"; "" if unknown
	Valid     bool   // the number of bytes matches the header
}

// LibraryReading returns the library's reading of a chunk header (blosc2_cbuffer_sizes,
// blosc2_cbuffer_versions, blosc2_cbuffer_complib, blosc1_cbuffer_metainfo,
// blosc1_cbuffer_validate). For a checked reading use Info.
//
// It returns ErrFormat for fewer than 16 bytes, or an *Error from the library.
func LibraryReading(b []byte) (LibraryInfo, error) {
	const op = "read chunk header"
	if len(b) < guard.Blosc1Header {
		return LibraryInfo{}, refused(op, "", fmt.Errorf("%w: %d bytes, a header has %d", errs.ErrInvalidBytes, len(b), guard.Blosc1Header))
	}
	var cerr C.goblosc2_err_t
	var f C.goblosc2_chunk_facts_t
	if C.goblosc2_chunk_facts(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), &f) < 0 {
		return LibraryInfo{}, failed(op, "", &cerr)
	}
	if f.same == 0 {
		return LibraryInfo{}, refused(op, "", fmt.Errorf("%w: the sizes in a chunk differ between the interfaces of Blosc1 and Blosc2", errs.ErrInvalidBytes))
	}
	return LibraryInfo{
		Version: int(f.version), VersionLZ: int(f.versionlz), Flags: int(f.flags), TypeSize: int(f.typesize),
		NBytes: int(f.nbytes), CBytes: int(f.cbytes), BlockSize: int(f.blocksize), Library: C.GoString(f.library), Valid: f.valid != 0,
	}, nil
}

// LibraryCodecs returns the codecs that the library was built with: their names in the library and
// their ids (blosc2_list_compressors, blosc2_compname_to_compcode).
func LibraryCodecs() map[string]Codec {
	out := make(map[string]Codec)
	for name := range strings.SplitSeq(C.GoString(C.goblosc2_codec_list()), ",") {
		if code := C.goblosc2_codec_code(cString(name)); code >= 0 {
			out[name] = Codec(code)
		}
	}
	return out
}
