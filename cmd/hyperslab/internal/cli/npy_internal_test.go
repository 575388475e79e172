// Fuzz tests of .npy headers, which may be untrusted.

package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzNPYHeader checks that any bytes are parsed as a .npy header or result in an error. The shape
// and dtype of a header must be valid for an array.
func FuzzNPYHeader(f *testing.F) {
	for _, text := range []string{
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n",
		"{'descr': [('a', '<i4'), ('b', '|S3', (2,))], 'fortran_order': True, 'shape': (), }",
		"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (9223372036854775807,)}",
	} {
		f.Add(append([]byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(text)), 0})), text...))
		f.Add(append([]byte("\x93NUMPY\x03\x00"+string([]byte{byte(len(text)), 0, 0, 0})), text...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, at, err := readNPYHeader(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.LessOrEqual(t, at, int64(len(b)))
		require.GreaterOrEqual(t, at, int64(10))
		require.NoError(t, m.DType.Validate())
		_, fits := ndarray.Product(m.Shape)
		require.True(t, fits, "%v", m.Shape)
	})
}
