//go:build cgo

// Blosc2 chunks to and from the filter's frames, without decoding them.

package filter

import (
	"encoding/binary"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// Blosc2Chunk returns the Blosc2 chunk of the frame src. The chunk is a part of src, or a new
// special chunk if the index has a special entry. blocks is the block shape in elements; it is nil
// if the elements are consecutive. The errors are those of Decode.
func Blosc2Chunk(src []byte) (chunk []byte, blocks []int32, err error) {
	w := take()
	defer put(w)
	p, err := w.open(src)
	if err != nil {
		return nil, nil, &Error{Op: "decode", Filter: IDBlosc2, Err: err}
	}
	if p.array != nil {
		blocks = append([]int32{}, p.array.Blocks...)
	}
	return p.chunk[:p.info.CBytes], blocks, nil
}

// Blosc2Frame appends to dst the frame that the filter with these parameters would store for a
// compressed chunk. n is the decoded size of the chunk. chunk and blocks are results of
// Blosc2Chunk.
//
// It returns h5.ErrParam for parameters without the chunk's shape and for blocks that do not fit
// it. It returns h5.ErrSize for a chunk with another decoded size.
func Blosc2Frame(dst []byte, values []uint32, chunk []byte, blocks []int32, n int) ([]byte, error) {
	frame, err := blosc2Frame(dst, values, chunk, blocks, n)
	if err != nil {
		return nil, &Error{Op: "encode", Filter: IDBlosc2, Err: err}
	}
	return frame, nil
}

func blosc2Frame(dst []byte, values []uint32, chunk []byte, blocks []int32, n int) ([]byte, error) {
	m, err := moldOf(values, n, blocks)
	if err != nil {
		return nil, err
	}
	info, err := cblosc.Info(chunk)
	switch {
	case err != nil:
		return nil, blame(err)
	case info.NBytes != m.padded || info.CBytes > len(chunk):
		return nil, fmt.Errorf("%w: a chunk of %d bytes, %d with the padding of blocks, and %d stored of %d; want %d, from the parameters",
			h5.ErrSize, n, info.NBytes, len(chunk), info.CBytes, m.padded)
	}
	start := len(dst)
	dst = append(append(append(dst, m.header...), chunk[:info.CBytes]...), m.tail...)
	binary.BigEndian.PutUint64(dst[start+frameSizeAt:], uint64(len(dst)-start))
	binary.BigEndian.PutUint64(dst[start+cbytesAt:], uint64(info.CBytes))
	return dst, nil
}
