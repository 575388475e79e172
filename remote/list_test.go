package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

func TestClient_list(t *testing.T) {
	objects := map[string][]byte{"a": []byte("x"), "ab/1": []byte("x"), "a/b c": []byte("12")}
	for i := range 1500 { // more than a page
		objects[fmt.Sprintf("a/%08X.chunk", i)] = []byte("abc")
	}
	store(t, objects, nil)
	c := NewClient(nil)
	t.Cleanup(c.CloseIdle)
	var names []string
	list := func(e urlfile.Entry) error {
		names = append(names, e.Name)
		stat, err := c.stat(t.Context(), "s3://data/a/b c")
		require.NoError(t, err)
		if e.Name == "b c" {
			require.Equal(t, urlfile.Entry{Name: "b c", Size: 2, Tag: stat.Tag}, e)
		}
		return nil
	}
	require.NoError(t, c.list(t.Context(), "s3://data/a", list))
	require.Len(t, names, 1501)
	require.IsIncreasing(t, names)
	t.Run("error of the caller", func(t *testing.T) {
		stop := errors.New("stop")
		require.ErrorIs(t, c.list(t.Context(), "s3://data/a", func(urlfile.Entry) error { return stop }), stop)
	})
	t.Run("no objects", func(t *testing.T) {
		require.NoError(t, c.list(t.Context(), "s3://data/none", func(urlfile.Entry) error { return errors.New("called") }))
	})
	t.Run("web server", func(t *testing.T) {
		require.ErrorIs(t, c.list(t.Context(), "https://example.com/a", nil), errors.ErrUnsupported)
		_, err := c.stat(t.Context(), "https://example.com/a")
		require.ErrorIs(t, err, errors.ErrUnsupported)
	})
	t.Run("removed", func(t *testing.T) {
		require.NoError(t, c.removeBelow(t.Context(), "s3://data/a", []string{"b c", "none"}))
		_, err := c.stat(t.Context(), "s3://data/a/b c")
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

// TestClient_content checks that a new version is read at once.
func TestClient_content(t *testing.T) {
	store(t, nil, nil)
	c := NewClient(nil)
	t.Cleanup(c.CloseIdle)
	other := NewClient(nil)
	t.Cleanup(other.CloseIdle)
	const url = "s3://data/x"
	for _, text := range []string{"one", "two, longer"} {
		require.NoError(t, other.upload(t.Context(), url, urlfile.Upload{Content: []byte(text), Replace: true}))
		b, err := c.content(t.Context(), url, 100)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	b, err := c.content(t.Context(), url, 3)
	require.NoError(t, err)
	require.Equal(t, "two", string(b))
}

func TestClient_abandon(t *testing.T) {
	store(t, nil, nil)
	c := NewClient(nil)
	t.Cleanup(c.CloseIdle)
	require.NoError(t, c.abandon(t.Context(), "s3://data/a")) // a bucket without uploads
	begin := func(key string) {
		u, err := c.newUpload("s3://data/"+key, true)
		require.NoError(t, err)
		_, _, err = u.call(t.Context(), http.MethodPost, "uploads=", nil, nil)
		require.NoError(t, err)
	}
	for _, key := range []string{"a", "a/1", "a/2", "ab"} {
		begin(key)
	}
	require.NoError(t, c.abandon(t.Context(), "s3://data/a"))
	left := pending(t, c)
	require.Contains(t, left, "<Key>ab</Key>")
	require.NotContains(t, left, "<Key>a</Key>")
	require.NotContains(t, left, "<Key>a/")
}
