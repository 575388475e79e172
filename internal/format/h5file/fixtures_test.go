// Test files with every structure that libhdf5 writes through package h5.

package h5file_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// made caches the files, because each test run creates them only once.
var made map[string][]byte

// fixtures returns the test files by name.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	if made != nil {
		return made
	}
	make1 := func(low h5.LibVer, edit func(*h5.FileCreation), fill func(*builder)) []byte {
		c := h5.DefaultFileCreation()
		c.Times = false
		if edit != nil {
			edit(&c)
		}
		// The file is not created in memory, because libhdf5 returns images of files with
		// superblock 3 with a wrong checksum: it changes the flags and does not update the
		// checksum.
		file := filepath.Join(t.TempDir(), "file.h5")
		f, err := h5.Create(file, &h5.CreateOptions{Low: low, High: h5.V114, Creation: &c})
		require.NoError(t, err)
		b := &builder{TB: t, f: f}
		fill(b)
		for _, o := range b.open {
			require.NoError(t, o.Close())
		}
		require.NoError(t, f.Close())
		return load(t, file)
	}
	everything := func(b *builder) {
		b.links()
		b.types()
		b.datasets()
		b.attributes()
	}
	made = map[string][]byte{
		"earliest": make1(h5.Earliest, nil, everything),
		"latest":   make1(h5.V114, nil, everything),
		"v18":      make1(h5.V18, nil, everything),
		"small sizes": make1(h5.V114, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 4, 4 }, func(b *builder) {
			b.links()
			if strictHeaps {
				b.fewAttributes()
				return
			}
			b.attributes()
		}),
		"tiny sizes": make1(h5.Earliest, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 2, 2 }, func(b *builder) {
			// No fractal heap: with lengths of 2 bytes, the largest heap block of libhdf5, 65536
			// bytes, does not fit its length field, and libhdf5 cannot read such a heap.
			b.fewAttributes()
		}),
		"mixed sizes": make1(h5.Earliest, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 8, 4 }, func(b *builder) {
			b.links()
			b.fewAttributes()
		}),
		"direct ids": make1(h5.V114, func(c *h5.FileCreation) {
			// With addresses of 2 bytes and lengths of 4 bytes, the heap ids of links have space
			// for the address and length of a huge object.
			c.OffsetSize, c.LengthSize, c.LinkPhase = 2, 4, h5.PhaseChange{}
		}, func(b *builder) {
			b.ok(b.f.Root().LinkSoft("huge", strings.Repeat("far/", 3000)))
		}),
		"tiny objects": make1(h5.V114, func(c *h5.FileCreation) {
			// With addresses of 2 bytes, a hard link with a name of one letter has 6 bytes, which
			// fit into its heap id.
			c.OffsetSize, c.LinkPhase = 2, h5.PhaseChange{}
		}, func(b *builder) {
			b.group(b.f.Root(), "a", nil)
			b.ok(b.f.Root().LinkHard("b", "/a"))
		}),
		"K values": make1(h5.V18, func(c *h5.FileCreation) { c.GroupLeafK, c.GroupTreeK, c.ChunkTreeK = 2, 3, 2 }, everything),
		"deep trees": make1(h5.Earliest, func(c *h5.FileCreation) { c.GroupLeafK, c.GroupTreeK, c.ChunkTreeK = 1, 1, 2 }, func(b *builder) {
			b.links()
			b.datasets()
		}),
		"user block": make1(h5.V114, func(c *h5.FileCreation) { c.UserBlock = 1024 }, everything),
		"ordered": make1(h5.V114, func(c *h5.FileCreation) {
			c.Times, c.LinkOrder, c.AttrOrder = true, h5.IndexedCreationOrder, h5.IndexedCreationOrder
			c.AttrPhase = h5.PhaseChange{MaxCompact: 3, MinDense: 2}
		}, everything),
		"paged": make1(h5.V114, func(c *h5.FileCreation) {
			c.Space = h5.FileSpace{Strategy: h5.Paged, Persist: true, Threshold: 1, PageSize: 512}
		}, func(b *builder) {
			b.attributes()
			b.holes()
		}),
		"free space": make1(h5.V114, func(c *h5.FileCreation) {
			c.Space = h5.FileSpace{Strategy: h5.FreeListAggregate, Persist: true, Threshold: 1, PageSize: 4096}
		}, func(b *builder) {
			b.attributes()
			b.holes()
		}),
		"shared list": make1(h5.V114, shared(50, 40), func(b *builder) { b.shared() }),
		"shared tree": make1(h5.V114, shared(2, 0), func(b *builder) { b.shared() }),
		"dense": make1(h5.V114, func(c *h5.FileCreation) {
			c.LinkPhase, c.AttrPhase = h5.PhaseChange{}, h5.PhaseChange{}
		}, func(b *builder) { b.dense() }),
	}
	if !strictAddresses {
		made["wide addresses"] = make1(h5.V114, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 16, 8 }, func(b *builder) {
			b.attributes()
		})
	}
	return made
}

func shared(most, least int) func(*h5.FileCreation) {
	return func(c *h5.FileCreation) {
		c.Shared = []h5.SharedMessages{{Types: h5.SharedDatatypes | h5.SharedDataspaces | h5.SharedFills | h5.SharedFilters, MinBytes: 4}, {Types: h5.SharedAttributes, MinBytes: 20}}
		c.SharedPhase = h5.PhaseChange{MaxCompact: most, MinDense: least}
		c.AttrOrder = h5.TrackCreationOrder
	}
}

// A builder writes a test file.
type builder struct {
	testing.TB
	f    *h5.File
	open []io.Closer // objects to close before the file
}

func (b *builder) ok(err error) {
	b.Helper()
	require.NoError(b, err)
}

func (b *builder) group(parent *h5.Group, name string, o *h5.GroupOptions) *h5.Group {
	b.Helper()
	g, err := parent.CreateGroupWith(name, o)
	b.ok(err)
	b.open = append(b.open, g)
	return g
}

// links creates links of every kind in a small group, and many links in a large one.
func (b *builder) links() {
	root := b.f.Root()
	g := b.group(root, "links", nil)
	b.ok(g.LinkSoft("soft", "/somewhere"))
	b.ok(g.LinkExternal("external", "other.h5", "/there"))
	b.ok(g.LinkHard("again", "/links"))
	b.ok(g.SetComment("a comment"))
	many := b.group(root, "many", &h5.GroupOptions{Order: h5.IndexedCreationOrder})
	old := b.group(root, "old", nil)
	for i := range 40 {
		b.ok(many.LinkSoft(fmt.Sprintf("%d-%s", i, strings.Repeat("x", i)), "/target"))
		b.ok(old.LinkSoft(fmt.Sprintf("link %d", i), "/target"))
	}
	b.ok(old.Unlink("link 7"))
}

func (b *builder) dataset(name string, t h5.Datatype, s h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
	b.Helper()
	d, err := b.f.Root().CreateDataset(name, t, s, o)
	require.NoError(b, err, name)
	b.open = append(b.open, d)
	return d
}

// allTypes returns datatypes of every class.
func allTypes() []h5.Datatype {
	i4, f8 := h5.Int(4, h5.BigEndian), h5.IEEEFloat(8, h5.LittleEndian)
	s5 := h5.FixedString(5, h5.SpacePad, h5.UTF8)
	vs := h5.VariableString(h5.UTF8)
	array := h5.Datatype{Class: h5.Array, Size: 24, Base: &i4, Dims: []int64{2, 3}}
	return []h5.Datatype{
		i4, h5.Uint(1, h5.LittleEndian), f8, h5.IEEEFloat(4, h5.BigEndian), s5, vs, h5value.Bool(), array,
		{Class: h5.Opaque, Size: 7, Tag: "a tag"},
		{Class: h5.Bitfield, Size: 2, Precision: 12, Offset: 2},
		{Class: h5.Compound, Size: 48, Members: []h5.Member{{Name: "a", Type: &i4}, {Name: "b", Offset: 8, Type: &f8}, {Name: "c", Offset: 16, Type: &array}, {Name: "d", Offset: 40, Type: &s5}}},
	}
}

func (b *builder) types() {
	for i, t := range allTypes() {
		b.dataset(fmt.Sprintf("type %d", i), t, h5.ScalarSpace(), nil)
	}
	b.dataset("null", h5.Int(2, h5.LittleEndian), h5.NullSpace(), nil)
	d := b.dataset("strings", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	b.ok(h5value.Write(d, []string{"one", "", "three"}, h5.SimpleSpace(3).All()))
	level := 6
	c := b.dataset("filtered strings", h5.VariableString(h5.UTF8), h5.SimpleSpace(300), &h5.DatasetOptions{ChunkShape: []int64{100}, Deflate: &level})
	text := make([]string, 300)
	for i := range text {
		text[i] = strings.Repeat("y", i)
	}
	b.ok(h5value.Write(c, text, h5.SimpleSpace(300).All()))
}

// datasets creates datasets of every layout and chunk index.
func (b *builder) datasets() {
	i2 := h5.Int(2, h5.LittleEndian)
	level := 6
	filters := &h5.DatasetOptions{ChunkShape: []int64{4, 5}, Shuffle: true, Deflate: &level, Fletcher32: true, Fill: []byte{7, 0}}
	plain := &h5.DatasetOptions{ChunkShape: []int64{4, 5}}
	for _, x := range []struct {
		name string
		dims [2]int64
		most []int64
		o    *h5.DatasetOptions
	}{
		{"compact", [2]int64{4, 6}, nil, &h5.DatasetOptions{Compact: true}},
		{"contiguous", [2]int64{40, 60}, nil, nil},
		{"single", [2]int64{4, 5}, nil, plain},
		{"single filtered", [2]int64{4, 5}, nil, filters},
		{"fixed", [2]int64{20, 22}, nil, plain},
		{"fixed filtered", [2]int64{20, 22}, nil, filters},
		{"growing first", [2]int64{200, 8}, []int64{h5.Unlimited, 12}, plain},
		{"growing last", [2]int64{9, 300}, []int64{15, h5.Unlimited}, plain},
		{"growing filtered", [2]int64{9, 60}, []int64{15, h5.Unlimited}, filters},
		{"growing both", [2]int64{30, 60}, []int64{h5.Unlimited, h5.Unlimited}, plain},
		{"growing both filtered", [2]int64{30, 60}, []int64{h5.Unlimited, h5.Unlimited}, filters},
	} {
		s := h5.SimpleSpace(x.dims[0], x.dims[1])
		s.MaxDims = x.most
		d := b.dataset(x.name, i2, s, x.o)
		buf := make([]byte, 0, 2*x.dims[0]*x.dims[1])
		for i := range x.dims[0] * x.dims[1] {
			buf = binary.LittleEndian.AppendUint16(buf, uint16(i))
		}
		b.ok(d.WriteRegion(buf, i2, s.All()))
	}
	b.dataset("implicit", i2, h5.Dataspace{Kind: h5.Simple, Dims: []int64{9, 11}, MaxDims: []int64{12, 30}}, &h5.DatasetOptions{ChunkShape: []int64{4, 5}, Alloc: h5.AllocEarly})
	edges := b.dataset("plain edges", i2, h5.SimpleSpace(9, 11), &h5.DatasetOptions{ChunkShape: []int64{4, 5}, Deflate: &level, PlainEdges: true})
	b.ok(edges.WriteRegion(make([]byte, 198), i2, h5.SimpleSpace(9, 11).All()))
	b.dataset("external", i2, h5.SimpleSpace(10), &h5.DatasetOptions{External: []h5.ExternalFile{{Name: "one.bin", Size: 4}, {Name: "two.bin", Offset: 100, Size: h5.Unlimited}}})
	b.dataset("virtual", i2, h5.SimpleSpace(40, 60), &h5.DatasetOptions{Mappings: []h5.Mapping{
		{Region: h5.Region{Start: []int64{0, 0}, Count: []int64{20, 60}}, File: ".", Dataset: "/contiguous", Source: h5.SimpleSpace(40, 60), SourceRegion: h5.Region{Start: []int64{20, 0}, Count: []int64{20, 60}}},
		{Region: h5.Region{Start: []int64{20, 0}, Count: []int64{10, 30}, Stride: []int64{2, 2}}, File: "other.h5", Dataset: "/data", Source: h5.SimpleSpace(10, 30), SourceRegion: h5.SimpleSpace(10, 30).All()},
	}})
	d := b.dataset("pages", h5.Int(1, h5.LittleEndian), h5.SimpleSpace(5000), &h5.DatasetOptions{ChunkShape: []int64{2}})
	b.ok(d.WriteRegion([]byte{1, 2}, h5.Int(1, h5.LittleEndian), h5.Region{Start: []int64{4000}, Count: []int64{2}}))
	s := h5.SimpleSpace(300000)
	s.MaxDims = []int64{h5.Unlimited}
	e := b.dataset("growing pages", h5.Int(1, h5.LittleEndian), s, &h5.DatasetOptions{ChunkShape: []int64{1}})
	b.ok(e.WriteRegion([]byte{1, 2}, h5.Int(1, h5.LittleEndian), h5.Region{Start: []int64{280000}, Count: []int64{2}}))
}

func (b *builder) attributes() {
	g := b.group(b.f.Root(), "attributes", &h5.GroupOptions{AttributeOrder: h5.IndexedCreationOrder})
	for i := range 12 {
		b.ok(g.WriteAttribute(h5.Attribute{Name: fmt.Sprintf("attribute %d", i), Datatype: h5.Int(4, h5.NativeOrder), Space: h5.SimpleSpace(2), Data: []byte{byte(i), 0, 0, 0, 1, 0, 0, 0}}))
	}
	b.fewAttributes()
}

func (b *builder) fewAttributes() {
	b.ok(b.f.Root().WriteAttribute(h5.Attribute{Name: "text", Datatype: h5.VariableString(h5.UTF8), Space: h5.SimpleSpace(2), Strings: []string{"a", "bc"}}))
	b.ok(b.f.Root().WriteAttribute(h5.Attribute{Name: "größe", Datatype: h5.IEEEFloat(8, h5.NativeOrder), Space: h5.ScalarSpace(), Data: make([]byte, 8)}))
}

// holes creates free space.
func (b *builder) holes() {
	for i := range 6 {
		d := b.dataset(fmt.Sprintf("hole %d", i), h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(int64(700*(i+1))), nil)
		b.ok(d.WriteRegion(make([]byte, 700*(i+1)), h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(int64(700*(i+1))).All()))
	}
	for i := range 3 {
		b.ok(b.f.Root().Unlink(fmt.Sprintf("hole %d", 2*i)))
	}
}

// shared creates messages that several objects share, and messages of only one object, which stay
// in its object header.
func (b *builder) shared() {
	level := 6
	b.dataset("alone", h5.FixedString(77, h5.NullTerm, h5.ASCII), h5.SimpleSpace(3, 4, 5, 6), nil)
	for i := range 6 {
		d := b.dataset(fmt.Sprintf("dataset %d", i), allTypes()[10], h5.SimpleSpace(8, 9), &h5.DatasetOptions{ChunkShape: []int64{4, 5}, Deflate: &level, Fill: bytes.Repeat([]byte{9}, 48)})
		for j := range 10 {
			b.ok(d.WriteAttribute(h5.Attribute{Name: fmt.Sprintf("shared attribute %d", j%4*(1+i%2)+j), Datatype: h5.Int(8, h5.NativeOrder), Space: h5.SimpleSpace(4), Data: make([]byte, 32)}))
		}
	}
}

// dense creates heaps with managed and huge objects. libhdf5 writes no tiny objects here. Huge
// objects are long links and attributes.
func (b *builder) dense() {
	level := 9
	root := b.f.Root()
	filtered := b.group(root, "filtered", &h5.GroupOptions{Deflate: &level, Fletcher32: true, Phase: &h5.PhaseChange{}})
	big := b.group(root, "big", &h5.GroupOptions{Phase: &h5.PhaseChange{}, AttributePhase: &h5.PhaseChange{}, AttributeOrder: h5.IndexedCreationOrder})
	for i := range 30 {
		b.ok(filtered.LinkSoft(fmt.Sprintf("link %d", i), strings.Repeat("z", 10*i+1)))
		b.ok(big.LinkSoft(fmt.Sprintf("link %d", i), strings.Repeat("z", 50*i+1)))
	}
	b.ok(filtered.LinkSoft("huge", strings.Repeat("far/", 3000)))
	for i := range 4 {
		b.ok(big.LinkSoft(fmt.Sprintf("huge %d", i), strings.Repeat("far/", 3000+i)))
		b.ok(big.WriteAttribute(h5.Attribute{Name: fmt.Sprintf("huge %d", i), Datatype: h5.Uint(1, h5.NativeOrder), Space: h5.SimpleSpace(70000), Data: make([]byte, 70000)}))
	}
	for i := range 300 {
		b.ok(big.WriteAttribute(h5.Attribute{Name: fmt.Sprintf("attribute %d", i), Datatype: h5.Uint(1, h5.NativeOrder), Space: h5.SimpleSpace(int64(i + 1)), Data: make([]byte, i+1)}))
	}
	for i := range 100 {
		b.ok(big.DeleteAttribute(fmt.Sprintf("attribute %d", 3*i)))
	}
}

// TestFixtures checks that this package and libhdf5 read the same content from the fixtures, and
// that Check and Describe report no error.
func TestFixtures(t *testing.T) {
	count := map[string]int{}
	for name, b := range fixtures(t) {
		file := writeTemp(t, b)
		opened, refused := compareFile(t, file, count)
		require.True(t, opened, name)
		require.Zero(t, refused, name)
		require.NoError(t, look(t, b), name)
		p := everything()
		p.Write = true
		require.NoError(t, mustOpen(t, b).Check(p), name)
		for path, c := range describe(b).Complaints() {
			t.Errorf("%s: %s at %d: %s", name, path, c.Offset, c.Complaint)
		}
	}
	t.Log(count)
	for _, index := range []string{"single chunk", "implicit", "fixed array", "extensible array", "version 1 B-tree", "version 2 B-tree"} {
		require.Positive(t, count["chunks, "+index], index)
	}
}
