// Tests of arrays whose values are not in the file: lazy expressions, lazy functions, proxies.
package b2nd_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

func TestOpen_computed(t *testing.T) {
	for _, tt := range []struct{ name, layer, content, kind string }{
		{"lazy expression", "b2o", "\x82\xa4kind\xa8lazyexpr\xa7version\x01", "a lazy expression"},
		{"lazy function", "b2o", "\x82\xa4kind\xa7lazyudf\xa7version\x01", "a lazy function"},
		{"remote array", "b2o", "\x82\xa4kind\xa7c2array\xa7version\x01", "a remote array"},
		{"unknown kind", "b2o", "\x82\xa4kind\xa3new\xa7version\x01", `a computed object "new"`},
		{"truncated kind", "b2o", "\x82\xa4kind\xa8la", "a computed object"},
		{"lazy array of an older release", "LazyArray", "\x01", "a lazy array"},
		{"proxy", "proxy-source", "\x80", "a proxy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.b2nd")
			cp := cblosc.DefaultCParams()
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{
				Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2}, DType: "<f8",
				Meta:    []cblosc.Metalayer{{Name: tt.layer, Content: []byte(tt.content)}},
				Storage: cblosc.Storage{Path: path, CParams: cp},
			})
			require.NoError(t, err)
			require.NoError(t, a.Close())

			_, err = b2nd.Open(path, nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, tt.kind)
			_, err = b2nd.OpenFS(os.DirFS(path), nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, tt.kind)
			requireMetadata(t, path, tt.kind)
			r, err := hyperslab.Verify(bg, path, nil)
			require.NoError(t, err)
			require.Zero(t, r.NumFindings)
			require.EqualValues(t, 1, r.NumUnchecked)
			require.ErrorContains(t, r.Unchecked[0].Err, tt.kind)
		})
	}
}

// requireMetadata checks that the metadata of an array can be read, but not its elements.
func requireMetadata(t *testing.T, path, reason string) {
	t.Helper()
	b, err := b2nd.Open(path, &b2nd.OpenOptions{Metadata: true})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	require.NotEmpty(t, a.Meta().Shape)
	_, err = a.Storage(bg)
	require.NoError(t, err)
	_, err = a.Attrs(bg)
	require.NoError(t, err)
	_, err = ndarray.ReadAll[float64](bg, a)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, reason)
	require.NoError(t, a.Close())
	for e, err := range hyperslab.Walk(bg, path, nil) {
		require.NoError(t, err)
		require.ErrorIs(t, e.Err, errors.ErrUnsupported)
		require.ErrorContains(t, e.Err, reason)
		require.NotEmpty(t, e.Meta.Shape)
	}
	_, err = b2nd.Open(path, &b2nd.OpenOptions{Metadata: true, Write: true})
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// TestOpen_pluginCodec opens arrays whose header names a codec or a filter that is not available.
func TestOpen_pluginCodec(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		at           int64
		b            []byte
	}{
		{"codec", "zfp_acc", 27, []byte{6 | 5<<4}},
		{"filter", "ndcell", 71, []byte{32}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{
				Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2}, DType: "<f8",
				Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: cblosc.DefaultCParams()},
			})
			require.NoError(t, err)
			require.NoError(t, a.Close())
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(tt.b, tt.at)
			require.NoError(t, err)
			if tt.name == "codec" {
				_, err = f.WriteAt([]byte{33}, 77) // ZFP_ACC
				require.NoError(t, err)
			}
			require.NoError(t, f.Close())
			_, err = b2nd.Open(path, nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			requireMetadata(t, path, tt.reason)
		})
	}
}
