// Tests of the record that this package stores next to bcolz's files. Its content may be untrusted.

package bcolz

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzRecord checks that any record gives either an error or a valid array with elements of the
// same size and valid attributes.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"version": 1}`,
		`{"version": 1, "dtype": "<i4", "fill": "AQAAAA==", "max_shape": [-1, 3], "axis_names": ["x", "y"]}`,
		`{"version": 1, "dtype": "[('a', '<i2'), ('b', '|S2')]", "max_shape": [9, 2]}`,
		`{"version": 1, "attrs": [{"name": "a", "dtype": "<f4", "shape": [2], "data": "AAAAAAAAAAA="}, {"name": "b", "dtype": "str", "strings": ["x"]}]}`,
		`{"version": 1, "attrs": [{"name": "n", "dtype": "<i2", "plain": true}, {"name": "t", "dtype": "<i8", "null": true}]}`,
		`{"version": 2}`, `{`, `null`,
	} {
		f.Add([]byte(text))
	}
	members, err := bcolztree.ParseAttrs([]byte(`{"n": 7, "s": "text", "l": [1, 2], "o": {"x": null}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readRecord(fstest.MapFS{RecordFile: {Data: b}}, RecordFile)
		if err != nil {
			require.True(t, errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported), "%v", err)
			return
		}
		m := ndarray.Meta{Shape: []int64{7, 3}, DType: ndarray.DTypeOf[int32]()}
		r.apply(&m)
		require.NoError(t, m.DType.Validate())
		require.Equal(t, 4, m.DType.Size)
		require.Contains(t, []int{0, 4}, len(m.Fill))
		require.Contains(t, []int{0, 2}, len(m.AxisNames))
		for i, n := range m.MaxShape {
			require.True(t, n == ndarray.Unlimited || n >= m.Shape[i], "%v", m.MaxShape)
		}
		for _, a := range attrsWith(members, r).List {
			require.NoError(t, a.Value.Validate(), "%s", a.Name)
		}
	})
}
