package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/serve"
)

// TestHandler_c2array reads arrays with the client of python-blosc2.
func TestHandler_c2array(t *testing.T) {
	python := testenv.Python(t, "blosc2", "httpx", "numpy")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "grid.b2nd"), numbers([]int64{40, 17}, []int64{16, 8}), nil)
	write(t, filepath.Join(dir, "tree.h5")+":/a/grid", numbers([]int64{40, 17}, []int64{10, 10}), nil)
	s := newServer(t, dir, &serve.Options{Token: "the token of a test"})
	sum := sha256.Sum256([]byte("the token of a test"))
	cookie := "hyperslab_" + hex.EncodeToString(sum[:4]) + "=the token of a test"
	out, err := exec.Command(python, "testdata/c2array.py", s.URL, dir, cookie).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "ok\n", string(out))
}

func TestHandler_c2arrayRoutes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "grid.b2nd"), numbers([]int64{4}, nil), nil)
	s := newServer(t, dir, &serve.Options{Trusted: true})
	for target, want := range map[string]string{
		"/api/roots":     `{"data":{"name":"data"}}`,
		"/api/list/data": `["grid.b2nd"]`,
	} {
		_, _, body := get(t, s, target)
		require.JSONEq(t, want, string(body), target)
	}
	status, header, body := get(t, s, "/api/download/data/grid.b2nd", "Range", "bytes=2-7")
	require.Equal(t, 206, status)
	require.Equal(t, "b2frame"[:6], string(body))
	require.Contains(t, header.Get("Content-Disposition"), "grid.b2nd")
	for target, want := range map[string]int{
		"/api/info/data/missing": 404, "/api/fetch/data/grid.b2nd?slice_=9": 422, "/api/fetch/data/grid.b2nd?filter=x": 422,
		"/data?file=grid.b2nd&format=b2nd&flatten=true": 422, "/data?file=grid.b2nd&format=b2nd&dtype=safe": 422, "/meta?file=grid.b2nd&format=b2nd": 422,
		"/api/chunk/data/grid.b2nd?nchunk=1": 404, "/api/chunk/data/grid.b2nd?nchunk=x": 422, "/api/list/other": 404, "/api/download/data/..%2Fx": 404,
	} {
		status, _, body := get(t, s, target)
		require.Equal(t, want, status, "%s: %s", target, body)
	}
	t.Run("files without arrays", func(t *testing.T) {
		secret := filepath.Join(t.TempDir(), "secret.b2nd")
		write(t, secret, numbers([]int64{4}, nil), nil)
		require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link.b2nd")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no array"), 0o600))
		for _, name := range []string{"link.b2nd", "notes.txt"} {
			for _, route := range []string{"download", "fetch"} {
				status, _, body := get(t, s, "/api/"+route+"/data/"+name)
				require.GreaterOrEqual(t, status, 400, "%s %s: %s", route, name, body)
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		write(t, filepath.Join(dir, "wide.b2nd"), numbers([]int64{40000}, []int64{40000}), nil)
		small := newServer(t, dir, &serve.Options{Trusted: true, MaxBytes: 1 << 16, Memory: 1 << 16})
		for target, want := range map[string]int{
			"/api/fetch/data/wide.b2nd?slice_=0:39999": 413, "/api/chunk/data/wide.b2nd?nchunk=0": 413, "/data?file=wide.b2nd&format=b2nd": 413,
			"/api/fetch/data/wide.b2nd?slice_=0:999": 200, "/data?file=wide.b2nd&format=b2nd&selection=0:999": 200,
		} {
			status, _, body := get(t, small, target)
			require.Equal(t, want, status, "%s: %.200s", target, body)
		}
	})
	t.Run("compression", func(t *testing.T) {
		write(t, filepath.Join(dir, "large.b2nd"), numbers([]int64{4096}, nil), nil)
		_, _, body := get(t, s, "/api/info/data/large.b2nd")
		var doc struct {
			SChunk struct {
				CParams struct{ Codec, Typesize int }
			}
		}
		require.NoError(t, json.Unmarshal(body, &doc))
		status, _, chunk := get(t, s, "/api/chunk/data/large.b2nd?nchunk=0")
		require.Equal(t, 200, status)
		require.Equal(t, doc.SChunk.CParams.Codec, int(chunk[2]>>5), "codec format in the flags of the chunk")
		require.Equal(t, doc.SChunk.CParams.Typesize, int(chunk[3]))
	})
}
