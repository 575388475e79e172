package opened_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// small limits the memory that a corrupt file can request. It decodes in the process of the test,
// because a fuzz test must observe a crash itself.
var small = hyperslab.Untrusted{InProcess: true, MaxArray: 1 << 22, MaxChunk: 1 << 20, MaxMetadata: 1 << 20, MaxCopy: 1 << 20}

// look reads the attributes and the first and last elements of an array, and all elements of a
// small array. Every error must be an *ndarray.Error.
func look(t *testing.T, g *ndarray.Array, err error) {
	t.Helper()
	typed := func(err error) {
		var e *ndarray.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error of no kind: %v", err)
		}
	}
	if typed(err); err != nil {
		return
	}
	defer func() { require.NoError(t, g.Close()) }()
	_, err = g.Attrs(bg)
	typed(err)
	if g.Meta().Null {
		return
	}
	first, last := ndarray.Whole(g.Shape()), ndarray.Whole(g.Shape())
	for i, n := range g.Shape() {
		first.Shape[i] = min(n, 3)
		last.Shape[i] = min(n, 3)
		last.Start[i] = n - last.Shape[i]
	}
	for _, r := range []ndarray.Region{first, last, ndarray.Whole(g.Shape())} {
		if r.NumElems() > 1<<16 {
			continue
		}
		if g.DType().Kind == ndarray.String {
			typed(g.ReadStrings(bg, make([]string, r.NumElems()), r))
		} else if n := r.NumElems() * int64(g.DType().Size); n <= 1<<22 {
			typed(g.Read(bg, make([]byte, n), r))
		}
	}
}

// seedSpecs returns specs of small arrays of several kinds.
func seedSpecs() map[string]ndarray.Spec {
	attrs := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}, {Name: "n", Value: ndarray.Scalar(int64(3))}}
	return map[string]ndarray.Spec{
		"chunked": {Shape: []int64{6, 5}, ChunkShape: []int64{4, 3}, DType: ndarray.DTypeOf[int32](), Attrs: attrs},
		"scalar":  {DType: ndarray.DTypeOf[int32]()},
		"empty":   {Shape: []int64{0, 3}, ChunkShape: []int64{1, 3}, DType: ndarray.DTypeOf[int32]()},
	}
}

// FuzzOpenUntrusted checks that any bytes give an error or an array that can be read.
func FuzzOpenUntrusted(f *testing.F) {
	dir := f.TempDir()
	add := func(name string) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(f, err)
		f.Add(b)
	}
	for name, spec := range seedSpecs() {
		for _, format := range []string{".b2nd", ".h5"} {
			location := filepath.Join(dir, name+format)
			if format == ".h5" {
				location += ":/x"
			}
			d, err := hyperslab.Create(bg, location, spec, nil)
			require.NoError(f, err)
			require.NoError(f, ndarray.Write(bg, d.Array, filetest.Count(d.NumElems()), ndarray.Whole(d.Shape())))
			require.NoError(f, d.Commit(bg))
			add(name + format)
		}
	}
	d, err := hyperslab.Create(bg, filepath.Join(dir, "text.h5:/x"), ndarray.Spec{Shape: []int64{3}, DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8}}, nil)
	require.NoError(f, err)
	require.NoError(f, d.WriteStrings(bg, []string{"", "b", "größer"}, ndarray.Whole([]int64{3})))
	require.NoError(f, d.Commit(bg))
	add("text.h5")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filepath.Join(dir, "frame"), Contiguous: true})
	require.NoError(f, err)
	require.NoError(f, errors.Join(s.AppendBuffer(bytes.Repeat([]byte("a frame "), 300)), s.Close()))
	add("frame")
	f.Fuzz(func(t *testing.T, b []byte) {
		object := "/x"
		if len(b) > 10 && string(b[2:10]) == "b2frame\x00" {
			object = ""
		}
		g, err := hyperslab.OpenReaderAt(bg, bytes.NewReader(b), int64(len(b)), "input", object, &hyperslab.OpenOptions{Untrusted: &small})
		look(t, g, err)
	})
}

// FuzzOpenTree does the same as FuzzOpenUntrusted with the files of a bcolz tree.
func FuzzOpenTree(f *testing.F) {
	golden := testenv.Module(f, "internal/format/bcolztree/testdata")
	names := []string{"meta/sizes", "meta/storage", "__attrs__", "data/__0.blp"}
	for _, name := range []string{"type_i4", "rows", "unicode", "attrs", "grown"} {
		var parts [4][]byte
		for i, p := range names {
			b, err := os.ReadFile(filepath.Join(golden, name, p))
			if !errors.Is(err, os.ErrNotExist) {
				require.NoError(f, err)
			}
			parts[i] = b
		}
		f.Add(parts[0], parts[1], parts[2], parts[3])
	}
	dir := filepath.Join(f.TempDir(), "tree")
	require.NoError(f, os.MkdirAll(filepath.Join(dir, "meta"), 0o777))
	require.NoError(f, os.MkdirAll(filepath.Join(dir, "data"), 0o777))
	f.Fuzz(func(t *testing.T, sizes, storage, attrs, data []byte) {
		for i, b := range [][]byte{sizes, storage, attrs, data} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, names[i]), b, 0o666))
		}
		g, err := hyperslab.Open(bg, dir, &hyperslab.OpenOptions{Untrusted: &small})
		look(t, g, err)
	})
}
