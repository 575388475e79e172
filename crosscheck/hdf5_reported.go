// HDF5 vectors of forms that published readers misread, although each field of these forms also
// occurs in other vectors. recall.txt names the reports.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// hdf5Reported adds them.
func (e *emitter) hdf5Reported() error {
	for _, add := range []func() error{
		e.reportedChecksums, e.reportedExtents, e.reportedCompounds, e.reportedSharedAttributes, e.reportedStatus, e.reportedDimensions, e.reportedHeaps, e.reportedMasks, e.reportedFills, e.reportedNames, e.reportedDepth, e.reportedOrder,
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// reportedCase is the case of the vector hdf5/reported/NAME.
func reportedCase(name, section string) Case {
	return Case{ID: "hdf5/reported/" + name, Object: "/d", Section: hdf5Document + ": " + section, Params: map[string]string{"reported": name}}
}

// words returns big-endian words of 16 bits, in the form in which Fletcher-32 adds them.
func words(v ...uint16) []byte {
	var b []byte
	for _, x := range v {
		b = binary.BigEndian.AppendUint16(b, x)
	}
	return b
}

// reportedChecksums adds chunks whose Fletcher-32 sums are multiples of 65535, which the library
// stores as 65535 and not as 0, chunks of an odd number of bytes, and a chunk of more than the 360
// words after which the library folds its sums.
func (e *emitter) reportedChecksums() error {
	for _, x := range []struct {
		name string
		data []byte
	}{
		{"ones", bytes.Repeat([]byte{0xFF}, 16)},
		{"first-sum", words(0x1234, 0xFFFF-0x1234)},
		{"second-sum", words(0x1000, 0xFFFF-0x2000)},
		{"zeros", make([]byte, 8)},
		{"odd", []byte{1, 2, 3, 4, 5}},
		{"odd-ones", bytes.Repeat([]byte{0xFF}, 7)},
		{"long", series("random", 9, 4000, 1)},
		{"long-ones", bytes.Repeat([]byte{0xFF}, 4000)},
	} {
		u1, n := h5.Uint(1, h5.LittleEndian), int64(len(x.data))
		err := e.hdf5File(reportedCase("fletcher32-"+x.name, "IV.A.2.l Filter Pipeline, filter 3"), h5.V18, nil, x.data, func(f *h5.File) error {
			return writeDataset(f, "d", u1, h5.SimpleSpace(n), &h5.DatasetOptions{ChunkShape: []int64{n}, Filters: []h5.Filter{h5.Fletcher32()}}, x.data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedExtents adds chunk indexes that are numbered over the maximum extent, which is larger
// than the current one in the last dimension.
func (e *emitter) reportedExtents() error {
	i2 := h5.Int(2, h5.LittleEndian)
	grown := func(max []int64, dims ...int64) h5.Dataspace {
		return h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: max}
	}
	for _, x := range []struct {
		name   string
		space  h5.Dataspace
		chunks []int64
		o      h5.DatasetOptions
	}{
		{"implicit-2", grown([]int64{4, 8}, 4, 4), []int64{2, 2}, h5.DatasetOptions{Alloc: h5.AllocEarly}},
		{"implicit-ragged", grown([]int64{7, 11}, 5, 4), []int64{2, 3}, h5.DatasetOptions{Alloc: h5.AllocEarly}},
		{"implicit-3", grown([]int64{3, 9, 7}, 3, 4, 5), []int64{2, 2, 3}, h5.DatasetOptions{Alloc: h5.AllocEarly, Fill: []byte{0x12, 0x34}}},
		{"fixed-2", grown([]int64{4, 8}, 4, 4), []int64{2, 2}, h5.DatasetOptions{}},
		{"fixed-filtered", grown([]int64{7, 11}, 5, 4), []int64{2, 3}, h5.DatasetOptions{Filters: []h5.Filter{h5.Shuffle()}}},
		{"extensible-first", grown([]int64{h5.Unlimited, 8}, 4, 4), []int64{2, 2}, h5.DatasetOptions{}},
		{"extensible-last", grown([]int64{8, h5.Unlimited}, 4, 4), []int64{2, 2}, h5.DatasetOptions{}},
		{"extensible-middle", grown([]int64{5, h5.Unlimited, 7}, 3, 4, 5), []int64{2, 2, 3}, h5.DatasetOptions{Filters: []h5.Filter{h5.Shuffle()}}},
	} {
		want := plainBytes(i2, int(x.space.NumElems()))
		x.o.ChunkShape = x.chunks
		err := e.hdf5File(reportedCase("extent-"+x.name, "VII.B to VII.D, chunk indexes of layout version 4"), h5.V110, nil, want, func(f *h5.File) error {
			return writeDataset(f, "d", i2, x.space, &x.o, want)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedCompounds adds compounds of the sizes at which the width of the members' offsets changes.
func (e *emitter) reportedCompounds() error {
	u1, i2 := h5.Uint(1, h5.LittleEndian), h5.Int(2, h5.LittleEndian)
	for _, size := range []int{255, 256, 257, 65_535, 65_536, 70_000} {
		dt := h5.Datatype{Class: h5.Compound, Size: size, Members: []h5.Member{{Name: "first", Offset: 0, Type: &i2}, {Name: "last", Offset: size - 1, Type: &u1}}}
		want := make([]byte, 2*size) // zeros between the members
		for i := range 2 {
			want[i*size], want[i*size+size-1] = byte(i+1), byte(0x40+i)
		}
		o := &h5.DatasetOptions{ChunkShape: []int64{1}, Filters: []h5.Filter{h5.Deflate(6)}}
		err := inFormats(func(format string, low h5.LibVer) error {
			c := reportedCase(fmt.Sprintf("compound-%d-%s", size, format), "IV.A.2.d Datatype, class 6, byte offset of member")
			return e.hdf5File(c, low, nil, want, func(f *h5.File) error { return writeDataset(f, "d", dt, h5.SimpleSpace(2), o, want) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedSharedAttributes adds objects whose attributes are stored densely and shared: the heap
// IDs of the B-tree then belong to the heap of shared messages.
func (e *emitter) reportedSharedAttributes() error {
	creation := h5.DefaultFileCreation()
	creation.AttrOrder = h5.TrackCreationOrder
	creation.Shared = []h5.SharedMessages{{Types: h5.SharedAttributes, MinBytes: 1}}
	i8 := h5.Int(8, h5.LittleEndian)
	const attributes = 9
	value := func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(1000+i)) }
	c := reportedCase("shared-attributes", "IV.A.2.v Attribute Info; III.A.2 version 2 B-trees, record type 8, message flags")
	path, err := e.place(c.ID + ".h5")
	if err != nil {
		return err
	}
	err = makeHDF5(path, h5.V18, &creation, false, func(f *h5.File) error {
		for k := range 2 { // a message that one object has is not shared
			d, err := f.Root().CreateDataset(fmt.Sprintf("d%d", k), i8, h5.ScalarSpace(), &h5.DatasetOptions{AttributePhase: &h5.PhaseChange{}, AttributeOrder: h5.IndexedCreationOrder})
			if err != nil {
				return err
			}
			for i := range attributes {
				err = errors.Join(err, d.WriteAttribute(h5.Attribute{Name: fmt.Sprintf("a%d", i), Datatype: i8, Space: h5.ScalarSpace(), Data: value(i)}))
			}
			if k == 1 { // one of its attributes is its own
				err = errors.Join(err, d.WriteAttribute(h5.Attribute{Name: "own", Datatype: i8, Space: h5.ScalarSpace(), Data: value(77)}))
			}
			if err := errors.Join(err, d.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	c.Path = c.ID + ".h5"
	for i, x := range []struct {
		object string
		value  int
	}{{"/d0@a0", 0}, {"/d1@a0", 0}, {"/d1@a8", 8}, {"/d1@own", 77}} {
		one := c
		one.ID, one.Object = fmt.Sprintf("%s-%d", c.ID, i), x.object
		if err := e.hdf5Case(one, value(x.value)); err != nil {
			return err
		}
	}
	return nil
}

// Flags of the superblock for file consistency.
const (
	statusWriting = 0x01
	statusSWMR    = 0x04
)

// reportedStatus adds files that a writer marked as open. libhdf5 refuses them with superblock
// version 3, and ignores the flags in earlier versions.
func (e *emitter) reportedStatus() error {
	i4 := h5.Int(4, h5.LittleEndian)
	want := plainBytes(i4, 6)
	const plain = "hdf5/reported/status-none"
	for _, x := range []struct {
		name   string
		low    h5.LibVer
		flags  byte
		refuse bool
	}{
		{"none", h5.V110, 0, false},
		{"writing", h5.V110, statusWriting, true},
		{"swmr", h5.V110, statusWriting | statusSWMR, true},
		{"swmr-alone", h5.V110, statusSWMR, true},
		{"superblock-2", h5.V18, statusWriting, false},
	} {
		c := reportedCase("status-"+x.name, "II.A Superblock, file consistency flags")
		c.Area, c.Path = "hdf5", c.ID+".h5"
		path, err := e.place(c.Path)
		if err != nil {
			return err
		}
		if err := makeHDF5(path, x.low, nil, false, func(f *h5.File) error { return writeDataset(f, "d", i4, h5.SimpleSpace(6), nil, want) }); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[11] = x.flags
		binary.LittleEndian.PutUint32(b[44:], h5file.Lookup3(b[:44]))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		if !x.refuse {
			if err := e.hdf5Case(c, want); err != nil {
				return err
			}
			continue
		}
		if _, err := decodeHDF5(path, c.Object); err == nil {
			return fmt.Errorf("%s: the reference accepts a file that is marked as open for writing", c.ID)
		}
		c.Must, c.Rule, c.Params["base"] = Refuse, "superblock of version 3 that marks the file as open for writing", plain
		if err := e.add(c); err != nil {
			return err
		}
	}
	return nil
}

// reportedDimensions adds chunk shapes whose numbers are encoded in more bytes than they need,
// which other writers than libhdf5 do.
func (e *emitter) reportedDimensions() error {
	const rows, cols, size = 4, 6, 2
	want := series("ramp", 1, rows*cols*size, size)
	for _, width := range []int{1, 2, 4, 8} {
		for _, index := range []h5file.IndexType{h5file.SingleIndex, h5file.ImplicitIndex} {
			shape := []int{rows, cols}
			data := want
			if index == h5file.ImplicitIndex {
				shape = []int{rows, cols / 2}
				data = slices.Concat(columns(want, cols*size, 0, cols*size/2), columns(want, cols*size, cols*size/2, cols*size))
			}
			name := fmt.Sprintf("dimensions-%d-%s", width, dashed(index.String()))
			err := e.oldWhole(reportedCase(name, "IV.A.2.i Data Layout, version 4, dimension size encoded length"), want, func(f *oldFile) {
				at := f.add(data)
				b := bin(nil).u8(4, int(h5file.Chunked), 0, 3, width)
				for _, n := range append(slices.Clone(shape), size) {
					b = b.bytes(little(uint64(n), width))
				}
				f.object(space1(rows, cols), rawMessage{h5file.DatatypeType, rawInt(1, size, true)}, rawMessage{h5file.LayoutType, b.u8(int(index)).addr(at)},
					rawMessage{h5file.FillValueType, bin(nil).u8(2, 1, 0, 0)})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// columns returns the bytes from to to of each row.
func columns(b []byte, row, from, to int) (out []byte) {
	for at := 0; at < len(b); at += row {
		out = append(out, b[at+from:at+to]...)
	}
	return out
}

// reportedHeaps adds strings and sequences in the global heap of files with other sizes. The heap
// pads its headers to 8 bytes, whatever the size of lengths is.
func (e *emitter) reportedHeaps() error {
	text := []string{"", "a", "größe", "hyperslab"}
	var want []byte
	for _, s := range text {
		want = appendSized(want, []byte(s))
	}
	for _, x := range []struct{ offsets, lengths int }{{8, 4}, {4, 8}, {4, 4}, {8, 2}, {2, 2}} {
		creation := h5.DefaultFileCreation()
		creation.OffsetSize, creation.LengthSize = x.offsets, x.lengths
		c := reportedCase(fmt.Sprintf("heap-%d-%d", x.offsets, x.lengths), "III.E Global Heap")
		err := e.hdf5File(c, h5.V18, &creation, want, func(f *h5.File) error {
			d, err := f.Root().CreateDataset("d", h5.VariableString(h5.UTF8), h5.SimpleSpace(int64(len(text))), nil)
			if err != nil {
				return err
			}
			return errors.Join(typed(text)(d), d.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedMasks adds chunks with skipped filters in the chunk indexes of layout version 4.
func (e *emitter) reportedMasks() error {
	u2 := h5.Uint(2, h5.LittleEndian)
	want := plainBytes(u2, 32)
	for _, x := range []struct {
		name  string
		space h5.Dataspace
		chunk []int64
	}{
		{"single", h5.SimpleSpace(4, 8), []int64{4, 8}},
		{"extensible", h5.Dataspace{Kind: h5.Simple, Dims: []int64{4, 8}, MaxDims: []int64{h5.Unlimited, 8}}, []int64{2, 8}},
		{"tree", h5.Dataspace{Kind: h5.Simple, Dims: []int64{4, 8}, MaxDims: []int64{h5.Unlimited, h5.Unlimited}}, []int64{2, 8}},
	} {
		for mask := uint32(1); mask <= 3; mask++ {
			o := &h5.DatasetOptions{ChunkShape: x.chunk, Filters: []h5.Filter{h5.Shuffle(), h5.Fletcher32()}}
			c := reportedCase(fmt.Sprintf("mask-%s-%d", x.name, mask), "IV.A.2.i Data Layout, version 4; VII, filter mask")
			err := e.hdf5File(c, h5.V110, nil, want, func(f *h5.File) error {
				d, err := f.Root().CreateDataset("d", u2, x.space, o)
				if err != nil {
					return err
				}
				err = d.WriteRegion(want, u2, x.space.All())
				last := want[len(want)-2*int(x.chunk[0]*x.chunk[1]):]
				stored := last
				if mask&1 == 0 {
					stored = shuffled(last, 2)
				}
				if mask&2 == 0 {
					stored = binary.LittleEndian.AppendUint32(bytes.Clone(stored), fletcher32(stored, fletcherFold))
				}
				if err == nil {
					err = chunkio.Store(d, stored, mask, x.space.Dims[0]-x.chunk[0], 0)
				}
				return errors.Join(err, d.Close())
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// shuffled stores the first bytes of all elements, then the second bytes, and so on.
func shuffled(b []byte, size int) []byte {
	out := make([]byte, 0, len(b))
	for j := range size {
		for i := j; i < len(b); i += size {
			out = append(out, b[i])
		}
	}
	return out
}

// reportedFills adds datasets with a fill value that is never written: elements that are not stored
// read as zero.
func (e *emitter) reportedFills() error {
	i4 := h5.Int(4, h5.LittleEndian)
	want := append(plainBytes(i4, 4), make([]byte, 16)...)
	for _, x := range []struct {
		name   string
		chunks []int64
		stored int64
	}{{"chunked", []int64{4}, 4}, {"unstored", []int64{4}, 0}, {"contiguous", nil, 0}} {
		o := &h5.DatasetOptions{ChunkShape: x.chunks, Fill: []byte{7, 0, 0, 0}, FillTime: h5.FillNever}
		right := want
		if x.stored == 0 {
			right = make([]byte, len(want))
		}
		err := e.hdf5File(reportedCase("fill-never-"+x.name, "IV.A.2.f Fill Value, write time"), h5.V18, nil, right, func(f *h5.File) error {
			d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(8), o)
			if err == nil && x.stored > 0 {
				err = d.WriteRegion(want[:16], i4, h5.Region{Start: []int64{0}, Count: []int64{x.stored}})
			}
			if err != nil {
				return err
			}
			return d.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedNames adds compounds whose member names have 7 and 8 bytes without the terminating zero,
// so that their padding differs by 8 bytes.
func (e *emitter) reportedNames() error {
	const size = 4
	want := series("random", 3, 3*size, 1)
	for version := 1; version <= 2; version++ {
		t := typeHead(version, h5file.CompoundClass, 2, size).
			bytes(rawMember(version, "sevenchr"[:7], 0, size, rawInt(version, 2, true))).bytes(rawMember(version, "eightchr", 2, size, rawInt(version, 2, false)))
		c := reportedCase(fmt.Sprintf("member-names-%d", version), "IV.A.2.d Datatype, class 6, name")
		err := e.oldWhole(c, want, func(f *oldFile) {
			at := f.add(want)
			f.object(space1(3), rawMessage{h5file.DatatypeType, t}, contiguous(at, len(want)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedDepth adds a group whose version 2 B-tree of names has four levels, from which the width
// of the counts in its nodes differs from simple estimates.
func (e *emitter) reportedDepth() error {
	c := reportedCase("links-26600", "III.A.2 Version 2 B-trees, total number of records in child node")
	c.Object = "/g"
	return e.hdf5File(c, h5.V18, nil, nil, func(f *h5.File) error {
		g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{Phase: &h5.PhaseChange{}})
		if err != nil {
			return err
		}
		for i := 0; i < 26_600 && err == nil; i++ {
			err = g.LinkSoft(fmt.Sprintf("%05d", i), "x")
		}
		return errors.Join(err, g.Close())
	})
}

// reportedOrder adds filters in an order in which the shuffle gets the bytes of a checksum, too.
func (e *emitter) reportedOrder() error {
	i8 := h5.Int(8, h5.LittleEndian)
	want := plainBytes(i8, 64)
	c := reportedCase("order-fletcher32-shuffle-deflate", "IV.A.2.l Filter Pipeline, order of filters")
	return e.hdf5File(c, h5.V18, nil, want, func(f *h5.File) error {
		return writeDataset(f, "d", i8, h5.SimpleSpace(64), &h5.DatasetOptions{ChunkShape: []int64{32}, Filters: []h5.Filter{h5.Fletcher32(), h5.Shuffle(), h5.Deflate(4)}}, want)
	})
}
