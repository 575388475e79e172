package urlfile_test

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

func TestGet_noClient(t *testing.T) {
	c := urlfile.Get()
	_, err := c.Open(context.Background(), "https://example.com/x.h5")
	require.ErrorIs(t, err, urlfile.ErrNoClient)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, `import _ "github.com/hyperslab/hyperslab/remote"`)
	_, err = c.FS(context.Background(), "s3://bucket/x")
	require.ErrorIs(t, err, urlfile.ErrNoClient)
	require.ErrorIs(t, c.Vacant(context.Background(), "s3://bucket/x"), urlfile.ErrNoClient)
	require.ErrorIs(t, c.Upload(context.Background(), "s3://bucket/x", urlfile.Upload{Path: "x"}), urlfile.ErrNoClient)
	_, err = c.Stat(context.Background(), "s3://bucket/x")
	require.ErrorIs(t, err, urlfile.ErrNoClient)
	_, err = c.Read(context.Background(), "s3://bucket/x", 1)
	require.ErrorIs(t, err, urlfile.ErrNoClient)
	require.ErrorIs(t, c.List(context.Background(), "s3://bucket/x", nil), urlfile.ErrNoClient)
	require.ErrorIs(t, c.Remove(context.Background(), "s3://bucket/x", []string{"y"}), urlfile.ErrNoClient)
	require.ErrorIs(t, c.Abandon(context.Background(), "s3://bucket/x"), urlfile.ErrNoClient)
	require.NoError(t, c.Cause(err))
}

func TestJoin(t *testing.T) {
	for _, x := range []struct{ dir, rel, want string }{
		{"https://example.com/data/", "a b/c%20d.h5", "https://example.com/data/a%20b/c%2520d.h5"},
		{"https://example.com/data", "x:y?#.h5", "https://example.com/data/x:y%3F%23.h5"},
		{"s3://bucket/data", "a b/c%20d.h5", "s3://bucket/data/a b/c%2520d.h5"},
		{"S3://bucket/", "?#.h5", "S3://bucket/%3F%23.h5"},
	} {
		got := urlfile.Join(x.dir, x.rel)
		require.Equal(t, x.want, got)
		require.Equal(t, path.Base(x.rel), urlfile.Base(got))
	}
}

func TestBase(t *testing.T) {
	for s, want := range map[string]string{
		"https://example.com/data/a%20b.h5?x=:/y#z": "a b.h5",
		"https://example.com/..%2Fb":                "b",
		"https://example.com/data/%2e%2e":           "",
		"https://example.com/100%.h5":               "",
		"https://example.com":                       "",
		"s3://bucket/data/a%20b.h5":                 "a b.h5",
		"s3://bucket/a b.h5":                        "a b.h5",
	} {
		require.Equal(t, want, urlfile.Base(s), s)
	}
}
