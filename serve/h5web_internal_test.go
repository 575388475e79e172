package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestHandler_h5web checks the files of the viewer and the link to it, in builds with and without
// `make web`.
func TestHandler_h5web(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	draft, err := hyperslab.Create(ctx, filepath.Join(dir, "a.b2nd"), ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())
	built := newFrontEnd(fstest.MapFS{
		"index.html":       {Data: []byte("<p>viewer")},
		"assets/main-1.js": {Data: make([]byte, 4096)},
	})
	require.NotNil(t, built)
	get := func(front *frontEnd, target string, header ...string) *http.Response {
		h, err := newHandler(dir, &Options{Trusted: true}, front)
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.NoError(t, h.Close())
		return w.Result()
	}
	t.Run("page", func(t *testing.T) {
		r := get(built, "/h5web/?file=a.h5")
		require.Equal(t, 200, r.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"))
		require.Contains(t, r.Header.Get("Content-Security-Policy"),
			"default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' blob:")
		require.Equal(t, 304, get(built, "/h5web/", "If-None-Match", r.Header.Get("Etag")).StatusCode)
	})
	t.Run("script", func(t *testing.T) {
		r := get(built, "/h5web/assets/main-1.js", "Accept-Encoding", "gzip")
		require.Equal(t, 200, r.StatusCode)
		require.Equal(t, "text/javascript; charset=utf-8", r.Header.Get("Content-Type"))
		require.Contains(t, r.Header.Get("Cache-Control"), "immutable")
		require.Equal(t, "gzip", r.Header.Get("Content-Encoding"))
	})
	t.Run("missing file", func(t *testing.T) {
		require.Equal(t, 404, get(built, "/h5web/README.md").StatusCode)
		require.Equal(t, 404, get(built, "/h5web/assets/").StatusCode)
	})
	const link = `href="h5web/?file=a.b2nd&amp;path=%2Fa"`
	t.Run("link", func(t *testing.T) { require.Contains(t, bodyOf(t, get(built, "/view?file=a.b2nd&path=/a")), link) })
	t.Run("build without the viewer", func(t *testing.T) {
		none := newFrontEnd(fstest.MapFS{"README.md": {}})
		require.Nil(t, none)
		require.Equal(t, 404, get(none, "/h5web/").StatusCode)
		require.NotContains(t, bodyOf(t, get(none, "/view?file=a.b2nd&path=/a")), "h5web")
	})
}

// bodyOf returns the body of a response.
func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	require.Equal(t, 200, r.StatusCode)
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}
