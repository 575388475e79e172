package remote

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/testkit/s3test"
)

// gateway starts versitygw.
func gateway(t *testing.T) *Client {
	s3test.Gateway(t)
	c := NewClient(nil)
	t.Cleanup(c.CloseIdle)
	return c
}

// pending returns the identifiers of incomplete uploads.
func pending(t *testing.T, c *Client) string {
	u, err := c.newUpload("s3://data/x", true)
	require.NoError(t, err)
	u.t.key = ""
	a, _, err := u.call(t.Context(), http.MethodGet, "uploads=", nil, nil)
	require.NoError(t, err)
	return string(a.body)
}

// TestClient_upload_gateway tests with the server of another project.
func TestClient_upload_gateway(t *testing.T) {
	c := gateway(t)
	small, large := content(1000), content(2*partSize+12345)
	for name, body := range map[string][]byte{"dir/a b+ü.h5": small, "large": large} {
		url := "s3://data/" + name
		file := writeFile(t, body)
		require.NoError(t, c.vacant(t.Context(), url))
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: file}))
		requireObject(t, c, url, body)
		require.ErrorIs(t, c.vacant(t.Context(), url), fs.ErrExist)
		require.ErrorIs(t, c.upload(t.Context(), url, urlfile.Upload{Path: file}), fs.ErrExist, name)
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: writeFile(t, append(body, 7)), Replace: true}))
		requireObject(t, c, url, append(body, 7))
	}
	require.NotContains(t, pending(t, c), "UploadId>")
	left, err := c.newUpload("s3://data/incomplete", true)
	require.NoError(t, err)
	_, _, err = left.call(t.Context(), http.MethodPost, "uploads=", nil, nil)
	require.NoError(t, err)
	require.Contains(t, pending(t, c), "<Key>incomplete</Key>")
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var parts atomic.Int64
		err := c.upload(ctx, "s3://data/stopped", urlfile.Upload{Path: writeFile(t, large), Progress: func(int64) {
			if parts.Add(1) == 1 {
				cancel(errors.New("stopped"))
			}
		}})
		require.Error(t, err)
		requireAbsent(t, c, "s3://data/stopped")
		require.NotContains(t, pending(t, c), "<Key>stopped</Key>")
	})
	t.Run("directory", func(t *testing.T) {
		const url, index = "s3://data/x.b2nd", "chunks.b2frame"
		write := func(text string, names ...string) string {
			dir := t.TempDir()
			for _, name := range append(names, index) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+name), 0o600))
			}
			return dir
		}
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: write("1", "00000000.chunk", "00000001.chunk"), Last: index}))
		err := c.upload(t.Context(), url, urlfile.Upload{Path: write("2", "00000000.chunk"), Last: index})
		require.ErrorIs(t, err, fs.ErrExist)
		requireObject(t, c, url+"/00000000.chunk", []byte("100000000.chunk"))
		require.NoError(t, c.upload(t.Context(), url, urlfile.Upload{Path: write("2", "00000000.chunk"), Last: index, Replace: true}))
		requireObject(t, c, url+"/00000000.chunk", []byte("200000000.chunk"))
		requireAbsent(t, c, url+"/00000001.chunk")
	})
}
