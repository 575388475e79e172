package archive_test

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/archive"
)

// files are files of each kind, with names that are special in other archives.
var files = fstest.MapFS{
	"a":           {Data: []byte("first")},
	"d/empty":     {},
	`d/back\s`:    {Data: []byte("second")},
	"d/e/last":    {Data: bytes.Repeat([]byte("x"), 10_000)},
	"link":        {Data: []byte("a"), Mode: fs.ModeSymlink | 0o777},
	"pipe":        {Mode: fs.ModeNamedPipe},
	"nothing":     {Mode: fs.ModeDir | 0o755},
	"d/e/f/g/h/i": {Data: []byte("deep")},
}

func written(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, archive.Write(&b, files, 1<<20))
	return b.Bytes()
}

func TestOpen(t *testing.T) {
	b := written(t)
	f, err := archive.Open(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	var names []string
	for name, file := range files {
		if file.Mode.IsRegular() {
			got, err := fs.ReadFile(f, name)
			require.NoError(t, err, name)
			require.Equal(t, string(file.Data), string(got), name)
			names = append(names, name)
		}
	}
	target, err := fs.ReadLink(f, "link")
	require.NoError(t, err)
	require.Equal(t, "a", target)
	for _, name := range []string{"link", "pipe"} {
		_, err = f.Open(name)
		require.ErrorIs(t, err, errs.ErrFormat, name)
	}
	_, err = f.ReadLink("a")
	require.ErrorIs(t, err, fs.ErrInvalid)
	_, err = f.Open("none")
	require.ErrorIs(t, err, fs.ErrNotExist)

	var buffer bytes.Buffer
	regular := fstest.MapFS{}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, `\`) }) // TestFS accepts none
	for _, name := range names {
		regular[name] = files[name]
	}
	require.NoError(t, archive.Write(&buffer, regular, 1<<20))
	f, err = archive.Open(bytes.NewReader(buffer.Bytes()), int64(buffer.Len()))
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(f, names...))
}

func TestOpen_corrupt(t *testing.T) {
	b := written(t)
	for n := range len(b) {
		if n > 40 && n < len(b)-400 {
			continue
		}
		_, err := archive.Open(bytes.NewReader(b[:n]), int64(n))
		require.ErrorIs(t, err, errs.ErrCorrupt, "%d bytes", n)
		other := bytes.Clone(b)
		other[n] ^= 0x55
		if f, err := archive.Open(bytes.NewReader(other), int64(len(other))); err == nil {
			_ = fs.WalkDir(f, ".", func(name string, _ fs.DirEntry, _ error) error {
				_, _ = fs.ReadFile(f, name)
				return nil
			})
		} else {
			require.ErrorIs(t, err, errs.ErrCorrupt, "byte %d", n)
		}
	}
}

func TestWrite_limit(t *testing.T) {
	var b bytes.Buffer
	require.ErrorIs(t, archive.Write(&b, files, 10_000), errs.ErrLimit)
	many := fstest.MapFS{}
	for i := range 100 {
		many[string(rune('a'+i%26))+string(rune('0'+i/26))] = &fstest.MapFile{}
	}
	require.ErrorIs(t, archive.Write(&b, many, 5_000), errs.ErrLimit, "empty files")
}
