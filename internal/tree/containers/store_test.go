package containers_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// storeValues are values of attributes that JSON, MessagePack and ndarray represent alike.
var storeValues = rapid.OneOf(
	rapid.Map(rapid.StringMatching(`[a-zäß ]{0,8}`), func(s string) any { return s }),
	rapid.Map(rapid.IntRange(-1000, 1000), func(n int) any { return float64(n) + 0.5 }),
	rapid.Map(rapid.Bool(), func(b bool) any { return b }),
)

// storeTree generates arrays in groups, and attributes of the groups.
func storeTree(t *rapid.T) (nodes []filetest.StoreNode, attrs map[string]map[string]any) {
	attrs = make(map[string]map[string]any)
	name := rapid.StringMatching(`[a-zA-Z0-9ä][a-z0-9 .%-]{0,5}[a-z]`)
	groups := []string{""}
	for range rapid.IntRange(0, 4).Draw(t, "groups") {
		groups = append(groups, rapid.SampledFrom(groups).Draw(t, "parent")+"/g"+name.Draw(t, "group"))
	}
	dtypes := []string{"<i4", "<f8", "|u1", ">i2", "|b1", "<U3", "|S4", "<c16", "<M8[ns]"}
	seen := make(map[string]bool)
	for range rapid.IntRange(0, 6).Draw(t, "arrays") {
		key := rapid.SampledFrom(groups).Draw(t, "in") + "/a" + name.Draw(t, "name")
		if seen[key] {
			continue
		}
		seen[key] = true
		d, err := ndarray.ParseDType(rapid.SampledFrom(dtypes).Draw(t, "dtype"))
		require.NoError(t, err)
		shape := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 3).Draw(t, "shape")
		n, _ := grid.Product(shape)
		data := make([]byte, int(n)*d.Size)
		if d.Kind != ndarray.Unicode && d.Kind != ndarray.Bool {
			copy(data, rapid.SliceOfN(rapid.Byte(), len(data), len(data)).Draw(t, "data"))
		}
		node := filetest.StoreNode{Key: key, Type: "array", DType: d.NumPy().String(), Shape: shape, Data: base64.StdEncoding.EncodeToString(data)}
		node.Attrs = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,8}`), storeValues, 0, 3).Draw(t, "attributes")
		nodes = append(nodes, node)
	}
	for _, g := range groups {
		// python-blosc2 4.14 does not list a group without arrays that are files.
		inside := func(n filetest.StoreNode) bool { return strings.HasPrefix(n.Key, g+"/") }
		if g == "" || slices.ContainsFunc(nodes, inside) {
			attrs[max(g, "/")] = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,8}`), storeValues, 0, 3).Draw(t, "attributes of "+g)
		}
	}
	return nodes, attrs
}

// requireStore compares a tree with the nodes and attributes of python-blosc2.
func requireStore(t require.TestingT, location string, u *hyperslab.Untrusted, nodes []filetest.StoreNode, attrs map[string]map[string]any) {
	tree, err := hyperslab.OpenTree(bg, location, &hyperslab.OpenOptions{Untrusted: u})
	require.NoError(t, err)
	defer func() { require.NoError(t, tree.Close()) }()
	want := make(map[string]filetest.StoreNode)
	for _, n := range nodes {
		want[n.Key] = n
	}
	arrays, listed := 0, []string{}
	for e, err := range tree.Walk(bg, nil) {
		require.NoError(t, err)
		require.NoError(t, e.Err)
		listed = append(listed, e.Path)
		switch e.Kind {
		case hyperslab.Group:
			got, err := tree.GroupAttrs(bg, e.Path)
			require.NoError(t, err)
			require.Len(t, got.List, e.Attrs)
			filetest.RequireAttrs(t, attrs[e.Path], got)
		case hyperslab.Array:
			arrays++
			n, ok := want[e.Path]
			require.True(t, ok, e.Path)
			a, err := tree.Open(bg, e.Path)
			require.NoError(t, err)
			require.Equal(t, n.DType, a.DType().NumPy().String())
			require.Len(t, a.Shape(), len(n.Shape))
			if len(n.Shape) > 0 {
				require.Equal(t, n.Shape, a.Shape())
			}
			data, err := base64.StdEncoding.DecodeString(n.Data)
			require.NoError(t, err)
			a.DType().ToNative(data)
			got := make([]byte, a.NBytes())
			require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
			require.Equal(t, data, append([]byte{}, got...))
			own, err := a.Attrs(bg)
			require.NoError(t, err)
			filetest.RequireAttrs(t, n.Attrs, own)
			require.NoError(t, a.Close())
		default:
			require.Fail(t, "entry", "%+v", e)
		}
	}
	require.Equal(t, len(want), arrays)
	for key := range attrs {
		require.Contains(t, listed, key)
	}
}

func TestStores_Read(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		q := filetest.StoreRequest{Op: "write", Kind: rapid.SampledFrom([]string{"tree", "tree", "dict", "embed"}).Draw(t, "kind")}
		ext := rapid.SampledFrom([]string{".b2z", ".b2d"}).Draw(t, "extension")
		q.Nodes, q.Attrs = storeTree(t)
		q.Threshold = rapid.SampledFrom([]int{0, 100, 1 << 20}).Draw(t, "threshold")
		switch q.Kind {
		case "embed":
			ext, q.Attrs = ".b2e", nil
		case "dict":
			q.Attrs = nil
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		q.Path = filepath.Join(sub, "x"+ext)
		peer(t, q)
		format, err := hyperslab.Sniff(q.Path)
		require.NoError(t, err)
		require.Equal(t, hyperslab.Format(ext[1:]), format)
		requireStore(t, q.Path, nil, q.Nodes, q.Attrs)
		requireStore(t, q.Path, &hyperslab.Untrusted{InProcess: true}, q.Nodes, q.Attrs)
		require.NoError(t, os.RemoveAll(sub))
	})
}

func TestStores_ReadIsolated(t *testing.T) {
	peer, dir := filetest.StorePeer(t), testenv.Scratch(t)
	nodes := []filetest.StoreNode{
		{Key: "/a", Type: "array", DType: "<i4", Shape: []int64{3}, Data: base64.StdEncoding.EncodeToString([]byte("abcdefghijkl")), Attrs: map[string]any{"unit": "K"}},
		{Key: "/g/b", Type: "array", DType: "<f8", Shape: []int64{1}, Data: base64.StdEncoding.EncodeToString([]byte("01234567"))},
	}
	attrs := map[string]map[string]any{"/": {"title": "text"}, "/g": {"n": 1.5}}
	for _, threshold := range []int{0, 1 << 20} {
		for _, ext := range []string{".b2z", ".b2d", ".b2e"} {
			t.Run(fmt.Sprint(ext, threshold), func(t *testing.T) {
				q := filetest.StoreRequest{Op: "write", Kind: "tree", Path: filepath.Join(dir, fmt.Sprint("x", threshold, ext)), Threshold: threshold, Nodes: nodes, Attrs: attrs}
				if ext == ".b2e" {
					q.Kind, q.Attrs = "embed", nil
				}
				peer(t, q)
				requireStore(t, q.Path, &hyperslab.Untrusted{}, q.Nodes, q.Attrs)
				a, err := hyperslab.Open(bg, q.Path+":/g/b", &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{}})
				require.NoError(t, err)
				filetest.RequireSandbox(t, a)
				got := make([]byte, a.NBytes())
				require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
				require.Equal(t, "01234567", string(got))
				require.NoError(t, a.Close())
			})
		}
	}
}

// writeTree writes an HDF5 file with the nodes and attributes.
func writeTree(t require.TestingT, file string, nodes []filetest.StoreNode, attrs map[string]map[string]any) {
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	valuesOf := func(attrs map[string]any) (out []ndarray.Attr) {
		for name, v := range attrs {
			a := ndarray.Attr{Name: name}
			switch v := v.(type) {
			case string:
				a.Value = ndarray.Text(v)
			case bool:
				a.Value = ndarray.Scalar(v)
			case float64:
				a.Value = ndarray.Scalar(v)
			}
			out = append(out, a)
		}
		return out
	}
	group := func(path string) *h5.Group {
		g := f.Root()
		if path != "/" {
			if there, err := f.Root().HasLink(path); err == nil && there {
				g, err = f.Root().OpenGroup(path)
				require.NoError(t, err)
			} else {
				g, err = f.Root().CreateGroup(path)
				require.NoError(t, err)
			}
		}
		return g
	}
	keys := []string{}
	for key := range attrs {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		g := group(key)
		require.NoError(t, hdf5.WriteAttrs(g, valuesOf(attrs[key])))
		if key != "/" {
			require.NoError(t, g.Close())
		}
	}
	for _, n := range nodes {
		d, err := ndarray.ParseDType(n.DType)
		require.NoError(t, err)
		b, err := hdf5.CreateIn(f, n.Key, ndarray.Spec{DType: d, Shape: n.Shape, Attrs: valuesOf(n.Attrs)}, nil)
		require.NoError(t, err)
		data, err := base64.StdEncoding.DecodeString(n.Data)
		require.NoError(t, err)
		d.ToNative(data)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, data, ndarray.Whole(n.Shape), 0))
		require.NoError(t, b.Close())
	}
	require.NoError(t, f.Close())
}

func TestStores_Write(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		nodes, attrs := storeTree(t)
		nodes = slices.DeleteFunc(nodes, func(n filetest.StoreNode) bool { return n.DType == "<U3" || n.DType == "<M8[ns]" }) // HDF5 supports neither dtype
		for key := range attrs {
			if key != "/" && !slices.ContainsFunc(nodes, func(n filetest.StoreNode) bool { return strings.HasPrefix(n.Key, key+"/") }) {
				delete(attrs, key)
			}
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		source := filepath.Join(sub, "x.h5")
		writeTree(t, source, nodes, attrs)
		target := filepath.Join(sub, "x"+rapid.SampledFrom([]string{".b2z", ".b2d"}).Draw(t, "extension"))
		stats, err := filetest.CopyTree(bg, target, source, nil)
		require.NoError(t, err)
		require.Equal(t, len(nodes), stats.Arrays)
		requireStore(t, target, nil, nodes, attrs)
		reply := peer(t, filetest.StoreRequest{Op: "read", Path: target})
		got := make(map[string]filetest.StoreNode)
		for _, n := range reply.Nodes {
			got[n.Key] = n
		}
		require.Len(t, got, len(nodes))
		for _, n := range nodes {
			p, ok := got[n.Key]
			require.True(t, ok, n.Key)
			require.Equal(t, n.DType, p.DType)
			require.Equal(t, n.Data, p.Data)
			require.Equal(t, fmt.Sprint(n.Shape), fmt.Sprint(p.Shape))
			require.Equal(t, fmt.Sprint(n.Attrs), fmt.Sprint(p.Attrs))
		}
		for key, want := range attrs {
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(reply.Attrs[key]), key)
		}
		peer(t, filetest.StoreRequest{Op: "append", Path: target, Key: "/new/array"})
		a, err := hyperslab.Open(bg, target+":/new/array", nil)
		require.NoError(t, err)
		values, err := ndarray.ReadAll[int32](bg, a)
		require.NoError(t, err)
		require.Equal(t, filetest.Count(3), values)
		require.NoError(t, a.Close())
		require.ElementsMatch(t, []string{"x.h5", filepath.Base(target)}, listDir(t, sub))
		require.NoError(t, os.RemoveAll(sub))
	})
}

func listDir(t require.TestingT, dir string) (names []string) {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// objectValues generates Python objects that JSON can represent.
func objectValues(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just(any(nil)), storeValues, rapid.Map(rapid.IntRange(-1<<40, 1<<40), func(n int) any { return float64(n) }),
	}
	if depth > 0 {
		inner := objectValues(depth - 1)
		leaves = append(leaves,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(v []any) any { return append([]any{}, v...) }),
			rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), inner, 0, 3), func(m map[string]any) any { return m }))
	}
	return rapid.OneOf(leaves...)
}

func TestStores_Objects(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		q := filetest.StoreRequest{Op: "write", Kind: "tree", Path: filepath.Join(sub, "x.b2z"), Threshold: rapid.SampledFrom([]int{0, 1 << 20}).Draw(t, "threshold")}
		objects := rapid.SliceOfN(objectValues(2), 0, 6).Draw(t, "objects")
		batches := []any{}
		for _, b := range rapid.SliceOfN(rapid.SliceOfN(objectValues(1), 1, 5), 0, 4).Draw(t, "batches") {
			batches = append(batches, b)
		}
		lists := []any{}
		for _, b := range rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(-100, 100), 0, 4), 0, 5).Draw(t, "lists") {
			list := []any{}
			for _, n := range b {
				list = append(list, float64(n))
			}
			lists = append(lists, list)
		}
		q.Nodes = []filetest.StoreNode{
			{Key: "/g/objects", Type: "objects", Values: objects}, {Key: "/g/batches", Type: "batches", Values: batches},
			{Key: "/g/lists", Type: "lists", Values: lists},
		}
		peer(t, q)
		for _, n := range q.Nodes {
			for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
				a, err := hyperslab.Open(bg, q.Path+":"+n.Key, &hyperslab.OpenOptions{Untrusted: u})
				require.NoError(t, err)
				require.Equal(t, []int64{int64(len(n.Values))}, a.Shape())
				strs := make([]string, len(n.Values))
				require.NoError(t, a.ReadStrings(bg, strs, ndarray.Whole(a.Shape())))
				for i, want := range n.Values {
					var got any
					require.NoError(t, json.Unmarshal([]byte(strs[i]), &got))
					require.Equal(t, want, got)
				}
				if len(strs) > 1 { // a region that does not start at the first element
					require.NoError(t, a.ReadStrings(bg, strs[:1], ndarray.Region{Start: []int64{int64(len(strs) - 1)}, Shape: []int64{1}}))
				}
				require.NoError(t, a.Close())
			}
		}
		r, err := hyperslab.Verify(bg, q.Path, nil)
		require.NoError(t, err)
		require.Empty(t, r.Findings)
		require.NoError(t, os.RemoveAll(sub))
	})
}

func TestStores_Packed(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		d, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">f8", "|u1", "|S3", "[('a', '<i4'), ('b', '<f8', (2,))]"}).Draw(t, "dtype"))
		require.NoError(t, err)
		shape := rapid.SliceOfN(rapid.Int64Range(1, 5), 0, 4).Draw(t, "shape")
		n, _ := grid.Product(shape)
		data := rapid.SliceOfN(rapid.Byte(), int(n)*d.Size, int(n)*d.Size).Draw(t, "data")
		q := filetest.StoreRequest{Op: "write", Kind: "tree", Path: filepath.Join(sub, "x.b2z"), Nodes: []filetest.StoreNode{
			{Key: "/a", Type: "packed", DType: d.NumPy().String(), Shape: shape, Data: base64.StdEncoding.EncodeToString(data), TypeSize: 3 * d.Size},
		}}
		peer(t, q)
		a, err := hyperslab.Open(bg, q.Path+":/a", nil)
		require.NoError(t, err)
		require.Equal(t, d.NumPy().String(), a.DType().NumPy().String())
		require.Equal(t, fmt.Sprint(shape), fmt.Sprint(a.Shape()))
		a.DType().ToNative(data)
		got := make([]byte, len(data))
		require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
		require.Equal(t, data, got)
		attrs, err := a.Attrs(bg)
		require.NoError(t, err)
		require.Empty(t, attrs)
		region := ndarray.Region{}
		for _, n := range shape {
			start := rapid.Int64Range(0, n-1).Draw(t, "start")
			region.Start = append(region.Start, start)
			region.Shape = append(region.Shape, rapid.Int64Range(1, n-start).Draw(t, "length"))
		}
		part, want := make([]byte, int(region.NumElems())*d.Size), []byte{}
		require.NoError(t, a.Read(bg, part, region))
		for i := range n { // element i is in the region
			inside, rest := true, i
			for k := len(shape) - 1; k >= 0; k-- {
				x := rest % shape[k]
				rest /= shape[k]
				inside = inside && x >= region.Start[k] && x < region.Start[k]+region.Shape[k]
			}
			if inside {
				want = append(want, data[int(i)*d.Size:][:d.Size]...)
			}
		}
		require.Equal(t, want, part)
		require.NoError(t, a.Close())
		require.NoError(t, os.RemoveAll(sub))
	})
}

type tableRequest struct {
	Op      string         `json:"op"`
	Path    string         `json:"path"`
	Key     string         `json:"key,omitempty"`
	Columns []tableColumn  `json:"columns"`
	Rows    [][]any        `json:"rows"`
	Delete  []int          `json:"delete"`
	Attrs   map[string]any `json:"attrs"`
}

type tableColumn struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// columnValues reads a column as values of the types of JSON.
func columnValues(t require.TestingT, a *ndarray.Array, kind string) (out []any) {
	n := a.Shape()[0]
	switch kind {
	case "vlstring", "utf8", "dictionary", "list":
		strs := make([]string, n)
		require.NoError(t, a.ReadStrings(bg, strs, ndarray.Whole(a.Shape())))
		for _, text := range strs {
			if kind != "list" {
				out = append(out, text)
				continue
			}
			var v any
			require.NoError(t, json.Unmarshal([]byte(text), &v))
			out = append(out, v)
		}
		return out
	}
	b := make([]byte, a.NBytes())
	require.NoError(t, a.Read(bg, b, ndarray.Whole(a.Shape())))
	d := a.DType()
	for i := range int(n) {
		x := b[i*d.Size:][:d.Size]
		switch kind {
		case "int":
			require.Equal(t, "<i8", d.String())
			out = append(out, float64(int64(binary.NativeEndian.Uint64(x))))
		case "float":
			require.Equal(t, "<f4", d.String())
			out = append(out, float64(math.Float32frombits(binary.NativeEndian.Uint32(x))))
		case "bool":
			out = append(out, x[0] != 0)
		case "bytes":
			out = append(out, strings.TrimRight(string(x), "\x00"))
		case "string":
			text := ""
			for ; len(x) > 0; x = x[4:] {
				if r := binary.NativeEndian.Uint32(x); r != 0 {
					text += string(rune(r))
				}
			}
			out = append(out, text)
		}
	}
	return out
}

func TestStores_Table(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	kinds := map[string]*rapid.Generator[any]{
		"int":   rapid.Map(rapid.IntRange(-1<<40, 1<<40), func(n int) any { return n }),
		"float": rapid.Map(rapid.IntRange(-1000, 1000), func(n int) any { return float64(n) + 0.25 }),
		"bool":  rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		"list":  rapid.Map(rapid.SliceOfN(rapid.IntRange(-9, 9), 0, 3), func(v []int) any { return append([]int{}, v...) }),
	}
	for kind, pattern := range map[string]string{"string": `[a-zä€]{0,6}`, "bytes": `[a-z]{0,4}`, "vlstring": `[a-zä ]{0,9}`, "utf8": `[a-zä€ ]{0,9}`, "dictionary": `[abä]{0,1}`} {
		kinds[kind] = rapid.Map(rapid.StringMatching(pattern), func(s string) any { return s })
	}
	names := slices.Sorted(maps.Keys(kinds))
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		q := tableRequest{Op: "table", Path: filepath.Join(sub, "x"+rapid.SampledFrom([]string{".b2z", ".b2d"}).Draw(t, "extension"))}
		if rapid.Bool().Draw(t, "inside a tree") {
			q.Key = "/g/table"
		}
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(t, "kinds") {
			q.Columns = append(q.Columns, tableColumn{fmt.Sprintf("c%d_%s", i, kind), kind})
		}
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			row := []any{}
			for _, c := range q.Columns {
				row = append(row, kinds[c.Kind].Draw(t, c.Name))
			}
			q.Rows = append(q.Rows, row)
			if rapid.Bool().Draw(t, "delete") {
				q.Delete = append(q.Delete, len(q.Rows)-1)
			}
		}
		q.Attrs = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,8}`), storeValues, 0, 2).Draw(t, "attributes")
		left := peer(t, q).Rows
		for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
			tree, err := hyperslab.OpenTree(bg, q.Path, &hyperslab.OpenOptions{Untrusted: u})
			require.NoError(t, err)
			var arrays []string
			for e, err := range tree.Walk(bg, nil) {
				require.NoError(t, err)
				require.NoError(t, e.Err)
				if e.Kind == hyperslab.Array && e.Path != "/other/array" {
					arrays = append(arrays, e.Path)
				}
			}
			require.Len(t, arrays, len(q.Columns))
			attrs, err := tree.GroupAttrs(bg, q.Key)
			require.NoError(t, err)
			filetest.RequireAttrs(t, q.Attrs, attrs)
			fixed := true
			for i, c := range q.Columns {
				a, err := tree.Open(bg, q.Key+"/"+c.Name)
				require.NoError(t, err)
				require.Equal(t, []int64{int64(len(left))}, a.Shape())
				got := columnValues(t, a, c.Kind)
				for k, row := range left {
					require.Equal(t, row.([]any)[i], got[k], c.Name)
				}
				fixed = fixed && a.DType().Kind != ndarray.String
				require.NoError(t, a.Close())
			}
			a, err := tree.Open(bg, q.Key)
			if !fixed {
				require.ErrorIs(t, err, errors.ErrUnsupported)
			} else {
				require.NoError(t, err)
				require.Equal(t, []int64{int64(len(left))}, a.Shape())
				require.Len(t, a.DType().Fields, len(q.Columns))
				b := make([]byte, a.NBytes())
				require.NoError(t, a.Read(bg, b, ndarray.Whole(a.Shape())))
				for i, f := range a.DType().Fields {
					c, err := tree.Open(bg, q.Key+"/"+f.Name)
					require.NoError(t, err)
					want := make([]byte, c.NBytes())
					require.NoError(t, c.Read(bg, want, ndarray.Whole(c.Shape())))
					for k := range left {
						require.Equal(t, want[k*f.Type.Size:][:f.Type.Size], b[k*a.DType().Size+f.Offset:][:f.Type.Size], i)
					}
					require.NoError(t, c.Close())
				}
				require.NoError(t, a.Close())
			}
			require.NoError(t, tree.Close())
		}
		require.NoError(t, os.RemoveAll(sub))
	})
}

func TestStores_Golden(t *testing.T) {
	for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}, {}} {
		tree, err := hyperslab.OpenTree(bg, testenv.Module(t, "testdata/store.b2z"), &hyperslab.OpenOptions{Untrusted: u})
		require.NoError(t, err)
		var paths []string
		for e, err := range tree.Walk(bg, nil) {
			require.NoError(t, err)
			require.NoError(t, e.Err)
			paths = append(paths, e.Path)
		}
		require.Equal(t, []string{"/", "/g", "/g/b", "/g/words", "/objects", "/small", "/table", "/table/n", "/table/word"}, paths)
		a, err := tree.Open(bg, "/table/n")
		require.NoError(t, err)
		n, err := ndarray.ReadAll[int64](bg, a)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 3, 4}, n)
		require.NoError(t, a.Close())
		a, err = tree.Open(bg, "/table/word")
		require.NoError(t, err)
		words := make([]string, 3)
		require.NoError(t, a.ReadStrings(bg, words, ndarray.Whole(a.Shape())))
		require.Equal(t, []string{"eins", "drei", "vier"}, words)
		require.NoError(t, a.Close())
		require.NoError(t, tree.Close())
	}
	r, err := hyperslab.Verify(bg, testenv.Module(t, "testdata/store.b2z"), nil)
	require.NoError(t, err)
	require.Empty(t, r.Findings)
}

// TestStores_Hostile opens each attack as a trusted file and in both isolations. Verify must report
// it, and must not write digests for a corrupt file.
func TestStores_Hostile(t *testing.T) {
	golden, err := os.ReadFile(testenv.Module(t, "testdata/store.b2z"))
	require.NoError(t, err)
	attacks, err := storeattack.All(golden)
	require.NoError(t, err)
	require.Greater(t, len(attacks), 60)
	read := func(location, object string, u *hyperslab.Untrusted) error {
		o := &hyperslab.OpenOptions{Untrusted: u}
		if object == "" {
			_, err := hyperslab.OpenTree(bg, location, o)
			return err
		}
		a, err := hyperslab.Open(bg, location+":"+object, o)
		if err != nil {
			return err
		}
		defer func() { require.NoError(t, a.Close()) }()
		return a.ReadStrings(bg, make([]string, a.NumElems()), ndarray.Whole(a.Shape()))
	}
	for i, x := range attacks {
		t.Run(x.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x"+x.Ext)
			for name, b := range x.Files {
				at := filepath.Join(file, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
				require.NoError(t, os.WriteFile(at, b, 0o644))
			}
			for name, target := range x.Links {
				require.NoError(t, os.Symlink(target, filepath.Join(file, name)))
			}
			all := []*hyperslab.Untrusted{nil, {InProcess: true}}
			if i%4 == 0 || testenv.All() {
				all = append(all, &hyperslab.Untrusted{})
			}
			for _, u := range all {
				require.ErrorIs(t, read(file, x.Object, u), x.Want)
			}
			r, err := hyperslab.Verify(bg, file, &hyperslab.VerifyOptions{WriteDigests: true})
			if err == nil {
				require.NotZero(t, r.NumFindings+r.NumUnchecked)
				if r.NumFindings > 0 {
					require.NoFileExists(t, file+".sha256")
				}
			}
		})
	}
}
