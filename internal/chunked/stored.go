// Forms of stored chunks, and the interfaces of backends that exchange chunks.

package chunked

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Form describes the meaning of the stored bytes of a chunk. Two arrays with the same chunk shape
// can exchange chunks if their forms are equal.
type Form struct {
	Kind    string // "blosc2": a Blosc2 chunk; "hdf5": a filter mask of 4 bytes and the output of the filters
	Details string // everything else that determines the bytes: element type, codec, level, filters
	blocks  string // "blosc2": block shape in elements
}

// Blosc2 returns the form of a Blosc2 chunk whose elements, of size bytes, are stored block by
// block. compression must describe its codec and filters completely.
func Blosc2(size int, block []int64, compression string) Form {
	b := make([]byte, 0, 8*len(block))
	for _, n := range block {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return Form{"blosc2", fmt.Sprintf("%d bytes, %s", size, compression), string(b)}
}

// Blocks returns the block shape in elements. ok is false if Blosc2 did not make the form.
func (f Form) Blocks() (block []int64, ok bool) {
	for b := []byte(f.blocks); len(b) > 0; b = b[8:] {
		block = append(block, int64(binary.LittleEndian.Uint64(b)))
	}
	return block, f.Kind == "blosc2"
}

// Reader is implemented by backends that can return chunks as stored.
type Reader interface {
	// ChunkForms returns the forms in which ReadChunk can return the array's chunks, the best
	// first. It is empty if ReadChunk cannot return any.
	ChunkForms(ctx context.Context) ([]Form, error)
	// ReadChunk returns chunk n of the grid, counted in row-major order. It uses the memory of dst
	// if that is large enough. A nil result means that the chunk is not stored and all its elements
	// are Meta().Fill. It returns errors.ErrUnsupported for a chunk in another form.
	ReadChunk(ctx context.Context, dst []byte, f Form, n int64) ([]byte, error)
}

// Writer is implemented by backends that accept chunks as stored.
type Writer interface {
	// TakesChunks reports whether WriteChunk accepts chunks of that form. A backend must reject a
	// form that Create with the array's Spec would not produce.
	TakesChunks(ctx context.Context, f Form) (bool, error)
	// HasChunk reports whether chunk n is stored, so that its elements may differ from the fill
	// value.
	HasChunk(ctx context.Context, n int64) (bool, error)
	// WriteChunk replaces chunk n of the grid. If the chunk must be written as elements, it changes
	// nothing and returns errors.ErrUnsupported.
	WriteChunk(ctx context.Context, b []byte, f Form, n int64) error
}
