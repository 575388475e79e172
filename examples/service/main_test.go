package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestMain(m *testing.M) { leak.Main(m) }

// request sends a request and returns the status and the body.
func request(ctx context.Context, c *http.Client, method, url, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	w, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	return w.StatusCode, string(b), err
}

func serve(t *testing.T) (url string, c *http.Client, dir string) {
	t.Helper()
	dir = t.TempDir()
	d, err := hyperslab.Create(t.Context(), filepath.Join(dir, "log.b2nd"), ndarray.Spec{Shape: []int64{0}, ChunkShape: []int64{100}, DType: ndarray.DTypeOf[float64]()}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
	require.NoError(t, d.Close())
	server := httptest.NewServer(&service{dir, hyperslab.OpenOptions{
		Untrusted: &hyperslab.Untrusted{InProcess: true}, Logger: slog.New(slog.DiscardHandler),
	}})
	t.Cleanup(server.Close)
	return server.URL, server.Client(), dir
}

func TestService_load(t *testing.T) {
	clients := 8
	if testenv.All() {
		clients = 64
	}
	url, c, dir := serve(t)
	etopo, err := os.ReadFile("../../testdata/etopo120.h5")
	require.NoError(t, err)
	const rounds = 4
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			file := fmt.Sprintf("%s/sea%d.h5", url, i)
			for k, step := range append([][3]string{{"PUT", file, string(etopo)}, {"GET", file}}, slicesOf(file, url, i, rounds)...) {
				code, body, err := request(t.Context(), c, step[0], step[1], step[2])
				if err != nil || code != http.StatusOK || step[1] == file+"/ROSE?selection=45,100" && body != "-4467.894" {
					t.Errorf("client %d, step %d: %d %q %v", i, k, code, body, err)
					return
				}
			}
		})
	}
	all.Wait()
	code, body, err := request(t.Context(), c, "GET", url+"/log.b2nd", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	var got []float64
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Len(t, got, clients*rounds, "no append was lost")
	sums := map[float64]int{}
	for _, x := range got {
		sums[x]++
	}
	for i := range clients {
		require.Equal(t, rounds, sums[float64(i)], "client %d", i)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, clients+1, "no part of an upload is left")
	info, err := os.Stat(filepath.Join(dir, "sea0.h5"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode(), "other users may read an upload")
}

// slicesOf returns the requests of a client after its upload.
func slicesOf(file, url string, client, rounds int) (steps [][3]string) {
	for range rounds {
		steps = append(steps, [3]string{"GET", file + "/ROSE?selection=45,100"},
			[3]string{"GET", file + "/ROSE?selection=45:50&format=npy"}, [3]string{"POST", url + "/log.b2nd", "[" + strconv.Itoa(client) + "]"})
	}
	return steps
}

func TestService_errors(t *testing.T) {
	url, c, dir := serve(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.h5"), []byte("\x89HDF\r\n\x1a\nrest"), 0o600))
	for _, x := range []struct {
		name, method, path, body string
		want                     int
	}{
		{"missing file", "GET", "/none.h5", "", http.StatusNotFound},
		{"other directory", "GET", "/..%2fetc.h5", "", http.StatusNotFound},
		{"location", "GET", "/a:b.h5", "", http.StatusNotFound},
		{"corrupt file", "GET", "/bad.h5", "", http.StatusBadRequest},
		{"corrupt upload", "PUT", "/new.h5", "not HDF5", http.StatusBadRequest},
		{"existing file", "PUT", "/log.b2nd", "", http.StatusBadRequest},
		{"selection", "GET", "/log.b2nd?selection=[1:2", "", http.StatusBadRequest},
		{"append of text", "POST", "/log.b2nd", `["x"]`, http.StatusBadRequest},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, body, err := request(t.Context(), c, x.method, url+x.path, x.body)
			require.NoError(t, err)
			require.Equal(t, x.want, code, body)
			require.NotContains(t, body, dir)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		lock, err := hyperslab.LockFile(t.Context(), filepath.Join(dir, "log.b2nd"), nil)
		require.NoError(t, err)
		before := hyperslab.ReadCounters().LockWaits
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := request(ctx, c, "POST", url+"/log.b2nd", "[1]")
			ended <- err
		}()
		require.Eventually(t, func() bool { return hyperslab.ReadCounters().LockWaits > before }, 1e10, 1e6)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.NoError(t, lock.Release())
	})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
