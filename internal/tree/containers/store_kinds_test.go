package containers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// kindNodes adds frames and Python objects to the arrays of a random tree.
func kindNodes(t *rapid.T, nodes []filetest.StoreNode) []filetest.StoreNode {
	for _, kind := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"frame", "packed", "objects", "batches", "lists"}), 0, 5, rapid.ID[string]).Draw(t, "kinds") {
		n := filetest.StoreNode{Key: "/k/" + kind, Type: kind}
		if rapid.Bool().Draw(t, "at the root") {
			n.Key = "/x" + kind
		}
		data := rapid.SliceOfN(rapid.Byte(), 24, 24).Draw(t, "bytes")
		n.Data = base64.StdEncoding.EncodeToString(data)
		switch kind {
		case "frame":
			n.TypeSize = 4
		case "packed":
			n.DType, n.Shape, n.TypeSize = "<i4", []int64{2, 3}, 12
		case "objects":
			n.Values = rapid.SliceOfN(objectValues(2), 0, 6).Draw(t, "objects")
		case "batches":
			for _, b := range rapid.SliceOfN(rapid.SliceOfN(objectValues(1), 1, 5), 0, 4).Draw(t, "batches") {
				n.Values = append(n.Values, b)
			}
		case "lists":
			for _, b := range rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(-9, 9), 0, 4), 0, 5).Draw(t, "lists") {
				list := []any{}
				for _, x := range b {
					list = append(list, x)
				}
				n.Values = append(n.Values, list)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// frames returns the bytes of all frames of a store that are not arrays.
func frames(t require.TestingT, file, kind string, keys []filetest.StoreNode) map[string][]byte {
	s, err := stores.Open(file, kind, stores.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	out := make(map[string][]byte)
	for _, n := range keys {
		if n.Type == "array" {
			continue
		}
		x, err := s.Object(n.Key)
		require.NoError(t, err)
		f, err := s.Frame(x)
		require.NoError(t, err)
		out[n.Key], err = io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return out
}

// TestStores_Kinds converts stores with objects of every kind to each kind of store, and compares
// the objects that python-blosc2 reads.
func TestStores_Kinds(t *testing.T) {
	peer, dir, checks, compared := filetest.StorePeer(t), testenv.Scratch(t), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 20 && !testenv.All() {
			return
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		from := rapid.SampledFrom([]string{"b2z", "b2d", "b2e"}).Draw(t, "source")
		q := filetest.StoreRequest{Op: "kinds", Kind: "tree", Path: filepath.Join(sub, "x."+from)}
		q.Threshold = rapid.SampledFrom([]int{0, 300, 1 << 20}).Draw(t, "threshold")
		q.Nodes, q.Attrs = storeTree(t)
		q.Nodes = kindNodes(t, q.Nodes)
		if from == "b2e" {
			q.Kind, q.Attrs = "embed", nil
		} else if rapid.Bool().Draw(t, "with a table") {
			n := rapid.IntRange(0, 7).Draw(t, "rows")
			q.Table = &n
		}
		peer(t, q)
		want := peer(t, filetest.StoreRequest{Op: "describe", Kind: q.Kind, Path: q.Path})
		if bytes.Contains(want.Content, []byte(`"unreadable"`)) { // by its author
			require.NoError(t, os.RemoveAll(sub))
			t.Skip("python-blosc2 cannot read its own file")
		}
		compared++
		raw := frames(t, q.Path, from, q.Nodes)
		for _, to := range []string{"b2z", "b2d", "b2e"} {
			if to == "b2e" && q.Table != nil {
				continue // the columns become arrays
			}
			target := filepath.Join(sub, "y."+to)
			o := &hyperslab.TreeOptions{}
			if to == "b2e" {
				o.Accept = func(hyperslab.Problem) bool { return true } // attributes of groups
			}
			_, err := filetest.CopyTree(bg, target, q.Path, o)
			require.NoError(t, err)
			kind := "tree"
			if to == "b2e" {
				kind = "embed"
			}
			got := peer(t, filetest.StoreRequest{Op: "describe", Kind: kind, Path: target})
			require.JSONEq(t, string(want.Content), string(got.Content), to)
			if kind == q.Kind && kind == "tree" {
				require.Equal(t, want.Attrs, got.Attrs, to)
			}
			require.Equal(t, raw, frames(t, target, to, q.Nodes), to)
			r, err := hyperslab.Verify(bg, target, nil)
			require.NoError(t, err)
			require.Empty(t, r.Findings, to)
			report, err := hyperslab.Compare(bg, filetest.OpenTree(t, q.Path, nil), filetest.OpenTree(t, target, nil), nil)
			require.NoError(t, err)
			if to != "b2e" {
				require.Empty(t, report.Differences, to)
			}
		}
		require.NoError(t, os.RemoveAll(sub))
	})
	require.Positive(t, compared)
}

// TestCopyTree_group copies random stores into a group of other ones, and compares the objects that
// python-blosc2 reads.
func TestCopyTree_group(t *testing.T) {
	peer, dir, checks, compared := filetest.StorePeer(t), testenv.Scratch(t), 0, 0
	describe := func(t require.TestingT, q filetest.StoreRequest) map[string]json.RawMessage {
		reply := peer(t, filetest.StoreRequest{Op: "describe", Kind: q.Kind, Path: q.Path})
		content := make(map[string]json.RawMessage)
		require.NoError(t, json.Unmarshal(reply.Content, &content))
		return content
	}
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 20 && !testenv.All() {
			return
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		create := func(name, kind string) filetest.StoreRequest {
			q := filetest.StoreRequest{Op: "kinds", Kind: "tree", Path: filepath.Join(sub, name+"."+kind)}
			q.Threshold = rapid.SampledFrom([]int{0, 300, 1 << 20}).Draw(t, "threshold")
			q.Nodes, q.Attrs = storeTree(t)
			q.Nodes = kindNodes(t, q.Nodes)
			if kind == "b2e" {
				q.Kind, q.Attrs = "embed", nil
			} else if rapid.Bool().Draw(t, "with a table") {
				n := rapid.IntRange(0, 7).Draw(t, "rows")
				q.Table = &n
			}
			peer(t, q)
			return q
		}
		kinds := rapid.SampledFrom([]string{"b2z", "b2d", "b2e"})
		from := create("from", kinds.Draw(t, "source"))
		kind := kinds.Draw(t, "target")
		to := create("to", kind)
		want, added := describe(t, to), describe(t, from)
		for _, all := range []map[string]json.RawMessage{want, added} {
			for _, x := range all {
				if bytes.Contains(x, []byte(`"unreadable"`)) { // by its author
					require.NoError(t, os.RemoveAll(sub))
					t.Skip("python-blosc2 cannot read its own file")
				}
			}
		}
		if kind == "b2e" && from.Table != nil { // the columns become arrays
			require.NoError(t, os.RemoveAll(sub))
			t.Skip("no tables in an EmbedStore")
		}
		const group = "/added/group"
		for key, x := range added {
			want[group+key] = x
		}
		o := &hyperslab.TreeOptions{}
		if kind == "b2e" {
			o.Accept = func(hyperslab.Problem) bool { return true } // attributes of groups
		}
		_, err = filetest.CopyTree(bg, to.Path+":"+group, from.Path, o)
		require.NoError(t, err)
		compared++
		got := describe(t, to)
		require.Len(t, got, len(want))
		for key, x := range want {
			require.JSONEq(t, string(x), string(got[key]), key)
		}
		r, err := hyperslab.Verify(bg, to.Path, nil)
		require.NoError(t, err)
		require.Empty(t, r.Findings)
		if kind != "b2e" {
			report, err := hyperslab.Compare(bg, filetest.OpenTree(t, from.Path, nil), filetest.OpenTree(t, to.Path+":"+group, nil), nil)
			require.NoError(t, err)
			require.Empty(t, report.Differences)
		}
		if kind != "b2e" || len(added) > 0 { // an EmbedStore has no empty groups
			_, err = filetest.CopyTree(bg, to.Path+":"+group, from.Path, o)
			require.ErrorIs(t, err, ndarray.ErrExists)
		}
		require.NoError(t, os.RemoveAll(sub))
	})
	require.Positive(t, compared)
}

// TestCreate_plain writes plain frames in regions, and reads them with python-blosc2.
func TestCreate_plain(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		d, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">f8", "|u1", "|S3", "<U2", "[('a', '<i4'), ('b', '>f8', (2,))]"}).Draw(t, "dtype"))
		require.NoError(t, err)
		shape := rapid.SliceOfN(rapid.Int64Range(0, 6), 0, 4).Draw(t, "shape")
		n, _ := grid.Product(shape)
		data := make([]byte, int(n)*d.Size)
		if d.Kind != ndarray.Unicode {
			copy(data, rapid.SliceOfN(rapid.Byte(), len(data), len(data)).Draw(t, "data"))
		}
		want := bytes.Clone(data)
		d.ToNative(want) // to storage order
		file := filepath.Join(dir, "x.b2frame")
		spec := ndarray.Spec{Shape: shape, DType: d, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}}
		if len(shape) > 0 {
			spec.ChunkShape = make([]int64, len(shape))
			for i := range shape {
				spec.ChunkShape[i] = rapid.Int64Range(1, 4).Draw(t, "chunk")
			}
		}
		draft, err := hyperslab.Create(bg, file, spec, &hyperslab.CreateOptions{Format: hyperslab.B2ND, Plain: true, Overwrite: true})
		require.NoError(t, err)
		require.NoError(t, draft.Write(bg, data, ndarray.Whole(shape)))
		if n > 0 && len(shape) > 0 { // a part again
			r := ndarray.Whole(shape)
			for i := range shape {
				r.Start[i] = rapid.Int64Range(0, shape[i]-1).Draw(t, "start")
				r.Shape[i] = rapid.Int64Range(1, shape[i]-r.Start[i]).Draw(t, "length")
			}
			part := make([]byte, int(r.NumElems())*d.Size)
			require.NoError(t, draft.Read(bg, part, r))
			require.NoError(t, draft.Write(bg, part, r))
		}
		require.NoError(t, draft.Commit(bg))
		for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
			a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{Untrusted: u})
			require.NoError(t, err)
			require.Equal(t, append([]int64{}, shape...), append([]int64{}, a.Shape()...))
			require.Equal(t, d.NumPy().String(), a.DType().NumPy().String())
			got := make([]byte, a.NBytes())
			require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
			require.Equal(t, data, got)
			attrs, err := a.Attrs(bg)
			require.NoError(t, err)
			filetest.RequireAttrs(t, map[string]any{"unit": "K"}, attrs)
			require.NoError(t, a.Close())
		}
		reply := peer(t, filetest.StoreRequest{Op: "tensor", Path: file}).Nodes[0]
		require.Equal(t, base64.StdEncoding.EncodeToString(want), reply.Data)
		require.Equal(t, fmt.Sprint(shape), fmt.Sprint(reply.Shape))
		require.Equal(t, map[string]any{"unit": "K"}, reply.Attrs)
		if d.Kind != ndarray.Struct {
			require.Equal(t, d.NumPy().String(), reply.DType)
		}
	})
}

func TestCreate_plainRefused(t *testing.T) {
	dir := t.TempDir()
	f8 := ndarray.DTypeOf[float64]()
	padded := ndarray.StructOf(true, ndarray.Field{Name: "a", Type: ndarray.DTypeOf[int8]()}, ndarray.Field{Name: "b", Type: f8})
	plain := func(spec ndarray.Spec, o hyperslab.CreateOptions) error {
		_, err := hyperslab.Create(bg, filepath.Join(dir, "x"), spec, &o)
		return err
	}
	o := hyperslab.CreateOptions{Format: hyperslab.B2ND, Plain: true}
	for name, spec := range map[string]ndarray.Spec{
		"maximum shape":   {Shape: []int64{3}, DType: f8, MaxShape: []int64{ndarray.Unlimited}},
		"dimension names": {Shape: []int64{3}, DType: f8, AxisNames: []string{"x"}},
		"fill value":      {Shape: []int64{3}, DType: f8, Fill: []byte{0, 0, 0, 0, 0, 0, 0, 1}},
		"null array":      {Null: true, DType: f8},
		"padding":         {Shape: []int64{3}, DType: padded},
		"long rows":       {Shape: []int64{2, 1 << 29}, DType: f8},
		"strings":         {Shape: []int64{2}, DType: ndarray.Text("").DType},
	} {
		require.ErrorIs(t, plain(spec, o), errors.ErrUnsupported, name)
	}
	spec := ndarray.Spec{Shape: []int64{3}, DType: f8}
	require.ErrorIs(t, plain(spec, hyperslab.CreateOptions{Format: hyperslab.B2ND, Plain: true, Sparse: true}), ndarray.ErrParam)
	require.ErrorIs(t, plain(spec, hyperslab.CreateOptions{Format: hyperslab.NPY, Plain: true}), ndarray.ErrParam)
	require.Empty(t, listDir(t, dir))
}

// TestCreate_stored adds arrays to stores of python-blosc2.
func TestCreate_stored(t *testing.T) {
	peer, dir := filetest.StorePeer(t), testenv.Scratch(t)
	rows := 3
	write := func(name, kind string) string {
		q := filetest.StoreRequest{Op: "kinds", Kind: kind, Path: filepath.Join(dir, name), Nodes: []filetest.StoreNode{
			{Key: "/g/a", Type: "array", DType: "<i4", Shape: []int64{1}, Data: base64.StdEncoding.EncodeToString([]byte("abcd"))},
			{Key: "/o", Type: "objects", Values: []any{1.0}},
		}}
		if kind == "tree" {
			q.Table = &rows
		}
		peer(t, q)
		return q.Path
	}
	add := func(location string, overwrite bool) error {
		d, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}, &hyperslab.CreateOptions{Overwrite: overwrite})
		if err != nil {
			return err
		}
		b := []byte{}
		for i := range 4 {
			b = binary.NativeEndian.AppendUint32(b, uint32(i+1))
		}
		require.NoError(t, d.Write(bg, b, ndarray.Whole([]int64{4})))
		return d.Commit(bg)
	}
	store := write("x.b2d", "tree")
	for _, x := range []struct {
		name, key string
		overwrite bool
		want      error
	}{
		{"new array", "/g/b", false, nil},
		{"new groups", "/new/group/b", false, nil},
		{"existing array", "/g/a", false, ndarray.ErrExists},
		{"replaced array", "/g/a", true, nil},
		{"objects", "/o", true, errors.ErrUnsupported},
		{"group", "/g", true, ndarray.ErrParam},
		{"root", "/", true, ndarray.ErrParam},
		{"below an array", "/g/a/b", false, errors.ErrUnsupported},
		{"column of a table", "/t/table/c", false, errors.ErrUnsupported},
		{"reserved name", "/g/__vlmeta__", false, errors.ErrUnsupported},
		{"parent directory", "/../b", false, errors.ErrUnsupported},
	} {
		t.Run(x.name, func(t *testing.T) {
			require.ErrorIs(t, add(store+":"+x.key, x.overwrite), x.want)
			require.NoFileExists(t, filepath.Join(dir, "b.b2nd"))
		})
	}
	var content map[string]struct {
		Shape []int64 `json:"shape"`
		Data  string  `json:"data"`
	}
	require.NoError(t, json.Unmarshal(peer(t, filetest.StoreRequest{Op: "describe", Kind: "tree", Path: store}).Content, &content))
	for _, key := range []string{"/g/b", "/new/group/b", "/g/a"} {
		data, err := base64.StdEncoding.DecodeString(content[key].Data)
		require.NoError(t, err)
		require.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}, data, key)
	}
	t.Run("file and frame", func(t *testing.T) {
		for _, file := range []string{write("x.b2z", "tree"), write("x.b2e", "embed")} {
			before, err := os.ReadFile(file)
			require.NoError(t, err)
			require.ErrorIs(t, add(file+":/b", true), errors.ErrUnsupported)
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after))
		}
		require.ErrorIs(t, add(filepath.Join(dir, "new.b2z:/a"), false), errors.ErrUnsupported)
		require.ErrorIs(t, add(filepath.Join(dir, "new.b2d:/__vlmeta__"), false), errors.ErrUnsupported)
		require.NoFileExists(t, filepath.Join(dir, "new.b2d"))
	})
	t.Run("first array", func(t *testing.T) {
		first := filepath.Join(dir, "first.b2d")
		require.NoError(t, add(first+":/new/a", false))
		require.ErrorIs(t, add(first+":/new/a", false), ndarray.ErrExists)
		require.NoError(t, add(first+":/b", false))
		clear(content)
		require.NoError(t, json.Unmarshal(peer(t, filetest.StoreRequest{Op: "describe", Kind: "tree", Path: first}).Content, &content))
		require.Len(t, content, 2)
		require.Equal(t, []int64{4}, content["/new/a"].Shape)
		require.Equal(t, content["/new/a"], content["/b"])
	})
	t.Run("discarded", func(t *testing.T) {
		d, err := hyperslab.Create(bg, store+":/discarded", ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}, nil)
		require.NoError(t, err)
		tree, err := hyperslab.OpenTree(bg, store, nil) // while the array is written
		require.NoError(t, err)
		_, err = tree.Open(bg, "/discarded")
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		require.NoError(t, tree.Close())
		require.NoError(t, d.Close())
		r, err := hyperslab.Verify(bg, store, nil)
		require.NoError(t, err)
		require.Empty(t, r.Findings)
	})
}
