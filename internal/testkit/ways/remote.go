// Ways that read the files of the set at URLs: HTTP and S3.

package ways

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/s3test"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// Site serves the set over HTTP with ranges, until the test ends.
func (s *Set) Site(t testing.TB) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The prefixes make the URLs of the ways with indexes differ from those without them.
		for _, prefix := range []string{"/indexed", "/archived"} {
			r.URL.Path = strings.TrimPrefix(r.URL.Path, prefix)
		}
		file, err := os.Open(filepath.Join(s.Dir, filepath.FromSlash(path.Clean("/"+r.URL.Path))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil || info.IsDir() { // as an object store: only files have a URL
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", info.ModTime(), file)
	}))
	t.Cleanup(site.Close)
	return site
}

// Remote returns the ways that read URLs: over HTTP with and without an index file, and with an
// archive of indexes, trusted and untrusted, alone and in a tree, and from S3. swap replaces
// remote.DefaultClient, which only tests may do, and returns the previous client.
func Remote(t testing.TB, s *Set, swap func(*remote.Client) *remote.Client) (out []Way) {
	t.Helper()
	site := s.Site(t)
	client := remote.NewClient(&remote.Options{AllowPrivate: true})
	before := swap(client)
	t.Cleanup(func() {
		client.CloseIdle()
		swap(before)
	})
	dir := t.TempDir()
	indexes, err := s.indexes(context.Background(), dir, site.URL+"/indexed/", swap)
	archive := filepath.Join(dir, "all.index")
	if err == nil {
		err = archiveIndexes(archive, indexes)
	}
	if err == nil {
		err = client.UseIndex(archive, site.URL+"/archived/")
	}
	if err != nil {
		t.Fatal(err)
	}
	objects := make(map[string][]byte)
	for _, f := range s.Files {
		err := filepath.WalkDir(f.Path(), func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(s.Dir, file)
			if err == nil {
				objects[filepath.ToSlash(name)], err = os.ReadFile(file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s3test.Start(t, objects, nil)
	indexed := atURL("URL+index", site.URL+"/indexed/", nil, false)
	start := indexed.start
	indexed.start = func(ctx context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		if index, ok := indexes[f]; ok {
			if err := client.UseIndex(index, ""); err != nil {
				return nil, nil, err
			}
		}
		return start(ctx, f)
	}
	worker := permissive(hyperslab.Untrusted{})
	trusted := atURL("URL", site.URL+"/", nil, false)
	trusted.complete = true
	for _, o := range []opener{
		trusted,
		atURL("URL+untrusted", site.URL+"/", permissive(hyperslab.Untrusted{InProcess: true}), false),
		atURL("URL+worker", site.URL+"/", worker, false),
		atURL("URL tree", site.URL+"/", nil, true),
		atURL("URL tree+worker", site.URL+"/", worker, true),
		indexed,
		atURL("URL+archive", site.URL+"/archived/", nil, false),
		atURL("S3", "s3://data/", nil, false),
	} {
		out = append(out, o.ways()...)
	}
	return out
}

// atURL opens arrays at URLs.
func atURL(name, base string, u *hyperslab.Untrusted, tree bool) opener {
	options := &hyperslab.OpenOptions{Untrusted: u}
	o := opener{name: name, tree: tree, few: u != nil && !u.InProcess}
	if tree {
		o.formats = []string{"hdf5", "b2z", "b2e", "table"}
	}
	o.start = func(ctx context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		if !tree {
			return func(ctx context.Context, a *Array) (*ndarray.Array, error) {
				return hyperslab.Open(ctx, a.At(base), options)
			}, nil, nil
		}
		x, err := hyperslab.OpenTree(ctx, base+f.Name, options)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) { return x.Open(ctx, a.Path) }, x.Close, nil
	}
	return o
}

// At returns the location of an array below a base that ends in a slash.
func (a *Array) At(base string) string {
	if a.Path == "/" {
		return base + a.File.Name
	}
	return base + a.File.Name + ":" + a.Path
}

// indexes writes an index file for each HDF5 file, frame and container in one file.
func (s *Set) indexes(ctx context.Context, dir, base string, swap func(*remote.Client) *remote.Client) (map[*File]string, error) {
	out := make(map[*File]string)
	for i, f := range s.Files {
		if info, err := os.Stat(f.Path()); err != nil || info.IsDir() || f.Format == "npy" {
			continue
		}
		file := filepath.Join(dir, fmt.Sprint(i))
		w, err := os.Create(file)
		if err != nil {
			return nil, err
		}
		err = remote.WriteIndex(ctx, w, base+f.Name, "", &remote.Options{AllowPrivate: true}, func(c *remote.Client, url string) error {
			before := swap(c)
			defer func() { swap(before) }()
			return f.readMetadata(ctx, url)
		})
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, fmt.Errorf("index of %s: %w", f.Name, err)
		}
		out[f] = file
	}
	return out, nil
}

// archiveIndexes writes an archive of index files, as hyperslab index DIR.
func archiveIndexes(path string, indexes map[*File]string) error {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for f, index := range indexes {
		b, err := os.ReadFile(index)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o666)
}

// readMetadata opens each array of a file and lists its chunks.
func (f *File) readMetadata(ctx context.Context, url string) error {
	for _, a := range f.Arrays {
		location := url
		if a.Path != "/" {
			location += ":" + a.Path
		}
		x, err := hyperslab.Open(ctx, location, nil)
		if err != nil {
			continue // the way reports it
		}
		for _, err = range x.StoredChunks(ctx) {
			if err != nil {
				break
			}
		}
		if err := x.Close(); err != nil {
			return err
		}
	}
	return nil
}
