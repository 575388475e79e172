// Superblock, versions 0 to 3, and driver information (File Format, II.A and II.B).

package h5file

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Signature is the first eight bytes of a superblock.
const Signature = "\x89HDF\r\n\x1a\n"

// SuperFlags are the file consistency flags.
type SuperFlags uint8

// File consistency flags (H5F_SUPER_*). The specification lists only the first two without their
// meaning. libhdf5 evaluates them in version 3.
const (
	WriteAccess SuperFlags = 1 << iota // open for writing, or the writer was killed
	Consistent                         // no known library sets it
	SWMRWrite                          // open for writing with concurrent readers
)

// Superblock is the superblock of a file.
type Superblock struct {
	Version    uint8
	OffsetSize int // bytes of an address: 2, 4, 8, 16 or 32
	LengthSize int // bytes of a length: 2, 4 or 8
	Flags      SuperFlags
	// Base is the base address as stored. libhdf5 and File ignore it and use the offset of the
	// superblock instead.
	Base       Addr
	Extension  Addr  // object header of the extension, versions 2 and 3
	EndOfFile  Addr  // first byte after the file, counted from the start of the file
	EndAt      int64 // bytes from the start of the file to the stored EndOfFile
	DriverInfo Addr  // versions 0 and 1
	Root       Addr  // object header of the root group
	// RootEntry is the symbol table entry of the root group, versions 0 and 1.
	RootEntry *SymbolEntry
	// K determines the size of version 1 B-tree nodes. It is stored in the superblock in versions 0
	// and 1, and in the extension in later versions. If the file does not contain it, it has
	// libhdf5's defaults.
	K BTreeK
}

// BTreeK contains the ranks of version 1 B-trees: a node has at most 2 K children (message 0x0013,
// IV.A.2.t).
type BTreeK struct {
	Chunk uint16 // internal nodes of an index of chunks
	Group uint16 // internal nodes of a group
	Leaf  uint16 // symbol table nodes
}

// defaultK returns the values that libhdf5 assumes if a file does not contain them (H5Fprivate.h).
func defaultK() BTreeK { return BTreeK{Chunk: 32, Group: 16, Leaf: 4} }

func validSize(n uint8) bool { return n == 2 || n == 4 || n == 8 || n == 16 || n == 32 }

// findSuperblock returns the offset of the superblock: 0, 512, 1024 and so on, doubling
// (H5FD_locate_signature).
func (r *reader) findSuperblock() (int64, error) {
	for at := int64(0); at >= 0 && at < r.f.size; {
		b, err := r.bytes("superblock", at, min(8, r.f.size-at), 0)
		if err != nil {
			return 0, err
		}
		if string(b) == Signature {
			return at, nil
		}
		if at == 0 {
			at = 512
		} else {
			at *= 2
		}
	}
	return 0, &format.Error{Format: formatName, What: "signature", Got: "none at 0, 512, 1024, …", Want: fmt.Sprintf("%q", Signature), Err: format.ErrMagic}
}

// superblock reads the superblock at r.f.base into r.f.super. If it returns no error, the sizes of
// addresses and lengths are valid. With an error the superblock contains the readable fields.
func (r *reader) superblock() error {
	s := &r.f.super
	s.Extension, s.DriverInfo, s.EndOfFile, s.Root = Undefined, Undefined, Undefined, Undefined
	s.K = defaultK()
	p := r.part("superblock", 0, 16)
	p.bytes("signature", 8)
	s.Version = p.u8("version")
	if !p.version(s.Version, 0, 3) {
		return p.done()
	}
	if s.Version >= 2 {
		r.superblock2(p, s)
	} else {
		r.superblock0(p, s)
	}
	return p.done()
}

// sizes reads the sizes of offsets and lengths.
func (s *Superblock) sizes(p *part) bool {
	offset := p.u8("size of offsets")
	good := p.check(validSize(offset), offset, "2, 4, 8, 16 or 32")
	length := p.u8("size of lengths")
	good = p.check(validSize(length), length, "2, 4 or 8") && good
	if good && length > 8 {
		// H5Pset_sizes allows them, but H5F_DECODE_LENGTH has no case for them.
		p.badAs(format.ErrUnsupported, fmt.Sprint(length), "2, 4 or 8, which the library can read")
		good = false
	}
	s.OffsetSize, s.LengthSize = int(offset), int(length)
	return good && p.ok()
}

func (r *reader) superblock0(p *part, s *Superblock) {
	v := p.u8("version of free-space storage")
	p.version(v, 0, 0)
	v = p.u8("version of root group symbol table entry")
	p.version(v, 0, 0)
	p.reserved(1)
	v = p.u8("version of shared header message format")
	p.version(v, 0, 0)
	if !s.sizes(p) {
		return
	}
	n := 24 + 4*s.OffsetSize + symbolEntrySize(s)
	if s.Version == 1 {
		n += 4
	}
	p.grow(int64(n))
	p.reserved(1)
	s.K.Leaf = p.u16("group leaf node K")
	p.check(s.K.Leaf > 0, s.K.Leaf, "at least 1")
	s.K.Group = p.u16("group internal node K")
	p.check(s.K.Group > 0, s.K.Group, "at least 1")
	flags := p.u32("file consistency flags")
	s.Flags = SuperFlags(flags)
	p.check(flags <= uint32(WriteAccess|Consistent|SWMRWrite), fmt.Sprintf("%#x", flags), "no bits but 0x07")
	p.mean("%s", s.Flags)
	if s.Version == 1 {
		s.K.Chunk = p.u16("indexed storage internal node K")
		p.check(s.K.Chunk > 0, s.K.Chunk, "at least 1")
		p.reserved(2)
	}
	r.baseAddress(p, s)
	// libhdf5 treats it as the address of an extension, which these versions cannot have, and
	// refuses the file (H5F__super_read).
	if a := p.addr("address of file free space info"); a.Defined() {
		p.bad(a.String(), "undefined")
	}
	s.EndAt = p.stored(p.pos)
	s.EndOfFile = p.addr("end of file address")
	s.DriverInfo = p.addr("driver information block address")
	end := p.group("root group symbol table entry", -1)
	e := p.symbolEntry()
	end()
	s.RootEntry, s.Root = &e, e.Header
}

func (r *reader) superblock2(p *part, s *Superblock) {
	if !s.sizes(p) {
		return
	}
	p.grow(int64(12 + 4*s.OffsetSize + 4))
	flags := p.u8("file consistency flags")
	s.Flags = SuperFlags(flags)
	p.flags(flags, uint8(WriteAccess|Consistent|SWMRWrite))
	p.mean("%s", s.Flags)
	r.baseAddress(p, s)
	s.Extension = p.addr("superblock extension address")
	s.EndAt = p.stored(p.pos)
	s.EndOfFile = p.addr("end of file address")
	s.Root = p.addr("root group object header address")
	p.checksum()
}

func (r *reader) baseAddress(p *part, s *Superblock) {
	s.Base = p.addr("base address")
	if format.Size(s.Base) != r.f.base {
		p.mean("the superblock is at %d, which replaces it", r.f.base)
	}
}

// String returns the names of the flags.
func (s SuperFlags) String() string {
	switch {
	case s&SWMRWrite != 0 && s&WriteAccess != 0:
		return "open for writing with readers"
	case s&WriteAccess != 0:
		return "open for writing"
	case s == 0:
		return "closed"
	}
	return fmt.Sprintf("%#02x", uint8(s))
}

// DriverInfo identifies the file driver that wrote the file. It is a separate block in superblocks
// 0 and 1 (II.B), and message 0x0014 in the extension of later versions (IV.A.2.u).
type DriverInfo struct {
	ID         string // "NCSAfami" or "NCSAmult"
	MemberSize uint64 // family driver: bytes of a member
	Members    []DriverMember
	Data       []byte // as stored
}

// DriverMember is a file of the multi driver.
type DriverMember struct {
	Usage uint8  // the first kind of data in it, 1 to 6 (H5FD_mem_t)
	Start Addr   // start of its address range
	End   Addr   // end of the member, in bytes from Start
	Name  string // file name, in which %s stands for the name of the whole file
}

// driverBlock reads the driver information block.
func (r *reader) driverBlock(a Addr) (*DriverInfo, error) {
	p := r.part("driver information block", a, 16)
	v := p.u8("version")
	p.version(v, 0, 0)
	p.reserved(3)
	n := p.u32("driver information size")
	id := p.text("driver identification", 8)
	if !p.grow(16 + int64(n)) {
		return &DriverInfo{ID: id}, p.done()
	}
	d := p.driverData(id, min(int(n), p.rest()))
	return d, p.done()
}

// driverData reads the data of a driver.
func (p *part) driverData(id string, n int) *DriverInfo {
	d := &DriverInfo{ID: id, Data: p.b[p.pos : p.pos+n]}
	end := p.pos + n
	switch {
	case id == "NCSAfami" && n >= 8:
		d.MemberSize = p.u64("size of member files")
		p.check(d.MemberSize > 0, d.MemberSize, "at least 1")
	case id == "NCSAmult" && n >= 8:
		p.multi(d, end)
	}
	if p.ok() && p.pos < end {
		p.bytes("driver information", end-p.pos)
	}
	return d
}

func (p *part) multi(d *DriverInfo, end int) {
	var first []uint8 // the kinds of data that have a separate member, in order
	seen := map[uint8]bool{}
	for i := range 6 {
		c := p.u8("member of " + allocationName(i))
		if c == 0 {
			c = uint8(i + 1) // H5FD_MEM_DEFAULT: a separate member
		}
		p.check(c <= 6, c, "0 to 6")
		if !seen[c] {
			seen[c] = true
			first = append(first, c)
		}
	}
	p.reserved(2)
	for range first {
		d.Members = append(d.Members, DriverMember{})
	}
	for i := range d.Members {
		d.Members[i].Usage = first[i]
		d.Members[i].Start = Addr(p.u64("address of member file"))
		d.Members[i].End = Addr(p.u64("end of address for member file"))
	}
	for i := range d.Members {
		if p.pos >= end {
			p.complain(format.ErrTruncated, "name of member file", "none", fmt.Sprintf("%d names", len(d.Members)))
			return
		}
		d.Members[i].Name = p.cstring("name of member file", 8)
	}
}

func zeroTerminated(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
