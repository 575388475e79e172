// Tests of all drivers, in every way to open a tree.

package treetest_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/isolated"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/internal/tree/treetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()

// values returns the native bytes of n elements from first on.
func values(first int32, n int) []byte {
	var b []byte
	for i := range n {
		b = binary.NativeEndian.AppendUint32(b, uint32(first)+uint32(i))
	}
	return b
}

const rows = 20

// save writes an array with the given first value.
func save(t *testing.T, location string, first int32, o *hyperslab.CreateOptions, attrs ...ndarray.Attr) {
	t.Helper()
	d, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{rows}, ChunkShape: []int64{6}, DType: ndarray.DTypeOf[int32](), Attrs: attrs}, o)
	require.NoError(t, err)
	require.NoError(t, d.Write(bg, values(first, rows), ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
}

// sample is a file or directory with its objects.
type sample struct {
	name    string
	path    string
	objects []treetest.Object
	url     bool // the format is readable at a URL
}

// samples writes one tree of each driver.
func samples(t *testing.T) []sample {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	unit := ndarray.Attr{Name: "unit", Value: ndarray.Text("m")}
	one := func(attrs int) []treetest.Object {
		return []treetest.Object{{Path: "/", Kind: tree.Array, Attrs: attrs, Values: values(0, rows)}}
	}
	save(t, at("a.b2nd"), 0, nil, unit)
	save(t, at("sparse.b2nd"), 0, &hyperslab.CreateOptions{Sparse: true}, unit)
	save(t, at("a.npy"), 0, nil)
	save(t, at("a.bcolz"), 0, nil, unit)
	out := []sample{
		{"frame", at("a.b2nd"), one(1), true}, {"sparse frame", at("sparse.b2nd"), one(1), true},
		{"npy", at("a.npy"), one(0), true}, {"carray", at("a.bcolz"), one(1), true},
	}
	save(t, at("a.h5")+":/a", 0, nil, unit)
	save(t, at("a.h5")+":/g/b", 100, nil)
	save(t, at("a.h5")+":/g/h/c", 200, nil, unit)
	save(t, at("a.h5")+":/z", 300, nil)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, at("a.h5")+":/g", []ndarray.Attr{unit}, nil))
	objects := []treetest.Object{
		{Path: "/", Kind: tree.Group},
		{Path: "/a", Kind: tree.Array, Attrs: 1, Values: values(0, rows)},
		{Path: "/g", Kind: tree.Group, Attrs: 1},
		{Path: "/g/b", Kind: tree.Array, Values: values(100, rows)},
		{Path: "/g/h", Kind: tree.Group},
		{Path: "/g/h/c", Kind: tree.Array, Attrs: 1, Values: values(200, rows)},
		{Path: "/z", Kind: tree.Array, Values: values(300, rows)},
	}
	out = append(out, sample{"hdf5", at("a.h5"), objects, true})
	src, err := hyperslab.OpenTree(bg, at("a.h5"), nil)
	require.NoError(t, err)
	for _, name := range []string{"directory", "a.b2z", "a.b2d", "a.b2e"} {
		_, err := hyperslab.CopyTree(bg, at(name), src, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
		require.NoError(t, err)
		x := sample{name, at(name), objects, name == "a.b2z" || name == "a.b2e"}
		if name == "a.b2e" { // it has no attributes of groups
			x.objects = append([]treetest.Object{}, objects...)
			x.objects[2].Attrs = 0
		}
		out = append(out, x)
	}
	_, err = hyperslab.CopyTree(bg, at("table.bcolz"), src, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
	require.NoError(t, err)
	require.NoError(t, src.Close())
	out = append(out, sample{"ctable", at("table.bcolz"), []treetest.Object{objects[0], objects[1], objects[6]}, true})
	// A directory with members of bcolz.
	require.NoError(t, os.CopyFS(at("mixed/array"), os.DirFS(at("a.bcolz"))))
	require.NoError(t, os.CopyFS(at("mixed/table"), os.DirFS(at("table.bcolz"))))
	out = append(out, sample{"mixed", at("mixed"), []treetest.Object{
		{Path: "/", Kind: tree.Group}, {Path: "/array", Kind: tree.Array, Attrs: 1, Values: values(0, rows)},
		{Path: "/table", Kind: tree.Group}, {Path: "/table/a", Kind: tree.Array, Attrs: 1, Values: values(0, rows)},
		{Path: "/table/z", Kind: tree.Array, Values: values(300, rows)},
	}, false})
	return out
}

// trust returns the default rules for an untrusted file.
func trust(t *testing.T, direct bool) *tree.Trust {
	limits, err := format.Limits{}.Filled()
	require.NoError(t, err)
	return &tree.Trust{Limits: limits, Direct: direct}
}

// open opens a source with its driver, or in a worker.
func open(s *tree.Source, err error, inWorker bool) (tree.Tree, error) {
	if err != nil {
		return nil, err
	}
	f, err := opener.All().Of(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if inWorker {
		return isolated.Open(bg, f, s, &isolated.Options{})
	}
	return opener.Open(bg, f, s, nil)
}

// rules returns the rules of each way to read the bytes of a program: trusted, and untrusted in
// this process and in a worker.
func rules(t *testing.T) map[string]*tree.Trust {
	return map[string]*tree.Trust{"": nil, " untrusted": trust(t, true), " in a worker": trust(t, false)}
}

// fileSystems returns file systems with the files of a directory: one of the system, one whose
// files are in memory, and one whose files are no io.ReaderAt.
func fileSystems(t *testing.T, dir string) map[string]fs.FS {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, w.Close())
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(z, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(z, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}))
	return map[string]fs.FS{"directory": os.DirFS(dir), "fs": files, "zip": z}
}

func TestDrivers(t *testing.T) {
	all := samples(t)
	root := http.Dir(filepath.Dir(all[0].path))
	files := http.FileServer(root)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := os.Stat(filepath.Join(string(root), filepath.FromSlash(r.URL.Path))); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	old := remote.DefaultClient
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	defer func() { remote.DefaultClient = old }()
	for _, x := range all {
		url := web.URL + "/" + filepath.Base(x.path)
		info, err := os.Stat(x.path)
		require.NoError(t, err)
		ways := map[string]func() (tree.Tree, error){
			"local": func() (tree.Tree, error) { s, err := tree.Local(x.path); return open(s, err, false) },
			"untrusted": func() (tree.Tree, error) {
				s, err := tree.Untrusted(bg, x.path, trust(t, true))
				return open(s, err, false)
			},
			"worker": func() (tree.Tree, error) {
				s, err := tree.Untrusted(bg, x.path, trust(t, false))
				return open(s, err, true)
			},
		}
		if x.url {
			ways["url"] = func() (tree.Tree, error) { s, err := tree.AtURL(bg, url, false); return open(s, err, false) }
		}
		if x.url && !info.IsDir() {
			ways["url in a worker"] = func() (tree.Tree, error) {
				s, err := tree.Untrusted(bg, url, trust(t, false))
				return open(s, err, true)
			}
			b, err := os.ReadFile(x.path)
			require.NoError(t, err)
			for way, rules := range rules(t) {
				ways["reader"+way] = func() (tree.Tree, error) {
					s, err := tree.Reader(bg, bytes.NewReader(b), int64(len(b)), x.path, rules)
					return open(s, err, rules != nil && !rules.Direct)
				}
			}
		}
		for kind, fsys := range fileSystems(t, filepath.Dir(x.path)) {
			for way, rules := range rules(t) {
				ways[kind+way] = func() (tree.Tree, error) {
					s, err := tree.FS(bg, fsys, filepath.Base(x.path), rules)
					return open(s, err, rules != nil && !rules.Direct)
				}
			}
		}
		for way, open := range ways {
			t.Run(x.name+"/"+way, func(t *testing.T) {
				treetest.Test(t, treetest.Subject{Open: open, Objects: x.objects, OneWalk: strings.Contains(way, "worker")})
			})
		}
	}
}

// TestFormats_Part checks that an untrusted array of a directory is opened by its own file, and
// keeps its name.
func TestFormats_Part(t *testing.T) {
	all := samples(t)
	mixed := all[len(all)-1].path
	for path, want := range map[string]string{"/array": "/array", "/table/a": "/table"} {
		s, err := tree.Untrusted(bg, mixed, trust(t, true))
		require.NoError(t, err)
		s, f, rest, err := opener.All().Part(s, path)
		require.NoError(t, err)
		info, err := s.OS.Stat()
		require.NoError(t, err)
		part, err := os.Stat(mixed + want)
		require.NoError(t, err)
		require.True(t, os.SameFile(part, info))
		x, err := opener.Open(bg, f, s, &tree.OpenOptions{Alone: true, Path: rest})
		require.NoError(t, err)
		b, err := tree.OpenArray(bg, x, rest, nil)
		require.NoError(t, err)
		require.Equal(t, mixed+":"+path, b.Meta().Path)
		require.NoError(t, b.Close())
	}
	s, err := tree.Untrusted(bg, mixed, trust(t, true))
	require.NoError(t, err)
	_, _, _, err = opener.All().Part(s, "/none")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	require.ErrorContains(t, err, "in "+mixed)
	require.NotContains(t, err.Error(), "/proc/self/fd")
	_, _, _, err = opener.All().Part(&tree.Source{}, "/x")
	require.ErrorIs(t, err, ndarray.ErrFormat)
}

// TestTree_Close closes each tree while other goroutines use it: they receive errors.
func TestTree_Close(t *testing.T) {
	for _, x := range samples(t) {
		t.Run(x.name, func(t *testing.T) {
			for range 4 {
				s, err := tree.Untrusted(bg, x.path, trust(t, true))
				f, err := open(s, err, false)
				require.NoError(t, err)
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 4 {
							_ = f.Walk(bg, "", nil, func(tree.Entry) (bool, error) { return true, nil })
							_, _ = f.Metadata(bg, "")
							_, _ = f.GroupAttrs(bg, "")
							for _, o := range x.objects {
								if b, err := f.Open(bg, o.Path, nil); err == nil {
									_ = b.Close()
								}
							}
						}
					})
				}
				all.Go(func() { _ = f.Close() })
				all.Wait()
				_, err = f.Open(bg, x.objects[0].Path, nil)
				require.ErrorIs(t, err, ndarray.ErrClosed)
			}
		})
	}
}

// TestFormat_toy checks that a driver that is added to the list opens a format that package detect
// does not know.
func TestFormat_toy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toy")
	content := append([]byte(toyMagic), 2, 3, 'x', 1, 2, 3, 'y', 4, 5, 6)
	require.NoError(t, os.WriteFile(path, content, 0o666))
	formats := append(opener.All(), toyFormat())
	treetest.Test(t, treetest.Subject{
		Open: func() (tree.Tree, error) {
			s, err := tree.Local(path)
			if err != nil {
				return nil, err
			}
			f, err := formats.Of(s)
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return opener.Open(bg, f, s, nil)
		},
		Objects: []treetest.Object{
			{Path: "/", Kind: tree.Group},
			{Path: "/x", Kind: tree.Array, Values: content[6:9]},
			{Path: "/y", Kind: tree.Array, Values: content[10:13]},
		},
	})
	s, err := tree.Local(path)
	require.NoError(t, err)
	_, err = opener.All().Of(s)
	require.ErrorIs(t, err, ndarray.ErrFormat, "without the line in the list")
	require.NoError(t, s.Close())
}
