package urlfile_test

import (
	"context"
	"errors"
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
