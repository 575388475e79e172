// What is known of a dataset, and where its chunks are.

package chunkio

import (
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/boxes"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

// dataset is what is known of one. In a file that nobody can change it is kept as
// long as the h5.Dataset lives, else it is made for each call.
type dataset struct {
	why        string // why its chunks cannot be taken from the library; "" if they can
	info       h5.DatasetInfo
	pipeline   *filter.Pipeline
	item       int
	elsewhere  bool // not in the file of h5.Dataset.File
	chunkBytes int
	bound      int     // the most bytes of a chunk behind the filters
	strides    []int64 // of a chunk in memory, bytes
	grid       []int64 // chunks along each axis
	total      int64   // chunks of the grid

	file *os.File // to read from without the lock; nil if that may not be
	size int64    // of file

	touched atomic.Int64 // chunks that were read without an index
	mu      sync.Mutex   // held while the index is read
	index   *index
}

// known keeps the datasets of files that nobody can change.
var known sync.Map // of weak.Pointer[h5.Dataset] to *dataset

func lookUp(d *h5.Dataset, exact bool) (*dataset, error) {
	if d.File().Mode() != h5.ReadOnly {
		return describe(d, exact)
	}
	key := weak.Make(d)
	if set, ok := known.Load(key); ok {
		if d.Closed() { // the library, which would say so, may not be asked at all
			_, err := d.Info()
			return nil, err
		}
		return set.(*dataset), nil
	}
	set, err := describe(d, exact)
	if err != nil || set.elsewhere {
		return set, err
	}
	file, err := d.File().Descriptor()
	if errors.Is(err, errors.ErrUnsupported) {
		return set, nil
	}
	if err != nil {
		return nil, err
	}
	facts, err := file.Stat()
	if err != nil {
		return nil, err
	}
	set.file, set.size = file, facts.Size()
	if _, loaded := known.LoadOrStore(key, set); !loaded {
		runtime.AddCleanup(d, func(key weak.Pointer[h5.Dataset]) { known.Delete(key) }, key)
	}
	return set, nil
}

func describe(d *h5.Dataset, exact bool) (*dataset, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	set := &dataset{info: info, item: info.Datatype.Size, total: 1}
	switch {
	case info.Layout != h5.Chunked:
		set.why = "the dataset is " + info.Layout.String()
		return set, nil
	case !info.Datatype.Plain():
		set.why = "elements that are more than their bytes"
		return set, nil
	case len(info.Chunks) >= h5.MaxRank: // see h5.Defects
		set.why = "too many dimensions"
		return set, nil
	}
	if set.elsewhere, err = inOtherFile(d); err != nil {
		return nil, err
	}
	if set.elsewhere {
		set.why = "it lies in another file than the one it was opened through"
		return set, nil
	}
	if set.pipeline, err = filter.New(info.Filters, filter.Options{Exact: exact}); err != nil {
		set.why = err.Error()
		return set, nil
	}
	n := int64(set.item)
	for i, c := range info.Chunks {
		if n *= c; n > math.MaxInt32 {
			set.why = "chunks of more than 2 GiB"
			return set, nil
		}
		blocks := ceil.Div(info.Space.Dims[i], c)
		set.grid = append(set.grid, blocks)
		if blocks > 0 && set.total > math.MaxInt64/blocks {
			set.why = "too many chunks to count"
			return set, nil
		}
		set.total *= blocks
	}
	set.chunkBytes = int(n)
	set.bound = set.pipeline.Bound(set.chunkBytes)
	set.strides = boxes.Strides(info.Chunks, set.item)
	return set, nil
}

// need is the most bytes that one worker takes beside conversions.
func (s *dataset) need() int64 { return 3*int64(s.chunkBytes) + int64(s.bound) }

// inOtherFile reports a dataset that an external link or a mount led to: its addresses
// are not those of d.File(), nor need it be closed to writers as that may be.
func inOtherFile(d *h5.Dataset) (bool, error) {
	own, err := d.Stat()
	if err != nil {
		return false, err
	}
	root, err := d.File().Root().Stat()
	return own.FileNo != root.FileNo, err
}

// An entry is where a chunk is.
type entry struct {
	address uint64
	bytes   uint32 // 0: it is not stored
	mask    uint32
}

// An index finds chunks by their number in the grid, in row-major order.
type index struct {
	dense  []entry
	sparse map[int64]entry // if most of the grid is not stored
}

func (x *index) at(number int64) entry {
	if x.sparse != nil {
		return x.sparse[number]
	}
	return x.dense[number]
}

// sparseFrom is the number of chunks of a grid from which on it matters how many
// are stored.
const sparseFrom = 1 << 16

// readIndex takes all of it from the library, once.
func (s *dataset) readIndex(d *h5.Dataset) (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		return s.index, nil
	}
	stored, err := d.NumChunks()
	if err != nil {
		return nil, err
	}
	x := &index{}
	if s.total > sparseFrom && stored < s.total/4 {
		x.sparse = make(map[int64]entry, stored)
	} else {
		x.dense = make([]entry, s.total)
	}
	for c, err := range d.Chunks() {
		if err != nil {
			return nil, err
		}
		number, inside := int64(0), true
		for i, at := range c.Offset {
			k := at / s.info.Chunks[i]
			inside = inside && at >= 0 && k < s.grid[i] // below 0: 2^63 and more, in a damaged file
			number = number*s.grid[i] + k
		}
		if !inside || c.Bytes < 0 || c.Bytes > math.MaxUint32 {
			continue // no element of the dataset is in it, or the library would not read it
		}
		e := entry{c.Address, uint32(c.Bytes), c.FilterMask}
		if x.sparse != nil {
			x.sparse[number] = e
		} else {
			x.dense[number] = e
		}
	}
	s.index = x
	return x, nil
}

// Stored returns the numbers of the chunks that are stored, counted in row-major order of the
// grid, in ascending order. ok is false for a dataset that Fallback says is left to the library.
//
// It returns the errors of h5.Dataset.Info and Chunks.
func Stored(d *h5.Dataset) (numbers []int64, ok bool, err error) {
	set, err := lookUp(d, false)
	if err != nil || set.why != "" {
		return nil, false, err
	}
	x, err := set.readIndex(d)
	if err != nil {
		return nil, false, err
	}
	if x.sparse != nil {
		for n, e := range x.sparse {
			if e.bytes != 0 {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		return numbers, true, nil
	}
	for n, e := range x.dense {
		if e.bytes != 0 {
			numbers = append(numbers, int64(n))
		}
	}
	return numbers, true, nil
}

// worthIndexing reports that the whole index is cheaper, or will soon have been, than asking
// the library for that many chunks more. What an entry of the index costs, about a
// microsecond, is the unit: the library takes eight for a chunk, and one for each 16 KiB of
// it, which it reads whole where a region may want little.
func (s *dataset) worthIndexing(chunks int64) bool {
	const few, each, bytes = 64, 8, 16 << 10
	if s.file == nil {
		return false
	}
	asked := s.touched.Add(chunks)
	return asked > few || asked >= s.total/(each+int64(s.chunkBytes)/bytes)
}
