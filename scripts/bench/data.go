// Data of the benchmark: a measured field of the oceans, tiled with changes to the required size;
// noise; a constant.

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// field contains float32 values in planes, rows and columns.
type field struct {
	name   string
	shape  [3]int64
	values []float32
}

// readField reads the dataset TEMP or ROSE, whichever the file has first.
func readField(path string) (_ *field, err error) {
	f, err := h5.Open(path, h5.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, name := range []string{"TEMP", "ROSE"} {
		d, err := f.Root().OpenDataset(name)
		if errors.Is(err, h5.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info, err := d.Info()
		if err != nil {
			return nil, err
		}
		x := &field{name: name, shape: [3]int64{1, 1, 1}}
		copy(x.shape[3-len(info.Space.Dims):], info.Space.Dims)
		b := make([]byte, 4*x.shape[0]*x.shape[1]*x.shape[2])
		if err := d.ReadRegion(b, f4, whole(info.Space.Dims)); err != nil {
			return nil, err
		}
		for ; len(b) > 0; b = b[4:] {
			x.values = append(x.values, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		return x, nil
	}
	return nil, fmt.Errorf("%s has neither TEMP nor ROSE", path)
}

var f4 = h5.IEEEFloat(4, h5.LittleEndian)

func whole(dims []int64) h5.Region {
	return h5.Region{Start: make([]int64, len(dims)), Count: dims}
}

// kind is the kind of the values.
type kind string

const (
	real     kind = "real"
	noise    kind = "noise"
	constant kind = "constant"
)

var kinds = []kind{real, noise, constant}

// bytes returns the amount of data in bytes. Noise and constants are limited to 64 MiB, because
// they need only show a trend.
func (b *bench) bytes(k kind) int64 {
	n := b.size
	if k != real {
		n = min(n, 64<<20)
	}
	return b.shape(n)[0] * b.plane()
}

// plane returns the bytes of one plane.
func (b *bench) plane() int64 { return 4 * b.field.shape[1] * b.field.shape[2] }

// shape returns the planes, rows and columns of n bytes: a multiple of 16 planes, at least 16.
func (b *bench) shape(n int64) []int64 {
	planes := max(n/b.plane()/16, 1) * 16
	return []int64{planes, b.field.shape[1], b.field.shape[2]}
}

// chunks returns a chunk shape of about 1 MiB.
func (b *bench) chunks() []int64 { return []int64{4, b.field.shape[1], b.field.shape[2]} }

// planes calls f with one plane after the other.
func (b *bench) planes(k kind, n int64, f func([]byte) error) error {
	plane := make([]byte, b.plane())
	r := rand.New(rand.NewPCG(1, 2))
	for at := range n {
		switch k {
		case noise:
			for i := 0; i < len(plane); i += 4 {
				binary.LittleEndian.PutUint32(plane[i:], r.Uint32())
			}
		case constant:
			for i := 0; i < len(plane); i += 4 {
				binary.LittleEndian.PutUint32(plane[i:], math.Float32bits(273.15))
			}
		default:
			b.field.tile(plane, at)
		}
		if err := f(plane); err != nil {
			return err
		}
	}
	return nil
}

// tile writes plane number at. All tiles differ: each is rotated a little further around the Earth
// and warmed by a hundredth of a degree, which changes the last bits of all values except land.
func (x *field) tile(plane []byte, at int64) {
	rows, columns := x.shape[1], x.shape[2]
	tile, k := at/x.shape[0], at%x.shape[0]
	for i := range rows {
		row := x.values[(k*rows+i)*columns:][:columns]
		for j := range columns {
			v := row[(j+7*tile)%columns]
			if math.Abs(float64(v)) < 1e30 { // a measured value; missing ones are a very large number
				v += float32(tile) / 100
			}
			binary.LittleEndian.PutUint32(plane[4*(i*columns+j):], math.Float32bits(v))
		}
	}
}

// raw returns the path of a file that contains only the values.
func (b *bench) raw(k kind) (string, error) {
	return b.made(string(k)+".raw", func(path string) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		err = b.planes(k, b.bytes(k)/b.plane(), func(p []byte) error { _, err := w.Write(p); return err })
		return errors.Join(err, w.Flush(), f.Close())
	})
}

// slurp reads at most n bytes of a file.
func slurp(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:got], errors.Join(err, f.Close())
}

// storage returns the filter pipeline with a name that rows use.
func storage(name string) []h5.Filter {
	switch name {
	case "deflate":
		return []h5.Filter{h5.Shuffle(), h5.Deflate(4)}
	case "lz4", "zstd":
		return []h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, map[string]uint32{"lz4": 1, "zstd": 5}[name]}}}
	}
	return nil
}

// hdf5File returns a file with the values in a dataset "d".
func (b *bench) hdf5File(k kind, n int64, filters string, chunks []int64) (string, error) {
	name := fmt.Sprintf("%s-%d-%s-%d.h5", k, n>>20, filters, chunks)
	return b.made(strings.ReplaceAll(strings.Trim(name, "[]"), " ", "x"), func(path string) (err error) {
		f, err := h5.Create(path, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		shape := b.shape(n)
		d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(shape...), &h5.DatasetOptions{ChunkShape: chunks, Filters: storage(filters)})
		if err != nil {
			return err
		}
		var slab []byte
		at := int64(0)
		return b.planes(k, shape[0], func(p []byte) error {
			slab = append(slab, p...)
			n := int64(len(slab)) / b.plane()
			if n < 16 && at+n < shape[0] {
				return nil
			}
			r := h5.Region{Start: []int64{at, 0, 0}, Count: []int64{n, shape[1], shape[2]}}
			at += n
			_, err := chunkio.Write(context.Background(), d, slab, f4, r, &chunkio.Options{Exact: true})
			slab = slab[:0]
			return err
		})
	})
}

// contiguousFile returns a file with real values in a dataset "d" of one dimension without chunks.
func (b *bench) contiguousFile(n int64) (string, error) {
	raw, err := b.raw(real)
	if err != nil {
		return "", err
	}
	return b.made(fmt.Sprintf("contiguous-%d.h5", n>>20), func(path string) (err error) {
		values, err := slurp(raw, n)
		if err != nil {
			return err
		}
		f, err := h5.Create(path, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(int64(len(values))/4), nil)
		if err != nil {
			return err
		}
		return d.WriteRegion(values, f4, whole([]int64{int64(len(values)) / 4}))
	})
}

// objectsFile returns a file with n datasets of 10 elements in groups of 100.
func (b *bench) objectsFile(n int) (string, error) {
	return b.made(fmt.Sprintf("objects-%d.h5", n), func(path string) (err error) {
		f, err := h5.Create(path, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		values := make([]byte, 40)
		for i := range n {
			group := fmt.Sprintf("g%03d", i/100)
			if i%100 == 0 {
				g, err := f.Root().CreateGroup(group)
				if err != nil {
					return err
				}
				if err := g.Close(); err != nil {
					return err
				}
			}
			binary.LittleEndian.PutUint32(values, uint32(i))
			d, err := f.Root().CreateDataset(fmt.Sprintf("%s/d%02d", group, i%100), f4, h5.SimpleSpace(10), nil)
			if err != nil {
				return err
			}
			if err := errors.Join(d.WriteRegion(values, f4, whole([]int64{10})), d.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyOf returns a copy of a file.
func (b *bench) copyOf(file string) (string, error) {
	return b.made("copy-of-"+filepath.Base(file), func(path string) error {
		values, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(path, values, 0o600)
	})
}

// frame returns a frame with n chunks of size bytes, in one file.
func (b *bench) frame(k kind, n, size int64, codec cblosc.Codec) (string, error) {
	return b.made(fmt.Sprintf("frame-%s-%d-%d-%v", k, n, size, codec), func(path string) error {
		p := cblosc.DefaultCParams()
		p.TypeSize, p.Codec = 4, codec
		w, err := frameio.Create(path, &frameio.Params{CParams: p, ChunkSize: int(size)})
		if err != nil {
			return err
		}
		left := n * size
		err = b.planes(k, grid.DivUp(left, b.plane()), func(p []byte) error {
			p = p[:min(int64(len(p)), left)]
			left -= int64(len(p))
			_, err := w.Write(p)
			return err
		})
		if err == nil {
			err = w.Commit()
		}
		return errors.Join(err, w.Close())
	})
}

// b2ndFile returns the values of an HDF5 file as a b2nd array.
func (b *bench) b2ndFile(k kind, source string, n int64) (string, error) {
	return b.made(fmt.Sprintf("%s-%d.b2nd", k, n>>20), func(path string) (err error) {
		_, err = convert(context.Background(), source, path, "zstd", 0, nil)
		return err
	})
}

// convert copies an array to a new file, compressed with the codec.
func convert(ctx context.Context, from, to, codec string, workers int, chunks []int64) (stats ndarray.CopyStats, err error) {
	src, err := hyperslab.Open(ctx, from, nil)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	spec := src.Meta().Spec()
	if len(chunks) > 0 {
		spec.ChunkShape, spec.BlockShape = chunks, nil
	}
	spec.Compression = &ndarray.Compression{Codec: codec, Level: 5, Filters: []string{"shuffle"}}
	if file, _, object := strings.Cut(to, ":"); object && strings.HasSuffix(file, ".h5") {
		spec.Compression = nil // the default compression of the format
	}
	draft, err := hyperslab.Create(ctx, to, spec, &hyperslab.CreateOptions{Overwrite: true})
	if err != nil {
		return stats, err
	}
	if stats, err = ndarray.Copy(ctx, draft.Array, src, &ndarray.CopyOptions{Workers: workers}); err != nil {
		return stats, errors.Join(err, draft.Close())
	}
	return stats, errors.Join(draft.Commit(ctx), draft.Close())
}
