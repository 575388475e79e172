package ndarray_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// measured is a record with a time as an integer.
type measured struct {
	ID    int32     `nd:"id"`
	When  time.Time `nd:"when,unix[us]"`
	Name  string    `nd:"name,S8"`
	Value float64   `nd:"value"`
}

func sampleAt(i int) measured {
	return measured{ID: int32(i), When: time.UnixMicro(int64(i) * 1_000_001).UTC(), Name: fmt.Sprint("n", i), Value: float64(i) / 4}
}

// measuredOf returns an array of n samples in memory.
func measuredOf(t testing.TB, n int) *ndarray.Array {
	d, err := ndarray.DTypeFor[measured]()
	require.NoError(t, err)
	a := newMem(t, ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{7}, DType: d})
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	var all []measured
	for i := range n {
		all = append(all, sampleAt(i))
	}
	require.NoError(t, ndarray.Append(context.Background(), a, 0, all))
	return a
}

// failing is an array whose reads fail from an element on, and whose writes fail.
type failing struct {
	ndarray.Backend
	from int64
}

var errFailing = errors.New("the disk is on fire")

func (f *failing) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if r.Start[0]+r.Shape[0] > f.from {
		return errFailing
	}
	return f.Backend.ReadRegion(ctx, dst, r, workers)
}

func (f *failing) WriteRegion(context.Context, []byte, ndarray.Region, int) error { return errFailing }
func (f *failing) Resize(ctx context.Context, shape []int64) error {
	r, _ := ndarray.As[ndarray.Resizer](f.Backend)
	return r.Resize(ctx, shape)
}

func TestRecords(t *testing.T) {
	ctx := context.Background()
	a := measuredOf(t, 100)
	t.Run("all", func(t *testing.T) {
		n := 0
		for x, err := range ndarray.Records[measured](ctx, a) {
			require.NoError(t, err)
			require.Equal(t, sampleAt(n), x)
			n++
		}
		require.Equal(t, 100, n)
	})
	t.Run("conversion and fewer fields", func(t *testing.T) {
		type wide struct {
			ID   float64   `nd:"id"`
			When time.Time `nd:"when,unix[us]"`
		}
		n := 0
		for x, err := range ndarray.Records[wide](ctx, a) {
			require.NoError(t, err)
			require.Equal(t, wide{float64(n), sampleAt(n).When}, x)
			n++
		}
		require.Equal(t, 100, n)
	})
	t.Run("inexact", func(t *testing.T) {
		type narrow struct {
			Value int8 `nd:"value"`
		}
		for _, err := range ndarray.Records[narrow](ctx, a) {
			require.ErrorIs(t, err, ndarray.ErrValue)
			require.ErrorContains(t, err, "0.25 is not a value of |i1")
		}
	})
	t.Run("break", func(t *testing.T) {
		n := 0
		for range ndarray.Records[measured](ctx, a) {
			if n++; n == 9 {
				break
			}
		}
		require.Equal(t, 9, n)
	})
	t.Run("no elements", func(t *testing.T) {
		for range ndarray.Records[measured](ctx, measuredOf(t, 0)) {
			t.Fatal("an element")
		}
	})
	t.Run("error half way", func(t *testing.T) {
		const n = 3 << 20
		source := newMem(t, ndarray.Spec{Shape: []int64{n}, DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{1 << 20}})
		b, err := ndarray.New(&failing{source.Backend(), 2 << 20})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		count, errs := 0, 0
		for _, err := range ndarray.Records[int32](ctx, b) {
			if err != nil {
				require.ErrorIs(t, err, errFailing)
				errs++
				continue
			}
			count++
		}
		require.Equal(t, 2<<20, count)
		require.Equal(t, 1, errs)
	})
	t.Run("concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				n := 0
				for x, err := range ndarray.Records[measured](ctx, a) {
					if err != nil || x != sampleAt(n) {
						t.Errorf("record %d: %v: %v", n, x, err)
					}
					n++
				}
			})
		}
		wg.Wait()
	})
}

func TestRows(t *testing.T) {
	ctx := context.Background()
	const rows, columns = 23, 5
	data := make([]int16, rows*columns)
	for i := range data {
		data[i] = int16(i)
	}
	for _, chunk := range [][]int64{nil, {4, 3}, {1, 5}, {100, 2}} {
		a := fromSlice(t, []int64{rows, columns}, chunk, data)
		for _, n := range []int{0, 1, 3, 4, 10, 23, 100} {
			t.Run(fmt.Sprint(chunk, n), func(t *testing.T) {
				var got []int16
				for batch, err := range ndarray.Rows[float32](ctx, a, n) {
					require.NoError(t, err)
					if want := min(n, rows-len(got)/columns); n > 0 {
						require.Len(t, batch, want)
					}
					for _, row := range batch {
						require.Len(t, row, columns)
						require.Equal(t, columns, cap(row))
						for _, x := range row {
							got = append(got, int16(x))
						}
					}
				}
				require.Equal(t, data, got)
			})
		}
		require.NoError(t, a.Close())
	}
	t.Run("break", func(t *testing.T) {
		a := fromSlice(t, []int64{rows, columns}, nil, data)
		defer func() { require.NoError(t, a.Close()) }()
		n := 0
		for range ndarray.Rows[int16](ctx, a, 2) {
			if n++; n == 3 {
				break
			}
		}
		require.Equal(t, 3, n)
	})
	t.Run("no columns", func(t *testing.T) {
		a := newMem(t, ndarray.Spec{Shape: []int64{3, 0}, DType: ndarray.DTypeOf[int16]()})
		defer func() { require.NoError(t, a.Close()) }()
		n := 0
		for batch, err := range ndarray.Rows[int16](ctx, a, 2) {
			require.NoError(t, err)
			n += len(batch)
		}
		require.Equal(t, 3, n)
	})
}

// TestRows_closed reads closed arrays, also without elements.
func TestRows_closed(t *testing.T) {
	ctx := context.Background()
	for _, shape := range [][]int64{{0}, {2}, {0, 3}, {3, 0}, {2, 3}} {
		a := newMem(t, ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int16]()})
		require.NoError(t, a.Close())
		errs := []error{}
		if len(shape) == 1 {
			for _, err := range ndarray.Records[int16](ctx, a) {
				errs = append(errs, err)
			}
		} else {
			for _, err := range ndarray.Rows[int16](ctx, a, 0) {
				errs = append(errs, err)
			}
		}
		require.Len(t, errs, 1, "%v", shape)
		require.ErrorIs(t, errs[0], ndarray.ErrClosed, "%v", shape)
	}
}

func TestRows_errors(t *testing.T) {
	ctx := context.Background()
	one := fromSlice(t, []int64{4}, nil, []int16{1, 2, 3, 400})
	two := fromSlice(t, []int64{2, 2}, nil, []int16{1, 2, 3, 400})
	defer func() { require.NoError(t, errors.Join(one.Close(), two.Close())) }()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	first := func(name string, is error, text string, err error) {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, err, is)
			require.ErrorContains(t, err, text)
		})
	}
	for _, err := range ndarray.Rows[int16](ctx, one, 1) {
		first("rows of one dimension", ndarray.ErrShape, "got shape [4], want two dimensions", err)
	}
	for _, err := range ndarray.Records[int16](ctx, two) {
		first("records of two dimensions", ndarray.ErrShape, "got shape [2 2], want one dimension", err)
	}
	for _, err := range ndarray.Rows[int16](ctx, two, -1) {
		first("negative rows", ndarray.ErrParam, "got -1", err)
	}
	for _, err := range ndarray.Rows[int8](ctx, two, 0) {
		first("inexact", ndarray.ErrValue, "element [1 1]: 400 is not a value of |i1", err)
	}
	for _, err := range ndarray.Rows[string](ctx, two, 0) {
		first("type of rows", ndarray.ErrType, "string", err)
	}
	for _, err := range ndarray.Records[measured](ctx, one) {
		first("type of records", ndarray.ErrType, "measured", err)
	}
	for _, err := range ndarray.Rows[int16](cancelled, two, 0) {
		first("context", context.Canceled, "", err)
	}
}

func TestRecordWriter(t *testing.T) {
	ctx := context.Background()
	t.Run("whole chunks", func(t *testing.T) {
		a := measuredOf(t, 3)
		w, err := ndarray.NewRecordWriter[measured](ctx, a, nil)
		require.NoError(t, err)
		for i := 3; i < 40; i++ {
			require.NoError(t, w.Append(sampleAt(i)))
			require.Equal(t, max(int64(i+1)/7*7, 3), a.Shape()[0])
		}
		require.NoError(t, w.Flush())
		require.Equal(t, []int64{40}, a.Shape())
		require.NoError(t, w.Append(sampleAt(40), sampleAt(41), sampleAt(42)))
		require.Equal(t, []int64{42}, a.Shape())
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Append(sampleAt(1)), ndarray.ErrClosed)
		require.ErrorIs(t, w.Flush(), ndarray.ErrClosed)
		n := 0
		for x, err := range ndarray.Records[measured](ctx, a) {
			require.NoError(t, err)
			require.Equal(t, sampleAt(n), x)
			n++
		}
		require.Equal(t, 43, n)
	})
	t.Run("count", func(t *testing.T) {
		a := measuredOf(t, 0)
		w, err := ndarray.NewRecordWriter[measured](ctx, a, &ndarray.RecordWriterOptions{Count: 3})
		require.NoError(t, err)
		require.NoError(t, w.Append(sampleAt(0), sampleAt(1)))
		require.Equal(t, []int64{0}, a.Shape())
		require.NoError(t, w.Append(sampleAt(2)))
		require.Equal(t, []int64{3}, a.Shape())
		require.NoError(t, w.Close())
	})
	t.Run("interval", func(t *testing.T) {
		a := measuredOf(t, 0)
		w, err := ndarray.NewRecordWriter[measured](ctx, a, &ndarray.RecordWriterOptions{Interval: time.Millisecond})
		require.NoError(t, err)
		for i := range 3 {
			require.NoError(t, w.Append(sampleAt(i)))
			require.Eventually(t, func() bool { return a.Shape()[0] == int64(i+1) }, 10*time.Second, time.Millisecond)
		}
		require.NoError(t, w.Close())
	})
	t.Run("concurrent", func(t *testing.T) {
		a := measuredOf(t, 0)
		w, err := ndarray.NewRecordWriter[measured](ctx, a, &ndarray.RecordWriterOptions{Interval: 50 * time.Microsecond})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 100 {
					if err := w.Append(sampleAt(g*100 + i)); err != nil {
						t.Error(err)
					}
					if i%30 == 0 {
						if err := w.Flush(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, w.Close())
		seen := map[int32]bool{}
		for x, err := range ndarray.Records[measured](ctx, a) {
			require.NoError(t, err)
			require.Equal(t, sampleAt(int(x.ID)), x)
			seen[x.ID] = true
		}
		require.Len(t, seen, 800)
	})
}

// TestRecordWriter_Append appends records that the array cannot represent between others.
func TestRecordWriter_Append(t *testing.T) {
	ctx := context.Background()
	for name, bad := range map[string]func(*measured){
		"long string":  func(m *measured) { m.Name = "nine char" },
		"inexact time": func(m *measured) { m.When = time.Unix(1, 500) },
	} {
		t.Run(name, func(t *testing.T) {
			a := measuredOf(t, 0)
			w, err := ndarray.NewRecordWriter[measured](ctx, a, nil)
			require.NoError(t, err)
			for i := range 20 {
				require.NoError(t, w.Append(sampleAt(i)))
				x := sampleAt(100)
				bad(&x)
				err := w.Append(sampleAt(101), x)
				require.ErrorIs(t, err, ndarray.ErrValue)
				require.ErrorContains(t, err, "element 1: ")
			}
			require.NoError(t, w.Close())
			n := 0
			for x, err := range ndarray.Records[measured](ctx, a) {
				require.NoError(t, err)
				require.Equal(t, sampleAt(n), x)
				n++
			}
			require.Equal(t, 20, n)
		})
	}
	t.Run("variable size", func(t *testing.T) {
		a, file := stringsOf(t)
		w, err := ndarray.NewRecordWriter[string](ctx, a, nil)
		require.NoError(t, err)
		require.NoError(t, w.Append("a", "bc"))
		require.ErrorIs(t, w.Append("d", "zero\x00byte"), ndarray.ErrParam)
		require.NoError(t, w.Append())
		require.NoError(t, w.Append("", "e"))
		require.NoError(t, w.Close())
		require.NoError(t, a.Close())
		a, err = hyperslab.Open(ctx, file, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		got, err := ndarray.ReadAll[string](ctx, a)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "bc", "", "e"}, got)
	})
}

// stringsOf returns an array of strings of variable size, without elements, in a new file.
func stringsOf(t *testing.T) (a *ndarray.Array, location string) {
	t.Helper()
	location = filepath.Join(t.TempDir(), "strings.h5") + ":/x"
	spec := ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{3}, DType: ndarray.Text("").DType}
	d, err := hyperslab.Create(t.Context(), location, spec, nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Commit(t.Context()), d.Close()))
	a, err = hyperslab.Open(t.Context(), location, &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	return a, location
}

func TestNewRecordWriter_errors(t *testing.T) {
	ctx := context.Background()
	a, two := measuredOf(t, 0), matrixOf(t)
	for name, c := range map[string]struct {
		start func() error
		is    error
	}{
		"shape": {func() error { _, err := ndarray.NewRecordWriter[int16](ctx, two, nil); return err }, ndarray.ErrShape},
		"type":  {func() error { _, err := ndarray.NewRecordWriter[int16](ctx, a, nil); return err }, ndarray.ErrType},
		"count": {func() error {
			_, err := ndarray.NewRecordWriter[measured](ctx, a, &ndarray.RecordWriterOptions{Count: -1})
			return err
		}, ndarray.ErrParam},
		"view": {func() error {
			v, err := ndarray.View(a, ndarray.Select(ndarray.All()))
			require.NoError(t, err)
			_, err = ndarray.NewRecordWriter[measured](ctx, v, nil)
			return errors.Join(err, v.Close())
		}, ndarray.ErrReadOnly},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, c.start(), c.is) })
	}
	t.Run("failed write", func(t *testing.T) {
		source := newMem(t, ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{4}, DType: ndarray.DTypeOf[int16]()})
		b, err := ndarray.New(&failing{source.Backend(), 0})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		w, err := ndarray.NewRecordWriter[int16](ctx, b, nil)
		require.NoError(t, err)
		require.NoError(t, w.Append(1, 2, 3))
		for range 2 {
			err = w.Append(4, 5)
			require.ErrorIs(t, err, errFailing)
			require.ErrorContains(t, err, "5 records are not written")
		}
		require.ErrorIs(t, w.Flush(), errFailing)
		require.ErrorIs(t, w.Close(), errFailing)
	})
	t.Run("failed write of the timer", func(t *testing.T) {
		source := newMem(t, ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{4}, DType: ndarray.DTypeOf[int16]()})
		b, err := ndarray.New(&failing{source.Backend(), 0})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		w, err := ndarray.NewRecordWriter[int16](ctx, b, &ndarray.RecordWriterOptions{Interval: time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, w.Append(1))
		require.Eventually(t, func() bool { return w.Append() != nil }, 10*time.Second, time.Millisecond)
		require.ErrorIs(t, w.Close(), errFailing)
	})
	t.Run("context", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(ctx)
		w, err := ndarray.NewRecordWriter[measured](cancelled, a, nil)
		require.NoError(t, err)
		require.NoError(t, w.Append(sampleAt(0)))
		cancel()
		require.ErrorIs(t, w.Close(), context.Canceled)
		require.Equal(t, []int64{0}, a.Shape())
	})
}

func matrixOf(t *testing.T) *ndarray.Array {
	t.Helper()
	a := newMem(t, ndarray.Spec{Shape: []int64{2, 2}, DType: ndarray.DTypeOf[int16]()})
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestDTypeFor_advice(t *testing.T) {
	type text struct{ Name string }
	type when struct{ At time.Time }
	type unit struct {
		At time.Time `nd:"at,unix[days]"`
	}
	type number struct {
		N int64 `nd:"n,unix[s]"`
	}
	type sized struct{ N int }
	for _, c := range []struct {
		err  func() error
		text string
	}{
		{func() error { _, err := ndarray.DTypeFor[text](); return err }, "field Name: wrong type: a string needs its stored type in the tag of a field, for example `nd:\"NAME,S16\"`"},
		{func() error { _, err := ndarray.DTypeFor[when](); return err }, "field At: wrong type: a time.Time needs its stored type in the tag of a field, for example `nd:\"NAME,unix[us]\"`"},
		{func() error { _, err := ndarray.DTypeFor[unit](); return err }, `field At: got tag "unix[days]" of a time.Time, want unix[s]`},
		{func() error { _, err := ndarray.DTypeFor[number](); return err }, `got tag "unix[s]" of a int64`},
		{func() error { _, err := ndarray.DTypeFor[sized](); return err }, "field N: wrong type: Go int has no fixed size: want int32 or int64"},
		{func() error { _, err := ndarray.AttrsFor[int32](); return err }, "want a struct"},
	} {
		err := c.err()
		require.ErrorIs(t, err, ndarray.ErrType)
		require.ErrorContains(t, err, c.text)
	}
}

// TestAttrsFor_pytables: PyTables reads the times as integers and finds their units.
func TestAttrsFor_pytables(t *testing.T) {
	const program = `
import sys, tables
with tables.open_file(sys.argv[1]) as f:
    t = f.root.samples
    assert isinstance(t, tables.Table), t
    assert t.cols.when.dtype == "int64" and t.cols.when[:].tolist() == [0, 1000001, -2**63], t.cols.when[:]
    assert t.cols.name[:].tolist() == [b"n0", b"n1", b""]
    assert t.cols.when.attrs.units == "microseconds since 1970-01-01", t.cols.when.attrs.units
    assert [r["id"] for r in t.where("when > 0")] == [1]
`
	ctx := context.Background()
	d, err := ndarray.DTypeFor[measured]()
	require.NoError(t, err)
	attrs, err := ndarray.AttrsFor[measured]()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "samples.h5")
	spec := ndarray.Spec{Shape: []int64{3}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{7}, DType: d, Attrs: attrs}
	x, err := hyperslab.Create(ctx, file+":/samples", spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, x.Array, []measured{sampleAt(0), sampleAt(1), {}}, ndarray.Whole(x.Shape())))
	require.NoError(t, x.Commit(ctx))
	out, err := exec.Command(testenv.Python(t, "tables"), "-c", program, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	a, err := hyperslab.Open(ctx, file+":/samples", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	got, err := ndarray.ReadAll[measured](ctx, a)
	require.NoError(t, err)
	require.Equal(t, []measured{sampleAt(0), sampleAt(1), {}}, got)
}
