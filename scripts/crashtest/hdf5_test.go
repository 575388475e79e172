// Scenario that extends several datasets of one HDF5 file in one change: with a chunk cache smaller
// than their chunks, along two dimensions, and with strings and sequences of variable length.

package crashtest_test

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
)

// several contains the values of all datasets, in the order of their names. The dataset x contains
// n values.
type several struct {
	grid  []int64 // rows by cols values
	rows  int64
	cols  int64
	names []string
	seqs  [][]int64
	x     []int64
}

func severalOf(n int) several {
	v := several{rows: int64(n / 32), cols: int64(n / 48), x: counting(n)}
	for i := range v.rows {
		for j := range v.cols {
			v.grid = append(v.grid, 1000*i+j)
		}
	}
	for i := range n / 24 {
		v.names = append(v.names, fmt.Sprintf("%*d", 1+i%40, i))
		v.seqs = append(v.seqs, counting(1+i%9)) // h5py would omit empty sequences
	}
	return v
}

// columns returns the values of all datasets as this module and h5py read them.
func (v several) columns() (grid, names, seqs, x []int64) {
	for i, s := range v.seqs {
		names = append(names, int64(i))
		seqs = append(seqs, s...)
	}
	return v.grid, names, seqs, v.x
}

func (v several) all() (all []int64) {
	grid, names, seqs, x := v.columns()
	return append(append(append(append(all, grid...), names...), seqs...), x...)
}

// grow extends the datasets of a file to the lengths of v and writes the new elements.
func (v several) grow(f *h5.File, before several) error {
	// At most one chunk.
	cache := &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{Slots: 7, Bytes: 600}}
	open := func(name string, dims ...int64) (*h5.Dataset, error) {
		d, err := f.Root().OpenDatasetWith(name, cache)
		if err != nil {
			return nil, err
		}
		return d, d.Resize(dims...)
	}
	tail := func(n, of int) h5.Region { return h5.Region{Start: []int64{int64(n)}, Count: []int64{int64(of - n)}} }
	x, err := open("x", int64(len(v.x)))
	if err != nil {
		return err
	}
	defer x.Close()
	grid, err := open("grid", v.rows, v.cols)
	if err != nil {
		return err
	}
	defer grid.Close()
	names, err := open("names", int64(len(v.names)))
	if err != nil {
		return err
	}
	defer names.Close()
	seqs, err := open("seqs", int64(len(v.seqs)))
	if err != nil {
		return err
	}
	defer seqs.Close()
	n := len(before.names)
	return errors.Join(
		h5value.Write(x, v.x[len(before.x):], tail(len(before.x), len(v.x))),
		h5value.Write(names, v.names[n:], tail(n, len(v.names))),
		h5value.Write(grid, v.grid, h5.Region{Start: []int64{0, 0}, Count: []int64{v.rows, v.cols}}),
		h5value.Write(seqs, v.seqs[n:], tail(n, len(v.seqs))),
		f.Flush(),
	)
}

func severalScenario() scenario {
	path := func(dir string) string { return filepath.Join(dir, "a.h5") }
	return scenario{
		prepare: func(dir string) (err error) {
			f, err := h5.Create(path(dir), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			level, endless := 1, int64(h5.Unlimited)
			number := h5.Int(8, h5.LittleEndian)
			for _, c := range []struct {
				name  string
				t     h5.Datatype
				space h5.Dataspace
				o     h5.DatasetOptions
			}{
				{"x", number, h5.Dataspace{Kind: h5.Simple, Dims: []int64{0}, MaxDims: []int64{endless}}, h5.DatasetOptions{ChunkShape: []int64{64}, Deflate: &level}},
				{"grid", number, h5.Dataspace{Kind: h5.Simple, Dims: []int64{0, 0}, MaxDims: []int64{endless, endless}}, h5.DatasetOptions{ChunkShape: []int64{4, 4}, Fletcher32: true}},
				{"names", h5.VariableString(h5.UTF8), h5.Dataspace{Kind: h5.Simple, Dims: []int64{0}, MaxDims: []int64{endless}}, h5.DatasetOptions{ChunkShape: []int64{5}}},
				{"seqs", h5.SequenceOf(number), h5.Dataspace{Kind: h5.Simple, Dims: []int64{0}, MaxDims: []int64{endless}}, h5.DatasetOptions{ChunkShape: []int64{7}}},
			} {
				d, err := f.Root().CreateDataset(c.name, c.t, c.space, &c.o)
				if err != nil {
					return err
				}
				if err := d.Close(); err != nil {
					return err
				}
			}
			return severalOf(few).grow(f, several{})
		},
		act: func(dir string) error {
			return hyperslab.Update(ctx, path(dir), func(file string) (err error) {
				f, err := h5.Open(file, h5.ReadWrite)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				return severalOf(many).grow(f, severalOf(few))
			})
		},
		read: func(dir string) ([]int64, error) { return readSeveral(path(dir)) },
		old:  severalOf(few).all(), new: severalOf(many).all(),
	}
}

// readSeveral reads the file of severalScenario with this module, libhdf5 and h5py, and compares
// the values.
func readSeveral(path string) (all []int64, err error) {
	f, err := h5.Open(path, h5.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var v several
	read := func(name string, f func(d *h5.Dataset) error) func(*h5.Group) error {
		return func(g *h5.Group) error {
			d, err := g.OpenDataset(name)
			if err != nil {
				return err
			}
			return errors.Join(f(d), d.Close())
		}
	}
	for _, r := range []func(*h5.Group) error{
		read("grid", func(d *h5.Dataset) (err error) { v.grid, err = h5value.ReadAll[int64](d); return err }),
		read("names", func(d *h5.Dataset) (err error) { v.names, err = h5value.ReadAll[string](d); return err }),
		read("seqs", func(d *h5.Dataset) (err error) { v.seqs, err = h5value.ReadAll[[]int64](d); return err }),
		read("x", func(d *h5.Dataset) (err error) { v.x, err = h5value.ReadAll[int64](d); return err }),
	} {
		if err := r(f.Root()); err != nil {
			return nil, err
		}
	}
	for i, name := range v.names {
		if want := fmt.Sprintf("%*d", 1+i%40, i); name != want {
			return nil, fmt.Errorf("name %d is %q, want %q", i, name, want)
		}
	}
	for name, want := range map[string][]int64{"grid": v.grid, "x": v.x} {
		a, err := hyperslab.Open(ctx, path+":/"+name, nil)
		if err != nil {
			return nil, err
		}
		got, err := ndarray.ReadAll[int64](ctx, a)
		if err = errors.Join(err, a.Close()); err != nil {
			return nil, err
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return nil, fmt.Errorf("%s: chunkio reads something else than the library", name)
		}
	}
	grid, names, seqs, x := v.columns()
	return v.all(), python.compare("h5py", path, grid, names, seqs, x)
}
