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
			r, err := hyperslab.Verify(bg, path, nil)
			require.NoError(t, err)
			require.Zero(t, r.NumFindings)
			require.EqualValues(t, 1, r.NumUnchecked)
			require.ErrorContains(t, r.Unchecked[0].Err, tt.kind)
		})
	}
}
