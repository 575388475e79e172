// Cached properties of a dataset, and the locations of its chunks.

package chunkio

import (
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// dataset contains the properties of a dataset. It is cached as long as the h5.Dataset exists if
// the file is read-only and cannot be changed by this process. Otherwise it is made for each call.
type dataset struct {
	why        string // reason why its chunks must be left to libhdf5; "" if they can be processed here
	info       h5.DatasetInfo
	pipeline   *filter.Pipeline
	item       int
	elsewhere  bool // not in the file of h5.Dataset.File
	nothing    bool // no chunks are stored, and there is no fill value
	chunkBytes int
	bound      int // maximum size of an encoded chunk
	grid       chunked.Layout
	total      int64 // chunks of the grid

	file   io.ReaderAt      // for reads without the lock; nil if they are not allowed
	size   int64            // of file
	remote readahead.Reader // file, if it fetches ranges before they are read; nil otherwise

	touched atomic.Int64 // number of chunks read without the whole index
	mu      sync.Mutex   // held while the index is read
	index   *index
	part    *partIndex // of a remote file: the last part that was read

	kept map[int64]*keptChunk // by number; protected by the lock of the cache
}

// known caches the datasets of files that cannot change.
var known sync.Map // from weak.Pointer[h5.Dataset] to *dataset

func lookUp(d *h5.Dataset, exact bool) (*dataset, error) {
	if d.File().Mode() != h5.ReadOnly {
		return describe(d, exact)
	}
	key := weak.Make(d)
	if set, ok := known.Load(key); ok {
		if d.Closed() { // return the error of h5, because a cached dataset may need no call of libhdf5
			_, err := d.Info()
			return nil, err
		}
		return set.(*dataset), nil
	}
	set, err := describe(d, exact)
	if err != nil || set.elsewhere {
		return set, err
	}
	if r, size := d.File().Source(); r != nil {
		set.file, set.size, set.remote = r, size, readahead.Of(r)
		return keep(d, key, set), nil
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
	return keep(d, key, set), nil
}

// keep caches a dataset, unless another goroutine did so first. It returns the cached one.
func keep(d *h5.Dataset, key weak.Pointer[h5.Dataset], set *dataset) *dataset {
	if first, loaded := known.LoadOrStore(key, set); loaded {
		return first.(*dataset)
	}
	runtime.AddCleanup(d, func(key weak.Pointer[h5.Dataset]) {
		known.Delete(key)
		kept.drop(set)
	}, key)
	return set
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
	case len(info.ChunkShape) >= h5.MaxRank: // see docs/defects.md
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
	// In a file that is open for writing, libhdf5 may have chunks in its cache that ReadChunk does
	// not find. Stored writes them to the file (H5Dget_storage_size).
	if info.FillKind == h5.FillUndefined || d.File().Mode() != h5.ReadOnly {
		stored, _, err := d.Stored()
		if err != nil {
			return nil, err
		}
		set.nothing = stored == 0 && info.FillKind == h5.FillUndefined
	}
	n := int64(set.item)
	for i, c := range info.ChunkShape {
		if n *= c; n > math.MaxInt32 {
			set.why = "chunks of more than 2 GiB"
			return set, nil
		}
		blocks := grid.DivUp(info.Space.Dims[i], c)
		if blocks > 0 && set.total > math.MaxInt64/blocks {
			set.why = "too many chunks to count"
			return set, nil
		}
		set.total *= blocks
	}
	set.chunkBytes = int(n)
	set.bound = set.pipeline.Bound(set.chunkBytes)
	set.grid = chunked.NewLayout(info.Space.Dims, info.ChunkShape, set.item)
	return set, nil
}

// unfiltered reports whether the chunk is stored without filters because of the option PlainEdges.
func (s *dataset) unfiltered(q *chunked.Piece) bool { return q.Edge && s.info.PlainEdges }

// need returns the maximum memory of one worker in bytes, without that for conversions.
func (s *dataset) need() int64 { return 3*int64(s.chunkBytes) + int64(s.bound) }

// inOtherFile reports whether an external link or a mount led to the dataset. Its chunk addresses
// are then not those of d.File(), and its file may be open for writing even if d.File() is not.
func inOtherFile(d *h5.Dataset) (bool, error) {
	own, err := d.Stat()
	if err != nil {
		return false, err
	}
	root, err := d.File().Root().Stat()
	return own.FileNo != root.FileNo, err
}

// An entry is the location of a chunk as the index has it. In a corrupt file the location may be
// invalid: see holds.
type entry struct {
	address uint64
	bytes   uint64
	mask    uint32
	stored  bool // false: the index has no entry
}

// An index finds chunks by their number in the grid, in row-major order.
type index struct {
	dense  []entry
	sparse map[int64]entry // used if most of the grid is not stored
}

func (x *index) at(number int64) entry {
	if x.sparse != nil {
		return x.sparse[number]
	}
	return x.dense[number]
}

// sparseEntry is about the number of bytes of an entry in the map of a sparse index.
const sparseEntry = 80

// sparseFrom is the maximum number of chunks of a grid for which the index is always dense.
const sparseFrom = 1 << 16

// readIndex reads the whole index from libhdf5 once.
func (s *dataset) readIndex(d *h5.Dataset) (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		return s.index, nil
	}
	s.fetchIndex(d)
	stored, err := d.NumChunks()
	if err != nil {
		return nil, err
	}
	x := &index{}
	sparse, size := s.total > sparseFrom && stored < s.total/4, s.total*int64(unsafe.Sizeof(entry{}))
	if sparse {
		size = stored * sparseEntry
	}
	if s.file != nil { // cached; a part of the memory is left to reads
		runtime.AddCleanup(x, budget.Grant.Release, budget.Lend(size, 0))
	}
	if sparse {
		x.sparse = make(map[int64]entry, stored)
	} else {
		x.dense = make([]entry, s.total)
	}
	for c, err := range d.StoredChunks() {
		if err != nil {
			return nil, err
		}
		number, inside := int64(0), true
		for i, at := range c.Offset {
			k := at / s.info.ChunkShape[i]
			inside = inside && at >= 0 && k < s.grid.Counts[i] // negative: 2^63 and more, in a corrupt file
			number = number*s.grid.Counts[i] + k
		}
		if !inside {
			continue // the chunk has no element of the dataset
		}
		e := entry{c.Address, uint64(c.Bytes), c.FilterMask, true}
		if x.sparse != nil {
			x.sparse[number] = e
		} else {
			x.dense[number] = e
		}
	}
	s.index = x
	return x, nil
}

// Stored returns the numbers of the stored chunks, counted in row-major order of the grid, in
// ascending order. ok is false for a dataset that is left to libhdf5: see Fallback.
//
// If end is not nil, only the chunks with elements from start to before end are certainly
// contained. Stored then reads only the nodes of the chunk index that lead to them, if the file is
// remote.
//
// It returns the errors of h5.Dataset.Info and Chunks.
func Stored(d *h5.Dataset, start, end []int64) (numbers []int64, ok bool, err error) {
	set, err := lookUp(d, false)
	if err != nil || set.why != "" {
		return nil, false, err
	}
	var x *index
	if end != nil && set.remote != nil && set.inside(start, end) {
		x, err = set.readPart(d, start, end)
	} else {
		x, err = set.readIndex(d)
	}
	if err != nil {
		return nil, false, err
	}
	if x.sparse != nil {
		for n, e := range x.sparse {
			if e.stored {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		return numbers, true, nil
	}
	for n, e := range x.dense {
		if e.stored {
			numbers = append(numbers, int64(n))
		}
	}
	return numbers, true, nil
}

// worthIndexing reports whether reading the whole index is cheaper than querying libhdf5 for that
// many more chunks, or will be soon. The unit of cost is an entry of the index, about a
// microsecond. A query of libhdf5 costs 8 for a chunk, and 1 for each 16 KiB of it. libhdf5 reads
// the whole chunk even if the region needs little of it. For parts of chunks, which libhdf5 would
// read without the whole index, a large index must pay for itself first.
func (s *dataset) worthIndexing(chunks int64, parts bool) bool {
	const least, each, bytes = 64, 8, 16 << 10
	if s.file == nil {
		return false
	}
	queried := s.touched.Add(chunks)
	soon := queried > least && !(parts && s.total > sparseFrom)
	return soon || queried >= s.total/(each+int64(s.chunkBytes)/bytes)
}
