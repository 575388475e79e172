package h5_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

func TestVersion(t *testing.T) {
	v, err := h5.Version()
	require.NoError(t, err)
	require.Regexp(t, `^(1\.14|2\.[0-2])\.\d+$`, v)
}

func TestFilters(t *testing.T) {
	for _, id := range []int{h5.FilterDeflate, h5.FilterShuffle, h5.FilterFletcher32, h5.FilterNbit, h5.FilterScaleOffset} {
		got, err := h5.FilterAvailable(id)
		require.NoError(t, err)
		require.Equal(t, h5.FilterAvailability{Decode: true, Encode: true}, got, "filter %d", id)
	}
	szip, err := h5.FilterAvailable(h5.FilterSzip)
	require.NoError(t, err)
	// The header of `make deps` records whether libhdf5 has szip. A system library has no such
	// header.
	file := filepath.Join("..", "third_party", "lib", runtime.GOOS+"_"+runtime.GOARCH, "zz_stamp.h")
	if stamp, err := os.ReadFile(file); err == nil {
		with := strings.Contains(string(stamp), "#define HYPERSLAB_HAVE_SZIP 1")
		require.Equal(t, h5.FilterAvailability{Decode: with, Encode: with}, szip)
	}
	none, err := h5.FilterAvailable(32026)
	require.NoError(t, err)
	require.Equal(t, h5.FilterAvailability{}, none)
	for _, id := range []int{-1, 1 << 20} {
		_, err = h5.FilterAvailable(id)
		require.ErrorIs(t, err, h5.ErrParam)
	}
}

// TestMemory checks that memory cached by libhdf5 can be released.
func TestMemory(t *testing.T) {
	f, err := h5.CreateImage(nil)
	require.NoError(t, err)
	fillFile(t, f)
	require.NoError(t, f.Close())
	sum := func() int64 {
		m, err := h5.KeptMemory()
		require.NoError(t, err)
		return m.Regular + m.Array + m.Block + m.Factory
	}
	before := sum()
	require.Positive(t, before)
	require.NoError(t, h5.ReleaseMemory())
	require.Less(t, sum(), before)
}
