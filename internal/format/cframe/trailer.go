// Trailer of a frame: the variable-length metalayers and the fingerprint.

package cframe

import (
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// Trailer is the section at the end of a frame.
type Trailer struct {
	// Version is 1, or 0 before 2.0 rc 1. The specification shows a string marker here, but
	// C-Blosc2 writes the plain byte.
	Version         int8
	VLMetalayers    []Metalayer // in stored order; contents are chunks
	Size            uint32      // bytes of the trailer
	FingerprintType uint8       // 0: no fingerprint; 1, 2, 3: 32, 64, 128 bits; no library computes one
	Fingerprint     [16]byte
}

// trailerTail is the number of bytes from the marker of the trailer's length to the end of the
// frame.
const trailerTail = 23

// ParseTrailer reads the trailer b, which must be exactly the trailer: the last Trailer.Size bytes
// of a frame (README_CFRAME_FORMAT.rst, Trailer).
//
// The error is format.ErrTruncated, format.ErrVersion or format.ErrCorrupt. Its offset counts from
// the start of b.
func ParseTrailer(b []byte) (Trailer, error) { return parseTrailer(b, nil) }

func parseTrailer(b []byte, record *[]format.Field) (Trailer, error) {
	r := msgpack.NewReader(formatName+" trailer", b)
	r.Record = record
	var t Trailer
	r.FixArray("trailer", 4)
	t.Version = r.FixInt("trailer version")
	if t.Version > 1 {
		r.Fail("trailer version", 1, strconv.Itoa(int(t.Version)), "0 or 1", format.ErrVersion)
	}
	t.VLMetalayers = parseMetalayers(r, r.Offset(), MaxVLMetalayers)
	at := r.Offset()
	t.Size = r.Uint32("trailer_len")
	r.Explain("bytes of the trailer")
	if r.Err() == nil && int64(t.Size) != int64(len(b)) {
		r.Fail("trailer_len", at, strconv.FormatUint(uint64(t.Size), 10), strconv.Itoa(len(b)), format.ErrCorrupt)
	}
	typ, print := r.FixExt16("fingerprint")
	r.Explain("%s", fingerprintMeaning(typ))
	if r.Err() == nil && r.Left() > 0 {
		r.Fail("end", r.Offset(), strconv.Itoa(r.Left())+" bytes more", "none", format.ErrCorrupt)
	}
	if err := r.Err(); err != nil {
		return Trailer{}, err
	}
	t.FingerprintType = typ
	copy(t.Fingerprint[:], print)
	return t, nil
}

// VLMetalayer returns the content of the first variable-length metalayer called name: a compressed
// chunk.
func (t Trailer) VLMetalayer(name string) ([]byte, bool) { return find(t.VLMetalayers, name) }

func fingerprintMeaning(typ uint8) string {
	switch typ {
	case 0:
		return "no fingerprint"
	case 1, 2, 3:
		return "fingerprint of " + strconv.Itoa(16<<typ) + " bits; no library computes one"
	}
	return "unknown type of fingerprint"
}
