// HDF5 vectors that exercise the rules of rules.txt that no other vector exercises.

package crosscheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// hdf5More adds them. Each is written in one format, because the rule does not depend on it.
func (e *emitter) hdf5More() error {
	for _, add := range []func() error{e.hdf5MoreGroups, e.hdf5MoreFiles, e.hdf5MoreShared, e.hdf5MoreDatasets, e.hdf5MoreVirtual, e.hdf5Usual} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// hdf5MoreGroups adds groups with symbol tables of several levels, and with fractal heaps that
// contain tiny, huge and filtered objects, or indirect blocks of several levels.
func (e *emitter) hdf5MoreGroups() error {
	dense := func() *h5.GroupOptions { return &h5.GroupOptions{Phase: &h5.PhaseChange{}} }
	filtered := dense()
	filtered.Deflate, filtered.Fletcher32 = new(6), true
	expected := &h5.GroupOptions{Expect: &h5.LinkEstimate{Links: 9, NameLen: 20}}
	// IDs of 7 bytes contain the location of a huge object. Lengths of 2 bytes do not suffice:
	// libhdf5 then stores the maximum size of direct blocks, 65536, as 0.
	small := func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 2, 4 }
	soft := func(n, length int) func(g *h5.Group) error {
		return func(g *h5.Group) error {
			var err error
			for i := range n {
				target := fmt.Sprintf("/target/%d", i*i)
				if length > 0 {
					target = string(series("text", uint64(i), length, 1))
					target = strings.ReplaceAll(target, "\x00", "-")
				}
				err = errors.Join(err, g.LinkSoft(fmt.Sprintf("link %04d", i), target))
			}
			return err
		}
	}
	for _, x := range []struct {
		name string
		low  h5.LibVer
		o    *h5.GroupOptions
		edit func(*h5.FileCreation)
		fill func(g *h5.Group) error
	}{
		{"symbols-8", h5.Earliest, nil, nil, soft(8, 0)},
		{"symbols-132", h5.Earliest, nil, nil, soft(132, 0)},
		{"symbols-400", h5.Earliest, nil, nil, soft(400, 0)},
		{"unlinked", h5.Earliest, nil, nil, func(g *h5.Group) error {
			err := soft(20, 0)(g)
			for _, i := range []int{3, 7, 11, 15} {
				err = errors.Join(err, g.Unlink(fmt.Sprintf("link %04d", i)))
			}
			return err
		}},
		{"estimated", h5.V18, expected, nil, soft(3, 0)},
		{"long-name", h5.V18, nil, nil, func(g *h5.Group) error { return g.LinkSoft(strings.Repeat("long ", 100), "/target") }},
		{"filtered-root", h5.V18, filtered, nil, soft(3, 0)},
		{"huge", h5.V18, dense(), nil, soft(3, 6000)},
		{"huge-filtered", h5.V18, filtered, nil, soft(3, 6000)},
		{"huge-direct", h5.V18, dense(), small, soft(2, 6000)},
		{"three-levels", h5.V114, dense(), nil, soft(1500, 0)},
		{"lower-blocks", h5.V114, dense(), nil, soft(150, 4000)},
		{"skipped-blocks", h5.V114, dense(), nil, func(g *h5.Group) error {
			return errors.Join(soft(12, 4000)(g), g.LinkSoft("short", "x"))
		}},
	} {
		creation := h5.DefaultFileCreation()
		if x.edit != nil {
			x.edit(&creation)
		}
		c := Case{ID: "hdf5/group/more/" + x.name, Object: "/g", Section: hdf5Document + ": III Level 1 structures of groups", Params: map[string]string{"group": x.name}}
		err := e.hdf5File(c, x.low, &creation, nil, func(f *h5.File) error {
			g, err := f.Root().CreateGroupWith("g", x.o)
			if err != nil {
				return err
			}
			return errors.Join(x.fill(g), g.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5MoreFiles adds files with other sizes and other strategies of file space.
func (e *emitter) hdf5MoreFiles() error {
	i4 := h5.Int(4, h5.LittleEndian)
	data := plainBytes(i4, 35)
	for _, x := range []struct {
		name string
		low  h5.LibVer
		edit func(*h5.FileCreation)
	}{
		{"sizes-2-2", h5.Earliest, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 2, 2 }},
		{"sizes-2-2-v18", h5.V18, func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 2, 2 }},
		{"aggregated", h5.V114, func(c *h5.FileCreation) { c.Space = h5.FileSpace{Strategy: h5.Aggregate} }},
		{"unmanaged", h5.V114, func(c *h5.FileCreation) { c.Space = h5.FileSpace{Strategy: h5.NoReuse} }},
	} {
		creation := h5.DefaultFileCreation()
		x.edit(&creation)
		c := Case{ID: "hdf5/file/more/" + x.name, Object: "/d", Section: hdf5Document + ": II.A Superblock, IV.A.2.x File Space Info", Params: map[string]string{"file": x.name}}
		err := e.hdf5File(c, x.low, &creation, data, func(f *h5.File) error {
			return writeDataset(f, "d", i4, h5.SimpleSpace(5, 7), nil, data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5MoreShared adds files with several indexes of shared messages, and with shared messages of
// every type.
func (e *emitter) hdf5MoreShared() error {
	i4 := h5.Int(4, h5.LittleEndian)
	data := plainBytes(i4, 35)
	creation := h5.DefaultFileCreation()
	creation.AttrOrder = h5.TrackCreationOrder
	creation.Shared = []h5.SharedMessages{
		{Types: h5.SharedDataspaces, MinBytes: 1}, {Types: h5.SharedDatatypes, MinBytes: 1}, {Types: h5.SharedFills | h5.SharedFilters | h5.SharedAttributes, MinBytes: 1},
	}
	for _, tree := range []bool{false, true} {
		name := "shared-all"
		if tree {
			name += "-tree"
			creation.SharedPhase = h5.PhaseChange{}
		}
		c := Case{ID: "hdf5/file/more/" + name, Object: "/d1", Section: hdf5Document + ": III.H Shared Object Header Message Table, IV.A.2.p Shared Message Table", Params: map[string]string{"file": name}}
		err := e.hdf5File(c, h5.V18, &creation, data, func(f *h5.File) error {
			// A message that one object has stays in its header.
			err := writeDataset(f, "alone", h5.FixedString(77, h5.NullTerm, h5.ASCII), h5.SimpleSpace(3, 4, 5, 6), nil, nil)
			for i := range 3 {
				o := &h5.DatasetOptions{ChunkShape: []int64{2, 7}, Filters: []h5.Filter{h5.Shuffle(), h5.Deflate(6)}, Fill: []byte{9, 0, 0, 0}, AttributeOrder: h5.TrackCreationOrder}
				d, derr := f.Root().CreateDataset(fmt.Sprintf("d%d", i), i4, h5.SimpleSpace(5, 7), o)
				if derr != nil {
					return derr
				}
				for _, a := range []string{"unit", "other"} {
					err = errors.Join(err, d.WriteAttribute(h5.Attribute{Name: a, Datatype: h5.IEEEFloat(8, h5.LittleEndian), Space: h5.SimpleSpace(5, 7), Data: make([]byte, 8*35)}))
				}
				err = errors.Join(err, d.WriteRegion(data, i4, h5.SimpleSpace(5, 7).All()), d.Close(),
					writeDataset(f, fmt.Sprintf("scalar%d", i), i4, h5.ScalarSpace(), nil, []byte{byte(i), 0, 0, 0}))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hdf5MoreDatasets adds fill values that are never written, pages of chunk indexes, an emptied
// index, 32 filters, and several collections of the global heap.
func (e *emitter) hdf5MoreDatasets() error {
	i1, i4 := h5.Int(1, h5.LittleEndian), h5.Int(4, h5.LittleEndian)
	whole := func(dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) func(f *h5.File) error {
		return func(f *h5.File) error {
			return writeDataset(f, "d", dt, space, o, plainBytes(dt, int(space.NumElems())))
		}
	}
	grow := func(n int64) h5.Dataspace {
		return h5.Dataspace{Kind: h5.Simple, Dims: []int64{n}, MaxDims: []int64{h5.Unlimited}}
	}
	many := make([]h5.Filter, 32)
	for i := range many {
		many[i] = h5.Shuffle()
	}
	for _, x := range []struct {
		name, section string
		low           h5.LibVer
		fill          func(f *h5.File) error
	}{
		{"fill-undefined-earliest", "IV.A.2.f Fill Value", h5.Earliest, whole(i4, h5.SimpleSpace(5), &h5.DatasetOptions{NoFill: true, FillTime: h5.FillNever})},
		{"fill-undefined-v18", "IV.A.2.f Fill Value", h5.V18, whole(i4, h5.SimpleSpace(5), &h5.DatasetOptions{NoFill: true, FillTime: h5.FillNever})},
		{"fill-never", "IV.A.2.f Fill Value", h5.V18, whole(i4, h5.SimpleSpace(5), &h5.DatasetOptions{Fill: []byte{1, 2, 3, 4}, FillTime: h5.FillNever})},
		{"filters-32", "IV.A.2.l Filter Pipeline", h5.V18, whole(i4, h5.SimpleSpace(8), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: many})},
		{"fixed-array-pages", "VII.C Fixed Array", h5.V114, whole(i1, h5.SimpleSpace(2100), &h5.DatasetOptions{ChunkShape: []int64{1}})},
		{"extensible-array-pages", "VII.D Extensible Array", h5.V114, func(f *h5.File) error {
			d, err := f.Root().CreateDataset("d", i1, grow(150_000), &h5.DatasetOptions{ChunkShape: []int64{1}, Fill: []byte{5}})
			if err != nil {
				return err
			}
			return errors.Join(d.WriteRegion([]byte{7}, i1, h5.Region{Start: []int64{140_000}, Count: []int64{1}}), d.Close())
		}},
		{"emptied-tree", "III.A.2 Version 2 B-trees", h5.V114, func(f *h5.File) error {
			space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{4, 4}, MaxDims: []int64{h5.Unlimited, h5.Unlimited}}
			d, err := f.Root().CreateDataset("d", i4, space, &h5.DatasetOptions{ChunkShape: []int64{2, 2}, Fill: []byte{1, 0, 0, 0}})
			if err != nil {
				return err
			}
			return errors.Join(d.WriteRegion(plainBytes(i4, 16), i4, space.All()), d.Resize(0, 0), d.Resize(3, 3), d.Close())
		}},
		{"global-heaps", "III.E Global Heap", h5.Earliest, func(f *h5.File) error {
			// A collection has at most 64 KiB. An object that does not fit gets a collection of its
			// own.
			text := []string{strings.Repeat("a", 3000), strings.Repeat("b", 40_000), strings.Repeat("c", 60_000), strings.Repeat("d", 70_000)}
			d, err := f.Root().CreateDataset("d", h5.VariableString(h5.ASCII), h5.SimpleSpace(4), nil)
			if err != nil {
				return err
			}
			return errors.Join(typed(text)(d), d.Close())
		}},
		{"attribute-of-committed-type", "IV.A.2.m Attribute, flags", h5.V18, func(f *h5.File) error {
			t, err := f.Root().CommitDatatype("t", i4)
			if err != nil {
				return err
			}
			shared, err := t.Shared()
			if err != nil {
				return errors.Join(err, t.Close())
			}
			d, err := f.Root().CreateDataset("d", shared, h5.SimpleSpace(2), nil)
			if err != nil {
				return errors.Join(err, t.Close())
			}
			return errors.Join(d.WriteRegion(plainBytes(i4, 2), i4, h5.SimpleSpace(2).All()),
				d.WriteAttribute(h5.Attribute{Name: "unit", Datatype: shared, Space: h5.ScalarSpace(), Data: binary.NativeEndian.AppendUint32(nil, 7)}), d.Close(), t.Close())
		}},
	} {
		c := Case{ID: "hdf5/more/" + x.name, Object: "/d", Section: hdf5Document + ": " + x.section, Params: map[string]string{"more": x.name}}
		if err := e.hdf5File(c, x.low, nil, nil, x.fill); err != nil {
			return err
		}
	}
	return nil
}

// hdf5MoreVirtual adds a virtual dataset whose mappings select everything, in the newest format.
func (e *emitter) hdf5MoreVirtual() error {
	i2 := h5.Int(2, h5.LittleEndian)
	data := plainBytes(i2, 40)
	space := h5.SimpleSpace(40)
	c := Case{ID: "hdf5/more/virtual-all", Object: "/v", Section: "HDF5 File Format Specification 4.0: VII.D Virtual Dataset", Since: sinceHDF5, Params: map[string]string{"more": "virtual-all"}}
	return e.hdf5File(c, h5.LatestFormat, nil, nil, func(f *h5.File) error {
		return errors.Join(writeDataset(f, "s", i2, space, nil, data),
			writeDataset(f, "v", i2, space, &h5.DatasetOptions{Mappings: []h5.Mapping{{Region: space.All(), File: ".", Dataset: "/s", Source: h5.ScalarSpace()}}}, nil))
	})
}

// hdf5Usual adds files of the usual form: shuffle and deflate, chunks that do not divide the shape,
// and an attribute that is a string, as h5py and netCDF-C write them. Other vectors have each of
// these, but also something unusual.
func (e *emitter) hdf5Usual() error {
	for _, x := range []struct {
		name   string
		low    h5.LibVer
		order  h5.CreationOrder
		dt     h5.Datatype
		space  h5.Dataspace
		chunks []int64
	}{
		{"1d", h5.Earliest, h5.NoCreationOrder, h5.IEEEFloat(8, h5.LittleEndian), h5.SimpleSpace(29), []int64{10}},
		{"2d", h5.Earliest, h5.NoCreationOrder, h5.Int(2, h5.LittleEndian), h5.SimpleSpace(9, 7), []int64{4, 3}},
		{"3d", h5.Earliest, h5.NoCreationOrder, h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(3, 5, 4), []int64{2, 2, 4}},
		{"netcdf-1d", h5.V18, h5.IndexedCreationOrder, h5.IEEEFloat(8, h5.LittleEndian), h5.SimpleSpace(12), []int64{12}},
		{"netcdf-2d", h5.V18, h5.IndexedCreationOrder, h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(6, 7), []int64{4, 3}},
		{"netcdf-3d", h5.V18, h5.IndexedCreationOrder, h5.IEEEFloat(4, h5.LittleEndian), h5.Dataspace{Kind: h5.Simple, Dims: []int64{3, 5, 4}, MaxDims: []int64{h5.Unlimited, 5, 4}}, []int64{1, 5, 4}},
	} {
		want := plainBytes(x.dt, int(x.space.NumElems()))
		c := Case{ID: "hdf5/more/usual-" + x.name, Object: "/d", Section: hdf5Document + ": IV.A.2.l Filter Pipeline", Params: map[string]string{"usual": x.name}}
		creation := h5.DefaultFileCreation()
		creation.LinkOrder, creation.AttrOrder = x.order, x.order
		o := &h5.DatasetOptions{ChunkShape: x.chunks, Shuffle: true, Deflate: new(4), AttributeOrder: x.order}
		unit := h5.Attribute{Name: "units", Datatype: h5.FixedString(2, h5.NullTerm, h5.ASCII), Space: h5.ScalarSpace(), Data: []byte("K\x00")}
		err := e.hdf5File(c, x.low, &creation, want, func(f *h5.File) error {
			d, err := f.Root().CreateDataset("d", x.dt, x.space, o)
			if err != nil {
				return err
			}
			return errors.Join(d.WriteSelection(want, x.dt, h5.All), d.WriteAttribute(unit), d.Close())
		})
		if err != nil {
			return err
		}
		attribute := c
		attribute.ID, attribute.Object, attribute.Path = c.ID+"-units", "/d@units", c.ID+".h5"
		if err := e.hdf5Case(attribute, unit.Data); err != nil {
			return err
		}
	}
	return nil
}
