// Header, index and trailer of a frame as C-Blosc2 2.17 writes them (README_CFRAME_FORMAT.rst;
// internal/format/cframe lists differences between the document and the library).

package frameio

import (
	"encoding/binary"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Markers of msgpack.
const (
	fixArray = 0x90
	fixStr   = 0xA0
	nothing  = 0xC2 // false
	anything = 0xC3 // true
	bin32    = 0xC6
	uint16s  = 0xCD
	uint32s  = 0xCE
	uint64s  = 0xCF
	int16s   = 0xD1
	int32s   = 0xD2
	int64s   = 0xD3
	fixExt16 = 0xD8
	array16  = 0xDC
	map16    = 0xDE
)

// otherCodec means that the pipeline contains the codec id (BLOSC_UDCODEC_FORMAT).
const otherCodec = 6

// totals are the totals of all chunks for the header.
type totals struct {
	frameSize      int64
	nbytes, cbytes int64
	chunkSize      int32 // of the first chunk; -1 without chunks
}

// appendHeader appends the header of a frame.
func appendHeader(dst []byte, p *cblosc.CParams, sparse, vlmeta bool, t totals, meta []cblosc.Metalayer) []byte {
	be := binary.BigEndian
	start := len(dst)
	dst = append(dst, fixArray+14, fixStr+8)
	dst = append(dst, "b2frame\x00"...)
	dst = append(dst, int32s, 0, 0, 0, 0)
	headerSize := len(dst) - 4
	dst = be.AppendUint64(append(dst, uint64s), uint64(t.frameSize))
	const version, offsets64 = 2, 0x10
	kind := byte(cframe.Contiguous)
	if sparse {
		kind = byte(cframe.Sparse)
	}
	codec := byte(p.Codec)
	if p.Codec > cblosc.Zstd {
		codec = otherCodec
	}
	dst = append(dst, fixStr+4, version|offsets64, kind, codec|byte(p.Level)<<4, byte(p.Split-1))
	dst = be.AppendUint64(append(dst, int64s), uint64(t.nbytes))
	dst = be.AppendUint64(append(dst, int64s), uint64(t.cbytes))
	dst = be.AppendUint32(append(dst, int32s), uint32(p.TypeSize))
	dst = be.AppendUint32(append(dst, int32s), uint32(p.BlockSize))
	dst = be.AppendUint32(append(dst, int32s), uint32(t.chunkSize))
	dst = be.AppendUint16(append(dst, int16s), 1) // threads for compressing
	dst = be.AppendUint16(append(dst, int16s), 1) // threads for decompressing
	if vlmeta {
		dst = append(dst, anything)
	} else {
		dst = append(dst, nothing)
	}
	dst = append(dst, fixExt16, cblosc.MaxFilters)
	var pipeline [16]byte
	for i, f := range p.Filters {
		pipeline[i], pipeline[8+i] = byte(f.ID), f.Meta
	}
	pipeline[6], pipeline[7] = byte(p.Codec), p.CodecMeta
	dst = append(dst, pipeline[:]...)
	dst = appendMetalayers(dst, start, len(dst), meta)
	be.PutUint32(dst[headerSize:], uint32(len(dst)-start))
	return dst
}

// appendTrailer appends the trailer. The contents of metalayers must be chunks.
func appendTrailer(dst []byte, vlmeta []cblosc.Metalayer) []byte {
	start := len(dst)
	dst = append(dst, fixArray+4, 1)
	// In the trailer the size of the map counts from the byte after the marker of its section. In
	// the header it counts from the marker.
	dst = appendMetalayers(dst, start, len(dst)+1, vlmeta)
	const rest = 1 + 4 + 1 + 1 + 16 // this length and an empty fingerprint
	dst = binary.BigEndian.AppendUint32(append(dst, uint32s), uint32(len(dst)-start+rest))
	dst = append(dst, fixExt16, 0)
	return append(dst, make([]byte, 16)...)
}

// appendMetalayers appends a section of metalayers: names with the offsets of their contents,
// relative to base, then the contents.
func appendMetalayers(dst []byte, base, mapFrom int, layers []cblosc.Metalayer) []byte {
	be := binary.BigEndian
	dst = append(dst, fixArray+3, uint16s, 0, 0)
	mapSize := len(dst) - 2
	dst = be.AppendUint16(append(dst, map16), uint16(len(layers)))
	places := make([]int, len(layers))
	for i, l := range layers {
		dst = append(append(dst, fixStr+byte(len(l.Name))), l.Name...)
		dst = append(dst, int32s, 0, 0, 0, 0)
		places[i] = len(dst) - 4
	}
	be.PutUint16(dst[mapSize:], uint16(len(dst)-mapFrom))
	dst = be.AppendUint16(append(dst, array16), uint16(len(layers)))
	for i, l := range layers {
		be.PutUint32(dst[places[i]:], uint32(len(dst)-base))
		dst = be.AppendUint32(append(dst, bin32), uint32(len(l.Content)))
		dst = append(dst, l.Content...)
	}
	return dst
}

// compressed returns b compressed as one chunk.
func compressed(p *cblosc.CParams, b []byte) ([]byte, error) {
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, cblosc.MaxCompressedSize(len(b)))
	n, err := c.Compress(dst, b)
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return dst[:n], err
}

// indexChunk returns the index with the bytes that the library's appends write (frame.c,
// frame_append_chunk) with one thread, and cframe.ChecksumMark if mark is set. It returns nil
// without chunks.
func indexChunk(offsets []cframe.Offset, mark bool) ([]byte, error) {
	if len(offsets) == 0 {
		return nil, nil
	}
	p := cblosc.DefaultCParams() // BloscLZ at level 5 after Shuffle, elements of 8 bytes
	p.Split, p.BlockSize = cblosc.SplitNever, 16<<10
	var index []byte
	err := cframe.WithStored(offsets, func(b []byte) (err error) {
		index, err = compressed(p, b)
		return err
	})
	if err == nil && mark {
		index[cframe.CodecMetaField] = cframe.ChecksumMark
	}
	return index, err
}

// special returns the index entry of a chunk that exists only in the index, and whether h is such a
// chunk. Repeated values are stored.
func special(h chunk.Header) (cframe.Offset, bool) {
	switch h.Special {
	case chunk.Zeros, chunk.NaNs, chunk.Uninitialized:
		return cframe.Offset(-1)<<63 | cframe.Offset(h.Special)<<56, true
	}
	return 0, false
}
