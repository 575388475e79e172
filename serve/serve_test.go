package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// write creates an array with the values 0, 1, 2, ….
func write(t testing.TB, location string, spec ndarray.Spec, o *hyperslab.CreateOptions) {
	t.Helper()
	d, err := hyperslab.Create(bg, location, spec, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	n := d.NumElems()
	if d.DType().Kind == ndarray.Struct || d.DType().Kind == ndarray.Bytes || d.DType().Kind == ndarray.DateTime {
		b := make([]byte, d.NBytes())
		for i := range b {
			b[i] = byte(i % 7)
		}
		require.NoError(t, d.Write(bg, b, ndarray.Whole(d.Shape())))
	} else {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(i)
		}
		require.NoError(t, ndarray.Write(bg, d.Array, v, ndarray.Whole(d.Shape())))
	}
	require.NoError(t, d.Commit(bg))
}

func numbers(shape, chunks []int64) ndarray.Spec {
	return ndarray.Spec{
		Shape: shape, ChunkShape: chunks, DType: ndarray.DTypeOf[int32](),
		Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}, {Name: "levels", Value: ndarray.Vector(1.5, 2)}},
	}
}

func document(t testing.TB, s *httptest.Server, target string) map[string]any {
	t.Helper()
	status, _, body := get(t, s, target)
	require.Equal(t, 200, status, "%s: %s", target, body)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(body, &doc))
	return doc
}

func int32s(b []byte) []int32 {
	v := make([]int32, len(b)/4)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// TestHandler_missingPart requests arrays of trees without one of their files, which exist and are
// corrupt.
func TestHandler_missingPart(t *testing.T) {
	dir := t.TempDir()
	for name, part := range map[string]string{"sizes.bcolz": "meta/sizes", "chunk.bcolz": "data/__0.blp"} {
		write(t, filepath.Join(dir, name), numbers([]int64{6, 10}, nil), nil)
		require.NoError(t, os.Remove(filepath.Join(dir, name, part)))
	}
	for mode, o := range map[string]*serve.Options{"worker": {}, "process": {Untrusted: hyperslab.Untrusted{InProcess: true}}, "trusted": {Trusted: true}} {
		t.Run(mode, func(t *testing.T) {
			s := newServer(t, dir, o)
			for _, name := range []string{"sizes", "chunk"} {
				status, _, b := get(t, s, "/data?file="+name+".bcolz&path=/"+name)
				require.Equal(t, 500, status, "%s: %s", name, b)
			}
			status, _, b := get(t, s, "/data?file=none.bcolz&path=/none")
			require.Equal(t, 404, status, string(b))
		})
	}
}

// TestHandler_formats reads the same array in each format, with and without a worker.
func TestHandler_formats(t *testing.T) {
	dir := t.TempDir()
	spec := numbers([]int64{6, 10}, []int64{4, 5})
	write(t, filepath.Join(dir, "one.b2nd"), spec, nil)
	write(t, filepath.Join(dir, "sparse.b2nd"), spec, &hyperslab.CreateOptions{Sparse: true})
	write(t, filepath.Join(dir, "one.cat"), ndarray.Spec{Shape: []int64{6, 10}, DType: ndarray.DTypeOf[int32]()}, &hyperslab.CreateOptions{Format: hyperslab.B2ND})
	rows := numbers([]int64{6, 10}, nil)
	write(t, filepath.Join(dir, "one.bcolz"), rows, nil)
	write(t, filepath.Join(dir, "tree.h5")+":/a/one", spec, nil)
	write(t, filepath.Join(dir, "tree.h5")+":/two", numbers([]int64{3}, nil), nil)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, filepath.Join(dir, "tree.h5")+":/", []ndarray.Attr{{Name: "title", Value: ndarray.Text("root")}}, nil))
	for _, name := range []string{"tree.b2z", "tree.b2d", "tree"} {
		_, err := copyTree(filepath.Join(dir, name), filepath.Join(dir, "tree.h5"), nil)
		require.NoError(t, err)
	}
	for mode, o := range map[string]*serve.Options{"worker": {}, "process": {Untrusted: hyperslab.Untrusted{InProcess: true}}, "trusted": {Trusted: true}} {
		t.Run(mode, func(t *testing.T) {
			s := newServer(t, dir, o)
			for file, path := range map[string]string{
				"one.b2nd": "/one", "sparse.b2nd": "/sparse", "one.cat": "/one", "one.bcolz": "/one",
				"tree.h5": "/a/one", "tree.b2z": "/a/one", "tree.b2d": "/a/one", "tree": "/a/one",
			} {
				t.Run(file, func(t *testing.T) {
					at := func(route, path string, more string) string {
						return "/" + route + "?file=" + file + "&path=" + path + more
					}
					e := document(t, s, at("meta", path, ""))
					require.Equal(t, "dataset", e["kind"])
					require.Equal(t, path[strings.LastIndexByte(path, '/')+1:], e["name"])
					require.Equal(t, []any{6.0, 10.0}, e["shape"])
					require.Equal(t, "<i4", e["type"].(map[string]any)["dtype"])
					root := document(t, s, at("meta", "/", ""))
					require.Equal(t, "group", root["kind"])
					require.NotEmpty(t, root["children"])
					if file != "one.cat" {
						require.Equal(t, map[string]any{"units": "m", "levels": []any{1.5, 2.0}}, document(t, s, at("attr", path, "")))
						require.Len(t, e["attributes"], 2)
					}
					_, _, b := get(t, s, at("data", path, "&format=bin&dtype=safe&selection=2:4,::3"))
					require.Equal(t, []int32{20, 23, 26, 29, 30, 33, 36, 39}, int32s(b))
					_, _, b = get(t, s, at("data", path, "&selection=5"))
					require.JSONEq(t, "[50,51,52,53,54,55,56,57,58,59]", string(b))
					require.Equal(t, map[string]any{"strict_positive_min": 1.0, "positive_min": 0.0, "min": 0.0, "max": 59.0, "mean": 29.0, "std": 17.0}, document(t, s, at("stats", path, "")))
					_, _, b = get(t, s, at("paths", "/", ""))
					var paths []string
					require.NoError(t, json.Unmarshal(b, &paths))
					require.Contains(t, paths, path)
					require.Contains(t, paths, "/")
					status, _, b := get(t, s, at("meta", "/missing", ""))
					require.Equal(t, 404, status, string(b))
					require.Contains(t, string(b), "not a valid path")
					status, _, b = get(t, s, at("data", "/", ""))
					require.Equal(t, 422, status, string(b))
				})
			}
		})
	}
}

// TestHandler_caterva compares arrays of Caterva, which have no element type, with the library.
func TestHandler_caterva(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t, dir, &serve.Options{})
	for name, sparse := range map[string]bool{"one.caterva": false, "sparse.caterva": true} {
		file := filepath.Join(dir, name)
		spec := ndarray.Spec{Shape: []int64{6, 10}, ChunkShape: []int64{4, 5}, DType: ndarray.DTypeOf[int32]()}
		write(t, file, spec, &hyperslab.CreateOptions{Format: hyperslab.Caterva, Sparse: sparse})
		a, err := hyperslab.Open(bg, file, nil)
		require.NoError(t, err)
		want := make([]byte, 4*5*4)
		require.NoError(t, a.Read(bg, want, ndarray.Region{Start: []int64{1, 3}, Shape: []int64{5, 4}}))
		require.NoError(t, a.Close())
		path := "/" + strings.TrimSuffix(name, ".caterva")
		e := document(t, s, "/meta?file="+name+"&path="+path)
		require.Equal(t, "|V4", e["type"].(map[string]any)["dtype"])
		require.Equal(t, []any{4.0, 5.0}, e["chunks"])
		_, _, b := get(t, s, "/data?format=bin&selection=1:6,3:7&file="+name+"&path="+path)
		require.Equal(t, want, b)
	}
}

// TestHandler_types requests arrays of dtypes that HDF5 does not support or stores in another way.
func TestHandler_types(t *testing.T) {
	dir := t.TempDir()
	for name, dtype := range map[string]string{"struct": "[('a', '<i2'), ('b', '<f4', (2,))]", "bytes": "|S3", "time": "<M8[ns]", "unicode": "<U2", "bool": "|b1", "half": "<f2", "void": "|V3", "complex": "<c8"} {
		d, err := ndarray.ParseDType(dtype)
		require.NoError(t, err)
		a, err := hyperslab.Create(bg, filepath.Join(dir, name+".b2nd"), ndarray.Spec{Shape: []int64{2}, DType: d}, nil)
		require.NoError(t, err)
		b := make([]byte, a.NBytes())
		for i := range b {
			if name != "unicode" || i%4 == 0 {
				b[i] = byte(65 + i%4)
			}
			if name == "bool" {
				b[i] = byte(i)
			}
		}
		require.NoError(t, a.Write(bg, b, ndarray.Whole(a.Shape())))
		require.NoError(t, a.Commit(bg))
		require.NoError(t, a.Close())
	}
	s := newServer(t, dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}})
	want := map[string]struct {
		class float64
		json  string
	}{
		"struct":  {6, `[[16961,[12.078432,12.078431]],[17219,[781.0352,781.0352]]]`},
		"bytes":   {3, `["ABC","DAB"]`},
		"unicode": {3, `["AA","AA"]`},
		"bool":    {8, `[false,true]`},
		"void":    {5, `["ABC","DAB"]`},
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			e := document(t, s, "/meta?file="+name+".b2nd&path=/"+name)
			require.Equal(t, w.class, e["type"].(map[string]any)["class"])
			_, _, b := get(t, s, "/data?file="+name+".b2nd&path=/"+name)
			if name == "struct" {
				require.True(t, strings.HasPrefix(string(b), "[[16961,["), string(b))
				return
			}
			require.Equal(t, w.json, string(b))
		})
	}
	t.Run("times", func(t *testing.T) {
		_, _, b := get(t, s, "/data?file=time.b2nd&path=/time")
		require.Contains(t, string(b), `["2`)
		status, _, _ := get(t, s, "/data?file=time.b2nd&path=/time&format=bin&dtype=safe")
		require.Equal(t, 422, status)
	})
	t.Run("half as float32", func(t *testing.T) {
		_, _, b := get(t, s, "/data?file=half.b2nd&path=/half&format=bin&dtype=safe")
		require.Len(t, b, 8)
	})
	t.Run("complex", func(t *testing.T) {
		_, _, b := get(t, s, "/data?file=complex.b2nd&path=/complex")
		require.Regexp(t, `^\[\[[0-9.]+,[0-9.]+\],\[[0-9.]+,[0-9.]+\]\]$`, string(b))
	})
}

func TestHandler_http(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.b2nd")
	write(t, file, numbers([]int64{40, 50}, []int64{10, 50}), nil)
	s := newServer(t, dir, nil)
	const target = "/data?file=a.b2nd&path=/a&format=bin&dtype=safe"
	status, header, whole := get(t, s, target)
	require.Equal(t, 200, status)
	require.Len(t, whole, 8000)
	require.Equal(t, "8000", header.Get("Content-Length"))
	tag := header.Get("Etag")

	t.Run("unchanged", func(t *testing.T) {
		status, header, body := get(t, s, target, "If-None-Match", tag)
		require.Equal(t, 304, status)
		require.Empty(t, body)
		require.Equal(t, tag, header.Get("Etag"))
		status, _, _ = get(t, s, target+"&selection=0", "If-None-Match", tag)
		require.Equal(t, 200, status)
	})
	t.Run("changed file", func(t *testing.T) {
		write(t, file, numbers([]int64{40, 50}, []int64{10, 50}), &hyperslab.CreateOptions{Overwrite: true})
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
		status, header, body := get(t, s, target, "If-None-Match", tag)
		require.Equal(t, 200, status)
		require.Equal(t, whole, body)
		require.NotEqual(t, tag, header.Get("Etag"))
	})
	t.Run("range", func(t *testing.T) {
		status, header, body := get(t, s, target, "Range", "bytes=4-11")
		require.Equal(t, 206, status)
		require.Equal(t, "bytes 4-11/8000", header.Get("Content-Range"))
		require.Equal(t, []int32{1, 2}, int32s(body))
	})
	t.Run("head", func(t *testing.T) {
		resp, err := s.Client().Head(s.URL + target)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, int64(8000), resp.ContentLength)
	})
	for encoding, unpack := range map[string]func(r io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) },
	} {
		t.Run(encoding, func(t *testing.T) {
			target := strings.Replace(target, "format=bin&dtype=safe", "format=json", 1)
			_, _, whole := get(t, s, target)
			status, header, body := get(t, s, target, "Accept-Encoding", "br, "+encoding+";q=0.5", "X-Forwarded-For", "203.0.113.7")
			require.Equal(t, 200, status)
			require.Equal(t, encoding, header.Get("Content-Encoding"))
			require.Less(t, len(body), len(whole))
			require.True(t, strings.HasSuffix(header.Get("Etag"), "-"+encoding+`"`))
			r, err := unpack(bytes.NewReader(body))
			require.NoError(t, err)
			plain, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, whole, plain)
			status, _, _ = get(t, s, target, "If-None-Match", header.Get("Etag"))
			require.Equal(t, 304, status)
		})
	}
	t.Run("local clients get no compression", func(t *testing.T) {
		_, header, _ := get(t, s, target, "Accept-Encoding", "gzip")
		require.Empty(t, header.Get("Content-Encoding"))
	})
	t.Run("ok", func(t *testing.T) {
		_, _, body := get(t, s, "/")
		require.Equal(t, "ok", string(body))
	})
	t.Run("download name", func(t *testing.T) {
		_, header, body := get(t, s, "/data?file=a.b2nd&path=/a&format=npy")
		require.Equal(t, `attachment; filename="a.npy"`, header.Get("Content-Disposition"))
		require.Equal(t, whole, body[len(body)-8000:])
	})
	t.Run("csv", func(t *testing.T) {
		_, _, body := get(t, s, "/data?file=a.b2nd&path=/a&format=csv&selection=1:3,:3")
		require.Equal(t, "50,51,52\n100,101,102\n", string(body))
	})
	t.Run("tiff", func(t *testing.T) {
		_, _, body := get(t, s, "/data?file=a.b2nd&path=/a&format=tiff")
		require.Equal(t, whole, body[8:8008])
	})
	for target, want := range map[string]int{
		"/data?file=a.b2nd&path=/a&selection=40": 422, "/data?file=a.b2nd&path=/a&selection=0,0,0": 422,
		"/data?file=a.b2nd&path=/a&selection=[1,2],0": 422, "/data?file=a.b2nd&path=/a&format=bmp": 422,
		"/data?file=b.b2nd": 404, "/data": 422, "/data?file=../a.b2nd": 404, "/nothing": 404, "/data?file=a.b2nd%00": 404,
		"/meta?file=a.b2nd&resolve_links=x": 422, "/attr?file=a.b2nd&path=/a&attr_keys=x": 404,
	} {
		t.Run(target, func(t *testing.T) {
			status, header, body := get(t, s, target)
			require.Equal(t, want, status, string(body))
			var p struct{ Message string }
			require.NoError(t, json.Unmarshal(body, &p))
			require.NotEmpty(t, p.Message)
			require.NotContains(t, p.Message, dir)
			require.NotContains(t, p.Message, "/proc/")
			require.Equal(t, "no-store", header.Get("Cache-Control"))
		})
	}
}

func TestHandler_limits(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.h5")+":/a", numbers([]int64{100, 100}, nil), nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("no array"), 0o666))
	s := newServer(t, dir, &serve.Options{MaxBytes: 2000})
	for target, want := range map[string]int{
		"/data?file=a.h5&path=/a&format=bin":                   413,
		"/data?file=a.h5&path=/a&format=bin&selection=:5":      200,
		"/data?file=a.h5&path=/a&format=bin&selection=:5,:101": 200,
		"/data?file=a.h5&path=/a&format=npy&selection=:5":      413, // because the header counts too
		"/data?file=a.h5&path=/a&selection=:5":                 200,
		"/data?file=a.h5&path=/a&selection=80:85":              413, // because JSON needs more bytes
		"/stats?file=a.h5&path=/a":                             200,
		"/meta?file=text":                                      422,
	} {
		t.Run(target, func(t *testing.T) {
			status, _, body := get(t, s, target)
			require.Equal(t, want, status, string(body))
		})
	}
}

// TestHandler_confinement requests files outside of the directory in every possible way.
func TestHandler_confinement(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.b2nd"), numbers([]int64{4}, nil), nil)
	write(t, filepath.Join(outside, "secret.h5")+":/a", numbers([]int64{4}, nil), nil)
	raw := filepath.Join(outside, "raw")
	require.NoError(t, os.WriteFile(raw, []byte("confidential bytes"), 0o666))
	write(t, filepath.Join(dir, "inside.b2nd"), numbers([]int64{4}, nil), nil)
	for name, target := range map[string]string{"link.b2nd": filepath.Join(outside, "secret.b2nd"), "directory": outside, "relative.b2nd": "../" + filepath.Base(outside) + "/secret.b2nd", "good.b2nd": "inside.b2nd"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	f, err := h5.Create(filepath.Join(dir, "links.h5"), nil)
	require.NoError(t, err)
	require.NoError(t, f.Root().LinkExternal("external", filepath.Join(outside, "secret.h5"), "/a"))
	external := &h5.DatasetOptions{External: []h5.ExternalFile{{Name: raw, Size: 16}}}
	d, err := f.Root().CreateDataset("storage", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4), external)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	region := h5.SimpleSpace(4).All()
	d, err = f.Root().CreateDataset("virtual", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4), &h5.DatasetOptions{
		Mappings: []h5.Mapping{{Region: region, File: filepath.Join(outside, "secret.h5"), Dataset: "/a", Source: h5.SimpleSpace(4), SourceRegion: region}},
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	bits := h5.Datatype{Class: h5.Bitfield, Size: 1, Precision: 8}
	d, err = f.Root().CreateDataset("bits", bits, h5.SimpleSpace(16), external)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())

	for mode, o := range map[string]*serve.Options{"worker": {}, "process": {Untrusted: hyperslab.Untrusted{InProcess: true}}, "trusted": {Trusted: true}} {
		t.Run(mode, func(t *testing.T) {
			s := newServer(t, dir, o)
			for target, want := range map[string]int{
				"/meta?file=link.b2nd": 403, "/meta?file=relative.b2nd": 403, "/meta?file=directory/secret.b2nd": 403,
				"/meta?file=../" + filepath.Base(outside) + "/secret.b2nd": 404,
				"/meta?file=" + filepath.Join(outside, "secret.b2nd"):      404,
				"/meta?file=good.b2nd": 200, "/meta?file=inside.b2nd": 200,
				"/data?file=links.h5&path=/external": 404, "/data?file=links.h5&path=/storage": 403,
				"/data?file=links.h5&path=/virtual": 403, "/data?file=links.h5&path=/bits": 403,
				"/data?file=links.h5&path=/storage&format=bin": 403, "/stats?file=links.h5&path=/virtual": 403,
			} {
				status, _, body := get(t, s, target)
				require.Equal(t, want, status, "%s: %s", target, body)
				require.NotContains(t, string(body), "confidential")
			}
			e := document(t, s, "/meta?file=links.h5&path=/external")
			require.Equal(t, "external_link", e["kind"])
		})
	}
}

func TestHandler_admission(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.b2nd"), numbers([]int64{4}, nil), nil)
	s := newServer(t, dir, &serve.Options{Token: "secret-token", Hosts: []string{"data.example.org"}, Untrusted: hyperslab.Untrusted{InProcess: true}})
	const target = "/meta?file=a.b2nd"
	bearer := []string{"Authorization", "Bearer secret-token"}
	for name, x := range map[string]struct {
		header []string
		status int
	}{
		"no token":                {nil, 401},
		"wrong token":             {[]string{"Authorization", "Bearer secret-tokem"}, 401},
		"prefix of the token":     {[]string{"Authorization", "Bearer secret"}, 401},
		"token":                   {bearer, 200},
		"unknown host":            {append([]string{"Host", "attacker.example"}, bearer...), 421},
		"host with a port":        {append([]string{"Host", "data.example.org:8080"}, bearer...), 200},
		"localhost":               {append([]string{"Host", "LOCALHOST:1"}, bearer...), 200},
		"IPv6":                    {append([]string{"Host", "[::1]:80"}, bearer...), 200},
		"origin of another site":  {append([]string{"Origin", "http://attacker.example"}, bearer...), 403},
		"null origin":             {append([]string{"Origin", "null"}, bearer...), 403},
		"own origin":              {append([]string{"Host", "localhost:1", "Origin", "http://localhost:1"}, bearer...), 200},
		"fetch from another site": {append([]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, bearer...), 403},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, body := get(t, s, target, x.header...)
			require.Equal(t, x.status, status, string(body))
			require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
			require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'self'")
			require.Empty(t, header.Get("Access-Control-Allow-Origin"))
		})
	}
	t.Run("cookie", func(t *testing.T) {
		c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: s.Client().Transport}
		r, err := http.NewRequestWithContext(bg, http.MethodGet, s.URL+"/?token=secret-token&x=1", nil)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		resp, err := c.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 303, resp.StatusCode)
		require.Equal(t, "./?x=1", resp.Header.Get("Location"))
		cookie := resp.Cookies()[0]
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
		status, _, _ := get(t, s, target, "Cookie", cookie.Name+"="+cookie.Value)
		require.Equal(t, 200, status)
	})
	t.Run("methods", func(t *testing.T) {
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			r, err := http.NewRequestWithContext(bg, method, s.URL+target, strings.NewReader("x"))
			require.NoError(t, err)
			resp, err := s.Client().Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 405, resp.StatusCode, method)
		}
	})
}

// TestHandler_concurrency checks concurrent requests for more files than the server keeps open.
// Some clients cancel their requests.
func TestHandler_concurrency(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		write(t, filepath.Join(dir, name+".h5")+":/x", numbers([]int64{64, 64}, []int64{16, 16}), nil)
	}
	s := newServer(t, dir, &serve.Options{Files: 2, Untrusted: hyperslab.Untrusted{InProcess: true}, Cache: 1, ChunkCache: 4096, Memory: 1 << 20, MaxBytes: 1 << 18})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 12 {
				format := []string{"bin", "b2nd"}[g%2]
				target := s.URL + "/data?format=" + format + "&path=/x&file=" + names[(g+i)%3] + ".h5&selection=" + []string{"5", ":,7", "::2,::3", "1:60,2"}[i%4]
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				if i%5 == 4 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
				if err != nil {
					t.Error(err)
				}
				resp, err := s.Client().Do(r)
				if err == nil {
					if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != 200 {
						t.Errorf("%s: %s", target, resp.Status)
					}
					_ = resp.Body.Close()
				}
				if err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", target, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// copyTree copies the tree at a location.
func copyTree(dst, location string, o *hyperslab.TreeOptions) (stats hyperslab.TreeStats, err error) {
	src, err := hyperslab.OpenTree(context.Background(), location, nil)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return hyperslab.CopyTree(context.Background(), dst, src, o)
}
