// Links: the message, and the contents of soft, external and user-defined links (File Format,
// IV.A.2.g).

package h5file

import (
	"bytes"
	"fmt"
	"strconv"
)

// LinkKind is the type of a link.
type LinkKind uint8

// Kinds of links (H5L_type_t). 65 to 255 are user-defined.
const (
	HardLink        LinkKind = 0
	SoftLink        LinkKind = 1
	ExternalLink    LinkKind = 64
	MinUserLinkKind LinkKind = 65
)

// Link is an entry of a group.
type Link struct {
	Name         string
	Kind         LinkKind
	CharSet      uint8 // of the name: 0 ASCII, 1 UTF-8
	Order        int64 // creation order, if OrderStored
	OrderStored  bool
	Target       Addr   // object header of a hard link's target
	Path         string // target of a soft link, or of an external link inside File
	File         string // file of an external link
	UserData     []byte // of external and user-defined links, as stored
	ExternalFlag uint8  // version and flags of an external link
}

// String returns the name and the target of the link.
func (l *Link) String() string {
	name := strconv.Quote(l.Name)
	switch l.Kind {
	case HardLink:
		return fmt.Sprintf("%s is at %s", name, l.Target)
	case SoftLink:
		return fmt.Sprintf("%s is %q", name, l.Path)
	case ExternalLink:
		return fmt.Sprintf("%s is %q in %q", name, l.Path, l.File)
	}
	return fmt.Sprintf("%s, user-defined link of type %d", name, l.Kind)
}

func (p *part) link() *Link {
	l := &Link{Target: Undefined}
	v := p.u8("version")
	if !p.version(v, 1, 1) {
		return l
	}
	flags := p.u8("flags")
	p.flags(flags, 0x1F)
	if flags&8 != 0 {
		l.Kind = LinkKind(p.u8("link type"))
	}
	if flags&4 != 0 {
		l.Order, l.OrderStored = int64(p.u64("creation order")), true
	}
	if flags&0x10 != 0 {
		l.CharSet = p.u8("link name character set")
		p.check(l.CharSet <= 1, l.CharSet, "0 or 1")
	}
	n := p.uint("length of link name", 1<<(flags&3))
	p.check(n > 0, n, "at least 1")
	if !p.ok() || n > uint64(p.rest()) {
		p.take("link name", p.rest()+1)
		return l
	}
	l.Name = p.text("link name", int(n))
	p.linkTarget(l)
	return l
}

func (p *part) linkTarget(l *Link) {
	if l.Kind == HardLink {
		l.Target = p.addr("object header address")
		p.check(l.Target.Defined() || !p.ok(), "undefined", "an address")
		return
	}
	if l.Kind > SoftLink && l.Kind < ExternalLink {
		p.bad(fmt.Sprintf("link type %d", l.Kind), "0, 1, or 64 and above")
		return
	}
	n := int(p.u16("length of link information"))
	if l.Kind == SoftLink {
		p.check(n > 0, n, "at least 1")
		l.Path = p.text("link value", n)
		return
	}
	if l.Kind != ExternalLink {
		l.UserData = p.bytes("user data", n)
		return
	}
	p.check(n >= 3, n, "at least 3")
	l.UserData = p.bytes("external link", n)
	l.external(p)
}

// external splits the user data of an external link into version and flags, file name, and path in
// the file. Both strings are zero-terminated (H5L__extern_query).
func (l *Link) external(p *part) {
	b := l.UserData
	if len(b) < 3 {
		return
	}
	l.ExternalFlag = b[0]
	p.check(b[0]>>4 == 0, fmt.Sprintf("version %d of the link", b[0]>>4), "0")
	p.check(b[0]&0xF == 0, fmt.Sprintf("flags %#02x of the link", b[0]&0xF), "none")
	file, path, ok := bytes.Cut(b[1:], []byte{0})
	if !ok || bytes.IndexByte(path, 0) < 0 {
		p.bad(hexText(b), "a file's name and a path, each with a zero after it")
		return
	}
	l.File, l.Path = string(file), zeroTerminated(path)
	p.mean("%q in %q", l.Path, l.File)
}

// ExternalFiles is the list of files that contain a dataset's elements (message 0x0007, IV.A.2.h).
// Their names are in a local heap. The specification describes them as URLs, but libhdf5 uses them
// as paths.
type ExternalFiles struct {
	Heap  Addr
	Slots uint16 // allocated slots
	Files []ExternalFile
}

// ExternalFile is one of these files.
type ExternalFile struct {
	Name   string
	NameAt uint64 // bytes from the start of the heap's data
	Offset uint64 // bytes from the start of the file
	Size   uint64 // bytes; Unlimited means up to the end of the file
}

func (p *part) externalFiles() *ExternalFiles {
	e := &ExternalFiles{}
	v := p.u8("version")
	p.version(v, 1, 1)
	p.reserved(3)
	e.Slots = p.u16("allocated slots")
	p.check(e.Slots > 0, e.Slots, "at least 1")
	n := p.u16("used slots")
	p.check(n <= e.Slots, n, fmt.Sprintf("at most %d", e.Slots))
	e.Heap = p.addr("heap address")
	p.check(e.Heap.Defined(), "undefined", "an address")
	if p.err != nil {
		return e
	}
	heap, err := p.r.localHeap(e.Heap)
	if err != nil {
		p.fail(err)
	}
	for i := 0; i < int(n) && p.ok(); i++ {
		end := p.group("slot", i)
		f := ExternalFile{NameAt: p.length("name offset in local heap")}
		name, err := heap.Name(f.NameAt)
		if err != nil {
			p.fail(err)
		} else {
			p.check(name != "", `""`, "a name")
		}
		p.mean("%q", name)
		f.Name = name
		f.Offset = p.length("offset in external data file")
		f.Size = p.length("data size in external file")
		if w := 8 * p.r.f.super.LengthSize; f.Size == Unlimited>>(64-w) {
			f.Size = Unlimited
			p.mean("unlimited")
		}
		end()
		e.Files = append(e.Files, f)
	}
	return e
}
