// The order of writes. With it many workers fill an array, and the file is the same as with one
// worker.

package ndarray

import (
	"context"
	"errors"
	"slices"

	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// mostWaiting is the maximum number of bytes of chunks that wait in memory for earlier chunks.
const mostWaiting = 32 << 20

// order controls the writes of a job to one array.
type order struct {
	dst     *Array
	seq     ordered.Sequence // nil if the order does not change the file, or if there is only one writer
	workers int              // 1 if the backend can order writes only with one writer; as requested otherwise
	allowed int              // goroutines as requested; 0 means GOMAXPROCS
	window  int64            // bytes of waiting chunks; 0 without seq
	memory  int64            // bytes that remain for buffers
}

// inOrder begins the writes of a job with at most workers and memory. The caller must end them with
// end, and call stop before writes that are not of whole chunks.
func inOrder(ctx context.Context, dst *Array, workers int, memory int64, dir string) (*order, error) {
	o := &order{dst: dst, workers: workers, allowed: workers, memory: memory}
	b, ok := As[ordered.Sequencer](dst.backend)
	if !ok || dst.m().ReadOnly || dst.m().NumElems() == 0 {
		return o, nil
	}
	if lossy, err := dst.lossy(); err != nil || lossy {
		o.workers = 1 // chunks are compared as they are written
		return o, err
	}
	_, memory, err := limits(workers, memory)
	if err != nil {
		return nil, err
	}
	window := min(memory/8, mostWaiting)
	err = dst.use("write to", func() (err error) { o.seq, err = b.InOrder(ctx, window, dir); return err })
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		o.workers = 1
	case err != nil:
		return nil, err
	case o.seq != nil:
		o.window, o.memory = window, memory-window
	}
	return o, nil
}

// shape adapts a plan to this order. A plan that divides chunks of the array has one worker, and
// its writes must not wait.
func (o *order) shape(p *plan) error {
	p.divide(o.allowed)
	if o.seq == nil || p.total == 0 {
		return nil
	}
	for i, n := range o.dst.m().ChunkShape {
		if unit := p.units.Chunk[i]; unit%n != 0 && unit < o.dst.m().Shape[i] {
			return o.stop(true)
		}
	}
	// As many units as fit in the window if compression halves them.
	p.ahead = max(2*int64(p.workers), 2*o.window/max(p.unit, 1))
	return nil
}

// skip reports that the chunks of a region will not be written. The region is whole chunks.
func (o *order) skip(r Region) error {
	shape, chunk := o.dst.m().Shape, o.dst.m().ChunkShape
	if o.seq == nil || slices.Equal(r.Shape, shape) { // no chunk waits if none is written
		return nil
	}
	within := grid.Of(r.Shape, chunk)
	for i := range within.NumChunks() {
		n := int64(0)
		for axis, at := range within.Index(i) {
			n = n*grid.DivUp(shape[axis], chunk[axis]) + r.Start[axis]/chunk[axis] + at
		}
		if err := o.dst.use("write to", func() error { return o.seq.Skip(n) }); err != nil {
			return err
		}
	}
	return nil
}

func (o *order) stop(keep bool) error {
	seq := o.seq
	o.seq = nil
	if seq == nil {
		return nil
	}
	return o.dst.use("write to", func() error { return seq.End(keep) })
}

// end ends the writes of a job. It discards waiting chunks if *err is not nil.
func (o *order) end(err *error) { *err = errors.Join(*err, o.stop(*err == nil)) }
