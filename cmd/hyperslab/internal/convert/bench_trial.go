// Measurement of one way of storing a sample.

package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// Trial is a sample of an array, and a directory to store it in.
type Trial struct {
	TrialOptions
	Spec   ndarray.Spec // of the sample
	Data   []byte
	sample *ndarray.Array
	dir    string
}

// TrialOptions describe the sample of a trial, and how it is stored and read.
type TrialOptions struct {
	Format hyperslab.Format
	Bytes  int64 // maximum size of the sample
	Jobs   int   // goroutines; 0 means one for each processor
	Memory int64 // maximum bytes of the buffers of a copy
}

// NewTrial takes a sample from the middle of an array.
func NewTrial(ctx context.Context, src *ndarray.Array, o TrialOptions) (_ *Trial, err error) {
	m := src.Meta()
	if m.DType.Size == 0 {
		return nil, shell.Usagef("%s: %w: elements of variable size cannot be measured", cmp.Or(m.Path, "the array"), errors.ErrUnsupported)
	}
	if src.NBytes() == 0 || len(m.Shape) == 0 {
		return nil, shell.Usagef("%s: %w: %s has no elements to measure", cmp.Or(m.Path, "the array"), ndarray.ErrShape, shell.MetaShape(m))
	}
	t := &Trial{TrialOptions: o}
	r := middle(m.Shape, m.ChunkShape, max(o.Bytes/int64(m.DType.Size), 1))
	t.Spec = ndarray.Spec{Shape: r.Shape, DType: m.DType, Fill: m.Fill}
	t.Data = make([]byte, r.NumElems()*int64(m.DType.Size))
	if err := src.ReadRegion(ctx, t.Data, r, o.Jobs); err != nil {
		return nil, err
	}
	b, err := mem.New(ndarray.Spec{Shape: r.Shape, DType: m.DType.Native()})
	if err != nil {
		return nil, err
	}
	if t.sample, err = ndarray.New(b); err != nil {
		return nil, err
	}
	if err := t.sample.Write(ctx, t.Data, ndarray.Whole(r.Shape)); err != nil {
		return nil, errors.Join(err, t.sample.Close())
	}
	t.Spec.DType = m.DType.Native()
	if t.dir, err = os.MkdirTemp("", "hyperslab-bench-*"); err != nil {
		return nil, errors.Join(err, t.sample.Close())
	}
	return t, nil
}

func (t *Trial) Close() error { return errors.Join(t.sample.Close(), os.RemoveAll(t.dir)) }

// middle returns a box of at most the given number of elements in the middle of a shape. It spans
// the last axes completely, and begins at a chunk boundary along the axis that is cut.
func middle(shape, chunk []int64, most int64) ndarray.Region {
	r := ndarray.Whole(shape)
	for axis := range shape {
		below := int64(1)
		for _, n := range shape[axis+1:] {
			below *= n
		}
		n := min(max(most/below, 1), shape[axis])
		start := (shape[axis] - n) / 2
		if chunk != nil {
			if n > chunk[axis] {
				n -= n % chunk[axis]
			}
			start -= start % chunk[axis]
			n = min(n, shape[axis]-start)
		}
		r.Start[axis], r.Shape[axis] = start, n
		if n > 1 || below <= most {
			break
		}
	}
	return r
}

// Run stores the sample as spec describes and reads it back. It repeats both until they have taken
// the given time, and at least once. The fastest runs count. It does not wait for the disk.
func (t *Trial) Run(ctx context.Context, spec ndarray.Spec, least time.Duration) (BenchRow, error) {
	var row BenchRow
	write, read := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for spent := time.Duration(0); ; {
		took, err := t.write(ctx, spec)
		if err != nil {
			return row, err
		}
		write = min(write, took)
		if spent += took; spent >= least {
			break
		}
	}
	buf := make([]byte, len(t.Data))
	for spent := time.Duration(0); ; {
		took, err := t.read(ctx, buf, &row)
		if err != nil {
			return row, err
		}
		read = min(read, took)
		if spent += took; spent >= least {
			break
		}
	}
	if !bytes.Equal(buf, t.Data) {
		return row, fmt.Errorf("%w: %v returns different elements", ndarray.ErrCorrupt, spec.Compression)
	}
	row.Ratio = shell.JSONFloat(math.Round(float64(len(t.Data))/float64(max(row.Stored, 1))*1000) / 1000)
	row.Compress, row.Decompress = shell.JSONFloat(speedOf(len(t.Data), write)), shell.JSONFloat(speedOf(len(t.Data), read))
	return row, nil
}

// speedOf returns MB/s with four digits. A duration of 0 counts as one nanosecond.
func speedOf(n int, took time.Duration) float64 {
	text := strconv.FormatFloat(float64(n)/float64(max(took, 1))*1e3, 'g', 4, 64)
	speed, _ := strconv.ParseFloat(text, 64) // it was formatted on the line above
	return speed
}

func (t *Trial) file() string { return filepath.Join(t.dir, "sample") }

// write stores the sample.
func (t *Trial) write(ctx context.Context, spec ndarray.Spec) (took time.Duration, err error) {
	if err := os.RemoveAll(t.file()); err != nil {
		return 0, err
	}
	start := time.Now()
	var b ndarray.Backend
	if t.Format == hyperslab.HDF5 {
		b, err = hdf5.Create(t.file(), "sample", spec, nil)
	} else {
		b, err = b2nd.Create(t.file(), spec, nil)
	}
	if err != nil {
		return 0, err
	}
	dst, err := ndarray.New(b)
	if err != nil {
		return 0, errors.Join(err, b.Close())
	}
	_, err = ndarray.Copy(ctx, dst, t.sample, &ndarray.CopyOptions{Workers: t.Jobs, Memory: t.Memory})
	return time.Since(start), errors.Join(err, dst.Close())
}

// read reads the sample back, and sets the fields of row that describe its storage.
func (t *Trial) read(ctx context.Context, buf []byte, row *BenchRow) (took time.Duration, err error) {
	location := t.file()
	if t.Format == hyperslab.HDF5 {
		location += ":/sample"
	}
	start := time.Now()
	src, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := src.ReadRegion(ctx, buf, ndarray.Whole(t.Spec.Shape), t.Jobs); err != nil {
		return 0, err
	}
	took = time.Since(start)
	s, err := src.Storage(ctx)
	if err != nil {
		return 0, err
	}
	m := src.Meta()
	c := m.Compression
	row.Codec, row.Level, row.Filters = c.Codec, c.Level, append([]string{}, c.Filters...)
	row.Chunks, row.Stored = shell.JSONShape(m.ChunkShape), shell.JSONInt(s.StoredBytes)
	return took, nil
}
