// HDF5 vectors that are listed one by one: datatypes, dataspaces, attributes, groups, files with
// various creation properties, references, storage in other files.

package crosscheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// hdf5FormatNames are the formats that differ for these vectors.
var hdf5FormatNames = []string{"earliest", "v18", "v114"}

func (e *emitter) hdf5Single() error {
	for _, add := range []func() error{e.hdf5AllTypes, e.hdf5Spaces, e.hdf5Masks, e.hdf5Indexes, e.hdf5Attributes, e.hdf5Groups, e.hdf5Files, e.hdf5References, e.hdf5Elsewhere, e.hdf5Old, e.hdf5Golden, e.hdf5Current, e.hdf5More, e.hdf5Reported} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// inFormats calls f with each of these formats.
func inFormats(f func(name string, low h5.LibVer) error) error {
	for _, name := range hdf5FormatNames {
		if err := f(name, hdf5Formats[name]); err != nil {
			return err
		}
	}
	return nil
}

// hdf5Type is a datatype. write is nil if plain bytes suffice as elements.
type hdf5Type struct {
	name  string
	dt    h5.Datatype
	write func(d *h5.Dataset) error
}

// typed returns a function that writes Go values.
func typed[T any](v []T) func(d *h5.Dataset) error {
	return func(d *h5.Dataset) error {
		dt, err := d.Datatype()
		if err != nil {
			return err
		}
		e, err := h5value.Encode(dt, v)
		if err != nil {
			return err
		}
		return d.WriteValues(e, h5.All)
	}
}

const hdf5Elements = 4 // number of elements of a dataset of a listed type

func hdf5EveryType() []hdf5Type {
	var all []hdf5Type
	add := func(name string, dt h5.Datatype, write func(*h5.Dataset) error) {
		all = append(all, hdf5Type{name, dt, write})
	}
	for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
		end := map[h5.Order]string{h5.LittleEndian: "le", h5.BigEndian: "be"}[order]
		for _, size := range []int{1, 2, 3, 4, 8, 16} {
			add(fmt.Sprintf("int%d-%s", 8*size, end), h5.Int(size, order), nil)
			add(fmt.Sprintf("uint%d-%s", 8*size, end), h5.Uint(size, order), nil)
		}
		for _, size := range []int{2, 4, 8} {
			add(fmt.Sprintf("float%d-%s", 8*size, end), h5.IEEEFloat(size, order), nil)
		}
		add("bfloat16-"+end, h5.Datatype{
			Class: h5.Float, Size: 2, Order: order, Precision: 16,
			Layout: h5.FloatLayout{SignPos: 15, ExpPos: 7, ExpSize: 8, MantSize: 7, ExpBias: 127, Norm: h5.NormImplied},
		}, nil)
		add("int12at2-"+end, h5.Datatype{Class: h5.Integer, Size: 2, Order: order, Signed: true, Precision: 12, Offset: 2}, nil)
		add("bitfield16-"+end, h5.Datatype{Class: h5.Bitfield, Size: 2, Order: order, Precision: 16}, nil)
		add("bitfield12at2-"+end, h5.Datatype{Class: h5.Bitfield, Size: 2, Order: order, Precision: 12, Offset: 2}, nil)
		add("time32-"+end, h5.Datatype{Class: h5.Time, Size: 4, Order: order, Precision: 32}, nil)
		add("enum32-"+end, h5.EnumOf(h5.Int(4, order), h5.Member{Name: "red", Value: 0}, h5.Member{Name: "green", Value: 3}, h5.Member{Name: "blue", Value: 6}, h5.Member{Name: "far", Value: 9}), nil)
	}
	for pad, name := range map[h5.StringPad]string{h5.NullTerm: "nullterm", h5.NullPad: "nullpad", h5.SpacePad: "spacepad"} {
		add("string9-"+name+"-ascii", h5.FixedString(9, pad, h5.ASCII), typed([]string{"", "a", "hyper", "12345678"}))
		add("string9-"+name+"-utf8", h5.FixedString(9, pad, h5.UTF8), typed([]string{"", "ä", "größe", "日本"}))
	}
	strs := []string{"", "a", "größe", strings.Repeat("long ", 100)}
	add("vstring-ascii", h5.VariableString(h5.ASCII), typed([]string{"", "a", "hyperslab", strings.Repeat("long ", 100)}))
	add("vstring-utf8", h5.VariableString(h5.UTF8), typed(strs))
	add("opaque", h5.OpaqueOf(7, "a tag"), nil)
	add("bool", h5value.Bool(), typed([]bool{false, true, true, false}))
	i2, f8, i4 := h5.Int(2, h5.LittleEndian), h5.IEEEFloat(8, h5.BigEndian), h5.Int(4, h5.LittleEndian)
	add("complex", h5value.ComplexCompound(h5.IEEEFloat(8, h5.LittleEndian)), nil)
	packed := h5.CompoundOf(h5.Member{Name: "a", Type: &i2}, h5.Member{Name: "b", Type: &f8})
	add("compound-packed", packed, nil)
	add("compound-gaps", h5.Datatype{Class: h5.Compound, Size: 24, Members: []h5.Member{{Name: "a", Offset: 2, Type: &i2}, {Name: "b", Offset: 8, Type: &f8}}}, func(d *h5.Dataset) error {
		b := make([]byte, 24*hdf5Elements) // zeros between the members
		for i := range hdf5Elements {
			b[24*i+2], b[24*i+8] = byte(i+1), byte(0x40+i)
		}
		dt, err := d.Datatype()
		if err != nil {
			return err
		}
		return d.WriteRegion(b, dt, h5.SimpleSpace(hdf5Elements).All())
	})
	triple := h5.ArrayOf(i4, 3)
	add("compound-nested", h5.CompoundOf(h5.Member{Name: "inner", Type: &packed}, h5.Member{Name: "three", Type: &triple}), nil)
	text := h5.VariableString(h5.UTF8)
	type named struct {
		N int16  `h5:"n"`
		S string `h5:"s"`
	}
	add("compound-vstring", h5.CompoundOf(h5.Member{Name: "n", Type: &i2}, h5.Member{Name: "s", Type: &text}), typed([]named{{1, "one"}, {2, ""}, {-3, "three"}, {4, "four"}}))
	add("array", h5.ArrayOf(i2, 2, 3), nil)
	add("array-of-arrays", h5.ArrayOf(triple, 2), nil)
	add("array-of-vstrings", h5.ArrayOf(text, 2), typed([][2]string{{"a", "b"}, {"", "c"}, {"d", ""}, {"e", "f"}}))
	add("sequence", h5.SequenceOf(i4), typed([][]int32{{1, 2, 3}, {}, {4}, {5, 6}}))
	add("sequence-be", h5.SequenceOf(f8), typed([][]float64{{1, 2, 3}, {}, {4}, {5, 6}}))
	inner := h5.SequenceOf(i2)
	add("sequence-of-sequences", h5.SequenceOf(inner), typed([][][]int16{{{1}, {2, 3}}, {}, {{}}, {{4, 5, 6}}}))
	add("sequence-of-vstrings", h5.SequenceOf(text), typed([][]string{{"a", "bc"}, {}, {""}, {"def"}}))
	slices.SortFunc(all, func(a, b hdf5Type) int { return strings.Compare(a.name, b.name) })
	return all
}

// plainBytes returns elements of a plain type: small numbers.
func plainBytes(dt h5.Datatype, n int) []byte {
	b := make([]byte, 0, n*dt.Size)
	for i := range n {
		e := make([]byte, dt.Size)
		fillPlain(e, dt, uint64(3*i))
		b = append(b, e...)
	}
	return b
}

func fillPlain(e []byte, dt h5.Datatype, v uint64) {
	switch dt.Class {
	case h5.Compound:
		for i, m := range dt.Members {
			fillPlain(e[m.Offset:m.Offset+m.Type.Size], *m.Type, v+uint64(i))
		}
		return
	case h5.Array:
		for i := 0; i < len(e); i += dt.Base.Size {
			fillPlain(e[i:i+dt.Base.Size], *dt.Base, v+uint64(i))
		}
		return
	case h5.Enum:
		if h5value.IsBool(dt) {
			v &= 1
		}
		dt = *dt.Base
	case h5.Complex:
		half := len(e) / 2
		fillPlain(e[:half], *dt.Base, v)
		fillPlain(e[half:], *dt.Base, v+1)
		return
	}
	putInt(e, v<<dt.Offset)
	if dt.Order == h5.BigEndian && dt.Class != h5.String && dt.Class != h5.Opaque {
		reverse(e)
	}
}

func (e *emitter) hdf5AllTypes() error {
	for _, t := range hdf5EveryType() {
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{
				ID: "hdf5/type/" + format + "/" + t.name, Object: "/d", Section: hdf5Document + ": IV.A.2.d Datatype", Params: map[string]string{"format": format, "type": t.name},
			}
			var want []byte
			if t.dt.Plain() && t.write == nil {
				want = plainBytes(t.dt, hdf5Elements)
			}
			return e.hdf5File(c, low, nil, want, func(f *h5.File) error {
				space := h5.SimpleSpace(hdf5Elements)
				d, err := f.Root().CreateDataset("d", t.dt, space, nil)
				if err != nil {
					return err
				}
				if t.write != nil {
					err = t.write(d)
				} else {
					err = d.WriteRegion(want, t.dt, space.All())
				}
				return errors.Join(err, d.Close())
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) hdf5Spaces() error {
	i4 := h5.Int(4, h5.LittleEndian)
	ones := func(n int) []int64 { return slices.Repeat([]int64{1}, n) }
	grow := func(max []int64, dims ...int64) h5.Dataspace {
		return h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: max}
	}
	for _, s := range []struct {
		name   string
		space  h5.Dataspace
		chunks []int64
	}{
		{"scalar", h5.ScalarSpace(), nil},
		{"null", h5.NullSpace(), nil},
		{"zero", h5.SimpleSpace(0), nil},
		{"zero-axis", h5.SimpleSpace(3, 0, 2), nil},
		{"zero-unlimited", grow([]int64{h5.Unlimited, 4}, 0, 4), []int64{2, 2}},
		{"limited", grow([]int64{9, 9}, 5, 4), []int64{3, 3}},
		{"unlimited-last", grow([]int64{5, h5.Unlimited}, 5, 14), []int64{3, 3}},
		{"rank-1", h5.SimpleSpace(7), nil},
		{"rank-4", h5.SimpleSpace(2, 3, 4, 5), []int64{2, 2, 3, 3}},
		{"rank-7", h5.SimpleSpace(2, 1, 3, 1, 2, 2, 3), []int64{1, 1, 2, 1, 2, 1, 2}},
		{"rank-32", h5.SimpleSpace(append(ones(30), 3, 4)...), nil},
		{"rank-32-chunked", h5.SimpleSpace(append(ones(30), 3, 4)...), append(ones(30), 2, 3)},
	} {
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{ID: "hdf5/space/" + format + "/" + s.name, Object: "/d", Section: hdf5Document + ": IV.A.2.b Dataspace", Params: map[string]string{"format": format, "space": s.name}}
			want := plainBytes(i4, int(s.space.NumElems()))
			return e.hdf5File(c, low, nil, want, func(f *h5.File) error {
				return writeDataset(f, "d", i4, s.space, &h5.DatasetOptions{ChunkShape: s.chunks}, want)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeDataset(f *h5.File, name string, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions, data []byte) error {
	d, err := f.Root().CreateDataset(name, dt, space, o)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		err = d.WriteSelection(data, dt, h5.All)
	}
	return errors.Join(err, d.Close())
}

// hdf5Masks adds chunks with skipped filters.
func (e *emitter) hdf5Masks() error {
	dt := h5.Uint(2, h5.LittleEndian)
	for _, m := range []struct {
		name    string
		filters []h5.Filter
		mask    uint32
	}{
		{"shuffle-of-shuffle", []h5.Filter{h5.Shuffle()}, 1},
		{"all-of-shuffle-deflate", []h5.Filter{h5.Shuffle(), h5.Deflate(6)}, 3},
		{"fletcher32-of-fletcher32", []h5.Filter{h5.Fletcher32()}, 1},
		{"all-of-three", []h5.Filter{h5.Shuffle(), h5.Deflate(6), h5.Fletcher32()}, 7},
	} {
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{ID: "hdf5/mask/" + format + "/" + m.name, Object: "/d", Section: hdf5Document + ": III.A.1, filter mask", Params: map[string]string{"format": format, "mask": fmt.Sprint(m.mask)}}
			space := h5.SimpleSpace(32)
			want := plainBytes(dt, 32)
			return e.hdf5File(c, low, nil, want, func(f *h5.File) error {
				d, err := f.Root().CreateDataset("d", dt, space, &h5.DatasetOptions{ChunkShape: []int64{8}, Filters: m.filters})
				if err != nil {
					return err
				}
				err = d.WriteRegion(want, dt, space.All())
				if err == nil {
					err = chunkio.Store(d, want[16:32], m.mask, 8)
				}
				return errors.Join(err, d.Close())
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5Indexes adds indexes of more than one node, block or page.
func (e *emitter) hdf5Indexes() error {
	i2 := h5.Int(2, h5.BigEndian)
	for _, x := range []struct {
		name string
		max  []int64
		step int64 // 1: every chunk is written; otherwise every step-th
		o    h5.DatasetOptions
	}{
		{"fixed", nil, 1, h5.DatasetOptions{ChunkShape: []int64{2, 3}}},
		{"fixed-filtered", nil, 1, h5.DatasetOptions{ChunkShape: []int64{2, 3}, Filters: []h5.Filter{h5.Shuffle()}}},
		{"fixed-sparse", nil, 37, h5.DatasetOptions{ChunkShape: []int64{2, 3}, Fill: []byte{0x12, 0x34}}},
		{"one-unlimited", []int64{h5.Unlimited, 62}, 1, h5.DatasetOptions{ChunkShape: []int64{2, 3}}},
		{"one-unlimited-sparse", []int64{90, h5.Unlimited}, 41, h5.DatasetOptions{ChunkShape: []int64{2, 3}, Fill: []byte{0x12, 0x34}}},
		{"two-unlimited", []int64{h5.Unlimited, h5.Unlimited}, 1, h5.DatasetOptions{ChunkShape: []int64{2, 3}}},
		{"two-unlimited-sparse", []int64{h5.Unlimited, h5.Unlimited}, 43, h5.DatasetOptions{ChunkShape: []int64{2, 3}, Fill: []byte{0x12, 0x34}, Filters: []h5.Filter{h5.Shuffle()}}},
	} {
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{ID: "hdf5/index/" + format + "/" + x.name, Object: "/d", Section: hdf5Document + ": III.A.1 B-tree of version 1; VII Fixed Array, Extensible Array, B-tree of version 2", Params: map[string]string{"format": format, "index": x.name}}
			space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{83, 62}, MaxDims: x.max}
			return e.hdf5File(c, low, nil, nil, func(f *h5.File) error {
				d, err := f.Root().CreateDataset("d", i2, space, &x.o)
				if err != nil {
					return err
				}
				if x.step == 1 {
					err = d.WriteRegion(plainBytes(i2, 83*62), i2, space.All())
				}
				for k := int64(0); x.step > 1 && k < 41*20 && err == nil; k += x.step {
					r := h5.Region{Start: []int64{k / 20 * 2, k % 20 * 3}, Count: []int64{2, 3}}
					err = d.WriteRegion(plainBytes(i2, 6), i2, r)
				}
				return errors.Join(err, d.Close())
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) hdf5Attributes() error {
	i4, f8 := h5.Int(4, h5.BigEndian), h5.IEEEFloat(8, h5.LittleEndian)
	attributes := []h5.Attribute{
		{Name: "number", Datatype: i4, Space: h5.ScalarSpace(), Data: binary.BigEndian.AppendUint32(nil, 7)},
		{Name: "vector", Datatype: f8, Space: h5.SimpleSpace(2, 3), Data: make([]byte, 48)},
		{Name: "fixed text", Datatype: h5.FixedString(6, h5.NullPad, h5.ASCII), Space: h5.SimpleSpace(2), Strings: []string{"one", "two"}},
		{Name: "text", Datatype: h5.VariableString(h5.UTF8), Space: h5.ScalarSpace(), Strings: []string{"größe"}},
		{Name: "größe", Datatype: i4, Space: h5.SimpleSpace(1), Data: binary.BigEndian.AppendUint32(nil, 1<<20)},
		{Name: "null", Datatype: i4, Space: h5.NullSpace()},
	}
	for _, storage := range []string{"compact", "dense", "ordered", "dense-ordered"} {
		err := inFormats(func(format string, low h5.LibVer) error {
			if format == "earliest" && storage != "compact" {
				return nil // the format of 1.6 has only one form of attribute storage
			}
			o := &h5.DatasetOptions{AttributePhase: &h5.PhaseChange{MaxCompact: 8, MinDense: 6}}
			if strings.HasPrefix(storage, "dense") {
				o.AttributePhase = &h5.PhaseChange{}
			}
			if strings.HasSuffix(storage, "ordered") {
				o.AttributeOrder = h5.IndexedCreationOrder
			}
			id := "hdf5/attribute/" + format + "/" + storage
			path, err := e.place(id + ".h5")
			if err != nil {
				return err
			}
			err = makeHDF5(path, low, nil, false, func(f *h5.File) error {
				d, err := f.Root().CreateDataset("d", i4, h5.ScalarSpace(), o)
				if err != nil {
					return err
				}
				for _, a := range attributes {
					err = errors.Join(err, d.WriteAttribute(a))
				}
				if format != "earliest" { // longer than a header message can be
					err = errors.Join(err, d.WriteAttribute(h5.Attribute{Name: "huge", Datatype: h5.Uint(1, h5.LittleEndian), Space: h5.SimpleSpace(70_000), Data: series("text", 1, 70_000, 1)}))
				}
				return errors.Join(err, d.Close())
			})
			if err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			names := []string{}
			for _, a := range attributes {
				names = append(names, a.Name)
			}
			if format != "earliest" {
				names = append(names, "huge")
			}
			for i, name := range names {
				c := Case{
					ID: fmt.Sprintf("%s-%d", id, i), Path: id + ".h5", Object: "/d@" + name, Section: hdf5Document + ": IV.A.2.m Attribute, IV.A.2.v Attribute Info",
					Params: map[string]string{"format": format, "storage": storage, "attribute": name},
				}
				if err := e.hdf5Case(c, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) hdf5Groups() error {
	for _, g := range []struct {
		name  string
		links int
		o     *h5.GroupOptions
	}{
		{"few", 3, nil},
		{"many", 300, nil},
		{"ordered", 3, &h5.GroupOptions{Order: h5.TrackCreationOrder}},
		{"dense-indexed", 300, &h5.GroupOptions{Order: h5.IndexedCreationOrder, Phase: &h5.PhaseChange{}}},
		{"dense-filtered", 60, &h5.GroupOptions{Phase: &h5.PhaseChange{}, Deflate: new(6), Fletcher32: true}},
	} {
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{ID: "hdf5/group/" + format + "/" + g.name, Object: "/g", Section: hdf5Document + ": IV.A.2.c Link Info, IV.A.2.g Link, IV.A.2.r Symbol Table", Params: map[string]string{"format": format, "group": g.name}}
			return e.hdf5File(c, low, nil, nil, func(f *h5.File) error {
				group, err := f.Root().CreateGroupWith("g", g.o)
				if err != nil {
					return err
				}
				inner, err := group.CreateGroup("inner")
				if err == nil {
					err = inner.Close()
				}
				err = errors.Join(err,
					writeDataset(f, "d", h5.Int(1, h5.LittleEndian), h5.ScalarSpace(), nil, []byte{7}),
					group.LinkHard("data", "/d"), group.LinkSoft("soft", "/d"), group.LinkSoft("dangling", "nowhere/at all"),
					group.LinkExternal("external", "other.h5", "/x/y"), group.LinkSoft("größe", "inner"))
				if g.o != nil {
					err = errors.Join(err, group.LinkUser("user", 177, []byte("value")))
				}
				for i := range g.links {
					err = errors.Join(err, group.LinkSoft(fmt.Sprintf("link %d", i), fmt.Sprintf("/target/%d", i*i)))
				}
				if g.links > 10 {
					err = errors.Join(err, group.Unlink("link 7"))
				}
				return errors.Join(err, group.Close())
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5Files adds the same content in files with different creation properties.
func (e *emitter) hdf5Files() error {
	i4 := h5.Int(4, h5.LittleEndian)
	data := plainBytes(i4, 35)
	for _, x := range []struct {
		name string
		edit func(*h5.FileCreation)
		from string // the oldest format that supports it
	}{
		{"plain", func(*h5.FileCreation) {}, "earliest"},
		{"sizes-4-4", func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 4, 4 }, "earliest"},
		{"sizes-8-4", func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 8, 4 }, "earliest"},
		{"sizes-4-8", func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 4, 8 }, "earliest"},
		{"sizes-16-8", func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 16, 8 }, "v114"}, // the library does not read back symbol tables
		{"user-block", func(c *h5.FileCreation) { c.UserBlock = 2048 }, "earliest"},
		{"ranks", func(c *h5.FileCreation) { c.GroupLeafK, c.GroupTreeK, c.ChunkTreeK = 1, 2, 2 }, "earliest"},
		{"shared", func(c *h5.FileCreation) {
			c.Shared, c.AttrOrder = []h5.SharedMessages{{Types: h5.SharedAll, MinBytes: 4}}, h5.TrackCreationOrder
		}, "v18"},
		{"shared-tree", func(c *h5.FileCreation) {
			c.Shared, c.AttrOrder = []h5.SharedMessages{{Types: h5.SharedAll, MinBytes: 4}}, h5.TrackCreationOrder
			c.SharedPhase = h5.PhaseChange{}
		}, "v18"},
		{"paged", func(c *h5.FileCreation) {
			c.Space = h5.FileSpace{Strategy: h5.Paged, Threshold: 1, PageSize: 512}
		}, "v114"},
		{"free-space", func(c *h5.FileCreation) {
			c.Space = h5.FileSpace{Strategy: h5.FreeListAggregate, Persist: true, Threshold: 1, PageSize: 4096}
		}, "v114"},
	} {
		err := inFormats(func(format string, low h5.LibVer) error {
			if slices.Index(hdf5FormatNames, format) < slices.Index(hdf5FormatNames, x.from) {
				return nil
			}
			creation := h5.DefaultFileCreation()
			x.edit(&creation)
			c := Case{ID: "hdf5/file/" + format + "/" + x.name, Object: "/d3", Section: hdf5Document + ": II.A Superblock, IV.A Object Headers, IV.A.2.p Shared Message Table", Params: map[string]string{"format": format, "file": x.name}}
			return e.hdf5File(c, low, &creation, data, func(f *h5.File) error {
				var err error
				for i := range 6 {
					name := fmt.Sprintf("d%d", i)
					err = errors.Join(err, writeDataset(f, name, i4, h5.SimpleSpace(5, 7), &h5.DatasetOptions{ChunkShape: []int64{2, 2}, Fill: []byte{9, 0, 0, 0}}, data))
				}
				return errors.Join(err, f.Root().Unlink("d1"))
			})
		})
		if err != nil {
			return err
		}
	}
	return inFormats(func(format string, low h5.LibVer) error {
		c := Case{ID: "hdf5/type/" + format + "/committed", Object: "/d", Section: hdf5Document + ": IV.A.2 shared messages, III.G Committed Datatype", Params: map[string]string{"format": format, "type": "committed"}}
		dt := h5.CompoundOf(h5.Member{Name: "a", Type: &i4})
		want := plainBytes(dt, 4)
		if err := e.hdf5File(c, low, nil, want, func(f *h5.File) error {
			t, err := f.Root().CommitDatatype("t", dt)
			if err != nil {
				return err
			}
			shared, err := t.Shared()
			if err == nil {
				err = writeDataset(f, "d", shared, h5.SimpleSpace(4), nil, want)
			}
			return errors.Join(err, t.Close())
		}); err != nil {
			return err
		}
		c.ID, c.Path, c.Object = c.ID+"-itself", c.ID+".h5", "/t"
		return e.hdf5Case(c, nil)
	})
}

func (e *emitter) hdf5References() error {
	// h5.StandardReference is missing because the library does not set all bytes of such elements,
	// so that no two files are the same.
	for i, name := range []string{"object", "region"} {
		kind := h5.ObjectReference + h5.ReferenceKind(i)
		err := inFormats(func(format string, low h5.LibVer) error {
			c := Case{ID: "hdf5/reference/" + format + "/" + name, Object: "/r", Section: hdf5Document + ": VIII.A to VIII.C References", Params: map[string]string{"format": format, "reference": name}}
			return e.hdf5File(c, low, nil, nil, func(f *h5.File) error {
				err := writeDataset(f, "d", h5.Int(1, h5.LittleEndian), h5.SimpleSpace(4, 6), nil, plainBytes(h5.Int(1, h5.LittleEndian), 24))
				if err != nil {
					return err
				}
				root := f.Root()
				refs := make([]h5.Ref, 3) // the last is null
				if kind == h5.RegionReference {
					refs[0], err = root.ReferenceRegion("d", kind, h5.Region{Start: []int64{1, 2}, Count: []int64{2, 3}})
					if err == nil {
						refs[1], err = root.ReferenceRegion("d", kind, h5.Points{{0, 1}, {3, 5}})
					}
				} else {
					refs[0], err = root.Reference("d", kind)
					if err == nil {
						var g *h5.Group
						if g, err = root.CreateGroup("g"); err == nil {
							err = g.Close()
						}
					}
					if err == nil {
						refs[1], err = root.Reference("g", kind)
					}
				}
				if err != nil {
					return err
				}
				d, err := root.CreateDataset("r", h5.ReferenceType(kind), h5.SimpleSpace(3), nil)
				if err != nil {
					return err
				}
				return errors.Join(typed(refs)(d), d.Close())
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5Elsewhere adds datasets whose elements are in other files.
func (e *emitter) hdf5Elsewhere() error {
	i2 := h5.Int(2, h5.LittleEndian)
	data := plainBytes(i2, 40)
	return inFormats(func(format string, low h5.LibVer) error {
		directory := "hdf5/elsewhere/" + format
		raw, other := format+"-raw.bin", format+"-source.h5"
		path, err := e.place(directory + "/" + raw)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, append(make([]byte, 100), data...), 0o644); err != nil {
			return err
		}
		if err := makeHDF5(e.at(directory+"/"+other), low, nil, false, func(f *h5.File) error { return writeDataset(f, "s", i2, h5.SimpleSpace(40), nil, data) }); err != nil {
			return err
		}
		c := Case{ID: directory + "/external", Object: "/d", Beside: []string{raw}, Section: hdf5Document + ": IV.A.2.h External Data Files", Params: map[string]string{"format": format}}
		err = e.hdf5File(c, low, nil, nil, func(f *h5.File) error {
			return writeDataset(f, "d", i2, h5.SimpleSpace(40), &h5.DatasetOptions{External: []h5.ExternalFile{{Name: raw, Offset: 140, Size: 40}, {Name: raw, Offset: 100, Size: h5.Unlimited}}}, nil)
		})
		if err != nil || format != "v114" {
			return err
		}
		c = Case{ID: directory + "/virtual", Object: "/v", Beside: []string{other}, Section: hdf5Document + ": IV.A.2.i layout class 3; VII.D Virtual Dataset", Params: map[string]string{"format": format}}
		return e.hdf5File(c, low, nil, nil, func(f *h5.File) error {
			row := func(start, n int64) h5.Region { return h5.Region{Start: []int64{start}, Count: []int64{n}} }
			return errors.Join(
				writeDataset(f, "own", i2, h5.SimpleSpace(10), nil, data[40:60]),
				writeDataset(f, "v", i2, h5.SimpleSpace(50), &h5.DatasetOptions{Fill: []byte{0x21, 0x43}, Mappings: []h5.Mapping{
					{Region: row(0, 20), File: other, Dataset: "/s", Source: h5.SimpleSpace(40), SourceRegion: h5.Region{Start: []int64{1}, Count: []int64{20}, Stride: []int64{2}}},
					{Region: row(25, 10), File: ".", Dataset: "/own", Source: h5.SimpleSpace(10), SourceRegion: h5.SimpleSpace(10).All()},
					{Region: row(40, 10), File: "missing.h5", Dataset: "/x", Source: h5.SimpleSpace(10), SourceRegion: h5.SimpleSpace(10).All()},
				}}, nil))
		})
	})
}
