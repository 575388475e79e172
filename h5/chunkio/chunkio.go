// What a caller says and gets: options, statistics, errors.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// Options says how a region is read or written. nil means the zero value.
type Options struct {
	Workers  int                     // goroutines; 0: GOMAXPROCS
	Memory   int64                   // bytes of scratch of all workers together; 0: 256 MiB
	Library  bool                    // let the library do it
	Lossy    bool                    // as h5.ReadRegionLossy and WriteRegionLossy
	Exact    bool                    // Write: deflate as zlib does, byte for byte
	Progress func(done, total int64) // bytes of elements; called by one goroutine at a time, in no order of chunks

	// Store takes the chunks of Write in the place of the dataset, as they are to be
	// stored (h5.Dataset.WriteChunk), in their order, from one goroutine; b is its own
	// until it returns. Chunks without filters go there too. What only the library can
	// write, and regions that cut chunks, are errors.ErrUnsupported.
	Store func(b []byte, mask uint32, offset []int64) error
}

// defaultMemory holds 16 workers with chunks of 4 MiB.
const defaultMemory = 256 << 20

// Stats says what was done.
type Stats struct {
	Fallback string // why the library did it; "" if it did not
	Workers  int    // goroutines
	Chunks   int64  // touched
	Missing  int64  // of those, not stored: read as the fill value, or written anew
	Direct   int64  // read from the file without the lock
	Partial  int64  // of which only some blocks were decoded
	Merged   int64  // written in part: read, changed and stored again
	Stored   int64  // bytes read or written as they are stored
}

func (s *Stats) add(o *Stats) {
	s.Chunks += o.Chunks
	s.Missing += o.Missing
	s.Direct += o.Direct
	s.Partial += o.Partial
	s.Merged += o.Merged
	s.Stored += o.Stored
}

// Error reports what was wrong with a chunk.
type Error struct {
	Op    string  // "read", "write"
	Path  string  // of the dataset
	Chunk []int64 // its first element
	Err   error
}

// Error gives the dataset, the chunk and what was wrong.
func (e *Error) Error() string {
	return fmt.Sprintf("chunkio: %s %s, chunk %d: %v", e.Op, e.Path, e.Chunk, e.Err)
}

// Unwrap gives what was wrong.
func (e *Error) Unwrap() error { return e.Err }

// Read fills dst with the elements of r as mem, in row-major order, as
// h5.Dataset.ReadRegion does, with its lengths, types and errors.
//
// It stops between two chunks when ctx is done. dst then holds nothing of use, nor
// does it after an error.
func Read(ctx context.Context, d *h5.Dataset, dst []byte, mem h5.Datatype, r h5.Region, o *Options) (Stats, error) {
	c := newCall("read", d, mem, r, o)
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	why, err := c.prepare(len(dst))
	if err != nil {
		return Stats{}, err
	}
	if why == "" && c.set.info.StorageBytes == 0 && c.set.info.FillKind == h5.FillUndefined {
		why = "nothing is stored and there is no fill value, which the library refuses"
	}
	if why == "" && c.conv != nil && c.fill == nil {
		why = "a conversion of elements that may be neither stored nor have a fill value"
	}
	if why != "" {
		return Stats{Fallback: why}, c.readByLibrary(ctx, dst)
	}
	stats, err := c.read(ctx, dst)
	if errors.Is(err, errChanged) {
		c.o.Progress = nil // it has heard of these elements
		return Stats{Fallback: errChanged.Error()}, c.readByLibrary(ctx, dst)
	}
	return stats, err
}

// Write replaces the elements of r with src, which holds them as mem in row-major
// order, as h5.Dataset.WriteRegion does, with its lengths, types and errors.
//
// Chunks are stored in row-major order of the grid, one behind the other, so that the file
// is the same whatever the number of workers. That of several calls at once is theirs.
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
	if why == "" && c.conv != nil && !c.conv.exact {
		if err := c.tryConverting(ctx, src); errors.Is(err, errChanged) {
			why = errChanged.Error() // before anything is stored
		} else if err != nil {
			return Stats{}, err
		}
	}
	if why != "" && c.o.Store != nil {
		return Stats{}, fmt.Errorf("%w: chunkio: write %s: chunks that are not stored at once: %s", errors.ErrUnsupported, d.Path(), why)
	}
	if why != "" {
		return Stats{Fallback: why}, c.writeByLibrary(ctx, src)
	}
	return c.write(ctx, src)
}

// Fallback says why Read and Write leave regions of a dataset to the library, whatever
// the region; "" if they do not. Its errors are those of h5.Dataset.Info.
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
	plan *plan
	swap *swap       // what stored and caller's elements differ in, if it is no more than that
	conv *conversion // else
	fill []byte      // as the caller wants it; nil: elements that are not stored stay as they are
	lost bool        // the fill value is no value of the caller's type

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

// prepare finds out how the region lies in the chunks, or why the library has to
// do it. What is wrong with the call it leaves to the library as well, which has
// the words for it.
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
	combs := c.combs(length)
	switch {
	case combs == nil:
		return "a call that is refused, or of no elements", nil
	case depth(combs) > boxes.MaxRank:
		return "a region with steps between blocks in too many dimensions", nil
	}
	need := set.need()
	if c.swap = newSwap(set.info.Datatype, c.mem); c.swap == nil {
		from, to := set.info.Datatype, c.mem
		if c.op == "write" {
			from, to = to, from
		}
		if c.conv = newConversion(from, to, c.o.Lossy); c.conv == nil {
			return fmt.Sprintf("a conversion between %v and %v", set.info.Datatype, c.mem), nil
		}
		c.swap = &swap{1}
		need += int64(set.chunkBytes) / int64(set.item) * int64(set.item+c.mem.Size)
	}
	if c.op == "read" {
		c.fill, c.lost = c.fillValue()
	}
	c.plan = newPlan(set, combs, c.mem.Size)
	if need > c.o.Memory {
		return tooLarge(need, c.o.Memory), nil
	}
	c.o.Workers = int(min(int64(c.o.Workers), c.o.Memory/need, c.plan.chunks))
	c.progress.total = int64(length)
	return "", nil
}

// combs takes the region apart, axis by axis; nil if it is not inside the dataset, or the
// buffer not of its length.
func (c *call) combs(length int) []comb {
	dims := c.set.info.Space.Dims
	rank := len(dims)
	if len(c.r.Start) != rank || len(c.r.Count) != rank || c.r.Stride != nil && len(c.r.Stride) != rank ||
		c.r.Block != nil && len(c.r.Block) != rank {
		return nil
	}
	combs := make([]comb, rank)
	n := int64(c.mem.Size)
	for i, d := range dims {
		ok := false
		if combs[i], ok = newComb(&c.r, i, d); !ok {
			return nil
		}
		if n > int64(length)/combs[i].elements() {
			return nil
		}
		n *= combs[i].elements()
	}
	if n != int64(length) {
		return nil
	}
	return combs
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

// fail names the chunk that an error is about.
func (c *call) fail(chunk []int64, err error) error {
	return &Error{Op: c.op, Path: c.d.Path(), Chunk: append([]int64(nil), chunk...), Err: err}
}
