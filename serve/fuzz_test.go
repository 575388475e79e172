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

// fuzzRoute sends requests with any query to a route. A response must have one of the documented
// status codes, an error must be a JSON object with a message, and no response may exceed the limit
// or contain the path of the directory.
func fuzzRoute(f *testing.F, route string, queries ...string) {
	dir := f.TempDir()
	write(f, filepath.Join(dir, "a.h5")+":/g/x", numbers([]int64{6, 10}, []int64{4, 5}), nil)
	write(f, filepath.Join(dir, "b.b2nd"), numbers([]int64{6, 10}, nil), nil)
	h, err := serve.New(dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}, MaxBytes: 4096})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, h.Close()) })
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
		"file=a.h5&path=/g/x&format=csv&selection=::-1", "file=b.b2nd&path=/b&format=tiff&selection=-1:", "file=a.h5&path=/g/x&selection=9223372036854775807")
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
