package cli_test

import (
	"archive/zip"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChunks_store lists and explains frames inside of containers of python-blosc2.
func TestChunks_store(t *testing.T) {
	containers(t)
	must(t, "cp x.b2z:/g/b b.b2nd")
	type chunks struct {
		Chunks []struct {
			File   *string
			Offset *int64
			Stored int64 `json:"stored_bytes"`
			Codec  string
		}
	}
	list := func(args string) (c chunks) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(must(t, "chunks --json "+args)), &c))
		require.Len(t, c.Chunks, 1)
		require.Equal(t, "zstd", c.Chunks[0].Codec)
		require.EqualValues(t, 68, c.Chunks[0].Stored)
		return c
	}
	at := *list("b.b2nd").Chunks[0].Offset
	r, err := zip.OpenReader("x.b2z")
	require.NoError(t, err)
	for _, f := range r.File {
		if f.Name == "g/b.b2nd" {
			base, err := f.DataOffset()
			require.NoError(t, err)
			for _, flag := range []string{"", " --untrusted"} {
				c := list("x.b2z:/g/b" + flag).Chunks[0]
				require.Equal(t, base+at, *c.Offset)
				require.Nil(t, c.File)
			}
		}
	}
	require.NoError(t, r.Close())
	for _, flag := range []string{"", " --untrusted"} {
		c := list("x.b2d:/g/b" + flag).Chunks[0]
		require.Equal(t, at, *c.Offset)
		require.Equal(t, "g/b.b2nd", *c.File)
	}
	require.Nil(t, list("x.b2e:/g/b").Chunks[0].Offset)
	for _, store := range []string{"x.b2z", "x.b2d", "x.b2e"} {
		must(t, "cp -f "+store+":/g/b b.b2nd")
		want := must(t, "explain b.b2nd")
		require.Equal(t, want, must(t, "explain "+store+":/g/b"), store)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"chunks", "x.b2z"}, "a store holds many arrays"},
		{[]string{"chunks", "x.b2z:/g"}, "is a group, not an array"},
		{[]string{"chunks", "x.b2z:/none"}, "no object /none"},
		{[]string{"chunks", "x.b2z:/objects"}, "Python objects of variable size"},
		{[]string{"chunks", "x.b2d:/table/n"}, "is a column of a table"},
		{[]string{"chunks", "x.b2z:/table/word"}, "is a column of a table"},
		{[]string{"chunks", "x.b2e:/g/b", "--untrusted"}, "only a worker decodes"},
		{[]string{"explain", "x.b2z"}, "name one as x.b2z:/path"},
		{[]string{"explain", "x.b2d"}, "name one as x.b2d:/path"},
		{[]string{"explain", "x.b2z:/g"}, "is a group"},
		{[]string{"explain", "x.b2d:/none"}, "no object /none"},
		{[]string{"explain", "x.b2d:/table/n"}, "is a column of a table"},
		{[]string{"recover", "x.b2z", "y.b2z"}, "recovery of a container (b2z)"},
		{[]string{"recover", "x.b2d", "y.b2d"}, "recovery of a container (b2d)"},
		{[]string{"recover", "x.b2e", "y.b2e"}, "recovery of a container (b2e)"},
		{[]string{"index", "x.b2d", "-o", "i"}, "an index of the directory x.b2d"},
		{[]string{"index", "x.b2z:/g/b", "-o", "i"}, "index works on whole files"},
	} {
		_, stderr, code := run(c.args...)
		require.Equal(t, 2, code, c.args)
		require.Contains(t, stderr, c.want)
	}
	for _, file := range []string{"y.b2z", "y.b2d", "y.b2e", "i"} {
		require.NoFileExists(t, file)
	}
}
