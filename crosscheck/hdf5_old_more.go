// HDF5 messages of rare forms, which libhdf5 reads. They are assembled from the specification.

package crosscheck

import (
	"encoding/binary"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// header2 returns an object header of version 2 (IV.A.1.b). width is the number of bytes of the
// size of chunk 0: 1, 2, 4 or 8. gap is the number of unused bytes before the checksum.
func header2(width, gap int, messages []rawMessage) bin {
	var all bin
	for _, m := range messages {
		all = all.u8(int(m.kind)).u16(len(m.body)).u8(0).bytes(m.body)
	}
	all = all.zeros(gap)
	code := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[width]
	b := bin(nil).text("OHDR").u8(2, code).bytes(little(uint64(len(all)), width)).bytes(all)
	return b.u32(int(h5file.Lookup3(b)))
}

// continuation2 returns a continuation block of an object header of version 2 (IV.A.2.q).
func continuation2(gap int, messages []rawMessage) bin {
	b := bin(nil).text("OCHK")
	for _, m := range messages {
		b = b.u8(int(m.kind)).u16(len(m.body)).u8(0).bytes(m.body)
	}
	b = b.zeros(gap)
	return b.u32(int(h5file.Lookup3(b)))
}

// oldMore adds them.
func (e *emitter) oldMore() error {
	for _, add := range []func() error{e.oldTypeBits, e.oldHeaders, e.oldFlags, e.oldShared, e.oldLinks, e.oldFileSpace} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// oldTypeBits adds datatypes with bit fields that the library reads and no usual writer sets.
func (e *emitter) oldTypeBits() error {
	float := func(version, bits, size, offset, precision, expAt, expSize, mantAt, mantSize, bias int) bin {
		return typeHead(version, h5file.FloatClass, bits, size).u16(offset).u16(precision).u8(expAt, expSize, mantAt, mantSize).u32(bias)
	}
	const sign = 31 << 8
	wide := make(bin, 0)
	for i := range 150 { // a compound of 300 bytes
		wide = wide.bytes(rawMember(3, fmt.Sprintf("m%d", i), 2*i, 300, rawInt(3, 2, true)))
	}
	vlen := func(bits int) bin {
		return typeHead(1, h5file.VLenClass, bits, 16).bytes(rawInt(1, 1, false))
	}
	for _, x := range []rawType{
		{name: "integer-lo-pad", t: typeHead(1, h5file.IntegerClass, 0x02, 2).u16(2).u16(12), size: 2},
		{name: "integer-hi-pad", t: typeHead(1, h5file.IntegerClass, 0x0C, 2).u16(2).u16(12), size: 2},
		{name: "bitfield-lo-pad", t: typeHead(1, h5file.BitfieldClass, 0x02, 2).u16(2).u16(12), size: 2},
		{name: "bitfield-hi-pad", t: typeHead(1, h5file.BitfieldClass, 0x04, 2).u16(2).u16(12), size: 2},
		{name: "float-vax", t: float(3, sign|0x61, 4, 0, 32, 23, 8, 0, 23, 128), size: 4},
		{name: "float-lo-pad", t: float(1, 23<<8|0x22, 4, 8, 16, 18, 5, 8, 10, 15), size: 4},
		{name: "float-hi-pad", t: float(1, 23<<8|0x24, 4, 8, 16, 18, 5, 8, 10, 15), size: 4},
		{name: "float-int-pad", t: float(1, sign|0x28, 4, 0, 32, 23, 8, 0, 20, 127), size: 4},
		{name: "float-not-normalized", t: float(1, sign, 4, 0, 32, 23, 8, 0, 23, 127), size: 4},
		{name: "float-leading-bit", t: float(1, sign|0x10, 4, 0, 32, 23, 8, 0, 23, 127), size: 4},
		{name: "float-24-bits", t: float(1, 23<<8|0x20, 4, 0, 24, 16, 7, 0, 16, 63), size: 4},
		{name: "opaque-no-tag", t: typeHead(1, h5file.OpaqueClass, 0, 7), size: 7},
		{name: "compound-wide", t: typeHead(3, h5file.CompoundClass, 150, 300).bytes(wide), size: 300},
		{name: "vlen-null-padded", t: vlen(0x011), size: 16, heap: true},
		{name: "vlen-space-padded", t: vlen(0x021), size: 16, heap: true},
		{name: "vlen-utf8", t: vlen(0x101), size: 16, heap: true},
	} {
		const n = 3
		want := series("random", 5, n*x.size, 1)
		if x.heap {
			want = nil
		}
		err := e.oldCase("bits-"+x.name, "IV.A.2.d Datatype", want, func(f *oldFile) {
			data := bin(want)
			if x.heap {
				at := f.add(heapOf("one", "two words"))
				data = data.u32(3).addr(at).u32(1).zeros(16).u32(9).addr(at).u32(2)
			}
			at := f.add(data)
			f.object(space1(n), rawMessage{h5file.DatatypeType, x.t}, contiguous(at, n*x.size))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldHeaders adds object headers of version 2 with every width of the size of chunk 0, and with
// gaps, and a header of version 1 that continues in another block.
func (e *emitter) oldHeaders() error {
	want := series("ramp", 3, 12, 4)
	messages := func(at int) []rawMessage {
		return []rawMessage{space1(3), {h5file.DatatypeType, rawInt(1, 4, true)}, contiguous(at, len(want))}
	}
	for _, x := range []struct {
		name       string
		width, gap int
	}{{"size-1", 1, 0}, {"size-2", 2, 0}, {"size-4", 4, 0}, {"size-8", 8, 0}, {"gap-1", 1, 1}, {"gap-3", 2, 3}} {
		err := e.oldCase("header-"+x.name, "IV.A.1.b Version 2 Data Object Header Prefix", want, func(f *oldFile) {
			at := f.add(want)
			f.b.put64(f.entry, f.add(header2(x.width, x.gap, messages(at))))
		})
		if err != nil {
			return err
		}
	}
	for _, gap := range []int{0, 2} {
		err := e.oldCase(fmt.Sprintf("continuation-gap-%d", gap), "IV.A.2.q Object Header Continuation", want, func(f *oldFile) {
			m := messages(f.add(want))
			rest := continuation2(gap, m[2:])
			at := f.add(rest)
			f.b.put64(f.entry, f.add(header2(1, 0, append(m[:2:2], rawMessage{h5file.ContinuationType, bin(nil).addr(at).u64(len(rest))}))))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// flagged sets the flags of message i of an object header of version 1.
func flagged(header bin, i, flags int) bin {
	at := 16
	for range i {
		at += 8 + int(binary.LittleEndian.Uint16(header[at+2:]))
	}
	header[at+4] = byte(flags)
	return header
}

// oldFlags adds messages of an unknown type, which a reader must ignore because of their flags.
func (e *emitter) oldFlags() error {
	want := series("ramp", 4, 12, 4)
	for _, x := range []struct {
		name  string
		flags int
	}{{"ignored", 0x00}, {"fail-on-write", 0x08}, {"mark", 0x10}, {"marked", 0x30}} {
		err := e.oldCase("unknown-"+x.name, "IV.A.1.a Version 1 Data Object Header Prefix, message flags", want, func(f *oldFile) {
			at := f.add(want)
			m := []rawMessage{space1(3), {h5file.DatatypeType, rawInt(1, 4, true)}, contiguous(at, len(want)), {h5file.MessageType(0x60), bin(nil).text("unknown!")}}
			f.b.put64(f.entry, f.add(flagged(header1(m), 3, x.flags)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldShared adds datasets and attributes whose datatype is a committed datatype, in every version
// of the shared message.
func (e *emitter) oldShared() error {
	want := series("ramp", 5, 12, 4)
	committed := func(version, at int) bin {
		switch version {
		case 1:
			return bin(nil).u8(1, 0).zeros(6).u64(0).addr(at)
		case 2:
			return bin(nil).u8(2, 0).addr(at)
		}
		return bin(nil).u8(3, 2).addr(at)
	}
	dt := rawMessage{h5file.DatatypeType, rawInt(1, 4, true)}
	for version := 1; version <= 3; version++ {
		err := e.oldCase(fmt.Sprintf("shared%d", version), "IV.A.2 Shared Message", want, func(f *oldFile) {
			at := f.add(want)
			t := f.add(header1([]rawMessage{dt}))
			m := []rawMessage{space1(3), {h5file.DatatypeType, committed(version, t)}, contiguous(at, len(want))}
			f.b.put64(f.entry, f.add(flagged(header1(m), 1, 0x02)))
		})
		if err != nil {
			return err
		}
	}
	for flags := 1; flags <= 2; flags++ {
		if err := e.oldSharedAttribute(flags, want); err != nil {
			return err
		}
	}
	return nil
}

// oldSharedAttribute adds an attribute of version 2 whose datatype (flags 1) or dataspace (flags 2)
// is a message of another object.
func (e *emitter) oldSharedAttribute(flags int, elements []byte) error {
	const name = "unit"
	value := []byte{7, 0, 0, 0}
	dt := rawMessage{h5file.DatatypeType, rawInt(1, 4, true)}
	f := newOldFile()
	at := f.add(elements)
	shared, space := dt.body, space1(1).body
	part, target := &shared, dt
	if flags == 2 {
		part, target = &space, space1(1)
	}
	*part = bin(nil).u8(2, 0).addr(f.add(header1([]rawMessage{target})))
	b := bin(nil).u8(2, flags).u16(len(name) + 1).u16(len(shared)).u16(len(space)).text(name).u8(0).bytes(shared).bytes(space).bytes(value)
	f.object(space1(3), dt, contiguous(at, len(elements)), rawMessage{h5file.AttributeType, b})
	id := fmt.Sprintf("attribute2-shared-%d", flags)
	c := Case{ID: "hdf5/old/" + id, Object: "/d@" + name, Section: hdf5Document + ": IV.A.2.m Attribute, flags", Params: map[string]string{"old": id}}
	return e.oldBytes(c, f.finish(), value)
}

// oldLinks adds links with each width of the length of their name.
func (e *emitter) oldLinks() error {
	want := series("ramp", 7, 12, 4)
	k := bin(nil).u8(0).u16(32).u16(16).u16(4)
	for code := range 4 {
		name := fmt.Sprintf("link-name-length-%d", 1<<code)
		c := Case{ID: "hdf5/old/" + name, Object: "/d", Section: hdf5Document + ": IV.A.2.g Link, flags", Params: map[string]string{"old": name}}
		if err := e.oldBytes(c, extended(rawMessage{h5file.BTreeKType, k}, code, want), want); err != nil {
			return err
		}
	}
	return nil
}

// oldFileSpace adds the file space info message of version 0, in the superblock extension.
func (e *emitter) oldFileSpace() error {
	want := series("ramp", 6, 12, 4)
	for strategy := 1; strategy <= 4; strategy++ {
		m := bin(nil).u8(0, strategy).u64(1)
		if strategy == 1 { // the only one with addresses
			for range 6 {
				m = m.undefined()
			}
		}
		name := fmt.Sprintf("file-space-%d", strategy)
		c := Case{ID: "hdf5/old/" + name, Object: "/d", Section: hdf5Document + ": IV.A.2.x File Space Info", Params: map[string]string{"old": name}}
		if err := e.oldBytes(c, extended(rawMessage{h5file.FileSpaceInfoType, m}, 0, want), want); err != nil {
			return err
		}
	}
	return nil
}
