// Chunks as they are stored: what two backends exchange without decoding them.

package ndarray

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// ChunkForm says what the stored bytes of a chunk mean. Chunks of two arrays with one
// chunk shape are interchangeable if their forms are equal.
type ChunkForm struct {
	Kind    string // "blosc2": a Blosc2 chunk; "hdf5": a filter mask of 4 bytes and what the filters made
	Details string // all else the bytes depend on: element type, codec, level, filters
	blocks  string // "blosc2": elements along each axis
}

// Blosc2Form is the form of a Blosc2 chunk whose elements, of size bytes, lie block by
// block. c must say all about its codec and filters.
func Blosc2Form(size int, block []int64, c *Compression) ChunkForm {
	b := make([]byte, 0, 8*len(block))
	for _, n := range block {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return ChunkForm{"blosc2", fmt.Sprintf("%d bytes, %v", size, c), string(b)}
}

// Blocks returns the elements of a block along each axis; ok is false for a form that
// is not Blosc2Form's.
func (f ChunkForm) Blocks() (block []int64, ok bool) {
	for b := []byte(f.blocks); len(b) > 0; b = b[8:] {
		block = append(block, int64(binary.LittleEndian.Uint64(b)))
	}
	return block, f.Kind == "blosc2"
}

// ChunkReader is implemented by backends that hand over chunks as they are stored.
type ChunkReader interface {
	// ChunkForms returns the forms in which ReadChunk can hand over the array's chunks,
	// the best first; none if it cannot.
	ChunkForms(ctx context.Context) ([]ChunkForm, error)
	// ReadChunk returns chunk n of the grid, counted in row-major order, in the memory of
	// dst if that suffices. nil means that nothing is stored and all elements are
	// Meta().Fill. It returns errors.ErrUnsupported for a chunk that has another form.
	ReadChunk(ctx context.Context, dst []byte, f ChunkForm, n int64) ([]byte, error)
}

// ChunkWriter is implemented by backends that take chunks as they are stored.
type ChunkWriter interface {
	// TakesChunks reports whether WriteChunk takes chunks of that form. A form that a
	// Spec of the array's would not have made is not taken.
	TakesChunks(ctx context.Context, f ChunkForm) (bool, error)
	// HasChunk reports whether chunk n is stored, and so may hold anything.
	HasChunk(ctx context.Context, n int64) (bool, error)
	// WriteChunk replaces chunk n of the grid. It returns errors.ErrUnsupported, with
	// nothing changed, for a chunk that must be written as elements.
	WriteChunk(ctx context.Context, b []byte, f ChunkForm, n int64) error
}

// passage is the way of stored chunks from one array to another.
type passage struct {
	from ChunkReader
	to   ChunkWriter
	form ChunkForm
	fill bool // both have the same fill value, so that what is not stored may stay away
}

// newPassage finds a form that both arrays have; nil if there is none, or no memory for
// chunks as large as theirs.
func newPassage(ctx context.Context, dst, src *Array, memory int64) (*passage, error) {
	d, s := dst.m(), src.m()
	if n, ok := Product(append([]int64{2 * int64(d.DType.Size)}, d.ChunkShape...)); !ok || n > memory {
		return nil, nil
	}
	if s.ChunkShape == nil || !slices.Equal(d.ChunkShape, s.ChunkShape) || !d.DType.Equal(s.DType) || d.DType.Kind == String {
		return nil, nil
	}
	from, ok := src.backend.(ChunkReader)
	if !ok {
		return nil, nil
	}
	to, ok := dst.backend.(ChunkWriter)
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

// pass moves chunk n; ok is false if it has to be moved as elements.
func (p *passage) pass(ctx context.Context, dst, src *Array, in *order, buf *[]byte, n int64) (ok bool, err error) {
	var b []byte
	err = src.use("copy", func() (err error) { b, err = p.from.ReadChunk(ctx, (*buf)[:0], p.form, n); return err })
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

// copyChunks moves all chunks in their stored form, and as elements those for which
// that cannot be.
func copyChunks(ctx context.Context, dst, src *Array, way *passage, in *order, o *CopyOptions) (CopyStats, error) {
	p, err := chunkPlan(*dst.m(), o)
	if err == nil {
		err = in.shape(&p)
	}
	if err != nil {
		return CopyStats{}, err
	}
	var passed atomic.Int64
	buffers := make(chan []byte, p.workers) // for stored chunks, and for elements
	elements := make(chan []byte, p.workers)
	for range p.workers {
		buffers <- nil
		elements <- nil
	}
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
