// What the library itself says of a chunk's header and of its codecs: the oracle of
// package format/chunk, which looks first everywhere else.

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

	"github.com/hyperslab/hyperslab/format/chunk"
)

// LibraryInfo is the library's reading of a chunk's first 16 bytes. Sizes are in
// bytes.
type LibraryInfo struct {
	Version   int    // of the format
	VersionLZ int    // of the codec's format
	Flags     int    // the byte of flags
	TypeSize  int    // of an element, as stored
	NBytes    int    // the data
	CBytes    int    // the chunk
	BlockSize int    // the data of a block; never above NBytes
	Library   string // of the codec: "BloscLZ", "LZ4", "Zlib", "Zstd"; "" if none is known
	Valid     bool   // the bytes are as many as the header says
}

// LibraryReading returns what the library says of the header of a chunk
// (blosc2_cbuffer_sizes, blosc2_cbuffer_versions, blosc2_cbuffer_complib,
// blosc1_cbuffer_metainfo, blosc1_cbuffer_validate). Info is the checked reading.
//
// It returns ErrFormat for fewer than 16 bytes, or an *Error from the library.
func LibraryReading(b []byte) (LibraryInfo, error) {
	const op = "read chunk header"
	if len(b) < chunk.MinHeaderSize {
		return LibraryInfo{}, refused(op, "", fmt.Errorf("%w: %d bytes, a header has %d", ErrFormat, len(b), chunk.MinHeaderSize))
	}
	var cerr C.goblosc2_err_t
	var f C.goblosc2_chunk_facts_t
	if C.goblosc2_chunk_facts(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), &f) < 0 {
		return LibraryInfo{}, failed(op, "", &cerr)
	}
	if f.same == 0 {
		return LibraryInfo{}, refused(op, "", fmt.Errorf("%w: blosc1_cbuffer_sizes and blosc2_cbuffer_sizes differ", ErrFormat))
	}
	return LibraryInfo{
		Version: int(f.version), VersionLZ: int(f.versionlz), Flags: int(f.flags), TypeSize: int(f.typesize),
		NBytes: int(f.nbytes), CBytes: int(f.cbytes), BlockSize: int(f.blocksize), Library: C.GoString(f.library), Valid: f.valid != 0,
	}, nil
}

// LibraryCodecs returns the codecs that the library was built with, by its own names,
// and their ids (blosc2_list_compressors, blosc2_compname_to_compcode).
func LibraryCodecs() map[string]Codec {
	out := make(map[string]Codec)
	for name := range strings.SplitSeq(C.GoString(C.goblosc2_codec_list()), ",") {
		if code := C.goblosc2_codec_code(cString(name)); code >= 0 {
			out[name] = Codec(code)
		}
	}
	return out
}
