// Traversal of all structures of a file. It checks a file before libhdf5 opens it, and collects the
// fields for Describe.

package h5file

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Policy selects the features that an untrusted file may use in libhdf5. The zero Policy allows
// only the file itself and the filters that libhdf5 contains.
type Policy struct {
	// Filters lists the filters that are allowed in addition to deflate, shuffle, fletcher32, szip,
	// nbit and scaleoffset.
	Filters []FilterID
	// Refused lists filters of libhdf5 that are not allowed.
	Refused []FilterID
	// Decode decodes filters that Pipeline.Decode does not support. It is needed to check
	// references in filtered elements. size is the number of decoded bytes. If Decode is nil, Check
	// refuses datasets with such filters whose elements refer to global heaps.
	Decode func(l *Pipeline, mask uint32, chunk []byte, size uint64) ([]byte, error)
	// Decoded reports whether the caller decodes all chunks with these filters, with decoders that
	// check their bounds. The caller must then detect chunks that are too short. nil means false.
	Decoded func(l *Pipeline) bool
	// ExternalLinks and UserLinks allow external links, and user-defined links, which a plugin
	// resolves.
	ExternalLinks, UserLinks bool
	// ExternalFiles and VirtualSources allow elements in other files. Virtual datasets whose
	// sources are all in the same file are always allowed.
	ExternalFiles, VirtualSources bool
	// Members allows a file of several members, whose reader must contain all of them.
	Members bool
	// OtherFile is called with the file name and the offset of the element for each reference to an
	// object in another file. It may be nil.
	OtherFile func(name string, offset int64)
	// Write means that libhdf5 will modify the file. Check then refuses unknown messages that
	// forbid writing, and checks the free-space managers. libhdf5 reads both only when it modifies
	// a file or returns its free space.
	Write bool
	// FreeSpace checks the headers of the free-space managers of heaps although libhdf5 only reads
	// the file. libhdf5 reads them also to compute the size of the metadata of an object
	// (H5Oget_info).
	FreeSpace bool
	// MaxBytes is the maximum size of one dataset in bytes, computed from its shape; 0 means no
	// limit. A file of some bytes can claim any size.
	MaxBytes uint64
	// MaxChunk is the maximum size of a decoded chunk in bytes, because a reader must hold a chunk
	// in memory; 0 means no limit.
	MaxChunk uint64

	describing bool // Describe is running: everything is allowed
}

// allows reports whether a filter is allowed.
func (p Policy) allows(id FilterID) bool {
	return p.describing || id >= Deflate && id <= ScaleOffset && !slices.Contains(p.Refused, id) || slices.Contains(p.Filters, id)
}

// Check returns the first error that makes the file unsafe for libhdf5. It checks for:
//
//   - structures that violate a rule of the format
//   - sizes and addresses outside the file
//   - trees with cycles
//   - datatypes whose size differs from that of their parts
//   - invalid references into global heaps
//   - fill values that are larger in the memory of libhdf5 than in the file, because libhdf5
//     allocates only the latter size
//   - addresses of more than 16 bytes, for the same reason
//   - features that p does not allow
//
// The last three are format.ErrUnsupported. Check reads all metadata, and the elements of datasets
// that refer to global heaps. Its run time is linear in the size of the file.
//
// Check does not decode other chunks, so filters must be safe on any bytes.
func (f *File) Check(p Policy) error {
	r := f.reader()
	if f.damage != nil {
		return f.damage
	}
	r.everything(p)
	return r.first
}

// A checker checks all objects of a file.
type checker struct {
	*reader
	policy Policy
	stop   bool // stop at the first error
}

// everything visits all structures of the file except the superblock and its extension, and records
// errors.
func (r *reader) everything(p Policy) {
	c := &checker{reader: r, policy: p, stop: !r.tracing}
	r.otherFile = p.OtherFile
	c.note(c.wholeFile())
	c.sharedMessages()
	if s := r.f.space; s != nil && c.writing() {
		for _, a := range s.Managers {
			if a.Defined() {
				r.freeSpace(a, fileClient, nil, c.freeSection)
			}
		}
	}
	r.walk(func(e Entry, err error) bool {
		c.note(err)
		c.note(c.link(e.Link))
		if o := e.Object; err == nil && o != nil {
			c.note(c.kind(o))
		}
		if e.Object != nil && !(c.stop && c.first != nil) {
			c.object(e.Object)
		}
		return !(c.stop && c.first != nil)
	})
}

// writing reports whether to visit free-space managers. Programs that only read do not use their
// sections. Describe always visits them.
func (c *checker) writing() bool { return c.policy.Write || c.tracing }

// tokenSize is H5O_MAX_TOKEN_SIZE. libhdf5 copies an address into a token without checking its
// length (H5VL_native_addr_to_token).
const tokenSize = 16

// wholeFile checks the properties of the file as a whole.
func (c *checker) wholeFile() error {
	f := c.f
	s := &f.super
	fail := func(what, got, want string, kind error) error {
		return &format.Error{Format: formatName, What: what, Offset: f.base, Got: got, Want: want, Err: kind}
	}
	end := f.end()
	switch {
	case !s.EndOfFile.Defined() || s.EndOfFile < s.Base || end < 0 || end > f.size:
		return fail("end of file address", s.EndOfFile.String(), fmt.Sprintf("at most the file's size, %d", f.size), format.ErrTruncated)
	case s.Version >= 3 && s.Flags&(WriteAccess|SWMRWrite) != 0 && c.policy.Write:
		return fail("file consistency flags", s.Flags.String(), "a file that was closed", format.ErrUnsupported)
	case s.OffsetSize > tokenSize && !c.policy.describing:
		return fail("size of offsets", fmt.Sprint(s.OffsetSize), fmt.Sprintf("at most %d, the bytes of the library's token of an object", tokenSize), format.ErrUnsupported)
	case f.driver != nil && !c.policy.describing && !c.policy.Members && (f.driver.ID == "NCSAfami" || f.driver.ID == "NCSAmult"):
		return fail("driver identification", f.driver.ID, "a file of one member", format.ErrUnsupported)
	}
	return nil
}

func (c *checker) unsupported(what string, at int64, got, want string) error {
	return &format.Error{Format: formatName, What: what, Offset: max(at, 0), Got: got, Want: want, Err: format.ErrUnsupported}
}

// kind checks that libhdf5 can open an object, and that the root is a group.
func (c *checker) kind(o *Object) error {
	k := o.Kind()
	switch {
	case o.Addr == c.f.super.Root && k != GroupKind:
		return c.corrupt("root object header", o.Addr, k.String(), "a group")
	case k == UnknownKind:
		return c.corrupt("object header", o.Addr, "no message that determines the kind of the object", "a group, a dataset or a committed datatype")
	}
	return nil
}

// link refuses links that the policy does not allow.
func (c *checker) link(l Link) error {
	switch {
	case l.Kind == ExternalLink && !c.policy.ExternalLinks:
		return c.unsupported("link", 0, l.String(), "no external link")
	case l.Kind >= MinUserLinkKind && !c.policy.UserLinks:
		return c.unsupported("link", 0, l.String(), "no user-defined link")
	}
	return nil
}

// sharedMessages visits the table of shared messages with its indexes and heaps.
func (c *checker) sharedMessages() {
	table, err := c.sharedTable()
	c.note(err)
	for _, x := range table {
		if !x.Heap.Defined() {
			continue
		}
		h := c.heap(x.Heap)
		if h == nil {
			continue
		}
		n := 0
		c.sharedRecords(x, func(rec SharedRecord) {
			n++
			if rec.InHeap {
				c.note(c.sharedMessage(h, x, rec))
			}
		})
		if n != int(x.Messages) && c.first == nil {
			c.note(c.corrupt("shared object header message table", c.f.shared.Addr, fmt.Sprintf("%d messages", x.Messages), fmt.Sprintf("%d, those there are", n)))
		}
	}
}

// sharedMessage checks a message in the heap. The heap does not store its type.
func (c *checker) sharedMessage(h *FractalHeap, x SharedIndex, rec SharedRecord) error {
	return c.heapObject(h, rec.HeapID, "shared message", func(p *part) {
		// The hash covers the type and the content, so it determines the type.
		for t := range MessageType(16) {
			if x.holds(t) && lookup3(p.b, uint32(t)) == rec.Hash {
				p.rename("shared " + t.String() + " message")
				p.unshared(nil, t)
				return
			}
		}
		p.complain(format.ErrCorrupt, "hash in index", fmt.Sprintf("%#08x", rec.Hash), "that of the message with one of the index's types")
	})
}

// heap visits all of a fractal heap. It returns nil if the heap cannot be read.
func (c *checker) heap(a Addr) *FractalHeap {
	h, err := c.fractalHeap(a)
	if err != nil {
		c.note(err)
		return nil
	}
	if err := c.once("fractal heap header", a); err != nil {
		c.note(err)
		return h
	}
	c.heapBlocks(h)
	if h.HugeIndex.Defined() {
		c.note(c.readHuge(h))
	}
	switch {
	case !h.FreeManager.Defined():
	case c.writing():
		c.freeSpace(h.FreeManager, heapClient, h, func(FreeSection) {})
	case c.policy.FreeSpace:
		c.freeManager(h.FreeManager, heapClient)
	}
	return h
}

// freeSection checks a free section of the file.
func (c *checker) freeSection(s FreeSection) {
	hi := c.f.position(Addr(s.Offset))
	if hi < 0 || s.Size > uint64(c.f.size) || uint64(hi) > uint64(c.f.size)-s.Size {
		c.note(c.corrupt("free-space section", Addr(s.Offset), fmt.Sprintf("%d bytes", s.Size), "bytes inside the file"))
	}
}

// object checks the parts of an object that walk does not read: heaps and the creation order index
// of links and attributes, and the elements of a dataset.
func (c *checker) object(o *Object) {
	for i := range o.Messages {
		m := &o.Messages[i]
		if !m.Type.Known() && m.Flags&FailWriteIfUnknown != 0 && c.policy.Write {
			c.note(c.unsupported(m.Type.String()+" message", m.Offset, m.Flags.String(), "a message that may be ignored when writing"))
		}
		switch b := m.Body.(type) {
		case *LinkInfo:
			c.linkInfo(b)
		case *AttributeInfo:
			c.attributeInfo(b)
		case *Pipeline:
			c.pipeline(b, m)
		}
	}
	c.attributes(o, func(a *Attribute, err error) bool {
		if err != nil {
			c.note(err)
			return true
		}
		c.note(c.heapValues(a.Type, a.Value, a.ValueAt))
		return c.first == nil || !c.stop
	})
	if o.Kind() == DatasetKind {
		c.dataset(o)
	}
}

func (c *checker) linkInfo(l *LinkInfo) {
	if !l.Heap.Defined() {
		return
	}
	h := c.heap(l.Heap)
	if h == nil || !l.OrderIndex.Defined() {
		return
	}
	c.linkIndex(l.OrderIndex, linkOrder, func(_ uint32, order int64, id []byte) bool {
		q, restore := c.quiet()
		defer restore()
		c.note(q.heapObject(h, id, "link", func(p *part) {
			if k := p.link(); k.Order != order {
				p.complain(format.ErrCorrupt, "creation order in index", fmt.Sprint(order), fmt.Sprintf("%d, that of %q", k.Order, k.Name))
			}
		}))
		return c.first == nil || !c.stop
	})
}

func (c *checker) attributeInfo(a *AttributeInfo) {
	if !a.Heap.Defined() {
		return
	}
	h := c.heap(a.Heap)
	if h == nil || !a.OrderIndex.Defined() {
		return
	}
	c.attributeIndex(a.OrderIndex, attributeOrder, func(rec attributeRecord) bool {
		if rec.flags&Shared == 0 {
			q, restore := c.quiet()
			_, err := q.locateObject(h, rec.id, "attribute")
			restore()
			c.note(err)
		}
		return c.first == nil || !c.stop
	})
}

func (c *checker) pipeline(l *Pipeline, m *Message) {
	for _, f := range l.Filters {
		if !c.policy.allows(f.ID) {
			c.note(c.unsupported(m.Type.String()+" message", m.Offset, f.ID.String(), "a filter that is allowed"))
		}
	}
}

// dataset checks the location of the elements.
func (c *checker) dataset(o *Object) {
	l, s, t := o.Layout(), o.Dataspace(), o.Datatype()
	if o.Err() != nil || s == nil || t == nil {
		return // recorded by walk
	}
	if l == nil {
		c.note(c.corrupt("object header", o.Addr, "a dataset without a layout", "one"))
		return
	}
	n, ok := s.Elements()
	hi, size := bits.Mul64(n, uint64(t.Size))
	if !ok || hi != 0 {
		c.note(c.corrupt("dataspace message", o.Addr, fmt.Sprintf("%v elements of %d bytes", s, t.Size), "fewer than 2^64 bytes"))
		return
	}
	if c.policy.MaxBytes > 0 && size > c.policy.MaxBytes {
		c.note(&format.Error{Format: formatName, What: "dataspace message", Offset: o.Message(DataspaceType).Offset, Got: fmt.Sprintf("%d bytes of elements", size), Want: fmt.Sprintf("at most %d", c.policy.MaxBytes), Err: format.ErrLimit})
	}
	if v := o.FillValue(); v != nil && v.Value != nil && uint64(len(v.Value)) != uint64(t.Size) {
		c.note(c.corrupt("fill value message", o.Addr, fmt.Sprintf("a fill value of %d bytes", len(v.Value)), fmt.Sprintf("%d, those of an element", t.Size)))
	} else if v != nil {
		if n := t.inMemory(); v.Value != nil && n > uint64(t.Size) && !c.policy.describing {
			c.note(c.unsupported("fill value message", c.f.place(o.Addr), fmt.Sprintf("a fill value of %d bytes that takes %d in the library's memory", t.Size, n), "one that takes no more, for which alone the library makes room"))
		}
		c.note(c.heapValues(t, v.Value, 0))
	}
	switch l.Class {
	case Compact:
		if uint64(len(l.Data)) < size {
			c.note(c.corrupt("data layout message", o.Addr, fmt.Sprintf("%d bytes of compact data", len(l.Data)), fmt.Sprintf("at least %d", size)))
			return
		}
		c.note(c.heapValues(t, l.Data[:size], l.DataAt))
	case Contiguous:
		c.contiguous(o, l, t, size)
	case Chunked:
		c.chunked(o, l, t)
	case Virtual:
		c.virtual(l)
	}
}

func (c *checker) contiguous(o *Object, l *Layout, t *Datatype, size uint64) {
	if e := o.ExternalFiles(); e != nil {
		if !c.policy.ExternalFiles {
			c.note(c.unsupported("external data files message", o.Message(ExternalFilesType).Offset, fmt.Sprintf("%d external files", len(e.Files)), "elements in the file itself"))
		}
		return
	}
	if l.Version >= 3 && l.Size < size {
		c.note(c.corrupt("data layout message", o.Addr, fmt.Sprintf("%d bytes of storage", l.Size), fmt.Sprintf("at least %d, those of the elements", size)))
		return
	}
	if !l.Addr.Defined() {
		return
	}
	at := c.f.position(l.Addr)
	if at < 0 || at > c.f.size || size > uint64(c.f.size-at) {
		c.note(&format.Error{Format: formatName, What: "contiguous data", Offset: max(at, 0), Got: fmt.Sprintf("%d bytes at %s", size, l.Addr), Want: fmt.Sprintf("bytes inside the file's %d", c.f.size), Err: format.ErrTruncated})
		return
	}
	if !t.InHeap() {
		return
	}
	step := int64(max(1, 65536/t.Size)) * int64(t.Size)
	for end := at + int64(size); at < end && (c.first == nil || !c.stop); at += step {
		b, err := c.bytes("elements", at, min(step, end-at), 0)
		if err == nil {
			err = c.heapValues(t, b, at)
		}
		c.note(err)
	}
}

func (c *checker) chunked(o *Object, l *Layout, t *Datatype) {
	if n := len(l.Dims); n > 0 && l.Dims[n-1] != uint64(t.Size) {
		c.note(c.corrupt("data layout message", o.Addr, fmt.Sprintf("elements of %d bytes", l.Dims[n-1]), fmt.Sprintf("%d, those of the datatype", t.Size)))
		return
	}
	full, _ := l.ChunkBytes()
	if c.policy.MaxChunk > 0 && full > c.policy.MaxChunk {
		c.note(&format.Error{Format: formatName, What: "data layout message", Offset: c.f.place(o.Addr), Got: fmt.Sprintf("chunks of %d bytes", full), Want: fmt.Sprintf("at most %d", c.policy.MaxChunk), Err: format.ErrLimit})
		return
	}
	pl := o.Pipeline()
	filtered := pl != nil && len(pl.Filters) > 0
	if filtered {
		for i := range pl.Filters {
			if err := pl.Filters[i].Sound(uint64(t.Size), full); err != nil {
				c.note(c.step("filter pipeline message", c.f.place(o.Addr), err))
				return
			}
		}
	}
	decoded := filtered && c.policy.Decoded != nil && c.policy.Decoded(pl)
	c.chunks(o, nil, nil, func(k Chunk) bool {
		at := c.f.position(k.Addr)
		err := error(nil)
		switch {
		case at < 0 || at > c.f.size || k.Size > uint64(c.f.size-at):
			err = &format.Error{Format: formatName, What: fmt.Sprintf("chunk %v", k.Offset), Offset: max(at, 0), Got: fmt.Sprintf("%d bytes at %s", k.Size, k.Addr), Want: fmt.Sprintf("bytes inside the file's %d", c.f.size), Err: format.ErrTruncated}
		case !filtered && k.Size != full:
			err = c.corrupt(fmt.Sprintf("chunk %v", k.Offset), k.Addr, fmt.Sprintf("%d bytes without filters", k.Size), fmt.Sprint(full))
		case k.Size == 0:
			err = c.corrupt(fmt.Sprintf("chunk %v", k.Offset), k.Addr, "0 bytes", "at least 1")
		case pl != nil && k.Mask>>len(pl.Filters) != 0:
			err = c.corrupt(fmt.Sprintf("chunk %v", k.Offset), k.Addr, fmt.Sprintf("filter mask %#x", k.Mask), fmt.Sprintf("%d bits, one for each filter", len(pl.Filters)))
		case filtered && !decoded && !plainEdge(k, l, o.Dataspace().Dims):
			err = c.longEnough(pl, k, at, uint64(t.Size), full)
		}
		if err == nil && t.InHeap() {
			err = c.chunkValues(o, l, t, k, full)
		}
		c.note(err)
		return c.first == nil || !c.stop
	})
}

// chunkValues checks the heap references in a chunk.
func (c *checker) chunkValues(o *Object, l *Layout, t *Datatype, k Chunk, full uint64) error {
	if full > uint64(c.f.limits.Structure) {
		return &format.Error{Format: formatName, What: "chunk", Offset: c.f.place(k.Addr), Got: fmt.Sprintf("%d bytes", full), Want: fmt.Sprintf("at most %d", c.f.limits.Structure), Err: format.ErrLimit}
	}
	at := c.f.position(k.Addr)
	b, err := c.bytes("chunk", at, format.Size(k.Size), 0)
	if err != nil {
		return err
	}
	if pl := o.Pipeline(); pl != nil && len(pl.Filters) > 0 && !plainEdge(k, l, o.Dataspace().Dims) {
		if c.left -= int64(full); c.left < 0 {
			return &format.Error{Format: formatName, What: "chunk", Offset: at, Got: "more bytes after decoding than the file has many times over", Want: "fewer", Err: format.ErrLimit}
		}
		if c.policy.Decode != nil {
			b, err = c.policy.Decode(pl, k.Mask, b, full)
		} else {
			b, err = pl.Decode(k.Mask, b, full)
		}
		if err != nil {
			return err
		}
	}
	return c.heapValues(t, b, at)
}

// step converts an error of a filter to a *format.Error with its location.
func (c *checker) step(what string, at int64, err error) error {
	s, ok := errors.AsType[*stepError](err)
	if !ok {
		return err
	}
	return &format.Error{Format: formatName, What: what, Offset: max(at, 0), Got: fmt.Sprintf("%s with %s", s.id, s.got), Want: s.want, Err: format.ErrCorrupt}
}

// longEnough refuses a chunk that is shorter than the bytes that the decoders of its last filters
// read. The input length of earlier filters is only known after decoding. longEnough decodes for
// this purpose only if an earlier filter is a checksum.
func (c *checker) longEnough(pl *Pipeline, k Chunk, at int64, element, full uint64) error {
	what := fmt.Sprintf("chunk %v", k.Offset)
	head := func(n int64) ([]byte, error) { return c.bytes("chunk", at, n, 0) }
	if err := pl.endsLong(k.Mask, k.Size, head, element, full); err != nil {
		return c.step(what, at, err)
	}
	if f, sums := pl.last(k.Mask); f == nil || sums == pl.sums(k.Mask) {
		return nil
	}
	if c.left -= int64(min(full, uint64(c.f.limits.Structure))); c.left < 0 {
		return &format.Error{Format: formatName, What: what, Offset: at, Got: "more bytes after decoding than the file has many times over", Want: "fewer", Err: format.ErrLimit}
	}
	b, err := c.bytes("chunk", at, format.Size(k.Size), 0)
	if err != nil {
		return err
	}
	return c.step(what, at, pl.longForSums(k.Mask, b, full))
}

// plainEdge reports whether a chunk is unfiltered because it extends beyond the edge of the
// dataset.
func plainEdge(k Chunk, l *Layout, dims []uint64) bool {
	return l.Flags&PartialChunksUnfiltered != 0 && partial(k, l, dims)
}

// partial reports whether a chunk extends beyond the edge of the dataset.
func partial(k Chunk, l *Layout, dims []uint64) bool {
	for d, x := range k.Offset {
		if dims[d] < l.Dims[d] || x > dims[d]-l.Dims[d] {
			return true
		}
	}
	return false
}

func (c *checker) virtual(l *Layout) {
	all, err := c.mappings(l)
	c.note(err)
	for _, m := range all {
		if m.File != "." && !c.policy.VirtualSources {
			c.note(c.unsupported("virtual dataset mappings", c.f.position(l.Heap), fmt.Sprintf("source %q in %q", m.Dataset, m.File), "sources in the file itself"))
			return
		}
	}
}
