// Encoding of results of any size that C returns. The C side is shim_buf.c. A block consists of:
//
//   - words of 8 bytes in the machine's byte order
//   - bytes: the length, the bytes, zeros up to the next word
//   - strings: like bytes, but with at least one zero, so that C can use them without a copy

package h5

// #include "shim.h"
import "C"

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/cmem"
)

const wordSize = 8

func appendWord(b []byte, w uint64) []byte { return binary.NativeEndian.AppendUint64(b, w) }

func appendInt(b []byte, i int64) []byte { return appendWord(b, uint64(i)) }

func appendInts(b []byte, v []int64) []byte {
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), wordSize*len(v))...)
}

func appendBool(b []byte, v bool) []byte { return appendInt(b, boolInt(v)) }

func boolInt(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

func appendBytes(b, p []byte) []byte {
	b = append(appendWord(b, uint64(len(p))), p...)
	for len(b)%wordSize != 0 {
		b = append(b, 0)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	b = append(appendWord(b, uint64(len(s))), s...)
	b = append(b, 0)
	for len(b)%wordSize != 0 {
		b = append(b, 0)
	}
	return b
}

// A reader decodes blocks of the shim. A block that ends too early is a bug in the shim and not an
// invalid file, so it panics.
type reader struct{ b []byte }

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic(fmt.Sprintf("h5: the shim's result ends early: %d bytes wanted, %d left", n, len(r.b)))
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) word() uint64 { return binary.NativeEndian.Uint64(r.take(wordSize)) }
func (r *reader) int() int64   { return int64(r.word()) }
func (r *reader) bool() bool   { return r.word() != 0 }

func (r *reader) bytes() []byte {
	n := r.word()
	p := r.take(n)
	r.take(-n % wordSize)
	return p
}

func (r *reader) text() string {
	n := r.word()
	s := string(r.take(n))
	r.take(wordSize - n%wordSize)
	return s
}

func (r *reader) ints(n uint64) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = r.int()
	}
	return v
}

// takeBlob copies a block of the shim into Go memory and frees it.
func takeBlob(blob *C.goh5_blob_t) *reader {
	p := unsafe.Pointer(blob.data)
	defer cmem.Free(p)
	return &reader{bytes.Clone(cmem.Bytes(p, int(blob.len)))}
}
