package h5cloud

import (
	"bytes"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// The reader of Reads: xarray with h5netcdf over fsspec with a cache of blocks, as the guides of
// h5py and of cloud-optimized HDF5 recommend. It sends one request for the size of the file and one
// for each block that has a needed byte, and waits for each response before the next request.
const (
	ReaderBlock = 4 << 20 // bytes of a request
	Latency     = 0.030   // seconds of a request
	Bandwidth   = 125e6   // bytes per second
)

// Reads are the requests of the reader.
type Reads struct {
	Requests int64 // with one for the size of the file
	Bytes    int64
}

// Seconds returns the time of the requests: each has the latency, and all bytes the bandwidth.
func (r Reads) Seconds() float64 { return float64(r.Requests)*Latency + float64(r.Bytes)/Bandwidth }

// Cost is the cost of the reader for a file: to open it as a dataset of xarray, with all metadata
// and the elements of dimension coordinates, and to read all elements too.
type Cost struct{ Open, All Reads }

// blocks are the blocks of a file that a reader needs.
type blocks struct {
	size   int64
	needed map[int64]bool
}

func newBlocks(size int64) *blocks { return &blocks{size, make(map[int64]bool)} }

// add adds the bytes of a file from offset from to offset end.
func (b *blocks) add(from, end int64) {
	if from < 0 || from >= min(end, b.size) {
		return
	}
	for n := from / ReaderBlock; n <= (min(end, b.size)-1)/ReaderBlock; n++ {
		b.needed[n] = true
	}
}

// reads returns the requests for the blocks.
func (b *blocks) reads() Reads {
	r := Reads{Requests: 1}
	for n := range b.needed {
		r.Requests++
		r.Bytes += min(ReaderBlock, b.size-n*ReaderBlock)
	}
	return r
}

// costs collects the costs of a file.
type costs struct {
	open, all   *blocks
	coordinates int64 // bytes of dimension coordinates
}

// elements adds elements at an offset of the file.
func (c *costs) elements(coordinate bool, at, n int64) {
	c.all.add(at, at+n)
	if coordinate {
		c.open.add(at, at+n)
		c.coordinates += n
	}
}

// now returns the cost of the file as it is.
func (c *costs) now() Cost { return Cost{c.open.reads(), c.all.reads()} }

// repacked returns the cost of the copy by Create: a page with the metadata, which are as long as
// they are now, the dimension coordinates in blocks of their own, and the other elements, which are
// as long as they are now. It is at most the cost of the file, which can be such a copy.
func (c *costs) repacked(m Metadata, stored int64) Cost {
	front := func(n int64) Reads {
		return Reads{Requests: 1 + grid.DivUp(max(n, 1), ReaderBlock), Bytes: n}
	}
	page := pageSize(m.Bytes + m.Bytes/4)
	cost := Cost{front(min(page, ReaderBlock*grid.DivUp(m.Bytes, ReaderBlock))), front(page + stored)}
	if size := page + stored; size <= ReaderBlock {
		cost.Open = front(size)
	} else if cost.Open.Bytes = ReaderBlock * (cost.Open.Requests - 1); c.coordinates > 0 {
		n := grid.DivUp(c.coordinates, ReaderBlock)
		cost.Open.Requests += n
		cost.Open.Bytes += n * ReaderBlock
	}
	now := c.now()
	return Cost{cost.Open.least(cost.All).least(now.Open), cost.All.least(now.All)}
}

// least returns the smaller number of requests and of bytes of both.
func (r Reads) least(o Reads) Reads { return Reads{min(r.Requests, o.Requests), min(r.Bytes, o.Bytes)} }

// coordinate reports whether a dataset is a dimension coordinate, whose elements xarray reads when
// it opens a file.
func coordinate(o *h5file.Object) bool {
	if s := o.Dataspace(); s == nil || len(s.Dims) != 1 {
		return false
	}
	for a, err := range o.Attributes() {
		if err != nil {
			return false
		}
		if a.Name == "CLASS" {
			return bytes.HasPrefix(a.Value, []byte("DIMENSION_SCALE"))
		}
	}
	return false
}
