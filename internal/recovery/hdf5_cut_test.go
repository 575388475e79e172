// Tests of truncated files. They count the chunks that the remaining bytes contain and the
// remaining indexes refer to. The new file must contain all of them.

package recovery_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// pointer is an address in an index. A truncated file contains it if the file has at least end
// bytes.
type pointer struct {
	end   int64
	index *index
}

// index is a structure of the whole file that refers to chunks.
type index struct {
	at, end int64
	name    string
	block   *index // that contains the page
}

// chart contains the structures of a whole file and the references between them. It uses only
// results of package internal/format/h5file for the whole file, and none for a corrupt file.
type chart struct {
	whole    []byte
	base     int64
	pointers map[string][]pointer // by address
	indexes  map[int64]*index     // by offset
	datasets []*h5file.Object
	paths    map[h5file.Addr]string
	file     *h5file.File
}

// leading are the index fields that refer to chunks or other structures.
var leading = map[string]bool{
	"child address": true, "address": true, "child node pointer": true, "root node address": true,
	"data block address": true, "secondary block address": true, "index block address": true,
}

var indexes = []string{"v1 B-tree node", "v2 B-tree ", "fixed array ", "extensible array "}

func chartOf(b []byte) (*chart, error) {
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return nil, err
	}
	c := &chart{whole: b, base: f.UserBlock(), file: f, pointers: map[string][]pointer{}, indexes: map[int64]*index{}, paths: map[h5file.Addr]string{}}
	var block *index
	err = h5file.Structures(bytes.NewReader(b), int64(len(b)), func(s format.Field) {
		for _, name := range indexes {
			if !strings.HasPrefix(s.Name, name) {
				continue
			}
			x := &index{at: s.Offset, end: s.Offset + s.Length, name: s.Name}
			if strings.HasSuffix(s.Name, "page") {
				x.block = block
			} else if strings.HasSuffix(s.Name, "data block") {
				block = x
			}
			c.indexes[x.at] = x
			for _, top := range s.Fields {
				c.lead(x, top.Offset+top.Length, top)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for e, err := range f.Walk() {
		if err != nil {
			return nil, err
		}
		if e.Object != nil && e.Object.Kind() == h5file.DatasetKind {
			c.datasets = append(c.datasets, e.Object)
			c.paths[e.Object.Addr] = e.Path
		}
	}
	return c, nil
}

func (c *chart) lead(x *index, end int64, f format.Field) {
	if leading[f.Name] && f.Value != "undefined" {
		c.pointers[f.Value] = append(c.pointers[f.Value], pointer{end, x})
	}
	for _, g := range f.Fields {
		c.lead(x, end, g)
	}
}

// header reports whether the first n bytes contain everything that the dataset o needs.
func (c *chart) header(o *h5file.Object, n int64) bool {
	at := int64(o.Addr) + c.base
	// It may be in a cache image.
	if at+24 > n || c.whole[at] != 1 && string(c.whole[at:at+4]) != "OHDR" {
		return false
	}
	for _, t := range []h5file.MessageType{h5file.DataspaceType, h5file.DatatypeType, h5file.LayoutType, h5file.PipelineType, h5file.ExternalFilesType} {
		if m := o.Message(t); m != nil && (m.Offset+int64(m.Size) > n || m.Flags&h5file.Shared != 0 || m.Chunk != 0) {
			return false // shared messages are not followed here
		}
	}
	// A header with a checksum is recognized by its checksum, which must be inside the file.
	first := o.Pieces[0]
	return o.Version == 1 || int64(first.Addr)+c.base+first.Size <= n
}

// known reports whether the first n bytes of the file contain a reference to the structure or chunk
// at an address of the dataset o.
func (c *chart) known(o *h5file.Object, a h5file.Addr, n int64) bool {
	if a == o.Layout().Addr {
		return true
	}
	for _, p := range c.pointers[a.String()] {
		if p.end <= n && c.reached(o, p.index, n) {
			return true
		}
	}
	return false
}

func (c *chart) reached(o *h5file.Object, x *index, n int64) bool {
	if x.block != nil {
		return x.block.end <= n && c.reached(o, x.block, n)
	}
	if strings.HasSuffix(x.name, "header") && x.end > n {
		return false
	}
	return c.known(o, h5file.Addr(x.at-c.base), n)
}

// plainType reports whether elements contain no references to other data.
func plainType(d *h5file.Datatype) bool {
	if d == nil || d.Class == h5file.VLenClass || d.Class == h5file.ReferenceClass || d.Base != nil && !plainType(d.Base) {
		return false
	}
	for _, m := range d.Members {
		if !plainType(m.Type) {
			return false
		}
	}
	return true
}

// spot identifies a chunk by its offset in the dataset and its bytes.
type spot struct {
	offset string
	bytes  string
}

// addSpots counts the chunks of a dataset. Chunks are decoded if this module implements the
// filters.
func addSpots(b []byte, base int64, o *h5file.Object, list []h5file.Chunk, spots map[spot]int, by int) {
	var filters []h5.Filter
	if p := o.Pipeline(); p != nil {
		for _, f := range p.Filters {
			filters = append(filters, h5.Filter{ID: int(f.ID), Values: f.Values})
		}
	}
	size, _ := o.Layout().ChunkBytes()
	for _, c := range list {
		at := int64(c.Addr) + base
		raw := b[at : at+int64(c.Size)]
		if p, err := filter.New(filters, filter.Options{}); err == nil && len(filters) > 0 {
			values := make([]byte, size)
			if p.Decode(values, raw, c.Mask) == nil {
				raw = values
			}
		}
		spots[spot{fmt.Sprint(c.Offset), string(raw)}] += by
	}
}

// remains counts the chunks, and the bytes of contiguous elements, that can be recovered.
type remains struct{ datasets, chunks, elements int64 }

// requireCut recovers the first n bytes of a file. It requires that the new file contains
// everything these bytes refer to.
func requireCut(t *testing.T, c *chart, whole []byte, n int64) (had remains) {
	t.Helper()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "cut.h5"), filepath.Join(dir, "new.h5")
	require.NoError(t, os.WriteFile(src, whole[:n], 0o600))
	r, err := recovery.Recover(context.Background(), dst, src, nil)
	if err != nil {
		require.ErrorIs(t, err, ndarray.ErrCorrupt, "cut at %d", n)
		require.NoFileExists(t, dst)
	}
	missing := map[spot]int{}
	type rows struct {
		o     *h5file.Object
		bytes int64
	}
	var contiguous []rows
	for _, o := range c.datasets {
		l := o.Layout()
		if !c.header(o, n) || !plainType(o.Datatype()) || o.ExternalFiles() != nil || o.Dataspace() == nil {
			continue
		}
		had.datasets++
		switch l.Class {
		case h5file.Contiguous:
			count, _ := o.Dataspace().Elements()
			size := int64(o.Datatype().Size)
			at := int64(l.Addr) + c.base
			if there := min((n-at)/size, int64(count)); l.Addr.Defined() && at < n && there > 0 {
				contiguous = append(contiguous, rows{o, there * size})
				had.elements += there
			}
		case h5file.Chunked:
			var list []h5file.Chunk
			for x, err := range o.Chunks() {
				require.NoError(t, err)
				inside := int64(x.Addr)+c.base+int64(x.Size) <= n
				for i, first := range x.Offset {
					inside = inside && first < o.Dataspace().Dims[i]
				}
				if inside && c.known(o, x.Addr, n) {
					list = append(list, x)
				}
			}
			addSpots(whole, c.base, o, list, missing, 1)
			had.chunks += int64(len(list))
		}
	}
	if err != nil {
		require.Zero(t, had, "cut at %d of %d: %v", n, len(whole), err)
		return had
	}
	if n < int64(len(whole)) {
		_ = r
	}
	b, err := os.ReadFile(dst)
	require.NoError(t, err)
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	for e, err := range f.Walk() {
		require.NoError(t, err)
		if e.Object == nil || e.Object.Kind() != h5file.DatasetKind || e.Object.Layout().Class != h5file.Chunked {
			continue
		}
		addSpots(b, f.UserBlock(), e.Object, chunksOf(t, e.Object), missing, -1)
	}
	for s, k := range missing {
		require.LessOrEqual(t, k, 0, "cut at %d of %d: a chunk at %s of %d bytes, %v", n, len(whole), s.offset, len(s.bytes), r.Findings)
	}
	if len(contiguous) == 0 {
		return had
	}
	regained := plainElements(t, dst)
	for _, x := range contiguous {
		at := int64(x.o.Layout().Addr) + c.base
		count, _ := x.o.Dataspace().Elements()
		found := slices.ContainsFunc(regained, func(got []byte) bool {
			return len(got) == int(count)*int(x.o.Datatype().Size) && bytes.Equal(whole[at:at+x.bytes], got[:x.bytes])
		})
		require.True(t, found, "cut at %d of %d: %d bytes of %s, %v", n, len(whole), x.bytes, c.paths[x.o.Addr], r.Findings)
	}
	return had
}

// plainElements returns the elements of each dataset of a file whose type contains no references.
func plainElements(t *testing.T, file string) (list [][]byte) {
	t.Helper()
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for o, err := range f.Root().Visit() {
		require.NoError(t, err)
		if o.Kind != h5.DatasetObject {
			continue
		}
		d, err := f.Root().OpenDataset(o.Path)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if size := info.Space.NumElems() * int64(info.Datatype.Size); info.Datatype.Plain() && size < 1<<24 {
			b := make([]byte, size)
			// An unavailable filter is an error.
			if err := d.ReadRegion(b, info.Datatype, info.Space.All()); err == nil {
				list = append(list, b)
			}
		}
		require.NoError(t, d.Close())
	}
	return list
}

// TestCutFiles checks truncated real files.
func TestCutFiles(t *testing.T) {
	var all []string
	for _, dir := range []string{testenv.Directory(t, testenv.HDF5Source), testenv.Directory(t, testenv.Corpus)} {
		require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".h5") && !strings.Contains(p, "hostile") {
				all = append(all, p)
			}
			return err
		}))
	}
	random := rand.New(rand.NewPCG(1, 2))
	files, sum := 0, remains{}
	for i, p := range all {
		if !testenv.All() && i%4 != 0 {
			continue // "make crash" tests all files
		}
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		if len(b) > 1<<20 {
			continue
		}
		c, err := chartOf(b)
		if err != nil || len(c.datasets) == 0 || c.file.Driver() != nil {
			continue
		}
		files++
		size := int64(len(b))
		cuts := []int64{size / 4, size / 2, size * 3 / 4, random.Int64N(size), random.Int64N(size)}
		t.Run(filepath.Base(p), func(t *testing.T) {
			for _, n := range cuts {
				had := requireCut(t, c, b, n)
				sum.datasets += had.datasets
				sum.chunks += had.chunks
				sum.elements += had.elements
			}
		})
	}
	t.Logf("%d files, five cuts each: %d datasets, %d chunks, %d contiguous elements that the rest describes, all recovered", files, sum.datasets, sum.chunks, sum.elements)
	require.Greater(t, sum.chunks, int64(200))
}

// indexed writes a file with a dataset of 64-bit integers for each kind of index. If each has a
// hundred chunks, the indexes have several nodes.
func indexed(t testing.TB, low h5.LibVer, rows, columns int64) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	level := 1
	for name, c := range map[string]struct {
		space h5.Dataspace
		o     h5.DatasetOptions
	}{
		"fixed":    {h5.SimpleSpace(rows, columns), h5.DatasetOptions{Deflate: &level}},
		"implicit": {h5.SimpleSpace(rows, columns), h5.DatasetOptions{Alloc: h5.AllocEarly}},
		"grows":    {h5.Dataspace{Kind: h5.Simple, Dims: []int64{rows, columns}, MaxDims: []int64{h5.Unlimited, columns}}, h5.DatasetOptions{Deflate: &level, Fletcher32: true}},
		"both":     {h5.Dataspace{Kind: h5.Simple, Dims: []int64{rows, columns}, MaxDims: []int64{h5.Unlimited, h5.Unlimited}}, h5.DatasetOptions{Fletcher32: true}},
		"single":   {h5.SimpleSpace(2, 3), h5.DatasetOptions{Deflate: &level}},
		"whole":    {h5.SimpleSpace(rows, columns), h5.DatasetOptions{}},
	} {
		if name != "whole" {
			c.o.ChunkShape = []int64{2, 1}
		}
		if name == "single" {
			c.o.ChunkShape = []int64{2, 3}
		}
		d, err := f.Root().CreateDataset(name, h5.Int(8, h5.LittleEndian), c.space, &c.o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, squares(int(c.space.NumElems())), c.space.All()))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// TestCutIndexes truncates a file at many offsets. For each kind of index, all chunks that the
// remaining bytes refer to must be recovered.
func TestCutIndexes(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			b := indexed(t, low, 40, 36)
			c, err := chartOf(b)
			require.NoError(t, err)
			require.Len(t, c.datasets, 6)
			random := rand.New(rand.NewPCG(3, 4))
			cuts := []int64{int64(len(b)) - 1}
			for i := range int64(12) {
				cuts = append(cuts, int64(len(b))*i/12+random.Int64N(int64(len(b))/12))
			}
			chunks := int64(0)
			for _, n := range cuts {
				chunks += requireCut(t, c, b, n).chunks
			}
			require.Greater(t, chunks, int64(1000))
			t.Logf("%d bytes, %d cuts: %d chunks, all recovered", len(b), len(cuts), chunks)
		})
	}
}

// TestHDF5_certain destroys sectors of a file. The new file must contain at least as many correct
// chunks as the report counts as certain.
func TestHDF5_certain(t *testing.T) {
	whole := indexed(t, h5.V110, 12, 20)
	c, err := chartOf(whole)
	require.NoError(t, err)
	original := map[spot]int{}
	for _, o := range c.datasets {
		if o.Layout().Class == h5file.Chunked {
			addSpots(whole, c.base, o, chunksOf(t, o), original, 1)
		}
	}
	var metadata []int64 // offsets of structures
	require.NoError(t, h5file.Structures(bytes.NewReader(whole), int64(len(whole)), func(f format.Field) { metadata = append(metadata, f.Offset, f.Offset+f.Length/2) }))
	slices.Sort(metadata)
	metadata = slices.Compact(metadata)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(t, "losses") {
			at := rapid.SampledFrom(metadata).Draw(t, "structure") + rapid.Int64Range(0, 60).Draw(t, "behind")
			if at >= int64(len(b)) {
				continue
			}
			if rapid.Bool().Draw(t, "sector") {
				clear(b[at/512*512 : min(at/512*512+512, int64(len(b)))])
			} else {
				b[at] = rapid.Byte().Draw(t, "byte")
			}
		}
		src, dst := filepath.Join(dir, "d.h5"), filepath.Join(dir, "n.h5")
		require.NoError(t, os.WriteFile(src, b, 0o600))
		r, err := recovery.Recover(bg, dst, src, &recovery.Options{Overwrite: true, Format: detect.HDF5})
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			return
		}
		now, err := os.ReadFile(dst)
		require.NoError(t, err)
		f, err := h5file.Open(bytes.NewReader(now), int64(len(now)), nil)
		require.NoError(t, err)
		right := int64(0)
		there := map[spot]int{}
		for e, err := range f.Walk() {
			require.NoError(t, err)
			if e.Object == nil || e.Object.Kind() != h5file.DatasetKind {
				continue
			}
			if e.Object.Layout().Class == h5file.Chunked {
				addSpots(now, f.UserBlock(), e.Object, chunksOf(t, e.Object), there, 1)
			}
		}
		for s, k := range there {
			right += int64(min(k, original[s]))
		}
		require.LessOrEqual(t, r.Certain, right, "%v", r.Findings)
	})
}

func chunksOf(t require.TestingT, o *h5file.Object) (list []h5file.Chunk) {
	for x, err := range o.Chunks() {
		require.NoError(t, err)
		list = append(list, x)
	}
	return list
}

// TestHDF5_zeroedChunk replaces chunks with a Fletcher32 checksum by zeros, whose checksum is zero.
// These chunks must not count as certain.
func TestHDF5_zeroedChunk(t *testing.T) {
	b := indexed(t, h5.V110, 12, 20)
	c, err := chartOf(b)
	require.NoError(t, err)
	recovered := func(name string) *recovery.Report {
		src := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(src, b, 0o600))
		r, err := recovery.Recover(bg, src+".new", src, &recovery.Options{Format: detect.HDF5})
		require.NoError(t, err)
		return r
	}
	before := recovered("whole.h5")
	zeroed := int64(0)
	for _, o := range c.datasets {
		if p := o.Pipeline(); p == nil || len(p.Filters) != 1 || int(p.Filters[0].ID) != h5.FilterFletcher32 {
			continue
		}
		for _, chunk := range chunksOf(t, o)[:3] {
			clear(b[int64(chunk.Addr)+c.base:][:chunk.Size])
			zeroed++
		}
	}
	require.EqualValues(t, 3, zeroed)
	require.Equal(t, before.Certain-zeroed, recovered("zeroed.h5").Certain)
}
