package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// bucket is an S3 server in memory that records requests and can fail them.
type bucket struct {
	mu      sync.Mutex
	log     []string // requests: method, path and the kind of the query
	fail    func(r *http.Request) int
	aborted atomic.Int64
	begun   atomic.Int64
	done    atomic.Int64
}

// serve starts the server. A request for which fail returns a status gets that status.
func (b *bucket) serve(t *testing.T, objects map[string][]byte) *Client {
	s := store(t, objects, nil)
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		kind := ""
		switch {
		case q.Has("uploads"):
			kind = "?uploads"
			b.begun.Add(1)
		case q.Has("partNumber"):
			kind = "?part"
		case q.Has("uploadId"):
			kind = "?upload"
		case q.Has("list-type"):
			kind = "?list"
		}
		b.mu.Lock()
		b.log = append(b.log, r.Method+" "+r.URL.Path+kind)
		fail := b.fail
		b.mu.Unlock()
		if fail != nil {
			if status := fail(r); status != 0 {
				w.WriteHeader(status)
				return
			}
		}
		inner.ServeHTTP(w, r)
		if kind == "?upload" {
			if r.Method == http.MethodDelete {
				b.aborted.Add(1)
			} else {
				b.done.Add(1)
			}
		}
	})
	c := NewClient(&Options{Retries: 1})
	t.Cleanup(c.CloseIdle)
	return c
}

func (b *bucket) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.log...)
}

func (b *bucket) setFail(f func(r *http.Request) int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = f
}

func requireObject(t *testing.T, c *Client, url string, want []byte) {
	t.Helper()
	o := open(t, c, url)
	require.EqualValues(t, len(want), o.Size())
	got := make([]byte, len(want))
	_, err := o.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

func requireAbsent(t *testing.T, c *Client, url string) {
	t.Helper()
	require.NoError(t, c.vacant(t.Context(), url))
	_, err := c.Open(t.Context(), url)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func writeFile(t *testing.T, b []byte) string {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	return name
}

func TestClient_upload(t *testing.T) {
	small, large := content(1000), content(2*partSize+12345)
	const url = "s3://data/dir/a b+ü.h5"
	t.Run("one request", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		var sent atomic.Int64
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, small), Progress: func(n int64) { sent.Add(n) }}))
		require.Equal(t, []string{"PUT /data/dir/a b+ü.h5"}, b.requests())
		require.EqualValues(t, len(small), sent.Load())
		requireObject(t, c, url, small)
	})
	t.Run("empty file", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, nil)}))
		require.ErrorIs(t, c.vacant(t.Context(), url), fs.ErrExist)
	})
	t.Run("parts", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		var sent atomic.Int64
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, large), Progress: func(n int64) { sent.Add(n) }}))
		log := b.requests()
		require.Len(t, log, 5)
		require.Equal(t, "POST /data/dir/a b+ü.h5?uploads", log[0])
		require.Equal(t, "POST /data/dir/a b+ü.h5?upload", log[4])
		require.EqualValues(t, len(large), sent.Load())
		requireObject(t, c, url, large)
	})
	for name, body := range map[string][]byte{"existing object": small, "existing object, parts": large} {
		t.Run(name, func(t *testing.T) {
			var b bucket
			c := b.serve(t, map[string][]byte{"x": []byte("old")})
			require.ErrorIs(t, c.vacant(t.Context(), "s3://data/x"), fs.ErrExist)
			err := c.upload(t.Context(), "s3://data/x", urlfile.Upload{Path: writeFile(t, body)})
			require.ErrorIs(t, err, fs.ErrExist)
			require.Equal(t, b.begun.Load(), b.aborted.Load())
			requireObject(t, c, "s3://data/x", []byte("old"))
			require.NoError(t, c.upload(t.Context(), "s3://data/x", urlfile.Upload{Path: writeFile(t, body), Replace: true}))
			requireObject(t, c, "s3://data/x", body) // also within the time in which a version is known
		})
	}
	t.Run("failed part", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		b.setFail(func(r *http.Request) int {
			if r.URL.Query().Get("partNumber") == "2" {
				return http.StatusForbidden
			}
			return 0
		})
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, large)}), fs.ErrPermission)
		require.EqualValues(t, 1, b.aborted.Load())
		require.Zero(t, b.done.Load())
		requireAbsent(t, c, url)
	})
	t.Run("interrupted", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		b.setFail(func(r *http.Request) int {
			if r.URL.Query().Get("partNumber") == "2" {
				cancel(stopped)
			}
			return 0
		})
		require.Error(t, c.upload(ctx, url, urlfile.Upload{Path: writeFile(t, large)}))
		require.EqualValues(t, 1, b.aborted.Load())
		require.Zero(t, b.done.Load())
		requireAbsent(t, c, url)
	})
	t.Run("repeated part", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		var failed atomic.Bool
		b.setFail(func(r *http.Request) int {
			if r.URL.Query().Get("partNumber") == "2" && !failed.Swap(true) {
				return http.StatusServiceUnavailable
			}
			return 0
		})
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, large)}))
		require.EqualValues(t, 1, c.Stats().Retries)
		requireObject(t, c, url, large)
	})
	t.Run("lost response", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		var puts atomic.Int64
		b.setFail(func(r *http.Request) int { return 0 })
		lost := c.s3.web
		require.Nil(t, lost) // set by the first request
		require.NoError(t, c.vacant(t.Context(), url))
		inner := c.s3.web.Transport
		c.s3.web.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			h, err := inner.RoundTrip(r)
			if err == nil && r.Method == http.MethodPut && puts.Add(1) == 1 {
				_ = h.Body.Close()
				return nil, errors.New("connection reset")
			}
			return h, err
		})
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, small)}))
		require.EqualValues(t, 2, puts.Load()) // the second finds the object of the first
		requireObject(t, c, url, small)
	})
	t.Run("refused URLs", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		file := writeFile(t, small)
		require.ErrorIs(t, c.upload(t.Context(), "https://example.com/x", urlfile.Upload{Path: file}), errors.ErrUnsupported)
		require.ErrorIs(t, c.upload(t.Context(), "s3://data", urlfile.Upload{Path: file}), ErrRefused)
		require.ErrorIs(t, c.vacant(t.Context(), "ftp://x/y"), ErrRefused)
		require.Empty(t, b.requests())
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClient_upload_directory(t *testing.T) {
	const url, index = "s3://data/x.b2nd", "chunks.b2frame"
	write := func(t *testing.T, text string, chunks ...string) string {
		dir := t.TempDir()
		for _, name := range append(chunks, index) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+name), 0o600))
		}
		return dir
	}
	t.Run("index last", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: write(t, "1", "00000000.chunk", "00000001.chunk"), Last: index}))
		log := b.requests()
		require.Equal(t, []string{"HEAD /data/x.b2nd/" + index, "PUT /data/x.b2nd/" + index}, []string{log[0], log[len(log)-1]})
		require.Len(t, log, 4)
		requireObject(t, c, url+"/00000001.chunk", []byte("100000001.chunk"))
		err := c.upload(t.Context(), url, urlfile.Upload{Path: write(t, "2", "00000000.chunk"), Last: index})
		require.ErrorIs(t, err, fs.ErrExist)
		requireObject(t, c, url+"/00000000.chunk", []byte("100000000.chunk"))
	})
	t.Run("replaced", func(t *testing.T) {
		var b bucket
		c := b.serve(t, map[string][]byte{"x.b2nd/" + index: []byte("old"), "x.b2nd/00000007.chunk": []byte("old"), "x.b2nd/other": []byte("kept")})
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: write(t, "1", "00000000.chunk"), Last: index, Replace: true}))
		require.Equal(t, "DELETE /data/x.b2nd/"+index, b.requests()[0])
		requireAbsent(t, c, url+"/00000007.chunk")
		requireObject(t, c, url+"/other", []byte("kept"))
		requireObject(t, c, url+"/"+index, []byte("1"+index))
	})
	t.Run("rest of a killed upload", func(t *testing.T) {
		// Chunks without an index remain. They are an error without Replace, and removed with it.
		var b bucket
		c := b.serve(t, map[string][]byte{"x.b2nd/00000000.chunk": []byte("old"), "x.b2nd/00000009.chunk": []byte("old")})
		_, err := c.Open(t.Context(), url+"/"+index)
		require.ErrorIs(t, err, fs.ErrNotExist)
		dir := write(t, "1", "00000000.chunk")
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: dir, Last: index}), fs.ErrExist)
		requireAbsent(t, c, url+"/"+index)
		requireObject(t, c, url+"/00000000.chunk", []byte("old"))
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: dir, Last: index, Replace: true}))
		requireAbsent(t, c, url+"/00000009.chunk")
		requireObject(t, c, url+"/00000000.chunk", []byte("100000000.chunk"))
		requireObject(t, c, url+"/"+index, []byte("1"+index))
	})
	t.Run("failed chunk", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		b.setFail(func(r *http.Request) int {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "00000002.chunk") {
				return http.StatusForbidden
			}
			return 0
		})
		names := []string{"00000000.chunk", "00000001.chunk", "00000002.chunk"}
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: write(t, "1", names...), Last: index}), fs.ErrPermission)
		for _, name := range append(names, index) {
			requireAbsent(t, c, url+"/"+name)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		b.setFail(func(r *http.Request) int {
			if r.Method == http.MethodPut {
				cancel(stopped)
			}
			return 0
		})
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprintf("%08X.chunk", i)
		}
		require.ErrorIs(t, c.upload(ctx, url, urlfile.Upload{Path: write(t, "1", names...), Last: index}), stopped)
		for _, name := range append(names, index) {
			require.NoError(t, c.vacant(t.Context(), url+"/"+name))
		}
	})
	t.Run("failed index", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		b.setFail(func(r *http.Request) int {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, index) {
				return http.StatusForbidden
			}
			return 0
		})
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: write(t, "1", "00000000.chunk"), Last: index}), fs.ErrPermission)
		requireAbsent(t, c, url+"/00000000.chunk")
	})
	t.Run("subdirectory", func(t *testing.T) {
		var b bucket
		c := b.serve(t, nil)
		dir := write(t, "1", "00000000.chunk")
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: dir, Last: index}), errors.ErrUnsupported)
		requireAbsent(t, c, url+"/"+index)
		requireAbsent(t, c, url+"/00000000.chunk")
	})
}

func TestCompleted(t *testing.T) {
	require.NoError(t, completed([]byte("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")))
	require.ErrorIs(t, completed([]byte("<Error><Code>InternalError</Code></Error>")), ErrResponse)
	require.ErrorIs(t, completed([]byte("<Error><Code>PreconditionFailed</Code></Error>")), fs.ErrExist)
	require.ErrorIs(t, completed([]byte("no XML")), ErrResponse)
}
