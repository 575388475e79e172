// Stored chunks, which two backends exchange without decoding them.

package ndarray

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// passing copies stored chunks from one array to another.
type passing struct {
	from chunked.Reader
	to   chunked.Writer
	form chunked.Form
	fill bool // both have the same fill value, so chunks missing in src may be missing in dst
}

// newPassing returns a passing with a form that both arrays support. It returns nil if there is
// none, or if two chunks do not fit in memory.
func newPassing(ctx context.Context, dst, src *Array, memory int64) (*passing, error) {
	d, s := dst.m(), src.m()
	if n, ok := grid.Product(append([]int64{2 * int64(d.DType.Size)}, d.ChunkShape...)); !ok || n > memory {
		return nil, nil
	}
	if s.ChunkShape == nil || !slices.Equal(d.ChunkShape, s.ChunkShape) || !d.DType.Equal(s.DType) || d.DType.Size == 0 {
		return nil, nil
	}
	from, ok := As[chunked.Reader](src.backend)
	if !ok {
		return nil, nil
	}
	to, ok := As[chunked.Writer](dst.backend)
	if !ok || d.ReadOnly {
		return nil, nil
	}
	if lossy, err := dst.lossy(); err != nil || lossy {
		return nil, err
	}
	p := &passing{from: from, to: to, fill: bytes.Equal(d.Fill, s.Fill) || allZero(d.Fill) && allZero(s.Fill)}
	var forms []chunked.Form
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
func (p *passing) pass(ctx context.Context, dst, src *Array, in *order, buf *[]byte, n int64) (ok bool, err error) {
	var b []byte
	err = src.use("copy", func() (err error) {
		b, err = p.from.ReadChunk(ctx, (*buf)[:0], p.form, n)
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
func copyChunks(ctx context.Context, dst, src *Array, way *passing, in *order, o *CopyOptions) (CopyStats, error) {
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
		if err := src.ReadRegion(ctx, e, r, p.each); err != nil {
			return err
		}
		return dst.write(ctx, e, r, p.each)
	})
	return CopyStats{Bytes: p.total, Units: p.count, Workers: p.workers, Passed: passed.Load(), Stages: int(min(p.count, 1)), PeakBuffer: 2 * int64(p.workers) * p.unit}, err
}
