// Object headers, versions 1 and 2, with their continuations
// (File Format, IV.A.1).

package h5file

import (
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// HeaderFlags are the flags of a version 2 object header.
type HeaderFlags uint8

// Flags of a header (IV.A.1.b). The two lowest bits are the encoded length of the chunk size.
const (
	OrderTracked    HeaderFlags = 0x04 // creation order of attributes
	OrderIndexed    HeaderFlags = 0x08
	PhaseChange     HeaderFlags = 0x10 // MaxCompact and MinDense are stored
	TimesStored     HeaderFlags = 0x20
	allHeaderFlags  HeaderFlags = 0x3F
	headerSizeBytes HeaderFlags = 0x03
)

// Object is an object header: a group, a dataset, a committed datatype, or the
// extension of the superblock.
type Object struct {
	Addr       Addr
	Version    uint8 // 1 or 2
	Flags      HeaderFlags
	RefCount   uint32 // hard links to the object, from the header or the reference count message
	Times      *Times // nil unless stored in the header
	MaxCompact uint16 // maximum number of attributes in the header; more are stored in a heap
	MinDense   uint16 // number of attributes below which they move back to the header
	Messages   []Message
	Pieces     []HeaderChunk // chunks of the header

	f *File
}

// Times are times in seconds since 1970.
type Times struct{ Access, Modification, Change, Birth uint32 }

// HeaderChunk is a contiguous range of an object header.
type HeaderChunk struct {
	Addr Addr
	Size int64 // bytes, including prefix and checksum
	Gap  int   // unused bytes after the messages
}

// Kind is the kind of an object.
type Kind uint8

// Kinds of objects.
const (
	UnknownKind Kind = iota
	GroupKind
	DatasetKind
	CommittedTypeKind
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"unknown object", "group", "dataset", "committed datatype"}[k]
}

// Kind returns the kind of the object, which its messages determine in the order that libhdf5 uses.
// A group has a symbol table or link info. A dataset has a datatype and a dataspace. A committed
// datatype has only a datatype.
func (o *Object) Kind() Kind {
	has := func(t MessageType) bool { return o.Message(t) != nil }
	switch {
	case has(SymbolTableType), has(LinkInfoType):
		return GroupKind
	case has(DatatypeType) && has(DataspaceType):
		return DatasetKind
	case has(DatatypeType):
		return CommittedTypeKind
	}
	return UnknownKind
}

// Message returns the first message of a type, or nil.
func (o *Object) Message(t MessageType) *Message {
	for i := range o.Messages {
		if o.Messages[i].Type == t {
			return &o.Messages[i]
		}
	}
	return nil
}

// body returns the content of the first message of its type, or nil.
func body[T Body](o *Object, t MessageType) (b T) {
	if m := o.Message(t); m != nil {
		b, _ = m.Body.(T)
	}
	return b
}

// Dataspace returns the object's dataspace, or nil.
func (o *Object) Dataspace() *Dataspace { return body[*Dataspace](o, DataspaceType) }

// Datatype returns the object's datatype, or nil.
func (o *Object) Datatype() *Datatype { return body[*Datatype](o, DatatypeType) }

// Layout returns the data layout, or nil without a layout message.
func (o *Object) Layout() *Layout { return body[*Layout](o, LayoutType) }

// ChunkBytes returns the size in bytes of an unfiltered chunk of a chunked dataset, computed from
// the size of the datatype; false if it is 2^64 or more. The layout stores the size of an element
// once more. Some writers store another number there (PureHDF up to 2.1.2), although their chunks
// have elements of the datatype.
func (o *Object) ChunkBytes() (uint64, bool) {
	l, t := o.Layout(), o.Datatype()
	if l == nil || t == nil || len(l.Dims) == 0 {
		return 0, false
	}
	dims := slices.Clone(l.Dims)
	dims[len(dims)-1] = uint64(t.Size)
	return product(dims)
}

// Pipeline returns the filter pipeline of a dataset, or nil.
func (o *Object) Pipeline() *Pipeline { return body[*Pipeline](o, PipelineType) }

// FillValue returns the fill value from the new message, or else from the old one. It is nil if the
// object has neither.
func (o *Object) FillValue() *FillValue {
	if v := body[*FillValue](o, FillValueType); v != nil {
		return v
	}
	return body[*FillValue](o, OldFillValueType)
}

// ExternalFiles returns the external files with the data, or nil if the file itself contains the
// data.
func (o *Object) ExternalFiles() *ExternalFiles {
	return body[*ExternalFiles](o, ExternalFilesType)
}

// Err returns the first error of a message of the object, or nil.
func (o *Object) Err() error {
	for _, m := range o.Messages {
		if m.Err != nil {
			return m.Err
		}
	}
	return nil
}

// object reads the object header at a with all its continuations. It returns the readable part also
// with an error. Errors of messages are in the messages. The first of them is returned only if the
// header has no other error.
func (r *reader) object(a Addr) (*Object, error) {
	o := &Object{Addr: a, RefCount: 1, MaxCompact: 8, MinDense: 6, f: r.f}
	// The prefix of version 1 has 16 bytes. A whole header of version 2 may have fewer.
	p := r.part("object header", a, max(min(16, r.f.size-r.f.place(a)), 0))
	if len(p.b) >= 4 && string(p.b[:4]) == "OHDR" {
		o.prefix2(p)
	} else {
		o.prefix1(p)
	}
	err := p.done()
	if err2 := r.continuations(o); err == nil {
		err = err2
	}
	if err == nil {
		err = o.Err()
	}
	return o, err
}

// prefix1 reads the first chunk of a version 1 header.
func (o *Object) prefix1(p *part) {
	o.Version = 1
	v := p.u8("version")
	if !p.version(v, 1, 1) {
		p.ended = true // not an object header
		return
	}
	p.reserved(1)
	n := p.u16("total number of header messages")
	o.RefCount = p.u32("object reference count")
	size := p.u32("object header size")
	if n > 0 && size < 8 || n == 0 && size > 0 {
		p.bad(fmt.Sprintf("%d bytes for %d messages", size, n), "at least 8 bytes, or no bytes and no messages")
	}
	p.reserved(4)
	p.grow(16 + int64(size))
	p.b = p.b[:min(int64(len(p.b)), 16+int64(size))]
	o.Pieces = append(o.Pieces, HeaderChunk{Addr: o.Addr, Size: 16 + int64(size)})
	o.messages(p, len(p.b))
	// libhdf5 refuses more messages in this chunk than the header claims. It accepts fewer in all
	// chunks, because an old writer counted wrong.
	if len(o.Messages) > int(n) {
		p.last = nil
		p.complain(format.ErrCorrupt, "total number of header messages", fmt.Sprint(n), fmt.Sprintf("at least %d", len(o.Messages)))
	}
}

// prefix2 reads the first chunk of a version 2 header.
func (o *Object) prefix2(p *part) {
	o.Version = 2
	p.signature("OHDR")
	v := p.u8("version")
	if !p.version(v, 2, 2) {
		p.ended = true
		return
	}
	o.Flags = HeaderFlags(p.u8("flags"))
	p.flags(uint8(o.Flags), uint8(allHeaderFlags))
	prefix := 6 + 1<<(o.Flags&headerSizeBytes)
	if o.Flags&TimesStored != 0 {
		prefix += 16
	}
	if o.Flags&PhaseChange != 0 {
		prefix += 4
	}
	p.grow(int64(prefix))
	if o.Flags&TimesStored != 0 {
		o.Times = &Times{}
		o.Times.Access = p.u32("access time")
		o.Times.Modification = p.u32("modification time")
		o.Times.Change = p.u32("change time")
		o.Times.Birth = p.u32("birth time")
	}
	if o.Flags&PhaseChange != 0 {
		o.MaxCompact = p.u16("maximum number of compact attributes")
		o.MinDense = p.u16("minimum number of dense attributes")
		p.check(o.MaxCompact >= o.MinDense, o.MinDense, fmt.Sprintf("at most %d", o.MaxCompact))
	}
	size := p.uint("size of chunk 0", 1<<(o.Flags&headerSizeBytes))
	p.check(size == 0 || size >= uint64(o.messageHeader()), size, fmt.Sprintf("0, or at least %d", o.messageHeader()))
	limit := uint64(p.r.f.limits.Structure)
	if size > limit {
		p.badAs(format.ErrLimit, fmt.Sprint(size), fmt.Sprintf("at most %d", limit))
		p.ended = true
		return
	}
	total := int64(p.pos) + int64(size) + 4
	p.grow(total)
	p.b = p.b[:min(int64(len(p.b)), total)]
	o.Pieces = append(o.Pieces, HeaderChunk{Addr: o.Addr, Size: total})
	o.messages(p, int(total)-4)
	p.checksum()
}

// messageHeader returns the number of bytes before the content of a message.
func (o *Object) messageHeader() int {
	switch {
	case o.Version == 1:
		return 8
	case o.Flags&OrderTracked != 0:
		return 6
	}
	return 4
}

// messages reads the messages of one chunk, which end at position end of p.
func (o *Object) messages(p *part, end int) {
	chunk := len(o.Pieces) - 1
	nils := false
	for p.pos < end && p.ok() {
		if left := end - p.pos; left < o.messageHeader() {
			p.bytes("gap", min(left, p.rest()))
			o.Pieces[chunk].Gap = left
			if o.Version == 1 {
				p.bad(fmt.Sprintf("%d bytes left over", left), "whole messages")
			} else if nils {
				p.bad("a gap beside a NIL message", "the gap within the message")
			}
			return
		}
		closeGroup := p.group("message", len(o.Messages))
		m := o.message(p, end)
		closeGroup()
		if m == nil {
			return
		}
		m.Chunk = chunk
		nils = nils || m.Type == NilType
		if p.last != nil {
			p.last.Value = m.Type.String()
		}
		o.Messages = append(o.Messages, *m)
	}
}

// message reads one message. It returns nil if the message does not fit before end.
func (o *Object) message(p *part, end int) *Message {
	m := &Message{}
	var size uint16
	if o.Version == 1 {
		m.Type = MessageType(p.u16("type"))
		p.hex()
		size = p.u16("size")
		p.check(size%8 == 0, size, "a multiple of 8")
	} else {
		m.Type = MessageType(p.u8("type"))
		p.hex()
		size = p.u16("size")
	}
	if !p.ok() {
		return nil
	}
	m.Flags = MessageFlags(p.u8("flags"))
	// Errors of flags belong to this message, not to the header.
	outer := p.err
	p.err = nil
	m.checkFlags(p)
	m.Err, p.err = p.err, outer
	if o.Version == 1 {
		p.reserved(3)
	} else if o.Flags&OrderTracked != 0 {
		m.Order = p.u16("creation order")
	}
	if !p.ok() {
		return nil
	}
	m.Offset, m.Size = p.offset(p.pos), int(size)
	if m.Size > end-p.pos || m.Size > p.rest() {
		p.last = nil
		p.start = p.pos
		p.complain(format.ErrCorrupt, m.Type.String()+" message", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d, up to the end of the chunk", min(end-p.pos, p.rest())))
		p.ended = true
		return nil
	}
	q := p.within(m.Type.String()+" message", m.Size)
	q.summed = o.Version > 1
	q.content(o, m)
	if m.Err == nil {
		m.Err = q.err
	}
	if q.field != nil {
		if q.ok() && q.rest() > 0 {
			q.bytes("unused", q.rest())
		}
		// The group represents the whole message, and the fields of the content are added to it.
		top := p.open[len(p.open)-1]
		top.Fields = append(top.Fields, q.field.Fields...)
		top.Complaint = q.field.Complaint
		if m.Body != nil {
			top.Meaning = bodyText(m.Body)
		}
	}
	return m
}

// bodyText returns a line about the content, or "".
func bodyText(b Body) string {
	if s, ok := b.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// continuations reads the chunks that continuation messages refer to, including those in other
// continuations.
func (r *reader) continuations(o *Object) error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	seen := map[Addr]bool{o.Addr: true}
	for i := 0; i < len(o.Messages); i++ {
		c, ok := o.Messages[i].Body.(*Continuation)
		if !ok || o.Messages[i].Err != nil {
			continue
		}
		if seen[c.Addr] {
			keep(&format.Error{Format: formatName, What: "object header continuation", Offset: o.Messages[i].Offset, Got: "address " + c.Addr.String() + " once more", Want: "each chunk once", Err: format.ErrCorrupt})
			continue
		}
		seen[c.Addr] = true
		keep(r.continuation(o, c))
	}
	return first
}

func (r *reader) continuation(o *Object, c *Continuation) error {
	n := int64(min(c.Length, uint64(r.f.limits.Structure)+1)) // part refuses a longer one
	p := r.part("object header continuation", c.Addr, n)
	o.Pieces = append(o.Pieces, HeaderChunk{Addr: c.Addr, Size: int64(n)})
	if o.Version == 1 {
		o.messages(p, len(p.b))
		return p.done()
	}
	if p.signature("OCHK") {
		if len(p.b) < 8 {
			p.complain(format.ErrCorrupt, "length", fmt.Sprint(len(p.b)), "at least 8")
		} else {
			o.messages(p, len(p.b)-4)
			p.checksum()
		}
	}
	return p.done()
}
