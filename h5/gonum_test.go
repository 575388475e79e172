// Tests against gonum's binding of HDF5 in the same process. It reads what this package writes, and
// this package must be correct in cases in which the binding fails. `make gonum` links the binding
// to the same libhdf5.

//go:build gonum

package h5_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func init() { peerInProcess = true }

// TestGonum_SameLibrary checks that both bindings use the same libhdf5, whose version is that of
// the headers.
func TestGonum_SameLibrary(t *testing.T) {
	ours, err := h5.Version()
	require.NoError(t, err)
	h5.WithLock(func() {
		v, err := hdf5.LibVersion()
		require.NoError(t, err)
		require.Equal(t, ours, v.String())
	})
}

func TestGonum_read(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	level := 6
	want := make([]int32, 60)
	for i := range want {
		want[i] = int32(i*i) - 500
	}
	for name, o := range map[string]*h5.DatasetOptions{
		"contiguous": nil,
		"compact":    {Compact: true},
		"chunked":    {ChunkShape: []int64{4, 4}, Shuffle: true, Deflate: &level, Fletcher32: true},
	} {
		d, err := f.Root().CreateDataset("g/"+name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(6, 10), o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, want, region([]int64{0, 0}, []int64{6, 10})))
	}
	require.NoError(t, f.Close())

	h5.WithLock(func() {
		f, err := hdf5.OpenFile(path, hdf5.F_ACC_RDONLY)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		for _, name := range []string{"contiguous", "compact", "chunked"} {
			d, err := f.OpenDataset("g/" + name)
			require.NoError(t, err)
			dims, _, err := d.Space().SimpleExtentDims()
			require.NoError(t, err)
			require.Equal(t, "[6 10]", fmt.Sprint(dims))
			got := make([]int32, 60)
			require.NoError(t, d.Read(&got))
			require.Equal(t, want, got, name)
			require.NoError(t, d.Close())
		}
	})
}

func TestGonum_write(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	want := []float64{1.5, -2, 1e300}
	h5.WithLock(func() {
		f, err := hdf5.CreateFile(path, hdf5.F_ACC_TRUNC)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		space, err := hdf5.CreateSimpleDataspace([]uint{3}, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, space.Close()) }()
		d, err := f.CreateDataset("d", hdf5.T_NATIVE_DOUBLE, space)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		require.NoError(t, d.Write(&want))
	})
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// peerReads opens a dataset with gonum's binding and calls f with it.
func peerReads(t *testing.T, path, name string, f func(d *hdf5.Dataset)) {
	t.Helper()
	h5.WithLock(func() {
		file, err := hdf5.OpenFile(path, hdf5.F_ACC_RDONLY)
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		d, err := file.OpenDataset(name)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		f(d)
	})
}

// inverted has the members of a struct in another order than the file.
type inverted struct {
	B float64 `h5:"b" hdf5:"b"`
	A int32   `h5:"a" hdf5:"a"`
}

// knownFailures creates a file with datasets that gonum's binding reads incorrectly.
func knownFailures(t *testing.T) string {
	t.Helper()
	f := newFile(t)
	writtenAs(t, f, "big", h5.Int(4, h5.BigEndian), []int32{1, 2, 3, 4})
	written(t, f, "short", []int16{1, 2, 3, 4})
	written(t, f, "many", make([]int32, 1000))
	d, err := f.Root().OpenDataset("many")
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []int32{7}, region([]int64{999}, []int64{1})))
	written(t, f, "words", []string{"one", "two words", ""})
	written(t, f, "pairs", []struct {
		A int32   `h5:"a"`
		B float64 `h5:"b"`
	}{{1, 0.5}, {2, 1.5}})
	require.NoError(t, f.Close())
	return f.Path()
}

// TestGonumKnownFailures documents the failures of gonum's binding that return no error, and checks
// that this package handles the same file correctly.
func TestGonumKnownFailures(t *testing.T) {
	path := knownFailures(t)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	open := func(name string) *h5.Dataset {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		return d
	}

	t.Run("numbers in the other order of bytes", func(t *testing.T) {
		got := make([]int32, 4)
		peerReads(t, path, "big", func(d *hdf5.Dataset) { require.NoError(t, d.Read(&got)) })
		require.Equal(t, []int32{1 << 24, 2 << 24, 3 << 24, 4 << 24}, got)
		got, err := h5value.ReadAll[int32](open("big"))
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 3, 4}, got)
	})
	t.Run("numbers of another type", func(t *testing.T) {
		got := make([]float64, 4)
		peerReads(t, path, "short", func(d *hdf5.Dataset) { require.NoError(t, d.Read(&got)) })
		require.NotEqual(t, []float64{1, 2, 3, 4}, got)
		got, err := h5value.ReadAll[float64](open("short"))
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2, 3, 4}, got)
	})
	t.Run("a slice that is too short", func(t *testing.T) {
		memory := make([]int32, 1000)
		one := memory[:1:1]
		peerReads(t, path, "many", func(d *hdf5.Dataset) { require.NoError(t, d.Read(&one)) })
		require.EqualValues(t, 7, memory[999], "998 elements past its end were written")
		clear(memory)
		err := h5value.Read(open("many"), one, region([]int64{0}, []int64{1000}))
		require.ErrorIs(t, err, h5.ErrSize)
		require.ErrorContains(t, err, "1000")
		require.Zero(t, memory[999])
	})
	t.Run("members in another order", func(t *testing.T) {
		want := []inverted{{0.5, 1}, {1.5, 2}}
		got := make([]inverted, 2)
		peerReads(t, path, "pairs", func(d *hdf5.Dataset) { require.NoError(t, d.Read(&got)) })
		require.NotEqual(t, want, got)
		got, err := h5value.ReadAll[inverted](open("pairs"))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	t.Run("what went wrong", func(t *testing.T) {
		h5.WithLock(func() {
			file, err := hdf5.OpenFile(path, hdf5.F_ACC_RDONLY)
			require.NoError(t, err)
			defer func() { require.NoError(t, file.Close()) }()
			_, err = file.OpenDataset("none")
			require.EqualError(t, err, "code -1")
			require.NotErrorIs(t, err, os.ErrNotExist)
		})
		_, err := f.Root().OpenDataset("none")
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, "/none")
	})
	t.Run("structs with strings and slices", func(t *testing.T) {
		type row struct {
			Name   string  `h5:"name" hdf5:"name"`
			Values []int32 `h5:"values" hdf5:"values"`
		}
		rows := []row{{"a", []int32{1, 2}}, {"", []int32{}}}
		theirs := filepath.Join(t.TempDir(), "x.h5")
		h5.WithLock(func() {
			file, err := hdf5.CreateFile(theirs, hdf5.F_ACC_TRUNC)
			require.NoError(t, err)
			defer func() { require.NoError(t, file.Close()) }()
			dt, err := hdf5.NewDatatypeFromValue(row{})
			require.NoError(t, err)
			space, err := hdf5.CreateSimpleDataspace([]uint{2}, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, space.Close()) }()
			d, err := file.CreateDataset("rows", dt, space)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			require.Panics(t, func() { _ = d.Write(&rows) }, "it hands C what Go's memory points to")
		})
		made := newFile(t)
		got, err := h5value.ReadAll[row](written(t, made, "rows", rows))
		require.NoError(t, err)
		require.Equal(t, rows, got)
	})
	t.Run("strings of variable length", func(t *testing.T) {
		child := testenv.Self("-test.run", "^TestGonum_ReadsStrings$")
		child.Env = append(os.Environ(), "HYPERSLAB_PEER_READS="+path)
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit), "the process lived: %s", out)
		require.True(t, strings.Contains(string(out), "SIGSEGV") || strings.Contains(string(out), "fatal error") ||
			strings.Contains(string(out), "unexpected fault address"), "%s", out)
		got, err := h5value.ReadAll[string](open("words"))
		require.NoError(t, err)
		require.Equal(t, []string{"one", "two words", ""}, got)
	})
}

// TestGonum_ReadsStrings runs in the child process that TestGonumKnownFailures expects to crash.
func TestGonum_ReadsStrings(t *testing.T) {
	path := os.Getenv("HYPERSLAB_PEER_READS")
	if path == "" {
		return
	}
	got := make([]string, 3)
	peerReads(t, path, "words", func(d *hdf5.Dataset) { require.NoError(t, d.Read(&got)) })
	require.Equal(t, []string{"one", "two words", ""}, got)
}
