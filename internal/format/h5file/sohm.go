// Table of shared messages, with its indexes as lists and B-trees (File Format, III.I).

package h5file

import "fmt"

// SharedIndex is one index of the table of shared messages. It contains the messages of some types.
type SharedIndex struct {
	List     bool   // the index is a list; otherwise it is a version 2 B-tree
	Types    uint16 // one bit for each message type
	MinSize  uint32 // minimum size of shared messages in bytes
	ListMax  uint16 // maximum number of messages in a list; with more it becomes a B-tree
	BTreeMin uint16 // number of messages below which a B-tree becomes a list
	Messages uint16
	Index    Addr
	Heap     Addr // fractal heap of the messages
}

// holds reports whether the index contains messages of type t. libhdf5 stores fill values of both
// types in the index of type 5 (H5SM__type_to_flag).
func (x *SharedIndex) holds(t MessageType) bool {
	if t == OldFillValueType {
		t = FillValueType
	}
	return x.Types>>t&1 != 0
}

// SharedRecord is an entry of an index of shared messages.
type SharedRecord struct {
	InHeap     bool
	Hash       uint32
	References uint32      // only in the heap
	HeapID     []byte      // only in the heap, 8 bytes
	Type       MessageType // only in an object header
	Index      uint16      // only in an object header: creation order of the message
	Header     Addr        // only in an object header
}

// sharedTable reads the table of shared messages. It returns nil if the file has no table.
func (r *reader) sharedTable() ([]SharedIndex, error) {
	t := r.f.shared
	if t.Indexes == 0 {
		return nil, nil
	}
	o := r.f.super.OffsetSize
	p := r.part("shared object header message table", t.Addr, int64(8+int(t.Indexes)*(16+2*o)))
	if !p.signature("SMTB") {
		return nil, p.done()
	}
	var all []SharedIndex
	for i := 0; i < int(t.Indexes) && p.ok(); i++ {
		end := p.group("index", i)
		v := p.u8("version number")
		p.version(v, 0, 0)
		kind := p.u8("index type")
		p.check(kind <= 1, kind, "0, a list, or 1, a B-tree")
		x := SharedIndex{List: kind == 0}
		x.Types = p.u16("message type flags")
		p.hex()
		x.MinSize = p.u32("minimum message size")
		x.ListMax = p.u16("list cutoff")
		x.BTreeMin = p.u16("v2 B-tree cutoff")
		p.check(int(x.BTreeMin) <= int(x.ListMax)+1, x.BTreeMin, fmt.Sprintf("at most %d", int(x.ListMax)+1))
		x.Messages = p.u16("number of messages")
		p.check(!x.List || x.Messages <= x.ListMax, x.Messages, fmt.Sprintf("at most %d in a list", x.ListMax))
		x.Index = p.addr("index address")
		x.Heap = p.addr("fractal heap address")
		end()
		all = append(all, x)
	}
	p.checksum()
	return all, p.done()
}

// SharedIndexes returns the table of shared messages. It returns nil if the file has no table.
func (f *File) SharedIndexes() ([]SharedIndex, error) { return f.reader().sharedTable() }

// sharedRecordSize returns the size of a record in bytes, which is that of the larger of its two
// forms.
func (r *reader) sharedRecordSize() int {
	return 5 + max(4+attributeIDLength, 4+r.f.super.OffsetSize)
}

// sharedRecords calls visit for the records of an index.
func (r *reader) sharedRecords(x SharedIndex, visit func(SharedRecord)) {
	if !x.Index.Defined() {
		return
	}
	if !x.List {
		w := &walk2{r: r, treeType: sharedMessages, recordSize: r.sharedRecordSize()}
		w.record = func(p *part) any { return p.sharedRecord() }
		w.visit = func(v any) bool { visit(v.(SharedRecord)); return true }
		w.run(x.Index)
		return
	}
	size := r.sharedRecordSize()
	p := r.part("shared message record list", x.Index, int64(8+size*int(x.ListMax)))
	if p.signature("SMLI") {
		for i := 0; i < int(x.Messages) && p.ok(); i++ {
			end := p.group("message", i)
			from := p.pos
			rec := p.sharedRecord()
			if k := from + size - p.pos; k > 0 {
				p.reserved(k)
			}
			end()
			if p.ok() {
				visit(rec)
			}
		}
		p.checksum()
	}
	r.note(p.done())
}

func (p *part) sharedRecord() SharedRecord {
	where := p.u8("message location")
	p.check(where <= 1, where, "0, in the heap, or 1, in an object header")
	s := SharedRecord{InHeap: where == 0, Header: Undefined}
	s.Hash = p.u32("hash value")
	p.hex()
	if s.InHeap {
		s.References = p.u32("reference count")
		s.HeapID = p.heapID("fractal heap ID", attributeIDLength)
		return s
	}
	p.reserved(1)
	s.Type = MessageType(p.u8("message type"))
	p.mean("%s", s.Type)
	s.Index = p.u16("creation index")
	s.Header = p.addr("object header address")
	return s
}
