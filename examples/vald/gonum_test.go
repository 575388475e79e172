//go:build gonum

package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/annfile"
)

// gonumRows reads a dataset with gonum.org/v1/hdf5 and copies it row by row.
func gonumRows[T any](file, name string) (rows [][]T, err error) {
	h5.WithLock(func() { rows, err = gonumRowsLocked[T](file, name) })
	return rows, err
}

func gonumRowsLocked[T any](file, name string) ([][]T, error) {
	f, err := hdf5.OpenFile(file, hdf5.F_ACC_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := f.OpenDataset(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	space := d.Space()
	defer space.Close()
	dims, _, err := space.SimpleExtentDims()
	if err != nil {
		return nil, err
	}
	all := make([]T, dims[0]*dims[1])
	if err := d.Read(&all); err != nil {
		return nil, err
	}
	rows := make([][]T, dims[0])
	for i := range rows {
		rows[i] = make([]T, dims[1])
		for j := range rows[i] {
			rows[i][j] = all[i*int(dims[1])+j]
		}
	}
	return rows, nil
}

func oursRows[T any](file, name string) ([][]T, error) {
	tree, err := hyperslab.OpenTree(context.Background(), file, nil)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return load[T](context.Background(), tree, name)
}

func TestGonum_vald(t *testing.T) {
	file := annfile.Must(filepath.Join(t.TempDir(), "ann.h5"), 1003)
	want, err := gonumRows[float32](file, "train")
	require.NoError(t, err)
	got, err := oursRows[float32](file, "train")
	require.NoError(t, err)
	require.Equal(t, want, got)
	wantInts, err := gonumRows[int32](file, "neighbors")
	require.NoError(t, err)
	gotInts, err := oursRows[int32](file, "neighbors")
	require.NoError(t, err)
	require.Equal(t, wantInts, gotInts)
}

// BenchmarkGonum_vald loads 1 million × 128 float32.
func BenchmarkGonum_vald(b *testing.B) {
	file := annfile.Must(filepath.Join(b.TempDir(), "ann.h5"), 1_000_000)
	for _, c := range []struct {
		name string
		load func(file, name string) ([][]float32, error)
	}{{"gonum", gonumRows[float32]}, {"hyperslab", oursRows[float32]}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(1_000_000 * annfile.Dim * 4)
			for b.Loop() {
				if _, err := c.load(file, "train"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
