// The order of writes: many workers fill an array, and its file is as one worker would
// have made it.

package ndarray

import (
	"context"
	"errors"
)

// mostWaiting is the most bytes of chunks that wait in memory for those before them.
const mostWaiting = 32 << 20

// order is how a job writes to one array.
type order struct {
	dst     *Array
	seq     Sequence // nil if the order leaves no trace, or there is one writer alone
	workers int      // 1 if only one writer at a time leaves the same trace; as asked for otherwise
	window  int64    // bytes in which chunks wait; 0 without seq
	memory  int64    // bytes that are left for buffers
}

// inOrder begins the writes of a job that may take so much. They end with end, and with
// settle if they are not of whole chunks.
func inOrder(ctx context.Context, dst *Array, workers int, memory int64, dir string) (*order, error) {
	o := &order{dst: dst, workers: workers, memory: memory}
	b, ok := dst.backend.(Sequencer)
	if !ok || dst.m().ReadOnly || dst.m().NumElems() == 0 {
		return o, nil
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

// shape makes a plan one for this order. A plan that cuts chunks of the array has one
// worker, and none of its writes may wait.
func (o *order) shape(p *plan) error {
	if o.seq == nil || p.total == 0 {
		return nil
	}
	for i, n := range o.dst.m().ChunkShape {
		if unit := p.units.chunk[i]; unit%n != 0 && unit < o.dst.m().Shape[i] {
			return o.settle(true)
		}
	}
	// So many that they fit in the window, if compression halves them.
	p.ahead = max(2*int64(p.workers), 2*o.window/max(p.unit, 1))
	return nil
}

func (o *order) settle(keep bool) error {
	seq := o.seq
	o.seq = nil
	if seq == nil {
		return nil
	}
	return o.dst.use("write to", func() error { return seq.End(keep) })
}

// end ends the writes of a job that returns err.
func (o *order) end(err *error) { *err = errors.Join(*err, o.settle(*err == nil)) }
