package serve_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/serve"
)

// newServer starts a server of a directory.
func newServer(t testing.TB, dir string, o *serve.Options) *httptest.Server {
	t.Helper()
	h, err := serve.New(dir, o)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, h.Close())
	})
	return s
}

// get returns the status, the headers and the body of a response.
func get(t testing.TB, s *httptest.Server, target string, header ...string) (int, http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(bg, http.MethodGet, s.URL+target, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, resp.Header, body
}

// query returns the target of a request to a route.
func query(route string, parameters map[string]any) string {
	v := url.Values{}
	for name, x := range parameters {
		if list, ok := x.([]any); ok {
			for _, y := range list {
				v.Add(name, fmt.Sprint(y))
			}
			continue
		}
		v.Set(name, fmt.Sprint(x))
	}
	return "/" + route + "?" + v.Encode()
}

// grove is a response of h5grove to one request.
type grove struct {
	Status  int
	Type    string
	Message string
	JSON    json.RawMessage
	Base64  string
}

// askGrove writes the sample file and returns the responses of h5grove to the requests.
func askGrove(t testing.TB, file string, requests [][2]any) []grove {
	t.Helper()
	python := testenv.Python(t, "h5py", "h5grove", "orjson", "tifffile")
	b, err := json.Marshal(requests)
	require.NoError(t, err)
	cmd := exec.Command(python, "testdata/oracle.py", file, string(b))
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%v\n%s", err, e.Stderr)
	}
	require.NoError(t, err)
	var list []grove
	require.NoError(t, json.Unmarshal(out, &list))
	require.Len(t, list, len(requests))
	return list
}

// sampleRequests are requests for all objects of the file that oracle.py writes.
func sampleRequests() [][2]any {
	var list [][2]any
	add := func(route string, parameters ...string) {
		m := map[string]any{}
		for i := 0; i < len(parameters); i += 2 {
			m[parameters[i]] = parameters[i+1]
		}
		list = append(list, [2]any{route, m})
	}
	numeric := strings.Fields("f2 f4 f8 f16 i1 u1 i2 u2 i4 u4 i8 u8 big c8 c16 bool nan scalar scalar_i8 none enum array")
	other := strings.Fields("text/vlen text/scalar text/fixed text/utf8 other/compound other/mixed other/sequence other/reference other/region other/bits")
	for _, p := range []string{"/", "/numbers", "/text", "/other", "/links", "/other/type", "/other/opaque", "/links/soft", "/links/broken", "/links/external", "/links/hard", "/nowhere", "/numbers/f4/below"} {
		add("meta", "path", p)
		add("attr", "path", p)
	}
	add("meta", "path", "/links/soft", "resolve_links", "none")
	add("meta", "path", "/links/soft", "resolve_links", "all")
	add("meta", "path", "/links/broken", "resolve_links", "all")
	add("meta", "path", "/links", "resolve_links", "maybe")
	add("meta")
	add("paths", "path", "/")
	add("paths", "path", "/numbers")
	add("paths", "path", "/links")
	add("paths", "path", "/numbers/f4")
	for _, name := range numeric {
		p := "/numbers/" + name
		add("meta", "path", p)
		add("data", "path", p)
		add("data", "path", p, "format", "bin")
		add("data", "path", p, "format", "bin", "dtype", "safe")
		add("data", "path", p, "flatten", "true")
		add("data", "path", p, "format", "npy")
		if name[0] != 'c' && name != "array" {
			add("stats", "path", p)
		}
	}
	for _, name := range other {
		add("meta", "path", "/"+name)
		add("data", "path", "/"+name)
		add("data", "path", "/"+name, "flatten", "true")
		add("data", "path", "/"+name, "format", "bin", "dtype", "safe")
	}
	add("data", "path", "/numbers/null")
	add("data", "path", "/other/opaque", "format", "bin")
	for _, s := range []string{"0,:,:", "5:10", "::2", "3,4", "3,4,5", "-1", "2:8:3,1:,::4", "0:0", "5:100", ",1", "1,2,3,4", "a", "10", "1.5"} {
		add("data", "path", "/numbers/f8", "selection", s, "format", "bin", "dtype", "safe")
		add("data", "path", "/numbers/f8", "selection", s)
		add("stats", "path", "/numbers/f8", "selection", s)
	}
	add("data", "path", "/other/mixed", "selection", "1")
	add("data", "path", "/other/mixed", "selection", "0:1", "flatten", "true")
	add("data", "path", "/text/vlen", "selection", "::2")
	add("data", "path", "/text/vlen", "selection", "1")
	add("meta", "path", "/ordered")
	add("attr", "path", "/ordered/z")
	add("data", "path", "/other/sequence", "selection", "2")
	add("data", "path", "/numbers", "format", "bin")
	add("data", "path", "/numbers/f4", "format", "tga")
	add("data", "path", "/numbers/f4", "dtype", "unsafe")
	list = append(list, [2]any{"attr", map[string]any{"path": "/", "attr_keys": []any{"title", "numbers"}}})
	list = append(list, [2]any{"attr", map[string]any{"path": "/", "attr_keys": []any{"missing"}}})
	return list
}

// TestHandler_h5grove compares each response with that of h5grove for the same file.
func TestHandler_h5grove(t *testing.T) {
	dir := t.TempDir()
	requests := sampleRequests()
	want := askGrove(t, filepath.Join(dir, "sample.h5"), requests)
	for name, o := range map[string]*serve.Options{
		"worker":  {},
		"process": {Untrusted: hyperslab.Untrusted{InProcess: true}},
		"trusted": {Trusted: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "process" && !testenv.All() {
				t.Skip("part of the complete set")
			}
			s := newServer(t, dir, o)
			for i, q := range requests {
				parameters := map[string]any{"file": "sample.h5"}
				for k, v := range q[1].(map[string]any) {
					parameters[k] = v
				}
				target := query(q[0].(string), parameters)
				status, header, body := get(t, s, target)
				compare(t, target, &want[i], status, header, body)
			}
		})
	}
}

// compare compares a response with that of h5grove.
func compare(t *testing.T, target string, want *grove, status int, header http.Header, body []byte) {
	t.Helper()
	if want.Status == 500 { // h5grove raised an exception: invalid arguments, or types that it cannot encode
		if status == 200 && strings.Contains(want.Message, "TypeError") || strings.Contains(want.Message, "UnicodeDecodeError") {
			return
		}
		require.GreaterOrEqual(t, status, 400, "%s: h5grove fails with %s, got %s", target, want.Message, body)
		return
	}
	if status != want.Status {
		t.Errorf("%s: got status %d %s, want %d %s %s", target, status, body, want.Status, want.Message, want.JSON)
		return
	}
	if status != 200 {
		var p struct{ Message string }
		require.NoError(t, json.Unmarshal(body, &p), target)
		require.NotEmpty(t, p.Message, target)
		for _, words := range []string{"not a valid path", "Cannot resolve", "File not found"} {
			require.Equal(t, strings.Contains(want.Message, words), strings.Contains(p.Message, words), "%s: %s", target, p.Message)
		}
		return
	}
	require.Equal(t, want.Type, header.Get("Content-Type"), target)
	require.Equal(t, fmt.Sprint(len(body)), header.Get("Content-Length"), target)
	if want.Type != "application/json" {
		b, err := base64.StdEncoding.DecodeString(want.Base64)
		require.NoError(t, err)
		if strings.Contains(target, "format=npy") {
			compareNPY(t, target, b, body)
			return
		}
		require.Equal(t, b, body, target)
		return
	}
	var x, y any
	require.NoError(t, json.Unmarshal(want.JSON, &x))
	require.NoError(t, json.Unmarshal(body, &y), "%s: %s", target, body)
	if text := different("", x, y); text != "" {
		t.Errorf("%s: %s\n got %.2000s\nwant %.2000s", target, text, body, want.JSON)
	}
}

// compareNPY compares the shape and the number of bytes of elements; the byte order may differ.
func compareNPY(t *testing.T, target string, want, got []byte) {
	t.Helper()
	shape := func(b []byte) string {
		return string(b[strings.Index(string(b), "'shape'"):strings.IndexByte(string(b), '\n')])
	}
	require.Equal(t, strings.TrimSpace(shape(want)), strings.TrimSpace(shape(got)), target)
	require.Len(t, got[slices.Index(got, '\n')+1:], len(want)-slices.Index(want, '\n')-1, target)
}

// different describes the first difference of two JSON documents, or returns "" if they are equal.
// Lists of paths may be in another order.
func different(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: got %T", at, got)
		}
		for k, v := range want {
			if _, ok := got[k]; !ok {
				return fmt.Sprintf("%s.%s: missing", at, k)
			}
			if d := different(at+"."+k, v, got[k]); d != "" {
				return d
			}
		}
		for k := range got {
			if _, ok := want[k]; !ok {
				return fmt.Sprintf("%s.%s: additional", at, k)
			}
		}
		return ""
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return fmt.Sprintf("%s: got %v, want %v", at, got, want)
		}
		if at == "" && len(want) > 0 && isPath(want[0]) {
			order := func(x, y any) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) }
			slices.SortStableFunc(want, order)
			slices.SortStableFunc(got, order)
		}
		for i := range want {
			if d := different(fmt.Sprintf("%s[%d]", at, i), want[i], got[i]); d != "" {
				return d
			}
		}
		return ""
	case float64:
		// h5grove returns more digits for floats of 4 bytes inside compounds, and it computes means
		// and standard deviations in the dtype of the elements.
		tolerance := 1e-7
		if at == ".std" || at == ".mean" {
			tolerance = 1e-3
		}
		got, ok := got.(float64)
		if !ok || math.Abs(got-want) > tolerance*math.Abs(want) {
			return fmt.Sprintf("%s: got %v, want %v", at, got, want)
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s: got %v, want %v", at, got, want)
	}
	return ""
}

func isPath(x any) bool { s, ok := x.(string); return ok && strings.HasPrefix(s, "/") }
