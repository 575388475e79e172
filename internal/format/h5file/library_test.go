// Comparison with libhdf5: this package must read everything that libhdf5 reads, with equal
// results.

package h5file_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// asLibrary converts a datatype to the form in which package h5 returns libhdf5's datatypes.
func asLibrary(t *h5file.Datatype) h5.Datatype {
	d := h5.Datatype{Size: int(t.Size)}
	pads := func() {
		d.Order = h5.Order(t.Order())
		d.LowPad, d.HighPad = h5.Padding(t.Bits>>1&1), h5.Padding(t.Bits>>2&1)
		d.Precision, d.Offset = int(t.Precision), int(t.BitOffset)
	}
	switch t.Class {
	case h5file.IntegerClass:
		d.Class = h5.Integer
		pads()
		d.Signed = t.Signed()
	case h5file.FloatClass:
		d.Class = h5.Float
		pads()
		d.Layout = h5.FloatLayout{
			SignPos: int(t.SignBit()), ExpPos: int(t.ExponentAt), ExpSize: int(t.ExponentBits), MantPos: int(t.MantissaAt), MantSize: int(t.MantissaBits),
			ExpBias: uint64(t.Bias), Norm: h5.Norm(2 - t.Normalization()), InnerPad: h5.Padding(t.Bits >> 3 & 1),
		}
	case h5file.TimeClass:
		d.Class = h5.Time
		d.Order, d.Precision = h5.Order(t.Order()), int(t.Precision)
	case h5file.StringClass:
		d.Class = h5.String
		d.Pad, d.CharSet = h5.StringPad(t.StringPad()), h5.CharSet(t.CharSet())
	case h5file.BitfieldClass:
		d.Class = h5.Bitfield
		pads()
	case h5file.OpaqueClass:
		d.Class, d.Tag = h5.Opaque, t.Tag
	case h5file.CompoundClass:
		d.Class = h5.Compound
		for _, m := range t.Members {
			u := asLibrary(m.Type)
			d.Members = append(d.Members, h5.Member{Name: m.Name, Offset: int(m.Offset), Type: &u})
		}
	case h5file.ReferenceClass:
		d.Class = h5.Reference
		d.Ref = h5.ReferenceKind(min(int(t.RefKind())+1, int(h5.StandardReference)))
	case h5file.EnumClass:
		d.Class = h5.Enum
		u := asLibrary(t.Base)
		d.Base = &u
		for _, m := range t.Members {
			d.Members = append(d.Members, h5.Member{Name: m.Name, Value: enumValue(t.Base, m.Value)})
		}
	case h5file.VLenClass:
		if t.VariableString() {
			return h5.Datatype{Class: h5.String, Variable: true, Pad: h5.StringPad(t.StringPad()), CharSet: h5.CharSet(t.CharSet())}
		}
		d.Class = h5.Sequence
		u := asLibrary(t.Base)
		d.Base = &u
	case h5file.ArrayClass:
		d.Class = h5.Array
		u := asLibrary(t.Base)
		d.Base = &u
		for _, n := range t.Dims {
			d.Dims = append(d.Dims, int64(n))
		}
	}
	return d
}

func enumValue(t *h5file.Datatype, b []byte) int64 {
	b = slices.Clone(b)
	if t.Order() == h5file.BigEndian {
		slices.Reverse(b)
	}
	fill := byte(0)
	if t.Signed() && b[len(b)-1]&0x80 != 0 {
		fill = 0xFF
	}
	for len(b) < 8 {
		b = append(b, fill)
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func spaceAsLibrary(s *h5file.Dataspace) h5.Dataspace {
	switch s.Class {
	case h5file.ScalarSpace:
		return h5.ScalarSpace()
	case h5file.NullSpace:
		return h5.NullSpace()
	}
	d := h5.Dataspace{Kind: h5.Simple}
	for i, n := range s.Dims {
		d.Dims = append(d.Dims, int64(n))
		if s.MaxDims != nil {
			d.MaxDims = append(d.MaxDims, int64(s.MaxDims[i])) // h5.Unlimited is -1
		}
	}
	return d
}

// sizeless clears the sizes that depend on libhdf5's memory layout.
func sizeless(t h5.Datatype) h5.Datatype {
	switch t.Class {
	case h5.Sequence, h5.Reference:
		t.Size = 0
	case h5.Compound, h5.Enum, h5.Array:
		if !t.Plain() {
			t.Size = 0
		}
	}
	if t.Base != nil {
		u := sizeless(*t.Base)
		t.Base = &u
	}
	plain := t.Plain()
	t.Members = slices.Clone(t.Members)
	for i, m := range t.Members {
		if !plain {
			t.Members[i].Offset = 0 // offsets depend on the sizes
		}
		if m.Type != nil {
			u := sizeless(*m.Type)
			t.Members[i].Type = &u
		}
	}
	return t
}

// A comparison walks a file with libhdf5 and compares each object with the result of this package.
type comparison struct {
	t       *testing.T
	file    string
	ours    *h5file.File
	seen    map[uint64]bool
	refused int // number of objects that libhdf5 does not read
	count   map[string]int
}

func (c *comparison) at(p string) string { return c.file + ":" + p }

func (c *comparison) group(p string, g *h5.Group, o *h5file.Object) {
	require.Equal(c.t, h5file.GroupKind, o.Kind(), c.at(p))
	c.attributes(p, g, o)
	ours := map[string]h5file.Link{}
	var ourErr error
	for l, err := range o.Links() {
		if err != nil {
			ourErr = err
			break
		}
		ours[l.Name] = l
	}
	theirs := 0
	for l, err := range g.Links() {
		if err != nil {
			c.refused++
			return
		}
		theirs++
		require.NoError(c.t, ourErr, c.at(p))
		m, ok := ours[l.Name]
		require.True(c.t, ok, "%s has a link %q", c.at(p), l.Name)
		c.link(path.Join(p, l.Name), l, m)
		if l.Kind == h5.HardLink && !c.seen[l.Address] {
			c.seen[l.Address] = true
			c.object(path.Join(p, l.Name), g, l.Name, m.Target)
		}
	}
	require.Len(c.t, ours, theirs, c.at(p))
}

func (c *comparison) link(p string, l h5.Link, m h5file.Link) {
	c.count["links"]++
	kind := map[h5file.LinkKind]h5.LinkKind{h5file.HardLink: h5.HardLink, h5file.SoftLink: h5.SoftLink, h5file.ExternalLink: h5.ExternalLink}[m.Kind]
	if m.Kind >= h5file.MinUserLinkKind {
		kind = h5.UserLink
	}
	require.Equal(c.t, l.Kind, kind, c.at(p))
	require.Equal(c.t, l.CharSet, h5.CharSet(m.CharSet), c.at(p))
	if l.Order >= 0 {
		require.Equal(c.t, l.Order, m.Order, c.at(p))
	}
	switch l.Kind {
	case h5.HardLink:
		require.Equal(c.t, l.Address, uint64(m.Target), c.at(p))
	case h5.UserLink:
		require.Equal(c.t, l.Value, m.UserData, c.at(p))
	default:
		require.Equal(c.t, l.Target, m.Path, c.at(p))
		require.Equal(c.t, l.File, m.File, c.at(p))
	}
}

// usable removes errors of attributes from err, because libhdf5 opens an object without reading its
// attributes.
func usable(o *h5file.Object, err error) error {
	if err == nil || err != o.Err() {
		return err
	}
	for _, m := range o.Messages {
		if m.Err != nil && m.Type != h5file.AttributeType {
			return m.Err
		}
	}
	return nil
}

func (c *comparison) object(p string, g *h5.Group, name string, a h5file.Addr) {
	o, err := c.ours.Object(a)
	err = usable(o, err)
	kind, herr := g.Kind(name)
	if herr != nil {
		c.refused++
		return
	}
	c.count["objects"]++
	switch kind {
	case h5.GroupObject:
		child, herr := g.OpenGroup(name)
		if herr != nil {
			c.refused++
			return
		}
		defer child.Close()
		require.NoError(c.t, err, c.at(p))
		c.group(p, child, o)
	case h5.DatasetObject:
		d, herr := g.OpenDataset(name)
		if herr != nil {
			c.refused++
			return
		}
		defer d.Close()
		require.Equal(c.t, h5file.DatasetKind, o.Kind(), c.at(p))
		c.attributes(p, d, o)
		info, herr := d.Info()
		if _, outside := errors.AsType[*h5.OutsideError](herr); outside {
			// The shape of this virtual dataset depends on its source files. For an image, libhdf5
			// searches them in the working directory. It finds none and returns the stored shape.
			image, err := h5.OpenImage(load(c.t, c.file), h5.ReadOnly)
			require.NoError(c.t, err, c.at(p))
			defer image.Close()
			d, err = image.Root().OpenDataset(p)
			require.NoError(c.t, err, c.at(p))
			info, herr = d.Info()
		}
		if herr != nil {
			c.refused++
			return
		}
		require.NoError(c.t, err, c.at(p))
		c.dataset(p, d, info, o)
	case h5.DatatypeObject:
		named, herr := g.OpenDatatype(name)
		if herr != nil {
			c.refused++
			return
		}
		defer named.Close()
		t, herr := named.Datatype()
		require.NoError(c.t, herr, c.at(p))
		require.NoError(c.t, err, c.at(p))
		require.Equal(c.t, h5file.CommittedTypeKind, o.Kind(), c.at(p))
		c.datatype(p, t, o.Datatype())
		c.attributes(p, named, o)
	}
}

func (c *comparison) datatype(p string, want h5.Datatype, got *h5file.Datatype) {
	c.count["types"]++
	w, g := sizeless(want), sizeless(asLibrary(got))
	require.True(c.t, g.Equal(w), "%s: %s, the library has %s\n%+v\n%+v", c.at(p), g, w, g, w)
}

func (c *comparison) attributes(p string, h any, o *h5file.Object) {
	ours := map[string]*h5file.Attribute{}
	var ourErr error
	for a, err := range o.Attributes() {
		if err != nil {
			ourErr = err
			break
		}
		ours[a.Name] = a
	}
	theirs := 0
	visit := func(a h5.AttributeInfo, err error, read func(string) (h5.Attribute, error)) bool {
		if err != nil {
			c.refused++
			return false
		}
		theirs++
		c.count["attributes"]++
		require.NoError(c.t, ourErr, c.at(p))
		m := ours[a.Name]
		require.NotNil(c.t, m, "%s has an attribute %q", c.at(p), a.Name)
		c.datatype(p+"@"+a.Name, a.Datatype, m.Type)
		require.True(c.t, a.Space.Equal(spaceAsLibrary(m.Space)), "%s@%s: %v, the library has %v", c.at(p), a.Name, m.Space, a.Space)
		if !a.Datatype.Plain() || !a.Datatype.Equal(a.Datatype.Native()) {
			return true
		}
		v, err := read(a.Name)
		require.NoError(c.t, err)
		require.True(c.t, bytes.Equal(v.Data, m.Value), "%s@%s", c.at(p), a.Name)
		c.count["attribute values"]++
		return true
	}
	switch h := h.(type) {
	case *h5.Group:
		for a, err := range h.Attributes() {
			if !visit(a, err, h.ReadAttribute) {
				return
			}
		}
	case *h5.Dataset:
		for a, err := range h.Attributes() {
			if !visit(a, err, h.ReadAttribute) {
				return
			}
		}
	case *h5.CommittedType:
		for a, err := range h.Attributes() {
			if !visit(a, err, h.ReadAttribute) {
				return
			}
		}
	default:
		c.t.Fatalf("%s: attributes of a %T", c.at(p), h)
	}
	require.Len(c.t, ours, theirs, c.at(p))
}

func (c *comparison) dataset(p string, d *h5.Dataset, info h5.DatasetInfo, o *h5file.Object) {
	c.count["datasets"]++
	c.datatype(p, info.Datatype, o.Datatype())
	// For a virtual dataset that grows with its sources, libhdf5 returns the current shape.
	grows := info.Layout == h5.Virtual && slices.Contains(info.Space.MaxDims, h5.Unlimited)
	require.True(c.t, grows || info.Space.Equal(spaceAsLibrary(o.Dataspace())), "%s: %v, the library has %v", c.at(p), o.Dataspace(), info.Space)
	l := o.Layout()
	require.Equal(c.t, int(info.Layout), int(l.Class)+1, c.at(p))
	var filters []h5.Filter
	if pl := o.Pipeline(); pl != nil {
		for _, f := range pl.Filters {
			filters = append(filters, h5.Filter{ID: int(f.ID), Name: f.Name, Optional: f.Optional, Values: f.Values})
		}
	}
	require.Len(c.t, filters, len(info.Filters), c.at(p))
	for i, f := range info.Filters {
		require.Equal(c.t, f.ID, filters[i].ID, c.at(p))
		require.Equal(c.t, f.Optional, filters[i].Optional, c.at(p))
		require.True(c.t, slices.Equal(f.Values, filters[i].Values), "%s: %v, %v", c.at(p), f.Values, filters[i].Values)
	}
	if info.FillKind == h5.FillValue && info.Datatype.Plain() {
		require.Equal(c.t, info.Fill, o.FillValue().Value, c.at(p))
	}
	switch info.Layout {
	case h5.Contiguous:
		if len(info.External) > 0 {
			c.external(p, info.External, o.ExternalFiles().Files)
			return
		}
		want := uint64(math.MaxUint64)
		if info.Address != h5.NoAddress {
			want = info.Address - uint64(c.ours.UserBlock())
		}
		require.Equal(c.t, want, uint64(l.Addr), c.at(p))
		c.count["contiguous"]++
	case h5.Chunked:
		require.Equal(c.t, info.PlainEdges, l.Version == 4 && l.Flags&h5file.PartialChunksUnfiltered != 0, c.at(p))
		if info.Index != h5.NoIndex {
			require.Equal(c.t, int(info.Index), int(l.Index)+1, c.at(p))
		}
		c.chunks(p, d, o)
	case h5.Virtual:
		c.virtual(p, info.Mappings, o)
	}
}

func (c *comparison) external(p string, want []h5.ExternalFile, got []h5file.ExternalFile) {
	require.Len(c.t, got, len(want), c.at(p))
	for i, f := range want {
		require.Equal(c.t, f, h5.ExternalFile{Name: got[i].Name, Offset: int64(got[i].Offset), Size: int64(got[i].Size)}, c.at(p))
		c.count["external files"]++
	}
}

func (c *comparison) virtual(p string, want []h5.Mapping, o *h5file.Object) {
	got, err := o.Mappings()
	require.NoError(c.t, err, c.at(p))
	require.Len(c.t, got, len(want), c.at(p))
	for i, m := range want {
		require.Equal(c.t, m.File, got[i].File, c.at(p))
		require.Equal(c.t, m.Dataset, got[i].Dataset, c.at(p))
		if s := got[i].Virtual; !m.Irregular && s.Kind == h5file.SelectHyperslab && s.Start != nil {
			require.Equal(c.t, m.Region.Start, signed(s.Start), c.at(p))
			require.Equal(c.t, m.Region.Count, signed(s.Count), c.at(p))
		}
		c.count["mappings"]++
	}
}

// signed converts to signed integers. Unlimited becomes -1.
func signed(all []uint64) []int64 {
	out := make([]int64, len(all))
	for i, v := range all {
		out[i] = int64(v)
	}
	return out
}

func (c *comparison) chunks(p string, d *h5.Dataset, o *h5file.Object) {
	l := o.Layout()
	ours := map[string]h5file.Chunk{}
	for k, err := range o.Chunks() {
		require.NoError(c.t, err, c.at(p))
		ours[fmt.Sprint(k.Offset)] = k
	}
	dims := o.Dataspace().Dims
	inside := func(k h5file.Chunk) bool {
		for i, x := range k.Offset {
			if x >= dims[i] {
				return false
			}
		}
		return true
	}
	for key, k := range ours {
		if !inside(k) || c.count["chunks"] > 20000 {
			continue
		}
		offset := make([]int64, len(k.Offset))
		for i, x := range k.Offset {
			offset[i] = int64(x)
		}
		raw := make([]byte, k.Size)
		n, mask, err := d.ReadChunk(raw, offset...)
		require.NoError(c.t, err, "%s %s", c.at(p), key)
		require.EqualValues(c.t, k.Size, n, "%s %s", c.at(p), key)
		require.Equal(c.t, mask, k.Mask, "%s %s", c.at(p), key)
		got, err := c.ours.Read(k.Addr, int64(k.Size))
		require.NoError(c.t, err)
		require.True(c.t, bytes.Equal(raw, got), "%s %s", c.at(p), key)
		want, err := d.ChunkAt(offset...)
		require.NoError(c.t, err, "%s %s", c.at(p), key)
		require.Equal(c.t, want.Address, uint64(k.Addr)+uint64(c.ours.UserBlock()), "%s %s %s", c.at(p), key, l)
		require.Equal(c.t, want.Bytes, int64(k.Size), "%s %s", c.at(p), key)
		require.Equal(c.t, want.FilterMask, k.Mask, "%s %s", c.at(p), key)
		c.count["chunks"]++
		c.count["chunks, "+l.Index.String()]++
	}
	n, err := d.NumChunks()
	require.NoError(c.t, err, c.at(p))
	require.EqualValues(c.t, n, len(ours), c.at(p))
}

// compareFile compares one file. It returns false if libhdf5 does not open the file.
func compareFile(t *testing.T, file string, count map[string]int) (opened bool, refused int) {
	t.Helper()
	b := load(t, file)
	f, err := h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return false, 0
	}
	defer f.Close()
	ours, err := open(b)
	require.NoError(t, err, file)
	root, err := ours.Root()
	c := &comparison{t: t, file: file, ours: ours, seen: map[uint64]bool{uint64(ours.Superblock().Root): true}, count: count}
	if err = usable(root, err); err != nil {
		// libhdf5 opens a file without reading its root group completely.
		_, herr := f.Root().Info()
		require.Error(t, herr, "%s: %v", file, err)
		return true, 1
	}
	c.group("/", f.Root(), root)
	return true, c.refused
}

// everything returns a policy that allows every feature that is not unsafe by itself.
func everything() h5file.Policy {
	return h5file.Policy{
		Filters:       []h5file.FilterID{257, 300, 305, 307, 312, 405, 32000, 32001, 32002, 32004, 32008, 32013, 32015, 32019, 32026},
		ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true,
	}
}

// laxer contains the files that Check accepts although libhdf5 rejects them, with the reason.
var laxer = map[string]string{
	"h5clear_fsm_persist_less.h5": "the end of the file as stored is before the last structures, which the library minds and this package does not need",
}

func TestLibrarysOwnFiles(t *testing.T) {
	files := findFiles(t, testenv.Directory(t, testenv.HDF5Source))
	count := map[string]int{}
	opened, refused := 0, 0
	for _, file := range files {
		ok, n := compareFile(t, file, count)
		if ok {
			opened++
		}
		refused += n
		b := load(t, file)
		f, err := open(b)
		if err == nil {
			err = f.Check(everything())
		}
		name := filepath.Base(file)
		if ok && n == 0 && err != nil {
			t.Errorf("%s: read by the library, and refused: %v", file, err)
		}
		if (!ok || n > 0) && err == nil && laxer[name] == "" {
			t.Errorf("%s: %d things refused by the library, opened %v, and not by Check", file, n, ok)
		}
	}
	t.Logf("%d files, %d opened by the library, which refuses %d things in them: %v", len(files), opened, refused, count)
	require.Greater(t, opened, 400)
	require.Greater(t, count["datasets"], 1300)
	require.Greater(t, count["attributes"], 1200)
	require.Greater(t, count["chunks"], 3300)
}

func TestCorpus(t *testing.T) {
	dir := testenv.Directory(t, testenv.Corpus)
	count := map[string]int{}
	for _, sub := range []string{"hdf5-filters", "caterva2"} {
		for _, file := range findFiles(t, filepath.Join(dir, sub)) {
			ok, refused := compareFile(t, file, count)
			require.True(t, ok, file)
			require.Zero(t, refused, file)
		}
	}
	t.Log(count)
}
