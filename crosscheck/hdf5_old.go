// HDF5 messages in versions that libhdf5 reads but no longer writes. They are assembled here from
// the specification, in files like those of the first releases. A file that the library does not
// read is an error of Emit.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// bin contains bytes of a file, in little-endian order.
type bin []byte

func (b bin) u8(v ...int) bin {
	for _, x := range v {
		b = append(b, byte(x))
	}
	return b
}
func (b bin) u16(v int) bin         { return binary.LittleEndian.AppendUint16(b, uint16(v)) }
func (b bin) u32(v int) bin         { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
func (b bin) u64(v int) bin         { return binary.LittleEndian.AppendUint64(b, uint64(v)) }
func (b bin) undefined() bin        { return b.u64(-1) }
func (b bin) text(s string) bin     { return append(b, s...) }
func (b bin) bytes(x []byte) bin    { return append(b, x...) }
func (b bin) zeros(n int) bin       { return append(b, make([]byte, n)...) }
func (b bin) pad8() bin             { return b.zeros((8 - len(b)%8) % 8) }
func (b bin) name8(s string) bin    { return b.bytes(bin(nil).text(s).u8(0).pad8()) }
func (b bin) addr(v int) bin        { return b.u64(v) }
func (b bin) put64(at, v int)       { binary.LittleEndian.PutUint64(b[at:], uint64(v)) }
func little(v uint64, n int) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }

// rawMessage is a message of an object header.
type rawMessage struct {
	kind h5file.MessageType
	body bin
}

// header1 returns an object header of version 1 (IV.A.1.a).
func header1(messages []rawMessage) bin {
	var all bin
	for _, m := range messages {
		body := m.body.pad8()
		all = all.u16(int(m.kind)).u16(len(body)).u8(0, 0, 0, 0).bytes(body)
	}
	return bin(nil).u8(1, 0).u16(len(messages)).u32(1).u32(len(all)).u32(0).bytes(all)
}

// Ranks of the B-trees of a file that does not specify them (II.A).
const (
	leafK     = 4
	internalK = 16
	chunkK    = 32
)

// oldFile is a file with a superblock of version 0 and one object, /d, in a group with a symbol
// table. Its builder appends the structures that the object refers to.
type oldFile struct {
	b     bin
	entry int // offset of the address of the object's header
}

const rootHeader = 96 // offset of the object header of the root group

func newOldFile() *oldFile {
	const tree, heap, names, node = 136, 680, 712, 728
	b := bin(nil).text(h5file.Signature).u8(0, 0, 0, 0, 0, 8, 8, 0).u16(leafK).u16(internalK).u32(0)
	b = b.addr(0).undefined().undefined().undefined()                 // base, free space, end of file, driver information
	b = b.u64(0).addr(rootHeader).u32(1).u32(0).addr(tree).addr(heap) // entry of the root group
	b = b.bytes(header1([]rawMessage{{h5file.SymbolTableType, bin(nil).addr(tree).addr(heap)}}))
	b = b.text("TREE").u8(0, 0).u16(1).undefined().undefined().u64(0).addr(node).u64(8)
	b = b.zeros(heap - len(b))
	b = b.text("HEAP").u8(0, 0, 0, 0).u64(16).u64(1).addr(names)
	b = b.zeros(8).name8("d")
	f := &oldFile{entry: node + 8 + 8}
	f.b = b.text("SNOD").u8(1, 0).u16(1).u64(8).undefined().u32(0).u32(0).zeros(16)
	f.b = f.b.zeros((2*leafK - 1) * 40)
	return f
}

// add appends a structure and returns its offset.
func (f *oldFile) add(b []byte) (at int) {
	f.b = f.b.pad8()
	at = len(f.b)
	f.b = f.b.bytes(b)
	return at
}

// object appends the header of /d. It must be the last structure.
func (f *oldFile) object(messages ...rawMessage) {
	f.b.put64(f.entry, f.add(header1(messages)))
}

// finish sets the end-of-file address.
func (f *oldFile) finish() []byte {
	f.b.put64(40, len(f.b))
	return f.b
}

// space1 returns a dataspace message of version 1 (IV.A.2.b).
func space1(dims ...int) rawMessage {
	b := bin(nil).u8(1, len(dims), 0, 0, 0, 0, 0, 0)
	for _, d := range dims {
		b = b.u64(d)
	}
	return rawMessage{h5file.DataspaceType, b}
}

// typeHead returns the beginning of a datatype (IV.A.2.d).
func typeHead(version int, class h5file.Class, bits, size int) bin {
	return bin(nil).u8(version<<4|int(class), bits&0xFF, bits>>8&0xFF, bits>>16&0xFF).u32(size)
}

func rawInt(version, size int, signed bool) bin {
	b := 0
	if signed {
		b = 8
	}
	return typeHead(version, h5file.IntegerClass, b, size).u16(0).u16(8 * size)
}

func rawFloat(version int) bin {
	return typeHead(version, h5file.FloatClass, 31<<8|0x20, 4).u16(0).u16(32).u8(23, 8, 0, 23).u32(127)
}

// rawArray returns an array type. Versions before 3 contain permutation indices, which were never
// used.
func rawArray(version int, base bin, size int, dims ...int) bin {
	for _, d := range dims {
		size *= d
	}
	b := typeHead(version, h5file.ArrayClass, 0, size).u8(len(dims))
	if version < 3 {
		b = b.zeros(3)
	}
	for _, d := range dims {
		b = b.u32(d)
	}
	for i := range dims {
		if version < 3 {
			b = b.u32(i)
		}
	}
	return b.bytes(base)
}

// rawMember returns a member of a compound. In version 1 a member can have dimensions.
func rawMember(version int, name string, offset, size int, t bin, dims ...int) bin {
	var b bin
	switch {
	case version >= 3:
		return b.text(name).u8(0).bytes(little(uint64(offset), (max(bits.Len(uint(size)), 1)-1)/8+1)).bytes(t)
	case version == 2:
		return b.name8(name).u32(offset).bytes(t)
	}
	b = b.name8(name).u32(offset).u8(len(dims), 0, 0, 0).u32(0).u32(0)
	for i := range 4 {
		n := 0
		if i < len(dims) {
			n = dims[i]
		}
		b = b.u32(n)
	}
	return b.bytes(t)
}

// rawType is a datatype, and the bytes of its elements.
type rawType struct {
	name string
	t    bin
	size int
	heap bool // elements are in the global heap: strings
	refs bool // elements are references to the root group
}

func rawTypes(version int) []rawType {
	i2 := rawInt(version, 2, true)
	all := []rawType{
		{name: "integer", t: rawInt(version, 4, true), size: 4},
		{name: "float", t: rawFloat(version), size: 4},
		{name: "time", t: typeHead(version, h5file.TimeClass, 0, 4).u16(32), size: 4},
		{name: "string", t: typeHead(version, h5file.StringClass, 1, 5), size: 5},
		{name: "bitfield", t: typeHead(version, h5file.BitfieldClass, 0, 2).u16(2).u16(12), size: 2},
		{name: "opaque", t: typeHead(version, h5file.OpaqueClass, 8, 7).text("a tag\x00\x00\x00"), size: 7},
		{name: "reference", t: typeHead(version, h5file.ReferenceClass, 0, 8), size: 8, refs: true},
		{name: "vlen", t: typeHead(version, h5file.VLenClass, 1, 16).bytes(rawInt(version, 1, false)), size: 16, heap: true},
		{name: "compound", size: 10, t: typeHead(version, h5file.CompoundClass, 2, 10).
			bytes(rawMember(version, "first", 0, 10, i2)).bytes(rawMember(version, "b", 4, 10, rawFloat(version)))},
	}
	enum := typeHead(version, h5file.EnumClass, 2, 2).bytes(i2)
	for _, name := range []string{"red", "ultraviolet"} {
		if version < 3 {
			enum = enum.name8(name)
		} else {
			enum = enum.text(name).u8(0)
		}
	}
	all = append(all, rawType{name: "enum", t: enum.u16(0).u16(3), size: 2})
	if version == 1 {
		return append(all, rawType{name: "compound-of-arrays", size: 14, t: typeHead(1, h5file.CompoundClass, 2, 14).
			bytes(rawMember(1, "grid", 0, 14, i2, 2, 3)).bytes(rawMember(1, "n", 12, 14, i2))})
	}
	return append(all, rawType{name: "array", t: rawArray(version, i2, 2, 2, 3), size: 12})
}

// heapOf returns a global heap collection with these objects, numbered from 1 (III.E).
func heapOf(objects ...string) bin {
	const size = 4096
	b := bin(nil).text("GCOL").u8(1, 0, 0, 0).u64(size)
	for i, s := range objects {
		b = b.u16(i + 1).u16(1).u32(0).u64(len(s)).bytes(bin(s).pad8())
	}
	left := size - len(b)
	return b.u16(0).u16(0).u32(0).u64(left).zeros(left - 16)
}

// contiguous returns a layout message of version 3 (IV.A.2.i).
func contiguous(at, size int) rawMessage {
	return rawMessage{h5file.LayoutType, bin(nil).u8(3, int(h5file.Contiguous)).addr(at).u64(size)}
}

// oldCase writes a file that build fills, and adds it.
func (e *emitter) oldCase(name, section string, want []byte, build func(f *oldFile)) error {
	return e.oldWhole(Case{ID: "hdf5/old/" + name, Object: "/d", Section: hdf5Document + ": " + section, Params: map[string]string{"old": name}}, want, build)
}

// oldWhole writes a file that build fills, and adds it as c.
func (e *emitter) oldWhole(c Case, want []byte, build func(f *oldFile)) error {
	f := newOldFile()
	build(f)
	return e.oldBytes(c, f.finish(), want)
}

func (e *emitter) oldBytes(c Case, b, want []byte) error {
	c.Path = c.ID + ".h5"
	path, err := e.place(c.Path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	if err := checkHDF5(b); err != nil {
		return fmt.Errorf("%s: the reader in plain Go: %w", c.ID, err)
	}
	return e.hdf5Case(c, want)
}

func (e *emitter) hdf5Old() error {
	for _, add := range []func() error{e.oldTypes, e.oldLayouts, e.oldFills, e.oldMessages, e.oldAttributes, e.oldDrivers, e.oldMore} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// oldTypes adds every class of datatype in every version that the library reads.
func (e *emitter) oldTypes() error {
	for version := 1; version <= 4; version++ {
		for _, t := range rawTypes(version) {
			const n = 3
			want := series("random", uint64(version), n*t.size, 1)
			if t.heap || t.refs {
				want = nil
			}
			err := e.oldCase(fmt.Sprintf("datatype%d-%s", version, t.name), "IV.A.2.d Datatype", want, func(f *oldFile) {
				data := bin(want)
				switch {
				case t.heap:
					at := f.add(heapOf("one", "größe"))
					data = data.u32(3).addr(at).u32(1).zeros(16).u32(7).addr(at).u32(2) // the second is null
				case t.refs:
					data = data.addr(rootHeader).addr(rootHeader).zeros(8) // the last is null
				}
				at := f.add(data)
				f.object(space1(n), rawMessage{h5file.DatatypeType, t.t}, contiguous(at, n*t.size))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// chunkTree returns the index of two rows of chunks in a B-tree of version 1 (III.A.1).
func chunkTree(rows, cols, size int, at []int) bin {
	b := bin(nil).text("TREE").u8(1, 0).u16(len(at)).undefined().undefined()
	for i, child := range at {
		b = b.u32(rows * cols * size).u32(0).u64(i * rows).u64(0).u64(0).addr(child)
	}
	b = b.u32(0).u32(0).u64(len(at) * rows).u64(0).u64(0)
	const key = 8 + 3*8
	return b.zeros(24 + (2*chunkK+1)*key + 2*chunkK*8 - len(b))
}

// oldLayouts adds layouts of versions 1 and 2, which contain the dimensions for every class.
func (e *emitter) oldLayouts() error {
	const rows, cols, size = 4, 3, 2
	want := series("ramp", 1, rows*cols*size, size)
	for version := 1; version <= 2; version++ {
		for _, class := range []h5file.LayoutClass{h5file.Compact, h5file.Contiguous, h5file.Chunked} {
			err := e.oldCase(fmt.Sprintf("layout%d-%s", version, class), "IV.A.2.i Data Layout, versions 1 and 2", want, func(f *oldFile) {
				b := bin(nil).u8(version, 3, int(class), 0, 0, 0, 0, 0)
				switch class {
				case h5file.Compact:
					b = b.u32(rows).u32(cols).u32(size).u32(len(want)).bytes(want)
				case h5file.Contiguous:
					b = b.addr(f.add(want)).u32(rows).u32(cols).u32(size)
				case h5file.Chunked: // two chunks of two rows
					half := len(want) / 2
					first, second := f.add(want[:half]), f.add(want[half:])
					b = b.addr(f.add(chunkTree(rows/2, cols, size, []int{first, second}))).u32(rows / 2).u32(cols).u32(size)
				}
				f.object(space1(rows, cols), rawMessage{h5file.DatatypeType, rawInt(1, size, true)}, rawMessage{h5file.LayoutType, b})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// oldFills adds datasets without stored elements, with fill values of old versions.
func (e *emitter) oldFills() error {
	const n, size = 5, 4
	value := []byte{0x11, 0x22, 0x33, 0x44}
	for _, x := range []struct {
		name string
		fill []rawMessage
		want []byte
	}{
		{"old", []rawMessage{{h5file.OldFillValueType, bin(nil).u32(size).bytes(value)}}, value},
		{"1", []rawMessage{{h5file.FillValueType, bin(nil).u8(1, 3, 2, 1).u32(size).bytes(value)}}, value},
		{"1-default", []rawMessage{{h5file.FillValueType, bin(nil).u8(1, 3, 2, 1).u32(0)}}, make([]byte, size)},
		{"both", []rawMessage{{h5file.OldFillValueType, bin(nil).u32(size).bytes(value)}, {h5file.FillValueType, bin(nil).u8(1, 3, 2, 1).u32(size).bytes(value)}}, value},
	} {
		err := e.oldCase("fill-"+x.name, "IV.A.2.e and IV.A.2.f Fill Value", bytes.Repeat(x.want, n), func(f *oldFile) {
			layout := bin(nil).u8(3, int(h5file.Chunked), 2).undefined().u32(n).u32(size)
			f.object(append([]rawMessage{space1(n), {h5file.DatatypeType, rawInt(1, size, true)}, {h5file.LayoutType, layout}}, x.fill...)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The time in messages that contain one.
const (
	oldTime    = "19991231235958"
	oldSeconds = 946684798
)

// oldMessages adds messages that describe an object and do not affect its elements.
func (e *emitter) oldMessages() error {
	want := series("ramp", 1, 12, 4)
	for _, x := range []struct {
		name, section string
		m             []rawMessage
	}{
		{"modified-old", "IV.A.2.o Object Modification Time (Old)", []rawMessage{{h5file.OldModTimeType, bin(nil).text(oldTime).u16(0)}}},
		{"modified", "IV.A.2.s Object Modification Time", []rawMessage{{h5file.ModTimeType, bin(nil).u8(1, 0, 0, 0).u32(oldSeconds)}}},
		{"comment", "IV.A.2.n Object Comment", []rawMessage{{h5file.CommentType, bin(nil).text("größe of a thing").u8(0)}}},
		{"fill-old-undefined", "IV.A.2.e Fill Value (Old)", []rawMessage{{h5file.OldFillValueType, bin(nil).u32(0)}}},
		{"nil", "IV.A.2.a NIL", []rawMessage{{h5file.NilType, bin(nil).zeros(24)}, {h5file.NilType, nil}}},
	} {
		err := e.oldCase(x.name, x.section, want, func(f *oldFile) {
			at := f.add(want)
			f.object(append([]rawMessage{space1(3), {h5file.DatatypeType, rawInt(1, 4, true)}, contiguous(at, len(want))}, x.m...)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldAttributes adds attributes of versions 1 and 2. Version 1 pads their parts, version 2 does
// not.
func (e *emitter) oldAttributes() error {
	value := []byte{1, 0, 2, 0, 3, 0}
	for version := 1; version <= 2; version++ {
		const name = "odd name"
		dt, space := rawInt(1, 2, true), space1(3).body
		b := bin(nil).u8(version, 0).u16(len(name) + 1).u16(len(dt)).u16(len(space))
		if version == 1 {
			b = b.name8(name).bytes(dt.pad8()).bytes(space.pad8())
		} else {
			b = b.text(name).u8(0).bytes(dt).bytes(space)
		}
		f := newOldFile()
		at := f.add([]byte{7, 0})
		f.object(space1(1), rawMessage{h5file.DatatypeType, rawInt(1, 2, true)}, contiguous(at, 2), rawMessage{h5file.AttributeType, b.bytes(value)})
		id := fmt.Sprintf("attribute%d", version)
		c := Case{ID: "hdf5/old/" + id, Object: "/d@" + name, Section: hdf5Document + ": IV.A.2.m Attribute", Params: map[string]string{"old": id}}
		if err := e.oldBytes(c, f.finish(), value); err != nil {
			return err
		}
	}
	return nil
}

// oldDrivers adds the information of an unknown file driver, in the block of superblock 0 and in
// the message of the superblock extension. Readers must ignore it for a single file.
func (e *emitter) oldDrivers() error {
	const driver = "crosschk"
	about := bin(nil).text("sixteen bytes ok")
	want := series("ramp", 2, 12, 4)
	err := e.oldCase("driver-block", "II.B Driver Info", want, func(f *oldFile) {
		f.b.put64(48, f.add(bin(nil).u8(0, 0, 0, 0).u32(len(about)).text(driver).bytes(about)))
		at := f.add(want)
		f.object(space1(3), rawMessage{h5file.DatatypeType, rawInt(1, 4, true)}, contiguous(at, len(want)))
	})
	if err != nil {
		return err
	}
	c := Case{ID: "hdf5/old/driver-message", Object: "/d", Section: hdf5Document + ": IV.A.2.u Driver Info", Params: map[string]string{"old": "driver-message"}}
	return e.oldBytes(c, extended(rawMessage{h5file.DriverInfoType, bin(nil).u8(0).text(driver).u16(len(about)).bytes(about)}, 0, want), want)
}

// extended returns a file with a superblock of version 2, an extension that contains one message,
// and a root group with the dataset d of 32-bit integers. code selects the width of the length of
// its name in the link: 1, 2, 4 or 8 bytes.
func extended(m rawMessage, code int, elements []byte) []byte {
	b := bin(nil).text(h5file.Signature).u8(2, 8, 8, 0).addr(0).zeros(3 * 8).u32(0)
	write := func(at int, structure []byte) {
		b.put64(at, len(b))
		b = b.bytes(structure).pad8()
	}
	write(20, header1([]rawMessage{m}))
	data := len(b)
	b = b.bytes(elements).pad8()
	object := len(b)
	b = b.bytes(header1([]rawMessage{space1(len(elements) / 4), {h5file.DatatypeType, rawInt(1, 4, true)}, contiguous(data, len(elements))})).pad8()
	write(36, header1([]rawMessage{
		{h5file.LinkInfoType, bin(nil).u8(0, 0).undefined().undefined()},
		{h5file.GroupInfoType, bin(nil).u8(0, 0)},
		{h5file.LinkType, bin(nil).u8(1, code).bytes(little(1, 1<<code)).text("d").addr(object)},
	}))
	b.put64(28, len(b))
	binary.LittleEndian.PutUint32(b[44:], h5file.Lookup3(b[:44]))
	return b
}
