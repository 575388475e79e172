package serve_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/serve"
)

// fuzzHandler returns a handler with a small limit, and its directory.
func fuzzHandler(f *testing.F) (*serve.Handler, string) {
	dir := f.TempDir()
	write(f, filepath.Join(dir, "a.h5")+":/g/x", numbers([]int64{6, 10}, []int64{4, 5}), nil)
	write(f, filepath.Join(dir, "b.b2nd"), numbers([]int64{6, 10}, nil), nil)
	write(f, filepath.Join(dir, "empty.b2nd"), numbers([]int64{0, 3}, nil), nil)
	write(f, filepath.Join(dir, "scalar.b2nd"), numbers([]int64{}, nil), nil)
	h, err := serve.New(dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}, MaxBytes: 4096})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, h.Close()) })
	return h, dir
}

// fuzzRoute sends requests with any query to a route of h5grove or a page. A response must have one
// of the documented status codes, an error must be a JSON object with a message, and no response
// may exceed the limit or contain the path of the directory.
func fuzzRoute(f *testing.F, route string, queries ...string) {
	h, dir := fuzzHandler(f)
	for _, q := range queries {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+route, nil)
		r.Host, r.URL.RawQuery = "localhost", query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 403, 404, 413, 414, 422:
		default:
			t.Fatalf("%s?%s: status %d: %s", route, query, w.Code, w.Body)
		}
		page := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html")
		if w.Code == 200 && !page && route != "picture" {
			require.LessOrEqual(t, w.Body.Len(), 4096)
		}
		if w.Code != 200 && !page {
			var p struct{ Message string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
			require.NotEmpty(t, p.Message)
		}
		if v, err := url.ParseQuery(query); err == nil && !strings.Contains(v.Encode(), url.QueryEscape(dir)) {
			require.NotContains(t, w.Body.String(), dir)
		}
	})
}

func FuzzHandler_meta(f *testing.F) {
	fuzzRoute(f, "meta", "file=a.h5&path=/g", "file=b.b2nd&resolve_links=none", "file=../a.h5", "file=a.h5&path=/g/x/y")
}

func FuzzHandler_attr(f *testing.F) {
	fuzzRoute(f, "attr", "file=a.h5&path=/g/x", "file=b.b2nd&path=/b&attr_keys=units&attr_keys=x")
}

func FuzzHandler_data(f *testing.F) {
	fuzzRoute(f, "data", "file=a.h5&path=/g/x&selection=1:3,::2&format=bin&dtype=safe", "file=b.b2nd&path=/b&flatten=true", "file=a.h5&path=/g/x&format=npy",
		"file=a.h5&path=/g/x&format=csv&selection=::-1", "file=a.h5&path=/g/x&format=b2nd&selection=1:,::3", "file=b.b2nd&path=/b&format=tiff&selection=-1:", "file=a.h5&path=/g/x&selection=9223372036854775807")
}

func FuzzHandler_paths(f *testing.F) { fuzzRoute(f, "paths", "file=a.h5&path=/g", "file=b.b2nd") }

func FuzzHandler_stats(f *testing.F) {
	fuzzRoute(f, "stats", "file=a.h5&path=/g/x&selection=0", "file=b.b2nd&path=/b&selection=6:")
}

func FuzzHandler_view(f *testing.F) {
	fuzzRoute(f, "view", "file=a.h5&path=/g/x&row=5&column=99", "file=b.b2nd&path=/b&at0=-1&colors=x")
}

func FuzzHandler_picture(f *testing.F) {
	fuzzRoute(f, "picture", "file=a.h5&path=/g/x&selection=::2,::-1&colors=gray", "file=b.b2nd&path=/b&selection=0", "file=b.b2nd&path=/b&log=true&clip=1,99&colors=magma", "file=b.b2nd&path=/b&selection=1:1")
}

func FuzzHandler_directory(f *testing.F) {
	h, dir := fuzzHandler(f)
	for _, name := range []string{"", ".", "..", "g", "a.h5", "/", "x\x00"} {
		f.Add(name, true)
	}
	f.Fuzz(func(t *testing.T, name string, page bool) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Host, r.URL.RawQuery = "localhost", url.Values{"dir": {name}}.Encode()
		if page {
			r.Header.Set("Accept", "text/html")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Contains(t, []int{200, 403, 404}, w.Code, w.Body.String())
		if !page {
			require.Equal(t, "ok", w.Body.String())
		}
		if !strings.Contains(name, dir) {
			require.NotContains(t, w.Body.String(), dir)
		}
	})
}

// fuzzC2 sends requests with any path and query to a route of Caterva2. A response may exceed the
// limit by the head of a frame.
func fuzzC2(f *testing.F, route string, seeds ...[2]string) {
	h, dir := fuzzHandler(f)
	for _, s := range seeds {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Host, r.URL = "localhost", &url.URL{Path: "/api/" + route + path, RawQuery: query}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 206, 301, 307: // the path is cleaned with a redirect
		case 400, 403, 404, 413, 414, 422:
			var p struct{ Message string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
			require.NotEmpty(t, p.Message)
		default:
			t.Fatalf("%s%s?%s: status %d: %s", route, path, query, w.Code, w.Body)
		}
		if w.Code == 200 && route != "download" {
			require.LessOrEqual(t, w.Body.Len(), 4096+4096)
		}
		if !strings.Contains(path, dir) {
			require.NotContains(t, w.Body.String(), dir)
		}
	})
}

func FuzzHandler_roots(f *testing.F) {
	fuzzC2(f, "roots", [2]string{"", ""}, [2]string{"/data", "x=1"})
}

func FuzzHandler_list(f *testing.F) {
	fuzzC2(f, "list", [2]string{"/data", ""}, [2]string{"/other", ""}, [2]string{"/data/..", ""})
}

func FuzzHandler_info(f *testing.F) {
	fuzzC2(f, "info", [2]string{"/data/b.b2nd", ""}, [2]string{"/data/a.h5/g/x", ""}, [2]string{"/data/a.h5/g", ""}, [2]string{"/data/../b.b2nd", ""}, [2]string{"/data/scalar.b2nd", ""})
}

func FuzzHandler_fetch(f *testing.F) {
	fuzzC2(f, "fetch", [2]string{"/data/b.b2nd", "slice_=1:3, ::2"}, [2]string{"/data/a.h5/g/x", "slice_=-1"}, [2]string{"/data/b.b2nd", ""}, [2]string{"/data/b.b2nd", "filter=x"},
		[2]string{"/data/empty.b2nd", "slice_=:"}, [2]string{"/data/scalar.b2nd", "slice_=..."}, [2]string{"/data/b.b2nd", "slice_=::-1"})
}

func FuzzHandler_chunk(f *testing.F) {
	fuzzC2(f, "chunk", [2]string{"/data/a.h5/g/x", "nchunk=3"}, [2]string{"/data/b.b2nd", "nchunk=0"}, [2]string{"/data/b.b2nd", "nchunk=9223372036854775807"},
		[2]string{"/data/empty.b2nd", "nchunk=0"}, [2]string{"/data/scalar.b2nd", "nchunk=0"})
}

func FuzzHandler_download(f *testing.F) {
	fuzzC2(f, "download", [2]string{"/data/b.b2nd", ""}, [2]string{"/data/a.h5/g", ""}, [2]string{"/data/../a.h5", "x"})
}
