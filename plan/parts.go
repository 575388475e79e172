// An array that consists of the parts of a stage.

package plan

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// object is the path of the dataset in an HDF5 part.
const object = "/data"

// mostOpen is the number of parts that are kept open.
const mostOpen = 64

// joined is the backend of the array that consists of the parts of a stage.
type joined struct {
	meta  ndarray.Meta
	stage Stage
	hdf5  bool
	path  func(ctx context.Context, shard int64) (string, error) // file or URL

	mu    sync.Mutex
	open  map[int64]*part
	order list.List // numbers of shards, the least recently used first

	pass atomic.Pointer[pass] // the current Prefetch, or nil
}

// part is an open part and the calls that use it.
type part struct {
	at      *list.Element
	users   int
	ready   chan struct{} // closed when backend and err are set
	backend *openedPart
	err     error
}

// openedPart is the backend of a part.
type openedPart struct {
	ndarray.Backend
	chunked.Reader

	once    sync.Once
	uniform func(r ndarray.Region) bool // nil: unknown; set by uniformIn
}

// uniformIn reports whether the elements of a region of the part are known to be equal.
func (b *openedPart) uniformIn(ctx context.Context, r ndarray.Region) (ok bool, err error) {
	b.once.Do(func() {
		if u, ok := ndarray.As[ndarray.UniformTeller](b.Backend); ok {
			b.uniform, err = u.Uniform(ctx, ndarray.Whole(b.Meta().Shape))
		}
	})
	return b.uniform != nil && b.uniform(r), err
}

// openPart opens the part at a path or URL.
func openPart(ctx context.Context, path string, inHDF5 bool) (*openedPart, error) {
	if inHDF5 {
		path += ":" + object
	}
	a, err := hyperslab.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	chunks, ok := ndarray.As[chunked.Reader](a.Backend())
	if !ok {
		return nil, errors.Join(fmt.Errorf("%w: a part of format %s", errors.ErrUnsupported, a.Meta().Format), a.Close())
	}
	return &openedPart{Backend: a.Backend(), Reader: chunks}, nil
}

// use calls f with an open part.
func (j *joined) use(ctx context.Context, shard int64, f func(b *openedPart) error) error {
	j.mu.Lock()
	x, ok := j.open[shard]
	if !ok {
		x = &part{ready: make(chan struct{})}
		x.at = j.order.PushBack(shard)
		j.open[shard] = x
	} else {
		j.order.MoveToBack(x.at)
	}
	x.users++
	j.mu.Unlock()
	if !ok {
		var path string
		if path, x.err = j.path(ctx, shard); x.err == nil {
			x.backend, x.err = openPart(ctx, path, j.hdf5)
		}
		close(x.ready)
	}
	<-x.ready
	err := x.err
	if err == nil {
		j.begin(shard, x.backend)
		err = f(x.backend)
	}
	return errors.Join(err, j.release(x))
}

// release ends a use and closes parts that are not in use while there are too many, and a part that
// could not be opened.
func (j *joined) release(x *part) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	x.users--
	var err error
	for e := j.order.Front(); e != nil; {
		next := e.Next()
		shard := e.Value.(int64)
		if y := j.open[shard]; y.users == 0 && (len(j.open) > mostOpen || y.err != nil) {
			j.order.Remove(e)
			delete(j.open, shard)
			if y.backend != nil {
				err = errors.Join(err, y.backend.Close())
			}
		}
		e = next
	}
	return err
}

// Meta implements ndarray.Backend.
func (j *joined) Meta() ndarray.Meta { return j.meta }

// Close implements ndarray.Backend.
func (j *joined) Close() (err error) {
	for shard, x := range j.open {
		if x.backend != nil {
			err = errors.Join(err, x.backend.Close())
		}
		delete(j.open, shard)
	}
	return err
}

// ReadRegion implements ndarray.Backend.
func (j *joined) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	item := j.meta.DType.Size
	var buf []byte
	return j.each(r, func(shard int64, box ndarray.Region) error {
		shared, _ := grid.Box(box).Intersect(grid.Box(r))
		own := inside(box, r)
		return j.use(ctx, shard, func(b *openedPart) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if shared.Equal(grid.Box(r)) {
				return b.ReadRegion(ctx, dst, own, workers)
			}
			n := own.NumElems() * int64(item)
			if int64(cap(buf)) < n {
				buf = make([]byte, n)
			}
			if err := b.ReadRegion(ctx, buf[:n], own, workers); err != nil {
				return err
			}
			grid.Copy(dst, grid.Box(r), buf[:n], shared, shared, item)
			return nil
		})
	})
}

// Uniform implements ndarray.UniformTeller. A region is uniform if it is in each part and if the
// first elements in all parts are equal. An error counts as not uniform, because the read that
// follows returns it.
func (j *joined) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	return func(r ndarray.Region) bool {
		var first []byte
		err := j.each(r, func(shard int64, box ndarray.Region) error {
			own := inside(box, r)
			one := make([]byte, j.meta.DType.Size)
			return j.use(ctx, shard, func(b *openedPart) error {
				ok, err := b.uniformIn(ctx, own)
				if err == nil && ok && own.NumElems() < r.NumElems() {
					err = b.ReadRegion(ctx, one, ndarray.Region{Start: own.Start, Shape: slices.Repeat([]int64{1}, len(own.Start))}, 1)
				}
				if err == nil && (!ok || first != nil && !bytes.Equal(first, one)) {
					err = errDiffer
				}
				first = one
				return err
			})
		})
		return err == nil
	}, ctx.Err()
}

// errDiffer ends the search of Uniform.
var errDiffer = errors.New("elements may differ")

// inside returns the elements of r in the box of a shard, as a region of its part.
func inside(box, r ndarray.Region) ndarray.Region {
	shared, _ := grid.Box(box).Intersect(grid.Box(r))
	own := ndarray.Region(shared.Clone())
	for i := range own.Start {
		own.Start[i] -= box.Start[i]
	}
	return own
}

// each calls f for each shard that touches r, in row-major order.
func (j *joined) each(r ndarray.Region, f func(shard int64, box ndarray.Region) error) error {
	rank := len(r.Shape)
	low, high, at := make([]int64, rank), make([]int64, rank), make([]int64, rank)
	for i := range low {
		low[i] = r.Start[i] / j.stage.Shard[i]
		high[i] = (r.Start[i] + r.Shape[i] - 1) / j.stage.Shard[i]
	}
	copy(at, low)
	for {
		shard := int64(0)
		for i, n := range at {
			shard = shard*grid.DivUp(j.meta.Shape[i], j.stage.Shard[i]) + n
		}
		if err := f(shard, j.stage.region(j.meta.Shape, shard)); err != nil {
			return err
		}
		axis := rank - 1
		for ; axis >= 0 && at[axis] == high[axis]; axis-- {
			at[axis] = low[axis]
		}
		if axis < 0 {
			return nil
		}
		at[axis]++
	}
}

// ChunkForms implements chunked.Reader.
func (j *joined) ChunkForms(ctx context.Context) (forms []chunked.Form, err error) {
	if j.meta.ChunkShape == nil {
		return nil, nil
	}
	err = j.use(ctx, 0, func(b *openedPart) (err error) { forms, err = b.ChunkForms(ctx); return err })
	if len(forms) > 1 {
		forms = forms[:1] // the form of the file; others can differ between parts
	}
	return forms, err
}

// ReadChunk implements chunked.Reader.
func (j *joined) ReadChunk(ctx context.Context, dst []byte, f chunked.Form, n int64) (c []byte, err error) {
	rank := len(j.meta.Shape)
	at := make([]int64, rank)
	for i := rank - 1; i >= 0; i-- {
		along := grid.DivUp(j.meta.Shape[i], j.meta.ChunkShape[i])
		at[i] = n % along
		n /= along
	}
	shard, number := int64(0), int64(0)
	for i, x := range at {
		start := x * j.meta.ChunkShape[i]
		shard = shard*grid.DivUp(j.meta.Shape[i], j.stage.Shard[i]) + start/j.stage.Shard[i]
	}
	box := j.stage.region(j.meta.Shape, shard)
	for i, x := range at {
		number = number*grid.DivUp(box.Shape[i], j.meta.ChunkShape[i]) + x - box.Start[i]/j.meta.ChunkShape[i]
	}
	err = j.use(ctx, shard, func(b *openedPart) error {
		if got := b.Meta().ChunkShape; !slices.Equal(got, j.meta.ChunkShape) {
			return fmt.Errorf("%w: chunks of the part of shard %d: got %v, want %v", ErrReceipt, shard, got, j.meta.ChunkShape)
		}
		c, err = b.ReadChunk(ctx, dst, f, number)
		return err
	})
	return c, err
}

// assemble returns the array of a stage's parts. meta describes the array without its chunks.
func (p *Plan) assemble(ctx context.Context, s store, stage int, meta ndarray.Meta, receipts map[int64]*receipt) (*ndarray.Array, error) {
	at := p.Stages[stage-1]
	j := &joined{
		meta: meta.Clone(), stage: at, open: make(map[int64]*part),
		hdf5: p.partFormat(stage) == hyperslab.HDF5,
	}
	j.meta.ReadOnly = true
	j.path = func(ctx context.Context, shard int64) (string, error) {
		r := receipts[shard]
		if r == nil {
			var err error
			if r, err = p.receipt(ctx, s, stage, shard); err != nil {
				return "", err
			}
		}
		return s.location(r.Part), ctx.Err()
	}
	return ndarray.New(j)
}

// partFormat returns the format of the parts of a stage.
func (p *Plan) partFormat(stage int) hyperslab.Format {
	if stage == len(p.Stages) && p.Target.Format == string(hyperslab.HDF5) {
		return hyperslab.HDF5
	}
	if stage == len(p.Stages) && p.Target.Format == string(hyperslab.Caterva) {
		return hyperslab.Caterva
	}
	return hyperslab.B2ND
}
