// Opening of a file, its objects, and the contents of groups.

package h5file

import (
	"fmt"
	"io"
	"iter"

	"github.com/hyperslab/hyperslab/internal/format"
)

// File is an open file. It does not own its reader.
type File struct {
	src    io.ReaderAt
	size   int64
	limits Limits

	segments []Segment // of a reader that has them, in ascending order; nil: addresses count from base

	super  Superblock
	base   int64       // size of the user block, which precedes the superblock
	driver *DriverInfo // nil without driver information
	space  *FileSpaceInfo
	shared SharedMessageTable // Indexes is 0 without a table
	damage error
}

// Open reads the superblock of the file in r, which has size bytes, its extension and the driver
// information. nil limits mean DefaultLimits. r may have a method Segments() []Segment with the
// addresses of its bytes in ascending order, for example those of the members of a multi set. It
// may have a method WrongChecksum(WrongChecksum), which is called for each wrong checksum.
//
// Open fails only for errors that make the file unreadable: no superblock (format.ErrMagic), an
// unknown version (format.ErrVersion), invalid sizes of addresses or lengths (format.ErrCorrupt,
// format.ErrUnsupported), or an input that ends inside the superblock (format.ErrTruncated). Damage
// returns other errors of these structures.
func Open(r io.ReaderAt, size int64, l *Limits) (*File, error) {
	f, _, err := open(r, size, l, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open is Open. With tracing it returns a reader that has annotated the structures, even with an
// error.
func open(src io.ReaderAt, size int64, l *Limits, tracing bool) (*File, *reader, error) {
	if l == nil {
		d := DefaultLimits()
		l = &d
	}
	f := &File{src: src, size: size, limits: *l}
	if s, ok := src.(Segmented); ok {
		f.segments = s.Segments()
	}
	r := f.reader()
	r.tracing = tracing
	base, err := r.findSuperblock()
	if err != nil {
		return f, r, err
	}
	f.base = base
	err = r.superblock()
	s := &f.super
	if err != nil && (s.OffsetSize == 0 || s.LengthSize == 0 || !s.Root.Defined()) {
		return f, r, err
	}
	r.note(err)
	r.extension()
	f.damage = r.first
	return f, r, nil
}

// farAddress is an address beyond the end of any file. The multi driver divides the address space
// among its members. If the object headers, and with them the superblock extension, are in another
// member, their addresses are at least this high.
const farAddress = 1 << 60

// multiDriver is the identification of the multi driver.
const multiDriver = "NCSAmult"

// extension reads the structures that the superblock refers to, except the root group.
func (r *reader) extension() {
	f := r.f
	s := &f.super
	if s.DriverInfo.Defined() {
		d, err := r.driverBlock(s.DriverInfo)
		f.driver = d
		r.note(err)
	}
	if !s.Extension.Defined() || s.Version < 2 {
		return
	}
	if s.Extension >= farAddress && r.first == nil && f.segments == nil { // the checksum of the superblock is right
		f.driver = &DriverInfo{ID: multiDriver}
		return
	}
	o, err := r.object(s.Extension)
	r.note(err)
	for _, m := range o.Messages {
		switch b := m.Body.(type) {
		case *DriverInfo:
			f.driver = b
		case *BTreeK:
			s.K = *b
		case *SharedMessageTable:
			f.shared = *b
		case *FileSpaceInfo:
			f.space = b
		case *CacheImage:
			r.cacheImage(b)
		}
	}
}

// Damage returns the first error of the superblock, its extension or the driver information, or
// nil.
func (f *File) Damage() error { return f.damage }

// Superblock returns the superblock. Its K values are the effective ones: from the superblock, the
// extension, or the defaults.
func (f *File) Superblock() Superblock { return f.super }

// UserBlock returns the number of bytes before the superblock. Addresses count from this offset.
func (f *File) UserBlock() int64 { return f.base }

// Driver returns the driver information of a file with several members, or nil.
func (f *File) Driver() *DriverInfo { return f.driver }

// FileSpace returns the file space info message, or nil without one.
func (f *File) FileSpace() *FileSpaceInfo { return f.space }

// Unclosed reports whether the writer of a file with stored free space has not closed it, and the
// file is longer than its superblock records. If a program opens such a file for writing, libhdf5
// truncates the file to that end on close. end is in bytes from the start of the file.
//
// libhdf5 stores the end of such a file twice when it closes it (H5MF_settle_meta_data_fsm). Before
// that, the file space info has no end. If the file was closed and opened again, the end in the
// file space info and the free-space managers may be after the end in the superblock. Version 0 of
// the message stores no second end, so Unclosed returns false.
func (f *File) Unclosed() (end int64, unclosed bool) {
	s := &f.super
	if f.space == nil || f.space.Version == 0 || !f.space.Persist || !s.EndOfFile.Defined() {
		return 0, false
	}
	end = f.end()
	complete := f.space.EOA.Defined() && format.Size(f.space.EOA)+f.base <= end
	for _, a := range f.space.Managers {
		complete = complete && (!a.Defined() || format.Size(a)+f.base+s.managerSize() <= end)
	}
	return end, !complete && end >= 0 && end < f.size
}

// end returns the stored end of the file in bytes from its start. It corrects the stored base
// address.
func (f *File) end() int64 { return format.Size(f.super.EndOfFile-f.super.Base) + f.base }

// Root reads the header of the root group. Like Object, it returns the readable part also with an
// error.
func (f *File) Root() (*Object, error) { return f.Object(f.super.Root) }

// Object reads the object header at a. It returns the readable part also with an error. The error
// of a message is returned only if the header has no other error.
func (f *File) Object(a Addr) (*Object, error) { return f.reader().object(a) }

// Read reads n bytes of raw data at a: a chunk, or contiguous elements.
func (f *File) Read(a Addr, n int64) ([]byte, error) {
	at := f.position(a)
	if !a.Defined() || at < 0 || n < 0 || at > f.size || n > f.size-at {
		return nil, &format.Error{Format: formatName, What: "raw data", Offset: max(at, 0), Got: fmt.Sprintf("%d bytes at %s in a file of %d", n, a, f.size), Want: "bytes inside the file", Err: format.ErrTruncated}
	}
	b := make([]byte, n)
	if k, err := f.src.ReadAt(b, at); int64(k) < n {
		return b[:k], &format.Error{Format: formatName, What: "raw data", Offset: at, Got: fmt.Sprintf("%d bytes", k), Want: fmt.Sprint(n), Err: err}
	}
	return b, nil
}

// Links yields the links of a group from all storage forms: messages, a symbol table, or a heap. If
// some are corrupt, it yields the readable ones, and finally the first error with an empty link.
func (o *Object) Links() iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		r := o.f.reader()
		if r.links(o, func(l Link) bool { return yield(l, nil) }) && r.first != nil {
			yield(Link{}, r.first)
		}
	}
}

// links calls visit for the links of o until visit returns false. It returns false in that case.
func (r *reader) links(o *Object, visit func(Link) bool) bool {
	more := true
	for i := range o.Messages {
		m := &o.Messages[i]
		if !more {
			return false
		}
		if m.Err != nil && m.Type == LinkType {
			r.note(m.Err)
			continue
		}
		switch b := m.Body.(type) {
		case *Link:
			more = visit(*b)
		case *SymbolTable:
			r.symbols(b, func(e SymbolEntry, name string, h *LocalHeap) bool {
				l, err := entryLink(e, name, h)
				if err != nil {
					r.note(err)
					return true
				}
				more = visit(l)
				return more
			})
		case *LinkInfo:
			if b.Heap.Defined() {
				more = r.denseLinks(b, visit)
			}
		}
	}
	return more
}

// Attributes yields the attributes of an object from all storage forms. If some are corrupt, it
// yields the readable ones, and finally the first error with nil.
func (o *Object) Attributes() iter.Seq2[*Attribute, error] {
	return func(yield func(*Attribute, error) bool) {
		r := o.f.reader()
		visit := func(a *Attribute, err error) bool {
			if err != nil {
				r.note(err)
				return true
			}
			return yield(a, nil)
		}
		if r.attributes(o, visit) && r.first != nil {
			yield(nil, r.first)
		}
	}
}

// EachAttribute is Attributes, but yields an attribute that cannot be parsed too, with its error
// and the part before the error. The attribute is nil if not even its beginning can be read.
func (o *Object) EachAttribute() iter.Seq2[*Attribute, error] {
	return func(yield func(*Attribute, error) bool) {
		r := o.f.reader()
		if r.attributes(o, yield) && r.first != nil {
			yield(nil, r.first)
		}
	}
}

// attributes calls visit for the attributes of o until visit returns false. It returns false in
// that case. Errors that concern no single attribute are noted.
func (r *reader) attributes(o *Object, visit func(*Attribute, error) bool) bool {
	more := true
	for i := range o.Messages {
		m := &o.Messages[i]
		if !more {
			return false
		}
		switch b := m.Body.(type) {
		case *Attribute:
			a := *b
			a.Order = uint32(m.Order)
			more = visit(&a, m.Err)
		case *AttributeInfo:
			if b.Heap.Defined() {
				more = r.denseAttributes(b, visit)
			}
		}
	}
	return more
}

// Entry is an object or link that Walk yields.
type Entry struct {
	Path   string // path from the root group; "/" for the root group
	Link   Link   // the link to the object; zero for the root group
	Object *Object
}

// Walk yields every object that hard links reach from the root group, once, and groups before their
// members. If an object has errors, Walk yields its readable part with the error. Soft, external
// and user-defined links are yielded without an object, and are not followed.
func (f *File) Walk() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := f.reader()
		r.walk(yield)
	}
}

// walk visits breadth first within a group, so that only the entries of the groups on the current
// path are pending.
func (r *reader) walk(yield func(Entry, error) bool) {
	seen := map[Addr]bool{r.f.super.Root: true}
	stack := []Entry{{Path: "/", Link: Link{Target: r.f.super.Root}}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		r.path = e.Path
		if e.Link.Kind != HardLink {
			if !yield(e, nil) {
				return
			}
			continue
		}
		o, err := r.object(e.Link.Target)
		e.Object = o
		var below []Entry
		if o.Kind() == GroupKind {
			before, in := r.first, r.firstIn
			r.first = nil
			r.links(o, func(l Link) bool {
				if l.Kind == HardLink {
					if seen[l.Target] {
						return true
					}
					seen[l.Target] = true
				}
				below = append(below, Entry{Path: join(e.Path, l.Name), Link: l})
				return true
			})
			if err == nil {
				err = r.first
			}
			r.first, r.firstIn = before, in
		}
		if e.Path == "/" {
			e.Link = Link{}
		}
		if !yield(e, err) {
			return
		}
		for i := len(below) - 1; i >= 0; i-- {
			stack = append(stack, below[i])
		}
	}
}

func join(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}

// corrupt returns an error about the structure at a.
func (r *reader) corrupt(what string, a Addr, got, want string) error {
	return &format.Error{Format: formatName, What: what, Offset: r.f.place(a), Got: got, Want: want, Err: format.ErrCorrupt}
}
