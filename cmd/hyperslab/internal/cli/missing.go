// Values that stand for "not measured", as attributes say by convention.

package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"

	"github.com/hyperslab/hyperslab/ndarray"
)

// missingNames are the attributes of the CF and netCDF conventions that hold the
// value of elements that were not measured.
var missingNames = []string{"_FillValue", "missing_value"}

// missingValues are the bytes of the elements of arr that mean "not measured":
// what the attributes say, where they have the array's type.
func missingValues(ctx context.Context, arr *ndarray.Array) ([][]byte, error) {
	attrs, err := attrsOf(ctx, arr)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	d := arr.DType()
	for _, name := range missingNames {
		v, ok := attrs.Get(name)
		if !ok || v.Null || !v.DType.EqualValues(d) {
			continue
		}
		for i := range int(v.NumElems()) {
			out = append(out, v.Data[i*d.Size:][:d.Size])
		}
	}
	return out, nil
}

// withoutMissing returns arr with NaN in place of the given values. Its elements
// are floats of 4 or 8 bytes. Closing it leaves arr open.
func withoutMissing(arr *ndarray.Array, values [][]byte) (*ndarray.Array, error) {
	return ndarray.New(&masked{arr, values})
}

// masked is the backend of such an array.
type masked struct {
	arr     *ndarray.Array
	missing [][]byte
}

// Meta implements ndarray.Backend.
func (m *masked) Meta() ndarray.Meta {
	meta := m.arr.Meta()
	meta.ReadOnly = true
	return meta
}

// ReadRegion implements ndarray.Backend.
func (m *masked) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	if err := m.arr.Read(ctx, dst, r); err != nil {
		return err
	}
	size := m.arr.DType().Size
	nan := make([]byte, size)
	if size == 4 {
		binary.NativeEndian.PutUint32(nan, math.Float32bits(float32(math.NaN())))
	} else {
		binary.NativeEndian.PutUint64(nan, math.Float64bits(math.NaN()))
	}
	for at := 0; at < len(dst); at += size {
		for _, v := range m.missing {
			if bytes.Equal(dst[at:at+size], v) {
				copy(dst[at:], nan)
			}
		}
	}
	return nil
}

// Uniform implements ndarray.UniformTeller: equal elements stay equal.
func (m *masked) Uniform(ctx context.Context) (func(r ndarray.Region) bool, error) {
	return m.arr.Uniform(ctx)
}

// Close implements ndarray.Backend.
func (m *masked) Close() error { return nil }

// measurable reports whether NaN can stand for a missing element of type d.
func measurable(d ndarray.DType) bool {
	return d.Kind == ndarray.Float && (d.Size == 4 || d.Size == 8)
}
