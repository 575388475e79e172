package serve

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// createGrid creates an array of 300 × 40 elements that begin with from.
func createGrid(t *testing.T, location string, from int32) {
	t.Helper()
	d, err := hyperslab.Create(t.Context(), location, ndarray.Spec{Shape: []int64{300, 40}, ChunkShape: []int64{10, 40}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	values := make([]int32, 300*40)
	for i := range values {
		values[i] = from + int32(i)
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(t.Context()))
	require.NoError(t, d.Close())
}

// TestNew_urls serves objects at URLs, copied and by ranges.
func TestNew_urls(t *testing.T) {
	before := remote.DefaultClient
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	t.Cleanup(func() {
		remote.DefaultClient.CloseIdle()
		remote.DefaultClient = before
	})
	dir, local := t.TempDir(), t.TempDir()
	createGrid(t, filepath.Join(dir, "g.b2nd"), 0)
	createGrid(t, filepath.Join(dir, "g.h5")+":/a/g", 0)
	src, err := hyperslab.OpenTree(t.Context(), filepath.Join(dir, "g.h5"), nil)
	require.NoError(t, err)
	_, err = hyperslab.CopyTree(t.Context(), filepath.Join(dir, "g.b2z"), src, nil)
	require.NoError(t, err)
	require.NoError(t, src.Close())
	createGrid(t, filepath.Join(local, "here.b2nd"), 7)
	var requests atomic.Int64
	files := http.FileServer(http.Dir(dir))
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	urls := []string{upstream.URL + "/g.b2nd", upstream.URL + "/g.h5", upstream.URL + "/g.b2z"}
	get := func(h *Handler, target string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil))
		b, err := io.ReadAll(w.Result().Body)
		require.NoError(t, err)
		return w.Code, string(b)
	}
	paths := map[string]string{"g.b2nd": "/g", "g.h5": "/a/g", "g.b2z": "/a/g"}
	for mode, o := range map[string]Options{"worker": {}, "process": {Untrusted: hyperslab.Untrusted{InProcess: true}}, "trusted": {Trusted: true}} {
		t.Run(mode, func(t *testing.T) {
			o.URLs = urls
			h, err := New(local, &o)
			require.NoError(t, err)
			defer func() { require.NoError(t, h.Close()) }()
			for name, path := range paths {
				status, body := get(h, "/data?file="+name+"&path="+path+"&selection=2,:3")
				require.Equal(t, 200, status, body)
				require.Equal(t, "[80,81,82]", body, name)
			}
			_, body := get(h, "/api/list/data")
			require.JSONEq(t, `["g.b2nd","g.b2z","g.h5","here.b2nd"]`, body)
			_, body = get(h, "/data?file=here.b2nd&path=/here&selection=0,:2")
			require.Equal(t, "[7,8]", body)
			stored, err := os.ReadFile(filepath.Join(dir, "g.b2nd"))
			require.NoError(t, err)
			_, body = get(h, "/api/download/data/g.b2nd")
			require.Equal(t, string(stored), body)
			_, body = get(h, "/api/info/data/g.b2nd")
			require.Contains(t, body, `"accept_ranges":"bytes"`)
		})
	}
	t.Run("URLs alone", func(t *testing.T) {
		h, err := New("", &Options{Trusted: true, URLs: urls[:1]})
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		status, body := get(h, "/meta?file=other.h5")
		require.Equal(t, 404, status, body)
		_, body = get(h, "/api/list/data")
		require.JSONEq(t, `["g.b2nd"]`, body)
	})
	t.Run("new version", func(t *testing.T) {
		file := filepath.Join(dir, "new.b2nd")
		createGrid(t, file, 0)
		h, err := New("", &Options{URLs: []string{upstream.URL + "/new.b2nd"}})
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		const target = "/data?file=new.b2nd&path=/new&selection=0,:2"
		_, body := get(h, target)
		require.Equal(t, "[0,1]", body)
		require.NoError(t, os.Remove(file))
		createGrid(t, file, 5)
		later := time.Now().Add(3 * time.Second) // Last-Modified has whole seconds
		require.NoError(t, os.Chtimes(file, later, later))
		_, body = get(h, target)
		require.Equal(t, "[0,1]", body, "the version is requested again only after some seconds")
		remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
		_, body = get(h, target)
		require.Equal(t, "[5,6]", body)
	})
	t.Run("changed during a read", func(t *testing.T) {
		values := make([]uint8, 2<<20)
		random := rand.NewChaCha8([32]byte{})
		_, _ = random.Read(values)
		file := filepath.Join(t.TempDir(), "x.h5")
		d, err := hyperslab.Create(t.Context(), file+":/x", ndarray.Spec{Shape: []int64{2 << 20}, DType: ndarray.DTypeOf[uint8]()}, nil)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(t.Context(), d.Array, values, ndarray.Whole(d.Shape())))
		require.NoError(t, d.Commit(t.Context()))
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		for name, change := range map[string]func(h http.Header) int{
			"weak ETag": func(h http.Header) int { h.Set("ETag", `W/"2"`); return 0 },
			"dropped":   func(h http.Header) int { h.Del("ETag"); return 0 },
			"size":      func(http.Header) int { return 1 },
		} {
			var changed atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `W/"1"`)
				sent := body
				if changed.Load() {
					sent = append(bytes.Clone(body), make([]byte, change(w.Header()))...)
				}
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(sent))
			}))
			h, err := New("", &Options{Trusted: true, URLs: []string{s.URL + "/x.h5"}})
			require.NoError(t, err)
			status, text := get(h, "/data?file=x.h5&path=/x&selection=:2")
			require.Equal(t, 200, status, text)
			changed.Store(true)
			status, text = get(h, "/data?file=x.h5&path=/x&selection=2000000")
			require.NotEqual(t, 200, status, name)
			require.Contains(t, text, "remote object has changed", name)
			require.NoError(t, h.Close())
			s.Close()
		}
	})
	t.Run("limit of a copy", func(t *testing.T) {
		h, err := New("", &Options{URLs: urls[:1], Untrusted: hyperslab.Untrusted{MaxCopy: 100}})
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		status, body := get(h, "/meta?file=g.b2nd")
		require.Equal(t, 413, status, body)
		require.NotContains(t, body, upstream.URL)
	})
	t.Run("invalid", func(t *testing.T) {
		for want, x := range map[string][]string{
			"want a URL":           {"file.h5"},
			"two URLs":             {urls[0], urls[0]},
			"want the URL of a":    {upstream.URL + "/"},
			"404 Not Found":        {upstream.URL + "/missing.h5"},
			"no directory or file": nil,
		} {
			h, err := New("", &Options{URLs: x})
			if err == nil {
				require.NoError(t, h.Close())
			}
			require.Error(t, err, want)
			if x != nil {
				require.Contains(t, err.Error(), want)
			}
		}
	})
	t.Run("private address", func(t *testing.T) {
		remote.DefaultClient = remote.NewClient(nil)
		n := requests.Load()
		_, err := New("", &Options{URLs: []string{upstream.URL + "/g.h5?secret"}})
		require.ErrorIs(t, err, remote.ErrRefused)
		require.False(t, strings.Contains(err.Error(), "secret"), err)
		require.Equal(t, n, requests.Load())
	})
}
