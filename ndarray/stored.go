// Stored chunks, which two backends exchange without decoding them.

package ndarray

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/ahead"
)

// ChunkForm describes the meaning of the stored bytes of a chunk. Two arrays with the same chunk
// shape can exchange chunks if their forms are equal.
type ChunkForm struct {
	Kind    string // "blosc2": a Blosc2 chunk; "hdf5": a filter mask of 4 bytes and the output of the filters
	Details string // everything else that determines the bytes: element type, codec, level, filters
	blocks  string // "blosc2": block shape in elements
}

// Blosc2Form returns the form of a Blosc2 chunk whose elements, of size bytes, are stored block by
// block. c must describe its codec and filters completely.
func Blosc2Form(size int, block []int64, c *Compression) ChunkForm {
	b := make([]byte, 0, 8*len(block))
	for _, n := range block {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return ChunkForm{"blosc2", fmt.Sprintf("%d bytes, %v", size, c), string(b)}
}

// Blocks returns the block shape in elements. ok is false if Blosc2Form did not make the form.
func (f ChunkForm) Blocks() (block []int64, ok bool) {
	for b := []byte(f.blocks); len(b) > 0; b = b[8:] {
		block = append(block, int64(binary.LittleEndian.Uint64(b)))
	}
	return block, f.Kind == "blosc2"
}

// ChunkReader is implemented by backends that can return chunks as stored.
type ChunkReader interface {
	// ChunkForms returns the forms in which ReadChunk can return the array's chunks, the best
	// first. It is empty if ReadChunk cannot return any.
	ChunkForms(ctx context.Context) ([]ChunkForm, error)
	// ReadChunk returns chunk n of the grid, counted in row-major order. It uses the memory of dst
	// if that is large enough. A nil result means that the chunk is not stored and all its elements
	// are Meta().Fill. It returns errors.ErrUnsupported for a chunk in another form.
	ReadChunk(ctx context.Context, dst []byte, f ChunkForm, n int64) ([]byte, error)
}

// ChunkWriter is implemented by backends that accept chunks as stored.
type ChunkWriter interface {
	// TakesChunks reports whether WriteChunk accepts chunks of that form. A backend must reject a
	// form that Create with the array's Spec would not produce.
	TakesChunks(ctx context.Context, f ChunkForm) (bool, error)
	// HasChunk reports whether chunk n is stored, so that its elements may differ from the fill
	// value.
	HasChunk(ctx context.Context, n int64) (bool, error)
	// WriteChunk replaces chunk n of the grid. If the chunk must be written as elements, it changes
	// nothing and returns errors.ErrUnsupported.
	WriteChunk(ctx context.Context, b []byte, f ChunkForm, n int64) error
}

// passage copies stored chunks from one array to another.
type passage struct {
	from ChunkReader
	to   ChunkWriter
	form ChunkForm
	fill bool // both have the same fill value, so chunks missing in src may be missing in dst
}

// newPassage returns a passage with a form that both arrays support. It returns nil if there is
// none, or if two chunks do not fit in memory.
func newPassage(ctx context.Context, dst, src *Array, memory int64) (*passage, error) {
	d, s := dst.m(), src.m()
	if n, ok := Product(append([]int64{2 * int64(d.DType.Size)}, d.ChunkShape...)); !ok || n > memory {
		return nil, nil
	}
	if s.ChunkShape == nil || !slices.Equal(d.ChunkShape, s.ChunkShape) || !d.DType.Equal(s.DType) || d.DType.Size == 0 {
		return nil, nil
	}
	from, ok := As[ChunkReader](src.backend)
	if !ok {
		return nil, nil
	}
	to, ok := As[ChunkWriter](dst.backend)
	if !ok || d.ReadOnly {
		return nil, nil
	}
	p := &passage{from: from, to: to, fill: bytes.Equal(d.Fill, s.Fill) || allZero(d.Fill) && allZero(s.Fill)}
	var forms []ChunkForm
	if err := src.use("copy", func() (err error) { forms, err = from.ChunkForms(ctx); return err }); err != nil {
		return nil, err
	}
	for _, f := range forms {
		var takes bool
		if err := dst.use("copy to", func() (err error) { takes, err = to.TakesChunks(ctx, f); return err }); err != nil {
			return nil, err
		}
		if takes {
			p.form = f
			return p, nil
		}
	}
	return nil, nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// pass copies chunk n. ok is false if it must be copied as elements.
func (p *passage) pass(ctx context.Context, dst, src *Array, in *order, buf *[]byte, n int64) (ok bool, err error) {
	var b []byte
	err = src.use("copy", func() (err error) {
		b, err = p.from.ReadChunk(ahead.Enter(ctx, src), (*buf)[:0], p.form, n)
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if b != nil {
		*buf = b
	}
	err = dst.use("copy to", func() error {
		if b != nil {
			return p.to.WriteChunk(ctx, b, p.form, n)
		}
		stored, err := p.to.HasChunk(ctx, n)
		switch {
		case err == nil && (stored || !p.fill):
			return errors.ErrUnsupported
		case err == nil && in.seq != nil:
			return in.seq.Skip(n)
		}
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// copyChunks copies all chunks as stored, except those that must be copied as elements.
func copyChunks(ctx context.Context, dst, src *Array, way *passage, in *order, o *CopyOptions) (CopyStats, error) {
	p, err := chunkPlan(*dst.m(), o)
	if err == nil {
		err = in.shape(&p)
	}
	if err != nil {
		return CopyStats{}, err
	}
	var passed atomic.Int64
	buffers := make(chan []byte, p.workers) // for stored chunks; elements holds those for decoded elements
	elements := make(chan []byte, p.workers)
	for range p.workers {
		buffers <- nil
		elements <- nil
	}
	p.sources = []*Array{src}
	err = p.run(ctx, 0, o.Progress, func(ctx context.Context, n int64, r Region, _ [][]byte) error {
		b := <-buffers
		defer func() { buffers <- b }()
		ok, err := way.pass(ctx, dst, src, in, &b, n)
		if err != nil {
			return err
		}
		if ok {
			passed.Add(1)
			return nil
		}
		e := <-elements
		defer func() { elements <- e }()
		if need := r.NumElems() * int64(p.size); int64(cap(e)) < need {
			e = make([]byte, p.unit)
		}
		e = e[:r.NumElems()*int64(p.size)]
		if err := src.Read(ctx, e, r); err != nil {
			return err
		}
		return dst.Write(ctx, e, r)
	})
	return CopyStats{Bytes: p.total, Units: p.count, Workers: p.workers, Passed: passed.Load(), Stages: int(min(p.count, 1)), PeakBuffer: 2 * int64(p.workers) * p.unit}, err
}
