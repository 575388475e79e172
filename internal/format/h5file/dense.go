// Dense storage of links and attributes in fractal heaps, indexed by version 2 B-trees.

package h5file

import (
	"cmp"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Lengths in bytes of the heap IDs of links, and of attributes and shared messages.
const (
	linkIDLength      = 7
	attributeIDLength = 8
)

// denseLinks calls visit for the links in a heap, in the order of the hashes of their names, until
// visit returns false. It returns false in that case.
func (r *reader) denseLinks(l *LinkInfo, visit func(Link) bool) bool {
	h, err := r.fractalHeap(l.Heap)
	if err != nil {
		r.note(err)
		return true
	}
	var order nameOrder
	return r.linkIndex(l.NameIndex, linkNames, func(hash uint32, _ int64, id []byte) bool {
		var link *Link
		err := r.heapObject(h, id, "link", func(p *part) {
			link = p.link()
			if want := Lookup3([]byte(link.Name)); p.ok() && want != hash {
				p.complain(format.ErrCorrupt, "hash in index", fmt.Sprintf("%#08x", hash), fmt.Sprintf("%#08x, that of %q", want, link.Name))
			}
		})
		if err != nil {
			r.note(err)
			return true
		}
		r.note(order.next(r, l.NameIndex, hash, link.Name))
		return visit(*link)
	})
}

// A nameOrder checks the order of an index by name. libhdf5 finds a name by binary search, first by
// its hash, then by its bytes, and does not find names that are stored in another order.
type nameOrder struct {
	started bool
	hash    uint32
	name    string
}

// next returns an error unless the name belongs after the one before. index is the header of the
// index.
func (o *nameOrder) next(r *reader, index Addr, hash uint32, name string) (err error) {
	if o.started && cmp.Or(cmp.Compare(o.hash, hash), cmp.Compare(o.name, name)) >= 0 {
		err = r.corrupt("v2 B-tree record", index, fmt.Sprintf("%q with hash %#08x after %q with %#08x", name, hash, o.name, o.hash), "names in the order of their hashes, then of their bytes")
	}
	*o = nameOrder{true, hash, name}
	return err
}

// linkIndex walks an index of links: by name or by creation order.
func (r *reader) linkIndex(a Addr, treeType uint8, visit func(hash uint32, order int64, id []byte) bool) bool {
	type record struct {
		hash  uint32
		order int64
		id    []byte
	}
	w := &walk2{r: r, treeType: treeType, recordSize: 4 + linkIDLength}
	if treeType == linkOrder {
		w.recordSize = 8 + linkIDLength
	}
	w.record = func(p *part) any {
		var rec record
		if treeType == linkOrder {
			rec.order = int64(p.u64("creation order"))
		} else {
			rec.hash = p.u32("hash of name")
			p.hex()
		}
		rec.id = p.heapID("ID", linkIDLength)
		return rec
	}
	w.visit = func(v any) bool { rec := v.(record); return visit(rec.hash, rec.order, rec.id) }
	return w.run(a)
}

// denseAttributes calls visit for the attributes in a heap until visit returns false. It returns
// false in that case.
func (r *reader) denseAttributes(ai *AttributeInfo, visit func(*Attribute, error) bool) bool {
	h, err := r.fractalHeap(ai.Heap)
	if err != nil {
		r.note(err)
		return true
	}
	var order nameOrder
	return r.attributeIndex(ai.NameIndex, attributeNames, func(rec attributeRecord) bool {
		a, err := r.denseAttribute(h, rec)
		if a != nil {
			a.Order = rec.order
		}
		if err == nil {
			err = order.next(r, ai.NameIndex, rec.hash, a.Name)
		}
		return visit(a, err)
	})
}

type attributeRecord struct {
	id    []byte
	flags MessageFlags
	order uint32
	hash  uint32 // of the name; only in the index by name
}

// denseAttribute reads the attribute of a record from the object's heap, or from the heap of shared
// messages. With an error it returns the part before the error, or nil.
func (r *reader) denseAttribute(h *FractalHeap, rec attributeRecord) (*Attribute, error) {
	if rec.flags&Shared != 0 {
		index, err := r.sharedIndex(AttributeType)
		if err != nil {
			return nil, err
		}
		if h, err = r.fractalHeap(index.Heap); err != nil {
			return nil, err
		}
	}
	var a *Attribute
	err := r.heapObject(h, rec.id, "attribute", func(p *part) {
		a = p.attribute()
		if want := Lookup3([]byte(a.Name)); p.ok() && want != rec.hash {
			p.complain(format.ErrCorrupt, "hash in index", fmt.Sprintf("%#08x", rec.hash), fmt.Sprintf("%#08x, that of %q", want, a.Name))
		}
	})
	return a, err
}

// attributeIndex walks an index of attributes: by name or by creation order.
func (r *reader) attributeIndex(a Addr, treeType uint8, visit func(attributeRecord) bool) bool {
	w := &walk2{r: r, treeType: treeType, recordSize: attributeIDLength + 9}
	if treeType == attributeOrder {
		w.recordSize = attributeIDLength + 5
	}
	w.record = func(p *part) any {
		rec := attributeRecord{id: p.heapID("heap ID", attributeIDLength)}
		rec.flags = MessageFlags(p.u8("message flags"))
		p.hex()
		rec.order = p.u32("creation order")
		if treeType == attributeNames {
			rec.hash = p.u32("hash of name")
			p.hex()
		}
		return rec
	}
	w.visit = func(v any) bool { return visit(v.(attributeRecord)) }
	return w.run(a)
}
