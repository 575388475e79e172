// Tests of trees over readers and file systems of the program, also of those that break their
// contract.

package opened_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// readerFunc is an io.ReaderAt.
type readerFunc func(p []byte, off int64) (int, error)

func (f readerFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

var errDisk = errors.New("disk on fire")

// brokenReaders are readers of b that work before the offset from. want is their error, or nil if
// all elements must be read.
var brokenReaders = map[string]struct {
	reader func(b []byte, from int64) readerFunc
	want   error
}{
	"half of the bytes": {func(b []byte, _ int64) readerFunc {
		return func(p []byte, off int64) (int, error) { return bytes.NewReader(b).ReadAt(p[:(len(p)+1)/2], off) }
	}, nil},
	"end with the last bytes": {func(b []byte, _ int64) readerFunc {
		return func(p []byte, off int64) (int, error) {
			n, err := bytes.NewReader(b).ReadAt(p, off)
			if off+int64(n) == int64(len(b)) {
				err = io.EOF
			}
			return n, err
		}
	}, nil},
	"no bytes and no error": {until(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
	"an error":              {until(func([]byte) (int, error) { return 0, errDisk }), errDisk},
	"an early end":          {until(func([]byte) (int, error) { return 0, io.EOF }), ndarray.ErrCorrupt},
	"too many bytes":        {until(func(p []byte) (int, error) { return len(p) + 1, nil }), ndarray.ErrParam},
	"a negative number":     {until(func([]byte) (int, error) { return -1, nil }), ndarray.ErrParam},
}

// until returns a reader of b that returns the result of then after the offset from.
func until(then func(p []byte) (int, error)) func(b []byte, from int64) readerFunc {
	return func(b []byte, from int64) readerFunc {
		return func(p []byte, off int64) (int, error) {
			if off >= from {
				return then(p)
			}
			return bytes.NewReader(b[:from]).ReadAt(p[:min(int64(len(p)), from-off)], off)
		}
	}
}

// readTree returns the elements of all arrays of a tree, and closes it.
func readTree(t *hyperslab.Tree, err error) (values []int32, _ error) {
	if err != nil {
		return nil, err
	}
	err = func() error {
		for e, err := range t.Walk(bg, nil) {
			if err = errors.Join(err, e.Err); err != nil {
				return err
			}
			if e.Kind != hyperslab.Array {
				continue
			}
			a, err := t.Open(bg, e.Path)
			if err != nil {
				return err
			}
			v, err := ndarray.ReadAll[int32](bg, a)
			values = append(values, v...)
			if err = errors.Join(err, a.Close()); err != nil {
				return err
			}
		}
		return nil
	}()
	return values, errors.Join(err, t.Close())
}

// trusts are the values of OpenOptions for each way to read the bytes of a program.
func trusts() map[string]*hyperslab.OpenOptions {
	return map[string]*hyperslab.OpenOptions{
		"trusted": nil, "in process": {Untrusted: &hyperslab.Untrusted{InProcess: true}}, "worker": {Untrusted: &hyperslab.Untrusted{}},
	}
}

// saveKinds creates a file of each format that is one file, with the same elements, and a directory
// of arrays, a .b2d, a bcolz directory and a sparse frame.
func saveKinds(t *testing.T) (dir string, files, dirs []string) {
	t.Helper()
	dir = t.TempDir()
	files = []string{"a.h5", "a.b2nd", "a.b2z", "a.b2e", "a.npy"}
	dirs = []string{"tree", "a.b2d", "a.bcolz", "sparse.b2nd"}
	for _, name := range []string{"a.h5:/g/x", "a.b2nd", "a.npy", "a.bcolz"} {
		filetest.Save(t, filetest.In(dir, name), filetest.Int32s(500, 7), nil)
	}
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), filetest.Int32s(500, 7), &hyperslab.CreateOptions{Sparse: true})
	for _, name := range []string{"a.b2z", "a.b2e", "a.b2d", "tree"} {
		_, err := filetest.CopyTree(bg, filetest.In(dir, name), filetest.In(dir, "a.h5"), nil)
		require.NoError(t, err)
	}
	return dir, files, dirs
}

func TestOpenTreeReaderAt(t *testing.T) {
	dir, files, _ := saveKinds(t)
	defer time.AfterFunc(2*time.Minute, func() { panic("a read does not end") }).Stop()
	for _, name := range files {
		b, err := os.ReadFile(filetest.In(dir, name))
		require.NoError(t, err)
		size := int64(len(b))
		for way, o := range trusts() {
			t.Run(name+" "+way, func(t *testing.T) {
				for what, broken := range brokenReaders {
					for _, from := range []int64{0, 1, 100, size / 2, size - 9, size - 1} {
						tree, err := hyperslab.OpenTreeReaderAt(bg, broken.reader(b, from), size, "upload", o)
						got, err := readTree(tree, err)
						switch {
						case err == nil && (from > 0 || broken.want == nil): // a trusted file is not read as a whole
							require.Equal(t, filetest.Count(3500), got, "%s from %d", what, from)
						case broken.want == nil:
							require.NoError(t, err, what)
						default:
							require.ErrorIs(t, err, broken.want, "%s from %d", what, from)
							require.ErrorAs(t, err, new(*ndarray.Error), what)
						}
					}
				}
				for _, wrong := range []int64{0, 50, size - 1, size + 1, 10 * size} {
					tree, err := hyperslab.OpenTreeReaderAt(bg, bytes.NewReader(b), wrong, "upload", o)
					if got, err := readTree(tree, err); err == nil {
						require.Equal(t, filetest.Count(3500), got, "size %d", wrong)
						require.Nil(t, o, "an untrusted file of another size: %d", wrong)
					} else {
						require.True(t, errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, ndarray.ErrFormat), "size %d: %v", wrong, err)
					}
				}
			})
		}
	}
}

func TestOpenTreeReaderAt_options(t *testing.T) {
	r := bytes.NewReader(nil)
	for what, o := range map[string]*hyperslab.OpenOptions{
		"write": {Write: true}, "durable": {Durable: true}, "library": {Library: true}, "dtype": {DType: new(ndarray.DTypeOf[int8]())},
		"shards": {Shards: []string{"x"}}, "directory": {ExternalDir: "x"}, "missing": {Missing: func(error) {}},
	} {
		for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
			x := *o
			x.Untrusted = u
			_, err := hyperslab.OpenTreeReaderAt(bg, r, 0, "upload", &x)
			require.ErrorIs(t, err, ndarray.ErrParam, what)
			_, err = hyperslab.OpenTreeFS(bg, fstest.MapFS{}, ".", &x)
			require.ErrorIs(t, err, ndarray.ErrParam, what)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for way, o := range trusts() {
		_, err := hyperslab.OpenTreeReaderAt(bg, nil, 0, "upload", o)
		require.ErrorIs(t, err, ndarray.ErrParam, way)
		_, err = hyperslab.OpenTreeReaderAt(bg, r, -1, "upload", o)
		require.ErrorIs(t, err, ndarray.ErrParam, way)
		_, err = hyperslab.OpenTreeReaderAt(bg, r, 0, "upload", o)
		require.ErrorIs(t, err, ndarray.ErrFormat, way)
		require.ErrorContains(t, err, "upload", way)
		_, err = hyperslab.OpenTreeReaderAt(ctx, r, 0, "upload", o)
		require.ErrorIs(t, err, context.Canceled, way)
		_, err = hyperslab.OpenTreeFS(ctx, fstest.MapFS{}, ".", o)
		require.ErrorIs(t, err, context.Canceled, way)
		_, err = hyperslab.OpenTreeFS(bg, nil, ".", o)
		require.ErrorIs(t, err, ndarray.ErrParam, way)
		for _, name := range []string{"", "/a", "../a", "a/"} {
			_, err = hyperslab.OpenTreeFS(bg, fstest.MapFS{}, name, o)
			require.ErrorIs(t, err, ndarray.ErrParam, "%s: %q", way, name)
		}
		for _, fsys := range []fs.FS{fstest.MapFS{}, os.DirFS(t.TempDir())} {
			_, err = hyperslab.OpenTreeFS(bg, fsys, "none", o)
			require.ErrorIs(t, err, ndarray.ErrNotFound, way)
			_, err = hyperslab.OpenTreeFS(bg, fsys, ".", o)
			require.ErrorIs(t, err, ndarray.ErrFormat, way)
		}
	}
}

// inZIP returns the files of a directory in a ZIP archive, whose files are no io.ReaderAt.
func inZIP(t *testing.T, dir string) fs.FS {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, w.Close())
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	return z
}

func TestOpenTreeFS(t *testing.T) {
	dir, files, dirs := saveKinds(t)
	z := inZIP(t, dir)
	want, err := hyperslab.OpenTree(bg, filetest.In(dir, "a.h5"), nil)
	require.NoError(t, err)
	defer want.Close()
	for _, name := range slices.Concat(files, dirs) {
		for way, o := range trusts() {
			for _, fsys := range []fs.FS{z, os.DirFS(dir)} {
				tree, err := hyperslab.OpenTreeFS(bg, fsys, name, o)
				got, err := readTree(tree, err)
				require.NoError(t, err, "%s %s", name, way)
				require.Equal(t, filetest.Count(3500), got, "%s %s", name, way)
			}
			small := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: way == "in process", MaxCopy: 100}}
			_, err := hyperslab.OpenTreeFS(bg, z, name, small)
			require.ErrorIs(t, err, hyperslab.ErrLimit, "%s %s", name, way)
		}
	}
	t.Run("copy", func(t *testing.T) {
		for _, name := range []string{"a.h5", "a.b2z", "a.b2d", "tree"} {
			tree, err := hyperslab.OpenTreeFS(bg, z, name, nil)
			require.NoError(t, err)
			for _, to := range []string{"copy.h5", "copy.b2d", "copy"} {
				copied := filepath.Join(t.TempDir(), to)
				_, err = hyperslab.CopyTree(bg, copied, tree, nil)
				require.NoError(t, err, "%s to %s", name, to)
				got, err := readTree(hyperslab.OpenTree(bg, copied, nil))
				require.NoError(t, err)
				require.Equal(t, filetest.Count(3500), got, "%s to %s", name, to)
			}
			require.NoError(t, tree.Close())
		}
	})
}

// brokenFS replaces the content of the files of a directory.
type brokenFS struct {
	fs.FS
	read func(p []byte) (int, error)
	size int64 // added to that of each file
}

func (b brokenFS) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if _, dir := f.(fs.ReadDirFile); dir || err != nil {
		return f, err
	}
	return brokenFile{f, b}, nil
}

type brokenFile struct {
	fs.File
	fs brokenFS
}

func (f brokenFile) Read(p []byte) (int, error) {
	if f.fs.read == nil {
		return f.File.Read(p)
	}
	return f.fs.read(p)
}

func (f brokenFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return brokenInfo{info, f.fs.size}, err
}

type brokenInfo struct {
	fs.FileInfo
	more int64
}

func (i brokenInfo) Size() int64 { return i.FileInfo.Size() + i.more }

func TestOpenTreeFS_broken(t *testing.T) {
	dir, files, dirs := saveKinds(t)
	defer time.AfterFunc(2*time.Minute, func() { panic("a read does not end") }).Stop()
	z := inZIP(t, dir)
	for what, c := range map[string]struct {
		fsys brokenFS
		want error
	}{
		"no bytes and no error": {brokenFS{read: func([]byte) (int, error) { return 0, nil }}, io.ErrNoProgress},
		"an error":              {brokenFS{read: func([]byte) (int, error) { return 0, errDisk }}, errDisk},
		"too many bytes":        {brokenFS{read: func(p []byte) (int, error) { return len(p) + 1, nil }}, ndarray.ErrParam},
		"shorter":               {brokenFS{size: 1}, ndarray.ErrCorrupt},
		"longer":                {brokenFS{size: -1}, ndarray.ErrCorrupt},
		"negative":              {brokenFS{size: -1 << 40}, ndarray.ErrCorrupt},
	} {
		c.fsys.FS = z
		for _, name := range slices.Concat(files, dirs) {
			for way, o := range trusts() {
				_, err := readTree(hyperslab.OpenTreeFS(bg, c.fsys, name, o))
				if c.fsys.size < -1 && errors.Is(err, ndarray.ErrFormat) {
					continue // the file that identifies the directory does not count
				}
				require.ErrorIs(t, err, c.want, "%s: %s %s", what, name, way)
			}
		}
	}
}
