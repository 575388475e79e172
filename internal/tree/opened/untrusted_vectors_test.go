package opened_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// vector is a file with one invalid field, which must be found before a library reads it.
type vector struct {
	name, location string
	want           error
}

// hdf5Vectors returns HDF5 files with one changed field each: sizes, ranks, loops, datatypes whose
// size differs from their content, and filters of plugins.
func hdf5Vectors(t *testing.T, dir string) (all []vector) {
	level := 1
	name := filepath.Join(dir, "sound.h5")
	f, err := h5.Create(name, nil)
	require.NoError(t, err)
	i4, space := h5.Int(4, h5.LittleEndian), h5.SimpleSpace(30, 20)
	d, err := f.Root().CreateDataset("x", i4, space, &h5.DatasetOptions{ChunkShape: []int64{7, 20}, Deflate: &level})
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion(make([]byte, 2400), i4, space.All()))
	s, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(s, []string{"a", "b"}, h5.SimpleSpace(2).All()))
	require.NoError(t, f.Close())
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	g, err := hyperslab.Open(bg, name+":/x", &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}})
	require.NoError(t, err)
	require.NoError(t, g.Close())
	tree := h5file.Describe(bytes.NewReader(whole), int64(len(whole)))
	// find returns the offset of the first field with the given name and value or meaning.
	find := func(field, value string) int64 {
		for _, x := range tree.Walk() {
			if x.Name == field && (value == "" || x.Value == value || x.Meaning == value) {
				return x.Offset
			}
		}
		t.Fatalf("no %s %s", field, value)
		return 0
	}
	for _, v := range []struct {
		name   string
		want   error
		change func(b []byte)
	}{
		{"rank", ndarray.ErrCorrupt, func(b []byte) { b[find("dimensionality", "2")] = 200 }},
		{"size of a type", ndarray.ErrCorrupt, func(b []byte) { b[find("class and version", "version 1, integer")+4]++ }},
		{"size of a sequence", ndarray.ErrCorrupt, func(b []byte) { b[find("class and version", "version 1, variable-length")+4]-- }},
		{"size of a chunk", ndarray.ErrCorrupt, func(b []byte) { binary.LittleEndian.PutUint32(b[find("size of chunk", ""):], 1<<30) }},
		{"loop", ndarray.ErrCorrupt, func(b []byte) {
			at := find("node type", "1") - 4 // the chunk B-tree points to itself
			b[at+5]++
			binary.LittleEndian.PutUint64(b[find("child address", ""):], uint64(at))
			for _, x := range tree.Walk() {
				if x.Name == "child address" && x.Offset > at {
					binary.LittleEndian.PutUint64(b[x.Offset:], uint64(at))
				}
			}
		}},
		{"filter of a plugin", errors.ErrUnsupported, func(b []byte) {
			binary.LittleEndian.PutUint16(b[find("filter identification value", "deflate"):], 32099)
		}},
		{"end of the file", ndarray.ErrCorrupt, func(b []byte) { b[find("end of file address", "")+3] = 1 }},
	} {
		b := bytes.Clone(whole)
		v.change(b)
		file := filepath.Join(dir, v.name+".h5")
		require.NoError(t, os.WriteFile(file, b, 0o600))
		all = append(all, vector{"HDF5, " + v.name, file + ":/x", v.want})
	}
	return all
}

// frameVectors returns corrupt b2nd files and a corrupt sparse frame.
func frameVectors(t *testing.T, dir string) (all []vector) {
	spec := ndarray.Spec{Shape: []int64{30, 20}, ChunkShape: []int64{7, 20}, DType: ndarray.DTypeOf[int32]()}
	filetest.Save(t, filetest.In(dir, "sound.b2nd"), spec, nil)
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), spec, &hyperslab.CreateOptions{Sparse: true})
	whole, err := os.ReadFile(filetest.In(dir, "sound.b2nd"))
	require.NoError(t, err)
	shape := bytes.Index(whole, []byte{2, 0x92, 0xD3}) // the rank, then an array of two numbers
	require.Positive(t, shape)
	for _, v := range []struct {
		name   string
		want   error
		change func(b []byte) []byte
	}{
		{"rank", format.ErrLimit, func(b []byte) []byte { b[shape] = 100; return b }},
		{"negative shape", ndarray.ErrCorrupt, func(b []byte) []byte { b[shape+3] = 0xFF; return b }},
		{"more elements than chunks", ndarray.ErrCorrupt, func(b []byte) []byte { b[shape+10] += 8; return b }},
		{"length", ndarray.ErrCorrupt, func(b []byte) []byte { b[16+8]++; return b }},
		{"cut", ndarray.ErrCorrupt, func(b []byte) []byte { return b[:len(b)/2] }},
	} {
		file := filetest.In(dir, v.name+".b2nd")
		require.NoError(t, os.WriteFile(file, v.change(bytes.Clone(whole)), 0o600))
		all = append(all, vector{"frame, " + v.name, file, v.want})
	}
	chunk := filetest.In(dir, "sparse.b2nd/00000001.chunk")
	b, err := os.ReadFile(chunk)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(chunk, b[:len(b)-5], 0o600))
	return append(all, vector{"sparse frame, a chunk is cut", filetest.In(dir, "sparse.b2nd"), ndarray.ErrCorrupt})
}

// treeVectors returns bcolz trees with one changed metadata field each.
func treeVectors(t *testing.T, dir string) (all []vector) {
	for _, v := range []struct {
		name, file, old, new string
		want                 error
	}{
		{"more elements than chunks", "meta/sizes", "[600]", "[60000]", ndarray.ErrCorrupt},
		{"negative shape", "meta/sizes", "[600]", "[-600]", ndarray.ErrCorrupt},
		{"rank", "meta/sizes", "[600]", "[600" + string(bytes.Repeat([]byte(",1"), 40)) + "]", errors.ErrUnsupported},
		{"long chunks", "meta/storage", `"chunklen": 100`, `"chunklen": 1000000000`, format.ErrLimit},
		{"objects", "meta/storage", `"int32"`, `"|O"`, ndarray.ErrType},
		{"size of the type", "meta/storage", `"int32"`, `"int64"`, ndarray.ErrCorrupt},
		{"unknown type", "meta/storage", `"int32"`, `"<q9"`, errors.ErrUnsupported},
	} {
		root := filetest.In(dir, v.name+".bcolz")
		filetest.Save(t, root, ndarray.Spec{Shape: []int64{600}, ChunkShape: []int64{100}, DType: ndarray.DTypeOf[int32]()}, nil)
		b, err := os.ReadFile(filepath.Join(root, v.file))
		require.NoError(t, err)
		require.Contains(t, string(b), v.old, "%s", b)
		require.NoError(t, os.WriteFile(filepath.Join(root, v.file), bytes.Replace(b, []byte(v.old), []byte(v.new), 1), 0o600))
		all = append(all, vector{"bcolz, " + v.name, root, v.want})
	}
	return all
}

// TestUntrustedVectors checks that each vector is refused before a library reads it. A bcolz tree
// may instead be refused when its chunks are read.
func TestUntrustedVectors(t *testing.T) {
	dir := t.TempDir()
	vectors := append(append(hdf5Vectors(t, dir), frameVectors(t, dir)...), treeVectors(t, dir)...)
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		u.MaxChunk = 1 << 20
		for _, v := range vectors {
			g, err := hyperslab.Open(bg, v.location, &hyperslab.OpenOptions{Untrusted: &u})
			if err == nil {
				err = g.Read(bg, make([]byte, g.NBytes()), ndarray.Whole(g.Shape()))
				require.NoError(t, g.Close())
				assert.Contains(t, v.name, "bcolz", "opened: %s", v.name)
			}
			assert.ErrorIs(t, err, v.want, v.name)
			var e *ndarray.Error
			assert.ErrorAs(t, err, &e, v.name)
		}
	})
}
