// Options, statistics and errors of Read and Write.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// Options are the options of Read and Write. A nil *Options means the zero value.
type Options struct {
	Workers  int                     // goroutines; 0: GOMAXPROCS
	Memory   int64                   // maximum scratch memory of all workers of the call, in bytes; 0: 256 MiB. All concurrent reads together also obey ndarray.SetReadMemory
	Library  bool                    // always use libhdf5
	Exact    bool                    // Write: deflate writes the same bytes as zlib
	Progress func(done, total int64) // called with bytes of elements, by one goroutine at a time; chunks may be in any order

	// Store receives the chunks of Write instead of the dataset, as they are to be stored
	// (h5.Dataset.WriteChunk). It is called in the order of the chunks by one goroutine and may use
	// b until it returns. Chunks without filters are passed to it too. For datasets that only
	// libhdf5 can write, and regions that cover chunks partially, Write returns
	// errors.ErrUnsupported.
	Store func(b []byte, mask uint32, offset []int64) error
}

const defaultMemory = budget.Default

// Stats are the statistics of one Read or Write.
type Stats struct {
	Fallback string // reason why libhdf5 was used; "" if it was not used
	Workers  int    // goroutines
	Chunks   int64  // number of chunks in the region
	Missing  int64  // of those, not stored: read as the fill value, or written for the first time
	Direct   int64  // read from the file without the lock
	Partial  int64  // of which only some blocks were decoded
	Merged   int64  // partially written: read, changed and stored again
	Stored   int64  // bytes read or written in stored form
}

func (s *Stats) add(o *Stats) {
	s.Chunks += o.Chunks
	s.Missing += o.Missing
	s.Direct += o.Direct
	s.Partial += o.Partial
	s.Merged += o.Merged
	s.Stored += o.Stored
}

// Error is an error in a chunk.
type Error struct {
	Op    string  // "read", "write"
	Path  string  // of the dataset
	Chunk []int64 // its first element
	Err   error
}

// Error returns a message with the dataset, the chunk and the cause.
func (e *Error) Error() string {
	return fmt.Sprintf("chunkio: %s %s, chunk %d: %v", e.Op, e.Path, e.Chunk, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Read fills dst with the elements of r as mem, in row-major order, like h5.Dataset.ReadRegion with
// its lengths, types and errors. It defines every byte of dst, as ReadRegion does.
//
// It stops between two chunks when ctx is done. After any error the content of dst is undefined.
func Read(ctx context.Context, d *h5.Dataset, dst []byte, mem h5.Datatype, r h5.Region, o *Options) (Stats, error) {
	c := newCall("read", d, mem, r, o)
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	why, err := c.prepare(len(dst))
	if err != nil {
		return Stats{}, err
	}
	if why == "" && c.set.nothing {
		why = "no chunks are stored and there is no fill value, which libhdf5 refuses"
	}
	if why != "" {
		return Stats{Fallback: why}, c.readByLibrary(ctx, dst)
	}
	return c.read(ctx, dst)
}

// Write replaces the elements of r with src, which contains them as mem in row-major order, like
// h5.Dataset.WriteRegion with its lengths, types and errors.
//
// Chunks are stored in row-major order of the grid, so the file does not depend on the number of
// workers. Concurrent calls of Write store their chunks in an arbitrary order relative to each
// other.
//
// It stops between two chunks when ctx is done; some of the chunks are stored then.
func Write(ctx context.Context, d *h5.Dataset, src []byte, mem h5.Datatype, r h5.Region, o *Options) (Stats, error) {
	c := newCall("write", d, mem, r, o)
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	why, err := c.prepare(len(src))
	if err != nil {
		return Stats{}, err
	}
	if why == "" && c.set.pipeline.Len() == 0 && c.o.Store == nil {
		why = "no filters: the library only copies"
	}
	if why != "" && c.o.Store != nil {
		return Stats{}, fmt.Errorf("%w: chunkio: write %s: chunks that are not stored at once: %s", errors.ErrUnsupported, d.Path(), why)
	}
	if why != "" {
		return Stats{Fallback: why}, c.writeByLibrary(ctx, src)
	}
	return c.write(ctx, src)
}

// Fallback returns the reason why Read and Write use libhdf5 for every region of a dataset, or ""
// if they do not. Its errors are those of h5.Dataset.Info.
func Fallback(d *h5.Dataset) (string, error) {
	set, err := lookUp(d, false)
	if err != nil {
		return "", err
	}
	if need := set.need(); set.why == "" && need > defaultMemory {
		return tooLarge(need, defaultMemory), nil
	}
	return set.why, nil
}

func tooLarge(need, memory int64) string {
	return fmt.Sprintf("a chunk needs %d bytes of memory, %d are allowed", need, memory)
}

// A call is one Read or Write.
type call struct {
	op   string
	d    *h5.Dataset
	mem  h5.Datatype
	r    h5.Region
	o    Options
	set  *dataset
	plan *chunked.Plan
	swap *swap  // byte-order conversion between stored and caller's elements
	fill []byte // element that is not stored, in the caller's datatype
	need int64  // maximum memory of one worker in bytes
	keep bool   // decoded chunks are kept for the next read, because this one needs parts of few

	progress struct {
		sync.Mutex
		done, total int64
	}
}

func newCall(op string, d *h5.Dataset, mem h5.Datatype, r h5.Region, o *Options) *call {
	c := &call{op: op, d: d, mem: mem, r: r}
	if o != nil {
		c.o = *o
	}
	if c.o.Workers <= 0 {
		c.o.Workers = runtime.GOMAXPROCS(0)
	}
	if c.o.Memory <= 0 {
		c.o.Memory = defaultMemory
	}
	return c
}

// prepare maps the region to the chunks, or returns the reason why libhdf5 must be used. It also
// leaves invalid calls to libhdf5, so that package h5 returns the error.
func (c *call) prepare(length int) (why string, err error) {
	if c.o.Library {
		return "asked for", nil
	}
	if c.set, err = lookUp(c.d, c.o.Exact); err != nil {
		return "", err
	}
	set := c.set
	switch {
	case set.why != "":
		return set.why, nil
	}
	axes := c.axes(length)
	switch {
	case axes == nil:
		return "a call that is refused, or of no elements", nil
	case chunked.Loops(axes) > boxes.MaxRank:
		return "a region with steps between blocks in too many dimensions", nil
	}
	need := set.need()
	if c.swap = newSwap(set.info.Datatype, c.mem); c.swap == nil {
		return fmt.Sprintf("a conversion between %v and %v", set.info.Datatype, c.mem), nil
	}
	if c.op == "read" {
		c.fill = c.fillValue()
	}
	c.plan = chunked.NewPlan(&set.grid, axes, c.mem.Size)
	c.need = need
	if need > c.o.Memory {
		return tooLarge(need, c.o.Memory), nil
	}
	c.o.Workers = int(min(int64(c.o.Workers), c.o.Memory/need, c.plan.Chunks))
	c.progress.total = int64(length)
	c.keep = c.op == "read" && !c.swap.needed() && set.keeps() && c.plan.Chunks <= h5.DefaultChunkCache().Bytes/int64(set.chunkBytes)
	return "", nil
}

// axes splits the region into its axes. It returns nil if the region is not inside the dataset, or
// if the buffer has the wrong length.
func (c *call) axes(length int) []chunked.Axis {
	dims := c.set.info.Space.Dims
	rank := len(dims)
	if len(c.r.Start) != rank || len(c.r.Count) != rank || c.r.Stride != nil && len(c.r.Stride) != rank ||
		c.r.Block != nil && len(c.r.Block) != rank {
		return nil
	}
	axes := make([]chunked.Axis, rank)
	n := int64(c.mem.Size)
	for i, d := range dims {
		stride, block := c.steps(i)
		ok := false
		if axes[i], ok = chunked.NewAxis(c.r.Start[i], c.r.Count[i], stride, block, d); !ok {
			return nil
		}
		if n > int64(length)/axes[i].Len() {
			return nil
		}
		n *= axes[i].Len()
	}
	if n != int64(length) {
		return nil
	}
	return axes
}

// steps returns the distance between blocks of the region along an axis, and the length of a block.
func (c *call) steps(axis int) (stride, block int64) {
	stride, block = 1, 1
	if c.r.Stride != nil {
		stride = c.r.Stride[axis]
	}
	if c.r.Block != nil {
		block = c.r.Block[axis]
	}
	return stride, block
}

func (c *call) advance(n int64) {
	if c.o.Progress == nil {
		return
	}
	c.progress.Lock()
	defer c.progress.Unlock()
	c.progress.done += n
	c.o.Progress(c.progress.done, c.progress.total)
}

// fail adds the chunk to an error.
func (c *call) fail(chunk []int64, err error) error {
	return &Error{Op: c.op, Path: c.d.Path(), Chunk: append([]int64(nil), chunk...), Err: err}
}
