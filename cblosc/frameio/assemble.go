// The bytes of a frame around its chunks: header, index and trailer, as C-Blosc2
// 2.17 writes them (README_CFRAME_FORMAT.rst; format/cframe says where the document
// and the library disagree).

package frameio

import (
	"encoding/binary"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
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

// otherCodec stands for a codec whose number is in the pipeline (BLOSC_UDCODEC_FORMAT).
const otherCodec = 6

// totals is what the header says of the chunks.
type totals struct {
	frameSize      int64
	nbytes, cbytes int64
	chunkSize      int32 // of the first chunk; -1 while there is none
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
	dst = be.AppendUint16(append(dst, int16s), 1) // threads that compress, and that
	dst = be.AppendUint16(append(dst, int16s), 1) // decompress, of the library's context
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

// appendTrailer appends the trailer; contents of metalayers are chunks.
func appendTrailer(dst []byte, vlmeta []cblosc.Metalayer) []byte {
	start := len(dst)
	dst = append(dst, fixArray+4, 1)
	// The map's length counts from behind the marker of its section here, and from
	// that marker in the header.
	dst = appendMetalayers(dst, start, len(dst)+1, vlmeta)
	const rest = 1 + 4 + 1 + 1 + 16 // this length and the fingerprint, which is none
	dst = binary.BigEndian.AppendUint32(append(dst, uint32s), uint32(len(dst)-start+rest))
	dst = append(dst, fixExt16, 0)
	return append(dst, make([]byte, 16)...)
}

// appendMetalayers appends a section of metalayers: names with the places of their
// contents, counted from base, then the contents.
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

// compressed returns b as one chunk.
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

// indexChunk returns the index as the library's appends write it (frame.c,
// frame_append_chunk), with one thread; nil for no chunk.
func indexChunk(offsets []cframe.Offset) ([]byte, error) {
	if len(offsets) == 0 {
		return nil, nil
	}
	p := cblosc.DefaultCParams() // BloscLZ at level 5 behind Shuffle, elements of 8 bytes
	p.Split, p.BlockSize = cblosc.SplitNever, 16<<10
	b := make([]byte, 0, 8*len(offsets))
	for _, o := range offsets {
		b = binary.LittleEndian.AppendUint64(b, uint64(o))
	}
	return compressed(p, b)
}

// special returns the entry of the index for a chunk that need not be stored, and
// whether it is one. Repeated values are stored.
func special(h chunk.Header) (cframe.Offset, bool) {
	switch h.Special {
	case chunk.Zeros, chunk.NaNs, chunk.Uninitialized:
		return cframe.Offset(-1)<<63 | cframe.Offset(h.Special)<<56, true
	}
	return 0, false
}
