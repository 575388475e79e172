package treecopy_test

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// randomColumn is a column of random values.
type randomColumn struct {
	name   string
	dtype  ndarray.DType
	data   []byte   // native byte order
	strs   []string // of a column of strings
	values []any    // as JSON represents them
}

// column generates a column of a type.
func column(t *rapid.T, name, dtype string, rows int) *randomColumn {
	c := &randomColumn{name: name, values: []any{}}
	if dtype == "string" {
		c.dtype = ndarray.Text("").DType
		c.strs = rapid.SliceOfN(rapid.StringMatching(`[a-zä€]{0,6}`), rows, rows).Draw(t, name)
		for _, text := range c.strs {
			c.values = append(c.values, text)
		}
		return c
	}
	var err error
	c.dtype, err = ndarray.ParseDType(dtype)
	require.NoError(t, err)
	for range rows {
		c.values = append(c.values, c.append(t, c.dtype))
	}
	return c
}

// append appends a random element to the data, and returns its value.
func (c *randomColumn) append(t *rapid.T, d ndarray.DType) any {
	if d.Kind == ndarray.SubArray {
		list := []any{}
		for range d.Dims[0] {
			if len(d.Dims) == 1 {
				list = append(list, c.append(t, *d.Base))
				continue
			}
			list = append(list, c.append(t, ndarray.SubArrayOf(*d.Base, d.Dims[1:]...)))
		}
		return list
	}
	n := rapid.Uint8Range(0, 100).Draw(t, c.name)
	start := len(c.data)
	c.data = append(c.data, make([]byte, d.Size)...)
	b := c.data[start:]
	number := float64(n)
	switch d.Kind {
	case ndarray.Bool:
		b[0] = n & 1
		return n&1 == 1
	case ndarray.Bytes:
		copy(b, strings.Repeat("x", int(n)%(d.Size+1)))
		return strings.TrimRight(string(b), "\x00")
	case ndarray.Unicode:
		text := ""
		for i := range int(n) % (d.Size/4 + 1) {
			binary.NativeEndian.PutUint32(b[4*i:], 'ä')
			text += "ä"
		}
		return text
	case ndarray.Float, ndarray.Complex:
		size := d.Size
		if d.Kind == ndarray.Complex {
			size /= 2
		}
		if size == 4 {
			binary.NativeEndian.PutUint32(b, math.Float32bits(float32(n)))
		} else {
			binary.NativeEndian.PutUint64(b, math.Float64bits(number))
		}
		if d.Kind == ndarray.Complex {
			return []any{number, 0.0}
		}
		return number
	}
	switch d.Size {
	case 1:
		b[0] = n
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(n))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(n))
	case 8:
		binary.NativeEndian.PutUint64(b, uint64(n))
	}
	return number
}

// writeColumns writes a source of a table: a directory of arrays, a group of an HDF5 file, or an
// array of structures in HDF5 or bcolz. It returns its location.
func writeColumns(t require.TestingT, dir, kind string, columns []*randomColumn, attr string) string {
	rows := int64(len(columns[0].values))
	attrs := []ndarray.Attr{{Name: "title", Value: ndarray.Text(attr)}}
	switch kind {
	case "group":
		file := filepath.Join(dir, "x.h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		g, err := f.Root().CreateGroup("g")
		require.NoError(t, err)
		require.NoError(t, hdf5.WriteAttrs(g, attrs))
		require.NoError(t, g.Close())
		for _, c := range columns {
			b, err := hdf5.CreateIn(f, "/g/"+c.name, ndarray.Spec{DType: c.dtype, Shape: []int64{rows}}, nil)
			require.NoError(t, err)
			if c.strs != nil && rows > 0 {
				require.NoError(t, b.(ndarray.StringWriter).WriteStrings(bg, c.strs, ndarray.Whole([]int64{rows})))
			} else if rows > 0 {
				require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, c.data, ndarray.Whole([]int64{rows}), 0))
			}
			require.NoError(t, b.Close())
		}
		require.NoError(t, f.Close())
		return file + ":/g"
	}
	var fields []ndarray.Field
	for _, c := range columns {
		fields = append(fields, ndarray.Field{Name: c.name, Type: c.dtype})
	}
	d := ndarray.StructOf(false, fields...)
	data := make([]byte, int(rows)*d.Size)
	for i, f := range d.Fields {
		for k := range int(rows) {
			copy(data[k*d.Size+f.Offset:], columns[i].data[k*f.Type.Size:][:f.Type.Size])
		}
	}
	location := filepath.Join(dir, "x."+kind)
	if kind == "h5" {
		location += ":/t"
	}
	draft, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{rows}, DType: d, Attrs: attrs}, nil)
	require.NoError(t, err)
	require.NoError(t, draft.Write(bg, data, ndarray.Whole([]int64{rows})))
	require.NoError(t, draft.Commit(bg))
	return location
}

func TestCopyTree_ctable(t *testing.T) {
	peer, dir, checks := filetest.StorePeer(t), testenv.Scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 40 && !testenv.All() {
			return
		}
		kind := rapid.SampledFrom([]string{"group", "h5", "bcolz"}).Draw(t, "source")
		types := []string{"<i4", ">i2", "|u1", "<u8", "<f8", ">f4", "|b1", "|S3"}
		switch kind {
		case "group":
			types = append(types, "<c8", "string")
		case "h5":
			types = append(types, "<c8", "('<i2', (2, 3))")
		case "bcolz":
			types = append(types, "('<i2', (2, 3))", "<U2", "<M8[us]")
		}
		pattern := `[a-zA-Z][a-z .ä%]{0,4}z`
		if kind == "bcolz" {
			pattern = `[a-z][a-z]{0,4}z`
		}
		rows := rapid.IntRange(0, 9).Draw(t, "rows")
		var columns []*randomColumn
		for i := range rapid.IntRange(1, 5).Draw(t, "columns") {
			name := fmt.Sprintf("%s%d", rapid.StringMatching(pattern).Draw(t, "name"), i)
			columns = append(columns, column(t, name, rapid.SampledFrom(types).Draw(t, "type"), rows))
		}
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		source := writeColumns(t, sub, kind, columns, "värde")
		target := filepath.Join(sub, "t"+rapid.SampledFrom([]string{".b2z", ".b2d"}).Draw(t, "extension"))
		stats, err := filetest.CopyTree(bg, target, source, &hyperslab.TreeOptions{Table: true})
		require.NoError(t, err)
		require.Equal(t, len(columns), stats.Arrays)

		tree, err := hyperslab.OpenTree(bg, target, nil)
		require.NoError(t, err)
		attrs, err := tree.GroupAttrs(bg, "/")
		require.NoError(t, err)
		filetest.RequireAttrs(t, map[string]any{"title": "värde"}, attrs)
		keys := strings.NewReplacer("%", "%25", ".", "%2E")
		for _, c := range columns {
			a, err := tree.Open(bg, "/"+keys.Replace(c.name))
			require.NoError(t, err)
			require.Equal(t, int64(rows), a.Shape()[0])
			if c.strs != nil {
				strs := make([]string, rows)
				require.NoError(t, a.ReadStrings(bg, strs, ndarray.Whole(a.Shape())))
				require.Equal(t, append([]string{}, c.strs...), strs)
			} else {
				b := make([]byte, a.NBytes())
				require.NoError(t, a.Read(bg, b, ndarray.Whole(a.Shape())))
				require.Equal(t, append([]byte{}, c.data...), b)
			}
			require.NoError(t, a.Close())
		}
		require.NoError(t, tree.Close())
		r, err := hyperslab.Verify(bg, target, nil)
		require.NoError(t, err)
		require.Empty(t, r.Findings)

		reply := peer(t, filetest.StoreRequest{Op: "rows", Path: target})
		require.Equal(t, map[string]any{"title": "värde"}, reply.Attrs["/"])
		require.Len(t, reply.Rows, rows)
		for _, c := range columns {
			at := slices.Index(reply.Names, strings.ReplaceAll(c.name, ".", `\.`))
			require.GreaterOrEqual(t, at, 0, c.name)
			for k, row := range reply.Rows {
				require.Equal(t, c.values[k], row.([]any)[at], c.name)
			}
		}
		require.NoError(t, os.RemoveAll(sub))
	})
}

func TestCopyTree_ctableRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, specs map[string]ndarray.Spec) string {
		file := filepath.Join(dir, name+".h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		for key, spec := range specs {
			b, err := hdf5.CreateIn(f, key, spec, nil)
			require.NoError(t, err)
			require.NoError(t, b.Close())
		}
		require.NoError(t, f.Close())
		return file
	}
	f8 := ndarray.DTypeOf[float64]()
	half, err := ndarray.ParseDType("<f2")
	require.NoError(t, err)
	for name, specs := range map[string]map[string]ndarray.Spec{
		"lengths":    {"/a": {DType: f8, Shape: []int64{3}}, "/b": {DType: f8, Shape: []int64{4}}},
		"scalar":     {"/a": {DType: f8, Shape: []int64{}}},
		"group":      {"/g/a": {DType: f8, Shape: []int64{3}}},
		"underscore": {"/_a": {DType: f8, Shape: []int64{3}}},
		"half":       {"/a": {DType: half, Shape: []int64{3}}},
		"structures": {"/a": {DType: ndarray.StructOf(false, ndarray.Field{Name: "x", Type: f8}), Shape: []int64{3}}},
		"strings":    {"/a": {DType: ndarray.Text("").DType, Shape: []int64{3, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(dir, name+".b2z")
			stats, err := filetest.CopyTree(bg, target, write(name, specs), &hyperslab.TreeOptions{Table: true})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NotEmpty(t, stats.Refused)
			require.NoFileExists(t, target)
		})
	}
	file := write("x", map[string]ndarray.Spec{"/a": {DType: f8, Shape: []int64{3}}})
	for _, target := range []string{"x.h5", "x", "x.b2e"} {
		_, err := filetest.CopyTree(bg, filepath.Join(dir, "new", target), file, &hyperslab.TreeOptions{Table: true})
		require.ErrorIs(t, err, ndarray.ErrParam)
	}
	_, err = filetest.CopyTree(bg, filepath.Join(dir, "y.b2z"), file, &hyperslab.TreeOptions{Format: hyperslab.HDF5})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = filetest.CopyTree(bg, filepath.Join(dir, "y.b2z"), file+":/a", &hyperslab.TreeOptions{Table: true})
	require.ErrorIs(t, err, errors.ErrUnsupported, "an array of numbers")
}
