// Checksums of the chunks of a frame, in a variable-length metalayer that other programs ignore.

package cframe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// ChecksumLayer is the name of the variable-length metalayer with the checksums of all chunks. Its
// content is a MessagePack map:
//
//	version  1
//	kind     "crc32c"
//	chunks   binary, 4 bytes for each chunk in the order of the index, little-endian
//
// The checksum of a stored chunk is the CRC-32C (Castagnoli) of its bytes, including its header.
// The checksum of a chunk that exists only in the index is that of the 8 bytes of its entry,
// little-endian.
//
// A program without support for the metalayer keeps its content when it changes chunks. Therefore
// the checksums are current only if the index has ChecksumMark in its header. C-Blosc2 compresses
// the index again for each change of a chunk, and writes 0 there.
const ChecksumLayer = "hyperslab_checksums"

// ChecksumMark is the byte at CodecMetaField in the header of the index of a frame with current
// checksums. The codec of an index, BloscLZ, has no parameter, and its decoder ignores the byte.
const (
	ChecksumMark   = 0xC5
	CodecMetaField = 0x17
)

const (
	checksumVersion = 1
	checksumKind    = "crc32c"
	checksumBytes   = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the checksum of a stored chunk.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Checksum returns the checksum of a chunk that exists only in the index.
func (o Offset) Checksum() uint32 {
	return Checksum(binary.LittleEndian.AppendUint64(nil, uint64(o)))
}

// HasChecksums reports whether the frame has current checksums, according to its index. Those of a
// frame without chunks are current.
func (f *Frame) HasChecksums() bool {
	if _, ok := f.Trailer.VLMetalayer(ChecksumLayer); !ok {
		return false
	}
	return f.Index.Length == 0 || f.Index.Header.Codec == chunk.BloscLZ && f.Index.Header.CodecMeta == ChecksumMark
}

// AppendChecksums appends the content of ChecksumLayer to dst.
func AppendChecksums(dst []byte, sums []uint32) []byte {
	b := make([]byte, 0, checksumBytes*len(sums))
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return msgpack.Append(dst, msgpack.Map{
		{Key: "version", Value: int64(checksumVersion)},
		{Key: "kind", Value: checksumKind},
		{Key: "chunks", Value: b},
	})
}

// ParseChecksums returns the checksums of n chunks. It returns format.ErrVersion for another
// version or kind, and format.ErrCorrupt for any other content.
func ParseChecksums(content []byte, n int) ([]uint32, error) {
	invalid := func(what string, got, want any, sentinel error) error {
		return bad("metalayer "+ChecksumLayer+": "+what, 0, fmt.Sprint(got), fmt.Sprint(want), sentinel)
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, invalid("content", err, "MessagePack", format.ErrCorrupt)
	}
	m, ok := v.(msgpack.Map)
	if !ok {
		return nil, invalid("content", fmt.Sprintf("%T", v), "a map", format.ErrCorrupt)
	}
	if v, _ := m.Get("version"); v != any(int64(checksumVersion)) {
		return nil, invalid("version", v, checksumVersion, format.ErrVersion)
	}
	if v, _ := m.Get("kind"); v != any(checksumKind) {
		return nil, invalid("kind", v, checksumKind, format.ErrVersion)
	}
	chunks, _ := m.Get("chunks")
	b, ok := chunks.([]byte)
	if !ok || len(b) != checksumBytes*n {
		return nil, invalid("chunks", fmt.Sprintf("%d bytes", len(b)), checksumBytes*n, format.ErrCorrupt)
	}
	sums := make([]uint32, n)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(b[checksumBytes*i:])
	}
	return sums, nil
}
