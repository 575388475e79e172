// The tasks and their files.

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// task is a read that each program does.
type task struct {
	name, job     string // job of peer.py
	file, address string
	peers         []string
	// Minimum of any program without an index: requests that must follow each other.
	trips int
	// part is the part of the file that must be read.
	part float64
}

var (
	forHDF5 = []string{"h5py", "h5py-blocks", "blosc2", "blosc2-index", "h5coro", "kerchunk", "zarr"}
	forB2nd = []string{"blosc2", "blosc2-index"}
	indexed = []string{"list.h5", "wide.h5", "big.h5", "big.b2nd", "small.h5"}
)

// The region reads 2 x 3 x 3 chunks of the large array, and 3 x 3 x 3 of small.h5.
var tasks = []task{
	{"list 1,000 datasets, small file", "list", "list.h5", "", forHDF5, 1, 1},
	{"list 1,000 datasets, scattered", "list", "wide.h5", "", forHDF5, 3, 0.002},
	{"region of 18 chunks", "region", "big.h5", ":/x[32:96,100:200,100:200]", forHDF5, 3, 0},
	{"region of 18 chunks, b2nd", "region", "big.b2nd", "[32:96,100:200,100:200]", forB2nd, 3, 0},
	{"region of 27 small chunks", "small", "small.h5", ":/x[10:40,10:40,10:40]", forHDF5, 3, 0},
	{"full read", "full", "big.h5", ":/x", forHDF5, 1, 1},
	{"full read, b2nd", "full", "big.b2nd", "", forB2nd, 1, 1},
}

const side = 512 // of the last two dimensions

// rows returns the first dimension of the large array.
func (o *options) rows() int64 { return o.size / (2 * side * side) }

// scattered returns the elements of a dataset of wide.h5, whose metadata is between them.
func (o *options) scattered() int64 {
	if o.quick {
		return 8 << 10
	}
	return 64 << 10
}

// least returns the time in seconds and the bytes of the task that no program without an index can
// improve on.
func (b *bench) least(l link, t task) (seconds, bytes float64) {
	info, err := os.Stat(filepath.Join(b.o.dir, t.file))
	if err != nil {
		return math.NaN(), math.NaN()
	}
	part := t.part
	switch t.job {
	case "region":
		part = 18 * 64 * 64 * 64 / float64(b.o.rows()*side*side)
	case "small":
		part = 27 * 16 * 16 * 16 / float64(b.o.rows()*side*side/2)
	}
	bytes = part * float64(info.Size())
	return float64(t.trips)*l.latency.Seconds() + bytes/l.rate, bytes
}

// data creates the files that do not exist yet.
func data(ctx context.Context, o *options) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	deflate := &ndarray.Compression{Codec: "deflate", Level: 1, Filters: []string{"shuffle"}}
	zstd := &ndarray.Compression{Codec: "zstd", Level: 1, Filters: []string{"shuffle"}}
	for name, create := range map[string]func(string) error{
		"list.h5":  func(name string) error { return createList(name, 1000) },
		"wide.h5":  func(name string) error { return createList(name, o.scattered()) },
		"big.h5":   func(name string) error { return createBig(ctx, name+":/x", o.rows(), 64, deflate) },
		"big.b2nd": func(name string) error { return createBig(ctx, name, o.rows(), 64, zstd) },
		"small.h5": func(name string) error { return createBig(ctx, name+":/x", o.rows()/2, 16, deflate) },
	} {
		name = filepath.Join(o.dir, name)
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if err := create(name); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	if o.python == "" {
		return nil
	}
	c := exec.CommandContext(ctx, o.python, "scripts/bench/remote/peer.py", "files", "", "", o.dir, "")
	c.Stderr = os.Stderr
	return c.Run()
}

// createList writes 1,000 datasets of n elements.
func createList(name string, n int64) error {
	f, err := h5.Create(name, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	values := make([]byte, 4*n)
	for i := range 1000 {
		d, err := f.Root().CreateDataset(fmt.Sprintf("dataset%04d", i), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(n), nil)
		if err != nil {
			return err
		}
		err = cmp.Or(d.WriteRegion(values, h5.Int(4, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{n}}), d.Close())
		if err != nil {
			return err
		}
	}
	return f.Close()
}

// createBig writes an array of uint16 in cubic chunks: waves with noise.
func createBig(ctx context.Context, location string, rows, chunk int64, c *ndarray.Compression) error {
	spec := ndarray.Spec{Shape: []int64{rows, side, side}, ChunkShape: []int64{chunk, chunk, chunk}, DType: ndarray.DTypeOf[uint16](), Compression: c}
	d, err := hyperslab.Create(ctx, location, spec, nil)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for at := int64(0); at < rows; at += chunk {
		n := min(chunk, rows-at)
		values := make([]uint16, n*side*side)
		for i := range values {
			plane, row, column := at+int64(i/(side*side)), i/side%side, i%side
			values[i] = uint16(20000 + 8000*math.Sin(float64(plane)/40+float64(row)/90) + float64(5*column) + float64(r.IntN(64)))
		}
		if err := ndarray.Write(ctx, d.Array, values, ndarray.Region{Start: []int64{at, 0, 0}, Shape: []int64{n, side, side}}); err != nil {
			return cmp.Or(err, d.Close())
		}
	}
	return d.Commit(ctx)
}
