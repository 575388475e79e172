package draft_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

func createTree(t *testing.T, file string, o *hyperslab.CreateOptions) *hyperslab.TreeDraft {
	t.Helper()
	d, err := hyperslab.CreateTree(bg, file, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// add creates an array of a draft and writes its numbers.
func add(d *hyperslab.TreeDraft, path string, n int64) error {
	a, err := d.Create(bg, path, filetest.Int32s(n))
	if err != nil {
		return err
	}
	return ndarray.Write(bg, a, filetest.Count(n), ndarray.Whole(a.Shape()))
}

func TestCreateTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.h5")
	d := createTree(t, file, nil)
	title := ndarray.Attr{Name: "title", Value: ndarray.Text("sea")}
	require.NoError(t, d.CreateGroup(bg, "/", title))
	require.NoError(t, d.CreateGroup(bg, "/g", title))
	require.NoError(t, d.CreateGroup(bg, "g/h"))
	for path, n := range map[string]int64{"/lat": 3, "/g/lon": 4} {
		require.NoError(t, add(d, path, n))
	}
	spec := filetest.Int32s(3, 4)
	spec.AxisNames = []string{"", "longitude"}
	a, err := d.Create(bg, "/g/h/temperature", spec)
	require.NoError(t, err)
	require.Equal(t, file+":/g/h/temperature", a.Meta().Path)
	require.NoError(t, a.SetAttr(bg, ndarray.Attr{Name: "unit", Value: ndarray.Text("K")}))
	for row := range int64(3) {
		r := ndarray.Region{Start: []int64{row, 0}, Shape: []int64{1, 4}}
		require.NoError(t, ndarray.Write(bg, a, filetest.Count(12)[4*row:4*row+4], r))
	}
	require.NoError(t, a.Close())
	texts, err := d.Create(bg, "/names", ndarray.Spec{Shape: []int64{2}, DType: ndarray.Text("").DType})
	require.NoError(t, err)
	require.NoError(t, texts.WriteStrings(bg, []string{"a", "other"}, ndarray.Whole(texts.Shape())))
	for range 2 { // the second time has no effect
		require.NoError(t, d.AttachScale("/g/h/temperature", 0, "lat"))
	}
	require.NoError(t, d.AttachScale("/g/h/temperature", 1, "/g/lon"))
	_, err = os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist, "before Commit")
	require.NoError(t, d.Commit(bg))
	require.Equal(t, []string{"f.h5"}, filetest.Entries(t, filepath.Dir(file)))
	for _, path := range []string{"/lat", "/g/lon", "/g/h/temperature"} {
		filetest.RequireCount(t, file+":"+path)
	}
	testutil.Python(t, []string{"h5py", "numpy"}, "-c", `import h5py, sys
with h5py.File(sys.argv[1]) as f:
    t = f["g/h/temperature"]
    assert [list(d.keys()) for d in t.dims] == [[""], [""]] or [d[0].name for d in t.dims] == ["/lat", "/g/lon"]
    assert [d[0].name for d in t.dims] == ["/lat", "/g/lon"], [d[0].name for d in t.dims]
    assert t.dims[1].label == "longitude" and t.attrs["unit"] == "K"
    assert f.attrs["title"] == f["g"].attrs["title"] == "sea"
    assert f["lat"].is_scale and len(f["lat"].dims) == 1
    assert list(f["names"].asstr()) == ["a", "other"]
    assert t[()].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]`, file)
}

func TestCreateTree_location(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.h5")
	require.NoError(t, createTree(t, file, nil).Commit(bg), "an empty file")
	for location, want := range map[string]error{
		file: ndarray.ErrExists, filepath.Join(dir, "new.h5:/x"): ndarray.ErrParam, filepath.Join(dir, "x.unknown"): ndarray.ErrParam,
		filepath.Join(dir, "none/f.h5"): ndarray.ErrNotFound, "https://example.com/f.h5": errors.ErrUnsupported, "": ndarray.ErrParam,
		filepath.Join(dir, "x.b2z"): errors.ErrUnsupported, filepath.Join(dir, "x.b2nd"): errors.ErrUnsupported,
	} {
		_, err := hyperslab.CreateTree(bg, location, nil)
		require.ErrorIs(t, err, want, location)
	}
	for _, o := range []hyperslab.CreateOptions{{Sparse: true}, {Plain: true}, {InPlace: true}, {Library: true}, {Stripes: []string{"x"}}} {
		_, err := hyperslab.CreateTree(bg, filepath.Join(dir, "new.h5"), &o)
		require.ErrorIs(t, err, ndarray.ErrParam)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err := hyperslab.CreateTree(ctx, filepath.Join(dir, "new.h5"), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"f.h5"}, filetest.Entries(t, dir))

	t.Run("overwrite", func(t *testing.T) {
		d := createTree(t, file, &hyperslab.CreateOptions{Overwrite: true})
		require.NoError(t, add(d, "x", 5))
		require.NoError(t, d.Commit(bg))
		filetest.RequireCount(t, file+":/x")
	})
	t.Run("two drafts", func(t *testing.T) {
		new := filepath.Join(dir, "two.h5")
		one, two := createTree(t, new, nil), createTree(t, new, nil)
		require.NoError(t, add(one, "x", 3))
		require.NoError(t, add(two, "x", 4))
		require.NoError(t, one.Commit(bg))
		require.ErrorIs(t, two.Commit(bg), ndarray.ErrExists)
		filetest.RequireCount(t, new+":/x")
		require.Equal(t, []string{"f.h5", "two.h5"}, filetest.Entries(t, dir))
	})
}

func TestTreeDraft_Create(t *testing.T) {
	d := createTree(t, filepath.Join(t.TempDir(), "f.h5"), nil)
	require.NoError(t, d.CreateGroup(bg, "/g"))
	require.NoError(t, add(d, "/g/x", 3))
	for path, want := range map[string]error{
		"/g/x": ndarray.ErrExists, "g/x": ndarray.ErrExists, "/g": ndarray.ErrExists, "/none/x": ndarray.ErrNotFound, "/g/none/x": ndarray.ErrNotFound,
		"/g/x/y": ndarray.ErrParam, "/g//x": ndarray.ErrParam, "/g/./x": ndarray.ErrParam, "/a\x00": ndarray.ErrParam,
	} {
		_, err := d.Create(bg, path, filetest.Int32s(3))
		require.ErrorIs(t, err, want, "%q", path)
		require.ErrorIs(t, d.CreateGroup(bg, path), want, "%q", path)
	}
	_, err := d.Create(bg, "/", filetest.Int32s(3))
	require.ErrorIs(t, err, ndarray.ErrParam)
	wide := ndarray.Attr{Name: "u", Value: ndarray.Value{DType: ndarray.DType{Kind: ndarray.Unicode, Size: 4, Order: ndarray.Little}, Data: make([]byte, 4)}}
	require.ErrorIs(t, d.CreateGroup(bg, "/wide", wide), errors.ErrUnsupported)
	require.NoError(t, d.CreateGroup(bg, "/wide"), "a group that was refused can be created")
	spec := filetest.Int32s(3)
	spec.Compression = &ndarray.Compression{Codec: "unknown"}
	_, err = d.Create(bg, "/y", spec)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = d.Create(bg, "/y", ndarray.Spec{Shape: []int64{-1}, DType: spec.DType})
	require.ErrorIs(t, err, ndarray.ErrShape)
	require.NoError(t, add(d, "/y", 4), "an array that was refused can be created")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = d.Create(ctx, "/z", filetest.Int32s(3))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, d.CreateGroup(ctx, "/z"), context.Canceled)
	require.ErrorIs(t, d.Commit(ctx), context.Canceled)
	require.NoError(t, add(d, "/z", 2), "the draft is still open")

	t.Run("scales", func(t *testing.T) {
		require.NoError(t, add(d, "/s", 3))
		require.NoError(t, add(d, "/s3", 3))
		two, err := d.Create(bg, "/two", filetest.Int32s(3, 4))
		require.NoError(t, err)
		require.NoError(t, two.Close())
		for what, c := range map[string]struct {
			path  string
			dim   int
			scale string
			want  error
		}{
			"missing array": {"/none", 0, "/s", ndarray.ErrNotFound}, "missing scale": {"/two", 0, "/none", ndarray.ErrNotFound},
			"group": {"/two", 0, "/g", ndarray.ErrNotFound}, "dimension": {"/two", 2, "/s", ndarray.ErrParam}, "negative": {"/two", -1, "/s", ndarray.ErrParam},
			"other length": {"/two", 1, "/s", ndarray.ErrShape}, "two dimensions": {"/s", 0, "/two", ndarray.ErrShape}, "itself": {"/s", 0, "/s", ndarray.ErrParam},
		} {
			require.ErrorIs(t, d.AttachScale(c.path, c.dim, c.scale), c.want, what)
		}
		require.NoError(t, d.AttachScale("/two", 0, "/s"))
		require.ErrorIs(t, d.AttachScale("/s", 0, "/s3"), ndarray.ErrParam, "a scale with scales")
		require.NoError(t, d.AttachScale("/g/x", 0, "/s3"))
		require.ErrorIs(t, d.AttachScale("/two", 0, "/g/x"), ndarray.ErrParam, "a scale with scales")
	})
}

// TestTreeDraft_AttachScale attaches scales to arrays that grow.
func TestTreeDraft_AttachScale(t *testing.T) {
	growing := func(shape ...int64) ndarray.Spec {
		s := filetest.Int32s(shape...)
		s.MaxShape, s.ChunkShape = slices.Repeat([]int64{ndarray.Unlimited}, len(shape)), slices.Repeat([]int64{3}, len(shape))
		return s
	}
	for _, c := range []struct {
		name                 string
		array, scale         ndarray.Spec
		arrayMore, scaleMore int64 // indexes of dimension 0 that are appended
		late                 bool  // they are appended after AttachScale
		closed               bool  // before AttachScale
		want                 string
	}{
		{"array grown before", growing(2), filetest.Int32s(5), 3, 0, false, false, ""},
		{"array grown after", growing(2), filetest.Int32s(5), 3, 0, true, false, ""},
		{"array grown and closed", growing(2), filetest.Int32s(5), 3, 0, false, true, ""},
		{"both grown", growing(0, 2), growing(0), 3, 3, true, false, ""},
		{"scale grown", filetest.Int32s(3, 4), growing(0), 0, 3, true, false, ""},
		{"old length", growing(2), filetest.Int32s(2), 3, 0, false, false, "commit: got length 2, want 5"},
		{"old length of a closed array", growing(2), filetest.Int32s(2), 3, 0, false, true, "attach: got length 2, want 5"},
		{"array grown alone", growing(2), filetest.Int32s(2), 3, 0, true, false, "commit: got length 2, want 5"},
		{"other lengths", growing(0, 2), growing(0), 3, 4, true, false, "commit: got length 4, want 3"},
		{"fixed lengths", filetest.Int32s(2), filetest.Int32s(3), 0, 0, false, false, "attach: got length 3, want 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			d := createTree(t, filepath.Join(dir, "f.h5"), nil)
			v, err := d.Create(bg, "/v", c.array)
			require.NoError(t, err)
			scale, err := d.Create(bg, "/time", c.scale)
			require.NoError(t, err)
			grow := func() {
				if c.arrayMore > 0 {
					require.NoError(t, ndarray.Append(bg, v, 0, filetest.Count(c.arrayMore*append(v.Shape(), 1)[1])))
				}
				if c.scaleMore > 0 {
					require.NoError(t, ndarray.Append(bg, scale, 0, filetest.Count(c.scaleMore)))
				}
			}
			if !c.late {
				grow()
			}
			if c.closed {
				require.NoError(t, v.Close())
			}
			op, err := "attach", d.AttachScale("/v", 0, "/time")
			if err == nil {
				if c.late {
					grow()
				}
				op, err = "commit", d.Commit(bg)
			}
			if c.want == "" {
				require.NoError(t, err)
				testutil.Python(t, []string{"h5py"}, "-c", `import h5py, sys
with h5py.File(sys.argv[1]) as f:
    assert f["v"].dims[0][0].name == "/time" and f["time"].shape == f["v"].shape[:1]`, filepath.Join(dir, "f.h5"))
				return
			}
			require.ErrorIs(t, err, ndarray.ErrShape)
			want, lengths, _ := strings.Cut(c.want, ": ")
			require.Equal(t, want, op)
			require.ErrorContains(t, err, "scale /time: "+lengths+", that of dimension 0 of /v")
			require.NoError(t, d.Close())
			require.Empty(t, filetest.Entries(t, dir))
		})
	}
}

func TestTreeDraft_Close(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.h5")
	for _, commit := range []bool{false, true} {
		d := createTree(t, file, nil)
		a, err := d.Create(bg, "/a", filetest.Int32s(3))
		require.NoError(t, err)
		if commit {
			require.NoError(t, d.Commit(bg))
		} else {
			require.NoError(t, d.Close())
			require.Empty(t, filetest.Entries(t, dir))
		}
		require.ErrorIs(t, ndarray.Write(bg, a, filetest.Count(3), ndarray.Whole(a.Shape())), ndarray.ErrClosed)
		require.ErrorIs(t, a.Close(), ndarray.ErrClosed)
		require.ErrorIs(t, d.Commit(bg), ndarray.ErrClosed)
		require.ErrorIs(t, d.CreateGroup(bg, "/g"), ndarray.ErrClosed)
		require.ErrorIs(t, d.AttachScale("/a", 0, "/a"), ndarray.ErrClosed)
		_, err = d.Create(bg, "/b", filetest.Int32s(3))
		require.ErrorIs(t, err, ndarray.ErrClosed)
	}
	require.Equal(t, []string{"f.h5"}, filetest.Entries(t, dir))
}

// TestTreeDraft_concurrent writes arrays by several goroutines, some of which write until the
// commit.
func TestTreeDraft_concurrent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.h5")
	d := createTree(t, file, nil)
	require.NoError(t, d.CreateGroup(bg, "/late"))
	var g errgroup.Group
	const n = 40
	for i := range n {
		g.Go(func() error {
			group := fmt.Sprintf("/%02d", i)
			if err := d.CreateGroup(bg, group); err != nil {
				return err
			}
			spec := filetest.Int32s(1000)
			spec.ChunkShape = []int64{100}
			a, err := d.Create(bg, group+"/chunks", spec)
			if err != nil {
				return err
			}
			for chunk := range int64(10) {
				r := ndarray.Region{Start: []int64{100 * chunk}, Shape: []int64{100}}
				if err := ndarray.Write(bg, a, filetest.Count(1000)[100*chunk:100*chunk+100], r); err != nil {
					return err
				}
			}
			if i%2 == 0 {
				err = a.Close()
			}
			return errors.Join(err, add(d, group+"/small", int64(i)))
		})
	}
	require.NoError(t, g.Wait())
	late, begun := errgroup.Group{}, sync.WaitGroup{}
	for i := range 8 {
		begun.Add(1)
		late.Go(func() error {
			for k := 0; ; k++ {
				err := add(d, fmt.Sprintf("/late/%d-%d", i, k), 50)
				if k == 0 {
					begun.Done()
				}
				if err != nil {
					return err
				}
			}
		})
	}
	begun.Wait()
	require.NoError(t, d.Commit(bg))
	require.ErrorIs(t, late.Wait(), ndarray.ErrClosed)
	for i := range n {
		filetest.RequireCount(t, fmt.Sprintf("%s:/%02d/chunks", file, i))
		filetest.RequireCount(t, fmt.Sprintf("%s:/%02d/small", file, i))
	}
}

// TestCreateTree_reproducible checks that the same calls write the same bytes.
func TestCreateTree_reproducible(t *testing.T) {
	var files [2][]byte
	for i := range files {
		file := filepath.Join(t.TempDir(), "f.h5")
		d := createTree(t, file, nil)
		require.NoError(t, d.CreateGroup(bg, "/g", ndarray.Attr{Name: "n", Value: ndarray.Scalar(1.5)}))
		require.NoError(t, add(d, "/g/x", 300))
		require.NoError(t, add(d, "/s", 300))
		require.NoError(t, d.AttachScale("/g/x", 0, "/s"))
		require.NoError(t, d.Commit(bg))
		var err error
		files[i], err = os.ReadFile(file)
		require.NoError(t, err)
	}
	require.Equal(t, files[0], files[1])
}

// BenchmarkCreateTree writes 1,000 small datasets by CreateTree and by package h5 alone.
func BenchmarkCreateTree(b *testing.B) {
	const arrays, elements = 1000, 10
	numbers := filetest.Count(elements)
	level := 4
	for _, kind := range []struct {
		name    string
		spec    ndarray.Spec
		options *h5.DatasetOptions
	}{
		{"contiguous", ndarray.Spec{Compression: &ndarray.Compression{Codec: "none"}}, nil},
		{"deflate", ndarray.Spec{ChunkShape: []int64{elements}}, &h5.DatasetOptions{ChunkShape: []int64{elements}, Shuffle: true, Deflate: &level}},
	} {
		kind.spec.Shape, kind.spec.DType = []int64{elements}, ndarray.DTypeOf[int32]()
		ways := map[string]func(file string) error{
			"CreateTree": func(file string) error {
				d, err := hyperslab.CreateTree(bg, file, nil)
				if err != nil {
					return err
				}
				for i := range arrays {
					a, err := d.Create(bg, fmt.Sprintf("/%04d", i), kind.spec)
					if err != nil {
						return err
					}
					if err := errors.Join(ndarray.Write(bg, a, numbers, ndarray.Whole(kind.spec.Shape)), a.Close()); err != nil {
						return err
					}
				}
				return d.Commit(bg)
			},
			"h5": func(file string) error {
				f, err := h5.Create(file, nil)
				if err != nil {
					return err
				}
				for i := range arrays {
					d, err := f.Root().CreateDataset(fmt.Sprintf("/%04d", i), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(elements), kind.options)
					if err != nil {
						return err
					}
					if err := errors.Join(h5value.Write(d, numbers, h5.All), d.Close()); err != nil {
						return err
					}
				}
				return f.Close()
			},
		}
		for _, name := range []string{"h5", "CreateTree"} {
			b.Run(kind.name+"/"+name, func(b *testing.B) {
				dir := b.TempDir()
				for i := range b.N {
					require.NoError(b, ways[name](filepath.Join(dir, fmt.Sprintf("%d.h5", i))))
				}
			})
		}
	}
}
