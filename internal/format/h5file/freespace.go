// Free-space managers, of files and of fractal heaps (File Format, III.H).

package h5file

import "fmt"

// Clients of free-space managers (H5FS_client_t).
const (
	heapClient = 0
	fileClient = 1
)

// Types of free-space sections, by client.
var sectionNames = [2][]string{
	{"single", "first row"},
	{"simple", "small", "large"},
}

// unreadSections are further types of a heap's sections in the specification. A heap's manager
// never stores them. libhdf5 has no code to read them and jumps to an invalid address if a file
// contains one.
var unreadSections = []string{"normal row, refused", "indirect, refused"}

// FreeSection is an unused range of a file or of a heap's space.
type FreeSection struct {
	Offset uint64 // bytes from the base address, or from the start of the heap's space
	Size   uint64 // bytes
	Type   uint8
	Row    *FreeRow // set for a first row section of a heap
}

// FreeRow is a range of free blocks of an indirect block.
type FreeRow struct {
	Block    uint64 // offset of the indirect block in the heap's space
	Row, Col uint16 // the first free block
	Blocks   uint16
}

// managerSize returns the size in bytes of a free-space manager's header.
func (s *Superblock) managerSize() int64 { return int64(18 + 7*s.LengthSize + s.OffsetSize) }

// freeManager contains the fields of the header of a free-space manager.
type freeManager struct {
	total         uint64 // bytes of all sections
	serial, ghost uint64 // numbers of sections that are stored, and that are not
	addrBits      uint16
	maxSize       uint64 // of a section, in bytes
	list          Addr   // of the stored sections
	used          uint64 // bytes of the list
}

// freeManager reads the header of the free-space manager at a. It returns false after an error.
func (r *reader) freeManager(a Addr, client uint8) (m freeManager, ok bool) {
	s := &r.f.super
	p := r.part("free-space manager header", a, s.managerSize())
	if !p.signature("FSHD") {
		r.note(p.done())
		return m, false
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	c := p.u8("client ID")
	p.check(c == client, c, fmt.Sprint(client))
	m.total = p.length("total space tracked")
	count := p.length("total number of sections")
	m.serial = p.length("number of serialized sections")
	m.ghost = p.length("number of un-serialized sections")
	p.check(count == m.serial+m.ghost, m.ghost, fmt.Sprintf("%d less %d", count, m.serial))
	p.u16("number of section classes")
	p.u16("shrink percent")
	p.u16("expand percent")
	m.addrBits = p.u16("size of address space")
	p.check(m.addrBits <= 64, m.addrBits, "at most 64")
	m.maxSize = p.length("maximum section size")
	m.list = p.addr("address of serialized section list")
	m.used = p.length("size of serialized section list used")
	alloc := p.length("allocated size of serialized section list")
	p.check(m.used <= alloc, alloc, fmt.Sprintf("at least %d", m.used))
	p.checksum()
	err := p.done()
	r.note(err)
	return m, err == nil
}

// freeSpace reads the free-space manager at a and calls visit for its sections. h must be set for a
// heap's manager.
func (r *reader) freeSpace(a Addr, client uint8, h *FractalHeap, visit func(FreeSection)) {
	m, ok := r.freeManager(a, client)
	if !ok || !m.list.Defined() || m.list == a {
		return
	}
	q := r.part("free-space section list", m.list, int64(min(m.used, uint64(r.f.limits.Structure)+1)))
	if !q.signature("FSSE") {
		r.note(q.done())
		return
	}
	v := q.u8("version")
	q.version(v, 0, 0)
	back := q.addr("free-space manager header address")
	q.check(back == a, back, a.String())
	w := &sectionReader{p: q, client: client, h: h, offsetSize: (int(m.addrBits) + 7) / 8, lengthSize: encodedSize(m.maxSize), visit: visit}
	w.sections(m.serial)
	if q.err == nil {
		q.last = nil
		q.check(w.space == m.total || m.ghost > 0, fmt.Sprintf("%d bytes in sections", w.space), fmt.Sprint(m.total))
	}
	if end := len(q.b) - 4; q.ok() && end >= q.pos {
		if end > q.pos {
			q.bytes("unused", end-q.pos)
		}
		q.checksum()
	}
	r.note(q.done())
}

type sectionReader struct {
	p          *part
	client     uint8
	h          *FractalHeap
	offsetSize int
	lengthSize int
	visit      func(FreeSection)
	space      uint64 // bytes of the sections so far
}

// sections reads n sections, which are stored in sets of equal size.
func (w *sectionReader) sections(n uint64) {
	p := w.p
	countSize := encodedSize(n)
	for set := 0; n > 0 && p.ok(); set++ {
		end := p.group("section set", set)
		k := p.uint("number of section records", countSize)
		size := p.uint("size of sections", w.lengthSize)
		if !p.check(k > 0 && k <= n, k, fmt.Sprintf("1 to %d", n)) {
			end()
			return
		}
		n -= k
		for i := 0; uint64(i) < k && p.ok(); i++ {
			endRecord := p.group("section", i)
			w.section(size)
			endRecord()
		}
		end()
	}
}

func (w *sectionReader) section(size uint64) {
	p := w.p
	s := FreeSection{Offset: p.uint("section offset", w.offsetSize), Size: size}
	s.Type = p.u8("section type")
	names := sectionNames[w.client]
	if k := int(s.Type) - len(names); w.client == heapClient && k >= 0 && k < len(unreadSections) {
		p.mean("%s", unreadSections[k])
	}
	if !p.check(int(s.Type) < len(names), s.Type, fmt.Sprintf("below %d", len(names))) {
		p.ended = true
		return
	}
	p.mean("%s", names[s.Type])
	if w.client == heapClient && s.Type == 1 {
		s.Row = &FreeRow{Block: p.uint("offset of indirect block", w.h.offsetSize), Row: p.u16("row"), Col: p.u16("column"), Blocks: p.u16("number of blocks")}
	}
	if p.ok() {
		w.space += size
		w.visit(s)
	}
}
