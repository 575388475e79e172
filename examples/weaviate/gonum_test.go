//go:build gonum

package main

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/annfile"
)

const batchRows = 10_000

// gonumBatches reads train in batches with gonum.org/v1/hdf5 and copies each row.
func gonumBatches(file string, use func(vectors [][]float32)) (err error) {
	h5.WithLock(func() { err = gonumBatchesLocked(file, use) })
	return err
}

func gonumBatchesLocked(file string, use func(vectors [][]float32)) error {
	f, err := hdf5.OpenFile(file, hdf5.F_ACC_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := f.OpenDataset("train")
	if err != nil {
		return err
	}
	defer d.Close()
	space := d.Space()
	defer space.Close()
	dims, _, err := space.SimpleExtentDims()
	if err != nil {
		return err
	}
	for at := uint(0); at < dims[0]; at += batchRows {
		n := []uint{min(batchRows, dims[0]-at), dims[1]}
		if err := space.SelectHyperslab([]uint{at, 0}, nil, n, nil); err != nil {
			return err
		}
		mem, err := hdf5.CreateSimpleDataspace(n, n)
		if err != nil {
			return err
		}
		all := make([]float32, n[0]*n[1])
		err = d.ReadSubset(&all, mem, space)
		if cerr := mem.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		rows := make([][]float32, n[0])
		for i := range rows {
			rows[i] = make([]float32, n[1])
			for j := range rows[i] {
				rows[i][j] = all[i*int(n[1])+j]
			}
		}
		use(rows)
	}
	return nil
}

func oursBatches(file string, use func(vectors [][]float32)) error {
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, file+":/train", nil)
	if err != nil {
		return err
	}
	defer a.Close()
	for at := int64(0); at < a.Shape()[0]; at += batchRows {
		vectors, err := batch(ctx, a, at, min(batchRows, a.Shape()[0]-at))
		if err != nil {
			return err
		}
		use(vectors)
	}
	return nil
}

func TestGonum_weaviate(t *testing.T) {
	file := annfile.Must(filepath.Join(t.TempDir(), "ann.h5"), 2*batchRows+3)
	var want, got [][]float32
	require.NoError(t, gonumBatches(file, func(v [][]float32) { want = append(want, v...) }))
	require.NoError(t, oursBatches(file, func(v [][]float32) { got = append(got, v...) }))
	require.Len(t, got, 2*batchRows+3)
	require.True(t, slices.EqualFunc(want, got, slices.Equal[[]float32]))
}

// BenchmarkGonum_weaviate reads 1 million × 128 float32 in batches.
func BenchmarkGonum_weaviate(b *testing.B) {
	file := annfile.Must(filepath.Join(b.TempDir(), "ann.h5"), 1_000_000)
	for _, c := range []struct {
		name string
		read func(file string, use func(vectors [][]float32)) error
	}{{"gonum", gonumBatches}, {"hyperslab", oursBatches}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(1_000_000 * annfile.Dim * 4)
			for b.Loop() {
				if err := c.read(file, func([][]float32) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
