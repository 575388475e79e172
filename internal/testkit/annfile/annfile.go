// The file.

package annfile

import (
	"context"
	"errors"
	"math"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The sizes of the vectors and of the lists of neighbours.
const (
	Dim        = 128
	Neighbours = 100
	Tests      = 100 // vectors in test
	RaggedDim  = 8   // of each vector in an element of ragged
)

// Must writes the file like Write, and panics if that fails.
func Must(path string, rows int64) string {
	if err := Write(context.Background(), path, rows); err != nil {
		panic(err)
	}
	return path
}

// Write writes an HDF5 file with the contiguous datasets of ann-benchmarks.com: train (rows × Dim
// float32), test and distances (float32), neighbors (int32). It also contains train_categories
// (int32) and ragged, sequences of one to five vectors of RaggedDim float32. An existing file is
// replaced.
func Write(ctx context.Context, path string, rows int64) error {
	tests := min(rows, Tests)
	ragged := make([][]float32, tests)
	for i := range ragged {
		ragged[i] = floats(int64(RaggedDim*(1+i%5)), i)
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := add(ctx, path, "train", floats(rows*Dim, 0), rows, Dim); err != nil {
		return err
	}
	return errors.Join(
		add(ctx, path, "test", floats(tests*Dim, 7), tests, Dim),
		add(ctx, path, "distances", floats(tests*Neighbours, 9), tests, Neighbours),
		add(ctx, path, "neighbors", ints(tests*Neighbours, rows), tests, Neighbours),
		add(ctx, path, "train_categories", ints(rows, 16), rows),
		add(ctx, path, "ragged", ragged, tests),
	)
}

// add adds a dataset to the file. The dataset "train" creates it.
func add[T any](ctx context.Context, path, name string, values []T, shape ...int64) error {
	d, err := ndarray.DTypeFor[T]()
	if err != nil {
		return err
	}
	spec := ndarray.Spec{Shape: shape, DType: d, Compression: &ndarray.Compression{Codec: "none"}}
	draft, err := hyperslab.Create(ctx, path+":/"+name, spec, &hyperslab.CreateOptions{InPlace: name != "train"})
	if err != nil {
		return err
	}
	err = ndarray.Write(ctx, draft.Array, values, ndarray.Whole(shape))
	if err == nil {
		err = draft.Commit(ctx)
	}
	return errors.Join(err, draft.Close())
}

// floats returns n numbers between 0 and 1 with all bits of the mantissa.
func floats(n int64, seed int) []float32 {
	v := make([]float32, n)
	for i := range v {
		_, frac := math.Modf(float64(i+1) * (math.Phi - 1) * float64(seed+1))
		v[i] = float32(frac)
	}
	return v
}

// ints returns n numbers from 0 to below-1.
func ints(n, below int64) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(int64(i) * 7919 % below)
	}
	return v
}
