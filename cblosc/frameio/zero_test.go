package frameio_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// requireFrame requires that the frame at path has the given values.
func requireFrame(t *testing.T, path string, l *frameio.Limits, want []byte) *frameio.Frame {
	t.Helper()
	f, err := frameio.Open(path, l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	got := make([]byte, f.NBytes())
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, want, got)
	return f
}

func TestParams_zero(t *testing.T) {
	src := testutil.Ramp(3<<20, 1)
	for name, tt := range map[string]struct {
		p    *frameio.Params
		size int
	}{
		"nil":             {nil, 1 << 20},
		"params":          {&frameio.Params{}, 1 << 20},
		"parameters":      {&frameio.Params{CParams: &cblosc.CParams{}}, 1 << 20},
		"12-byte element": {&frameio.Params{CParams: &cblosc.CParams{TypeSize: 12}}, 1<<20 - 4},
		"large element":   {&frameio.Params{CParams: &cblosc.CParams{TypeSize: 3 << 20}}, 3 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2frame")
			w, err := frameio.Create(path, tt.p)
			require.NoError(t, err)
			_, err = w.Write(src)
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			f := requireFrame(t, path, &frameio.Limits{}, src)
			require.Equal(t, tt.size, f.ChunkSize())
		})
	}
}

func TestAppendOptions_zero(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2frame")
	writeFrame(t, path, true, nil)
	src := testutil.Ramp(1<<20, 1)
	for range 2 {
		w, err := frameio.Append(path, &frameio.AppendOptions{})
		require.NoError(t, err)
		_, err = w.Write(src)
		require.NoError(t, err)
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
	}
	requireFrame(t, path, nil, append(src[:len(src):len(src)], src...))
}

func TestArrayOptions_zero(t *testing.T) {
	a, _ := newArray(t, true, []int64{8}, []int32{4}, []int32{2})
	w, err := frameio.WriteArray(a.Path(), &frameio.ArrayOptions{})
	require.NoError(t, err)
	require.Equal(t, []int64{8}, w.Shape())
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
}

// TestLimits_zero checks that zero limits mean the default limits, also for a read of a part of a
// chunk, which allocates memory.
func TestLimits_zero(t *testing.T) {
	notOnWindows(t, "delete a mapped file before a garbage collection")
	dir := t.TempDir()
	src := testutil.Ramp(800, 1)
	for name, contiguous := range map[string]bool{"file": true, "directory": false} {
		path := filepath.Join(dir, name)
		writeFrame(t, path, contiguous, nil, src)
		f := requireFrame(t, path, &frameio.Limits{}, src)
		part := make([]byte, 3)
		_, err := f.ReadAt(part, 11)
		require.NoError(t, err)
		require.Equal(t, src[11:14], part)
	}
	m, err := frameio.OpenMapped(filepath.Join(dir, "file"), &frameio.Limits{})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	f, err := frameio.OpenFS(os.DirFS(filepath.Join(dir, "directory")), &frameio.Limits{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
