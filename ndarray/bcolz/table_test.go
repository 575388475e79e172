package bcolz_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func TestTable(t *testing.T) {
	table, err := bcolz.OpenTable(filepath.Join(goldenDir, "table"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "value", "tag"}, table.Names)
	requireAttr(t, table.Attrs, "title", ndarray.Text("three columns"))
	b, err := table.Column("value")
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	values, err := ndarray.ReadAll[float64](bg, a)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 2.5}, values)
	require.Equal(t, filepath.Join(goldenDir, "table", "value"), a.Meta().Path)
	require.NoError(t, a.Close())
	_, err = table.Column("other")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}

func TestTableErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := bcolz.OpenTable(filepath.Join(dir, "nothing"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = bcolz.OpenTable(filepath.Join(goldenDir, "rows"), nil)
	require.ErrorIs(t, err, ndarray.ErrFormat)
	require.ErrorContains(t, err, "carray, want a ctable")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "__rootdirs__"), []byte(`{"names": ["gone", "link", "empty", "file"], "dirs": {"gone": "/x"}}`), 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o666))
	outside, err := filepath.Abs(filepath.Join(goldenDir, "rows"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	table, err := bcolz.OpenTable(dir, nil)
	require.NoError(t, err)
	for _, name := range table.Names {
		_, err = table.Column(name)
		require.ErrorIs(t, err, ndarray.ErrCorrupt, name)
		require.ErrorContains(t, err, name)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "__rootdirs__"), []byte(`{"names": ["../x"]}`), 0o666))
	_, err = bcolz.OpenTable(dir, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
}

// TestTableManyGoroutines checks 64 goroutines that open and read columns of one table.
func TestTableManyGoroutines(t *testing.T) {
	table, err := bcolz.OpenTable(filepath.Join(goldenDir, "table"), nil)
	require.NoError(t, err)
	read := func() error {
		b, err := table.Column("value")
		if err != nil {
			return err
		}
		a, err := ndarray.New(b)
		if err != nil {
			return errors.Join(err, b.Close())
		}
		values, err := ndarray.ReadAll[float64](bg, a)
		if err == nil && !slices.Equal([]float64{0, 0.5, 1, 1.5, 2, 2.5}, values) {
			err = fmt.Errorf("got %v", values)
		}
		return errors.Join(err, a.Close())
	}
	manyTimes(t, 64, 10, func(int) error { return read() })
}

// TestRecordsManyGoroutines checks 64 goroutines on all columns of one ctable. One of them writes,
// and each row that the others read must be one that was written.
func TestRecordsManyGoroutines(t *testing.T) {
	const rows, step = 200, 1000
	d, err := ndarray.ParseDType(`[('a', '<i4'), ('b', '<i4')]`)
	require.NoError(t, err)
	b, err := bcolz.CreateRecords(filepath.Join(t.TempDir(), "t"), ndarray.Spec{Shape: []int64{rows}, ChunkShape: []int64{16}, DType: d}, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	write := func(first, n, round int64) error {
		src := make([]byte, 0, 8*n)
		for i := first; i < first+n; i++ {
			for range 2 {
				src = binary.NativeEndian.AppendUint32(src, uint32(i+step*round))
			}
		}
		return a.Write(bg, src, ndarray.Region{Start: []int64{first}, Shape: []int64{n}})
	}
	require.NoError(t, write(0, rows, 0))
	round := int64(0)
	manyTimes(t, 64, 20, func(g int) error {
		first := int64(g*37) % rows
		n := min(rows-first, 41)
		if g == 0 {
			round++
			return write(round*7%100, 60, round)
		}
		got := make([]byte, 8*n)
		if err := a.Read(bg, got, ndarray.Region{Start: []int64{first}, Shape: []int64{n}}); err != nil {
			return err
		}
		for i := range 2 * n {
			if v, want := int64(binary.NativeEndian.Uint32(got[4*i:])), first+i/2; v%step != want {
				return fmt.Errorf("row %d, column %d is %d", want, i%2, v)
			}
		}
		return nil
	})
	require.NoError(t, a.Close())
}

// manyTimes calls do the given number of times in each goroutine.
func manyTimes(t *testing.T, goroutines, times int, do func(g int) error) {
	t.Helper()
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range errs {
		all.Go(func() {
			for i := 0; i < times && errs[g] == nil; i++ {
				errs[g] = do(g)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
