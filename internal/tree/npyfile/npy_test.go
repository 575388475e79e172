package npyfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestNPY checks that the functions of the package accept .npy files, trusted and untrusted.
func TestNPY(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.npy")
	want := []int32{1, 2, 3, 4, 5, 6}
	spec := ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[int32]()}
	d, err := hyperslab.Create(bg, file, spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, d.Array, want, ndarray.Whole(spec.Shape)))
	require.NoError(t, d.Commit(bg))
	_, err = hyperslab.Create(bg, file, spec, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)

	format, err := hyperslab.Sniff(file)
	require.NoError(t, err)
	require.Equal(t, hyperslab.NPY, format)
	for name, o := range map[string]*hyperslab.OpenOptions{
		"trusted": nil, "untrusted": {Untrusted: &hyperslab.Untrusted{}}, "untrusted, in process": {Untrusted: &hyperslab.Untrusted{InProcess: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := hyperslab.Open(bg, file, o)
			require.NoError(t, err)
			got := make([]int32, 6)
			require.NoError(t, ndarray.Read(bg, a, got, ndarray.Whole(a.Shape())))
			require.Equal(t, want, got)
			require.NoError(t, a.Close())
			_, err = hyperslab.Open(bg, file+":/x", o)
			require.ErrorIs(t, err, ndarray.ErrParam)
			var wo hyperslab.WalkOptions
			if o != nil {
				wo.Untrusted = o.Untrusted
			}
			n := 0
			for e, err := range hyperslab.Walk(bg, file, &wo) {
				require.NoError(t, err)
				require.Equal(t, []int64{2, 3}, e.Meta.Shape)
				n++
			}
			require.Equal(t, 1, n)
		})
	}
	t.Run("limit", func(t *testing.T) {
		_, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{MaxArray: 23}})
		require.ErrorIs(t, err, hyperslab.ErrLimit)
	})
	t.Run("writing", func(t *testing.T) {
		a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{Write: true})
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(bg, a, []int32{7}, ndarray.Region{Start: []int64{1, 1}, Shape: []int64{1, 1}}))
		require.ErrorIs(t, a.SetAttr(bg, ndarray.Attr{Name: "x", Value: ndarray.Text("y")}), errors.ErrUnsupported)
		require.NoError(t, a.Close())
	})
	t.Run("URL", func(t *testing.T) {
		url := filetest.Serve(t, filepath.Dir(file))
		a, err := hyperslab.Open(bg, url+"/x.npy", nil)
		require.NoError(t, err)
		got := make([]int32, 3)
		require.NoError(t, ndarray.Read(bg, a, got, ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1, 3}}))
		require.Equal(t, want[:3], got)
		require.NoError(t, a.Close())
		for e, err := range hyperslab.Walk(bg, url+"/x.npy", nil) {
			require.NoError(t, err)
			require.Equal(t, []int64{2, 3}, e.Meta.Shape)
		}
	})
	t.Run("verify", func(t *testing.T) {
		r, err := hyperslab.Verify(bg, file, nil)
		require.NoError(t, err)
		require.Empty(t, r.Findings)
		require.EqualValues(t, 24, r.DecodedBytes)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		short := filepath.Join(t.TempDir(), "short.npy")
		require.NoError(t, os.WriteFile(short, b[:len(b)-1], 0o600))
		r, err = hyperslab.Verify(bg, short, nil)
		require.NoError(t, err)
		require.Len(t, r.Findings, 1)
		require.ErrorIs(t, r.Findings[0].Err, ndarray.ErrCorrupt)
	})
}
