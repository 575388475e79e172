package convert

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTypeFlags_last checks that the last value of --dtype counts, for arrays and for elements
// without a type.
func TestTypeFlags_last(t *testing.T) {
	f := typeFlags{values: []string{"<f4", "/a=<i2", "<f8", "/a*=<i4"}}
	require.NoError(t, f.check())
	require.Equal(t, "<f8", f.text())
	for at, want := range map[string]string{"/a": "<i4", "/b": "<f8"} {
		c, _ := f.conversion(at)
		require.Equal(t, want, c.To.String(), at)
	}
	require.Empty(t, (&typeFlags{}).text())
}
