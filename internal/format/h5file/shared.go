// References to shared messages (File Format, IV.A.2, "Shared Message").

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// ShareType is the location of a shared message.
type ShareType uint8

// Locations of shared messages.
const (
	NotShared       ShareType = 0
	SharedInHeap    ShareType = 1 // in the heap of the table of shared messages
	SharedCommitted ShareType = 2 // in another object's header: a committed datatype
	SharedHere      ShareType = 3 // in this header; other objects refer to it
)

// SharedRef is a reference to a shared message.
type SharedRef struct {
	Version uint8
	Type    ShareType
	Addr    Addr   // object header, unless the message is in a heap
	HeapID  []byte // 8 bytes, for a message in a heap
}

func (p *part) sharedRef() SharedRef {
	s := SharedRef{Version: p.u8("version"), Type: SharedCommitted, Addr: Undefined}
	if !p.version(s.Version, 1, 3) {
		return s
	}
	t := p.u8("type")
	switch s.Version {
	case 1:
		p.reserved(6)
		p.length("local heap offset")
	case 3:
		s.Type = ShareType(t)
		p.check(s.Type >= SharedInHeap && s.Type <= SharedHere, t, "1 to 3")
	}
	if s.Type == SharedInHeap {
		s.HeapID = p.heapID("heap ID", 8)
	} else {
		s.Addr = p.addr("address")
	}
	return s
}

// resolve reads the message that ref refers to. It follows one reference: a shared message that is
// shared again is an error, so there are no cycles. summed reports whether a checksum covers the
// reference.
func (r *reader) resolve(ref SharedRef, t MessageType, summed bool) (Body, error) {
	q, restore := r.quiet()
	defer restore()
	if ref.Type == SharedInHeap {
		return q.resolveInHeap(ref, t, summed)
	}
	if q.resolving {
		return nil, &format.Error{Format: formatName, What: "shared " + t.String(), Offset: q.f.place(ref.Addr), Got: "a shared message that is shared again", Want: "the message itself", Err: format.ErrCorrupt}
	}
	q.resolving = true
	defer func() { q.resolving = false }()
	o, err := q.object(ref.Addr)
	if m := o.Message(t); m != nil && m.Body != nil {
		return m.Body, m.Err
	}
	if err == nil {
		err = &format.Error{Format: formatName, What: "shared " + t.String(), Offset: q.f.place(ref.Addr), Got: "no such message in the object", Want: "one", Err: format.ErrCorrupt}
	}
	return nil, err
}

func (r *reader) resolveInHeap(ref SharedRef, t MessageType, summed bool) (Body, error) {
	index, err := r.sharedIndex(t)
	if err != nil {
		return nil, err
	}
	h, err := r.fractalHeap(index.Heap)
	if err != nil {
		return nil, err
	}
	var b Body
	err = r.heapObject(h, ref.HeapID, t.String()+" message", func(p *part) {
		p.summed = summed
		b = p.unshared(nil, t)
	})
	return b, err
}

// sharedIndex returns the index of shared messages of type t.
func (r *reader) sharedIndex(t MessageType) (*SharedIndex, error) {
	table, err := r.sharedTable()
	if table == nil {
		if err == nil {
			err = &format.Error{Format: formatName, What: "shared " + t.String(), Got: "no table of shared messages", Want: "one", Err: format.ErrCorrupt}
		}
		return nil, err
	}
	for i := range table {
		if table[i].holds(t) {
			return &table[i], nil
		}
	}
	return nil, &format.Error{Format: formatName, What: "shared " + t.String(), Offset: r.f.place(r.f.shared.Addr), Got: fmt.Sprintf("no index of %s messages", t), Want: "one", Err: format.ErrCorrupt}
}
