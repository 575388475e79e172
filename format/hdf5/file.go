// A file as a whole: opening it, its objects, and what is in groups.

package hdf5

import (
	"fmt"
	"io"
	"iter"

	"github.com/hyperslab/hyperslab/format"
)

// File is an open file. It does not own the reader it was opened from.
type File struct {
	src    io.ReaderAt
	size   int64
	limits Limits

	super  Superblock
	base   int64       // bytes before the superblock: the user block
	driver *DriverInfo // nil if the file names none
	space  *FileSpaceInfo
	shared SharedMessageTable // Indexes is 0 if there is none
	damage error
}

// Open reads the superblock of the file in r, which holds size bytes, its extension
// and the driver information. Nil limits are DefaultLimits.
//
// It fails only if nothing can be read without what is wrong: no superblock
// (format.ErrMagic), an unknown version (format.ErrVersion), impossible sizes of
// addresses or lengths (format.ErrCorrupt, format.ErrUnsupported), an input that
// ends inside the superblock (format.ErrTruncated). What else is wrong there
// Damage reports.
func Open(r io.ReaderAt, size int64, l *Limits) (*File, error) {
	f, _, err := open(r, size, l, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open is Open; with tracing it returns a reader that has annotated what it read,
// also with an error.
func open(src io.ReaderAt, size int64, l *Limits, tracing bool) (*File, *reader, error) {
	if l == nil {
		d := DefaultLimits()
		l = &d
	}
	f := &File{src: src, size: size, limits: *l}
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

// extension reads what the superblock refers to beside the root group.
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
	if s.Extension >= farAddress && r.first == nil { // the checksum of the superblock is right
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

// Damage returns the first thing that is wrong with the superblock, its extension or
// the driver information; nil if nothing is.
func (f *File) Damage() error { return f.damage }

// Superblock returns the superblock. Its K values are those in force, wherever they
// stand.
func (f *File) Superblock() Superblock { return f.super }

// UserBlock returns the bytes before the superblock, which is what addresses count
// from.
func (f *File) UserBlock() int64 { return f.base }

// Driver returns what the driver of a file of several members stored, nil if there
// is none.
func (f *File) Driver() *DriverInfo { return f.driver }

// FileSpace returns how free space is managed, nil if the file does not say.
func (f *File) FileSpace() *FileSpaceInfo { return f.space }

// Unclosed reports a file that stores its free space, is longer than its superblock says,
// and was never closed by who wrote it: a program that opens it for writing with libhdf5
// cuts it there when it closes it. end is in bytes from the start of the file.
//
// The end of such a file is stored twice, once when it is closed
// (H5MF_settle_meta_data_fsm); before that the file space info has none, or, of a file
// that was closed and opened again, one that may be behind the superblock's, as its
// free-space managers may be. With version 0 of that message there is one alone, and nothing
// is reported.
func (f *File) Unclosed() (end int64, unclosed bool) {
	s := &f.super
	if f.space == nil || f.space.Version == 0 || !f.space.Persist || !s.EndOfFile.Defined() {
		return 0, false
	}
	end = f.end()
	settled := f.space.EOA.Defined() && int64(f.space.EOA)+f.base <= end
	for _, a := range f.space.Managers {
		settled = settled && (!a.Defined() || int64(a)+f.base+s.managerSize() <= end)
	}
	return end, !settled && end >= 0 && end < f.size
}

// end is the end of the file as stored, which counts from the start of the file as the
// base address has it.
func (f *File) end() int64 { return int64(f.super.EndOfFile-f.super.Base) + f.base }

// Root reads the header of the root group. As Object, it returns what it could
// read also with an error.
func (f *File) Root() (*Object, error) { return f.Object(f.super.Root) }

// Object reads the object header at a. It returns what it could read also with an
// error; if nothing else is wrong, that is the first error of a message.
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

// Links yields the links of a group, wherever they stand: in messages, in a symbol
// table, in a heap. Of what is damaged it yields what can be read, and the first
// error last, with an empty link.
func (o *Object) Links() iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		r := o.f.reader()
		if r.links(o, func(l Link) bool { return yield(l, nil) }) && r.first != nil {
			yield(Link{}, r.first)
		}
	}
}

// links calls visit for the links of o until it returns false, which is returned.
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

// Attributes yields the attributes of an object, wherever they stand. Of what is
// damaged it yields what can be read, and the first error last, with nil.
func (o *Object) Attributes() iter.Seq2[*Attribute, error] {
	return func(yield func(*Attribute, error) bool) {
		r := o.f.reader()
		if r.attributes(o, func(a *Attribute) bool { return yield(a, nil) }) && r.first != nil {
			yield(nil, r.first)
		}
	}
}

func (r *reader) attributes(o *Object, visit func(*Attribute) bool) bool {
	more := true
	for i := range o.Messages {
		m := &o.Messages[i]
		if !more {
			return false
		}
		switch b := m.Body.(type) {
		case *Attribute:
			if m.Err != nil {
				r.note(m.Err)
				continue
			}
			a := *b
			a.Order = uint32(m.Order)
			more = visit(&a)
		case *AttributeInfo:
			if b.Heap.Defined() {
				more = r.denseAttributes(b, visit)
			}
		}
	}
	return more
}

// Entry is an object met by Walk.
type Entry struct {
	Path   string // from the root group, "/" for itself
	Link   Link   // the link that leads to it; zero for the root group
	Object *Object
}

// Walk yields every object that hard links reach from the root group, once, groups
// before what is in them, and an error for each that cannot be read whole, with
// what could be. Soft, external and user-defined links are yielded without an
// object, and not followed.
func (f *File) Walk() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := f.reader()
		r.walk(yield)
	}
}

// walk visits breadth first within a group, so that the pending entries are those
// of the groups on the way.
func (r *reader) walk(yield func(Entry, error) bool) {
	seen := map[Addr]bool{r.f.super.Root: true}
	stack := []Entry{{Path: "/", Link: Link{Target: r.f.super.Root}}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
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
			before := r.first
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
			r.first = before
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

// corrupt is an error about the structure at a.
func (r *reader) corrupt(what string, a Addr, got, want string) error {
	return &format.Error{Format: formatName, What: what, Offset: r.f.place(a), Got: got, Want: want, Err: format.ErrCorrupt}
}
