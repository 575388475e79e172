// Symbol tables: entries, nodes, and the links of old-style groups (File Format, III.B and III.C).

package h5file

import (
	"fmt"
	"strconv"
)

// CacheType is the kind of data that a symbol table entry caches.
type CacheType uint32

// Cache types (H5G_cache_type_t).
const (
	NothingCached    CacheType = iota
	SymbolTableCache           // the addresses of the group's symbol table
	SoftLinkCache              // a soft link without an object: the offset of its value
)

// SymbolEntry is an entry of a symbol table: a link of an old-style group.
type SymbolEntry struct {
	NameOffset uint64 // bytes from the start of the local heap's data
	Header     Addr   // object header; undefined for a soft link
	Cache      CacheType
	BTree      Addr   // SymbolTableCache
	Heap       Addr   // SymbolTableCache
	LinkOffset uint32 // SoftLinkCache: offset of the value in the local heap's data
}

func symbolEntrySize(s *Superblock) int { return s.LengthSize + s.OffsetSize + 24 }

// symbolEntry reads an entry. According to the specification the name offset has the size of an
// address. In libhdf5 it has the size of a length.
func (p *part) symbolEntry() SymbolEntry {
	e := SymbolEntry{NameOffset: p.length("link name offset"), BTree: Undefined, Heap: Undefined}
	e.Header = p.addr("object header address")
	e.Cache = CacheType(p.u32("cache type"))
	p.check(e.Cache <= SoftLinkCache, uint32(e.Cache), "0 to 2")
	p.reserved(4)
	start := p.pos
	switch e.Cache {
	case SymbolTableCache:
		e.BTree = p.addr("address of B-tree")
		e.Heap = p.addr("address of name heap")
	case SoftLinkCache:
		e.LinkOffset = p.u32("offset to link value")
	}
	// Two addresses of 16 bytes or more do not fit into the scratch space. The next entry still
	// begins 16 bytes after the start of this space.
	if p.ok() {
		if used := p.pos - start; used < 16 {
			p.reserved(16 - used)
		} else {
			p.pos = start + 16
		}
	}
	return e
}

// symbolNode reads a symbol table node and calls visit for each entry.
func (r *reader) symbolNode(a Addr, heap *LocalHeap, visit func(SymbolEntry, string) bool) (more bool, first, last string) {
	const what = "symbol table node"
	if err := r.once(what, a); err != nil {
		r.note(err)
		return true, "", ""
	}
	s := &r.f.super
	size := symbolEntrySize(s)
	p := r.part(what, a, int64(8+2*int(s.K.Leaf)*size))
	if !p.signature("SNOD") {
		r.note(p.done())
		return true, "", ""
	}
	v := p.u8("version number")
	p.version(v, 1, 1)
	p.reserved(1)
	n := int(p.u16("number of symbols"))
	if !p.check(n <= 2*int(s.K.Leaf), n, fmt.Sprintf("at most %d, twice K", 2*s.K.Leaf)) {
		r.note(p.done())
		return true, "", ""
	}
	more = true
	for i := 0; i < n && p.ok(); i++ {
		end := p.group("entry", i)
		e := p.symbolEntry()
		if !p.ok() {
			end()
			break
		}
		name, err := heap.Name(e.NameOffset)
		p.last = nil
		p.fail(err)
		if err == nil {
			p.check(i == 0 || last < name, strconv.Quote(name)+" after "+strconv.Quote(last), "names in order")
			if i == 0 {
				first = name
			}
			last = name
		}
		p.check(e.Header.Defined() || e.Cache == SoftLinkCache, "no object header", "one, or a soft link")
		end()
		if p.last != nil {
			p.last.Value = strconv.Quote(name)
		}
		if more && err == nil {
			more = visit(e, name)
		}
	}
	r.note(p.done())
	return more, first, last
}

// symbols calls visit for the entries of an old-style group.
func (r *reader) symbols(t *SymbolTable, visit func(SymbolEntry, string, *LocalHeap) bool) {
	heap, err := r.localHeap(t.Heap)
	r.note(err)
	if heap.Data == nil {
		return
	}
	w := &walk1{r: r, keySize: r.f.super.LengthSize, rank: int(r.f.super.K.Group)}
	w.key = func(p *part) any { return groupKey(p, heap) }
	w.leaf = func(p *part, child Addr, left, right any) bool {
		more, first, last := r.symbolNode(child, heap, func(e SymbolEntry, name string) bool { return visit(e, name, heap) })
		low, high := left.(string), right.(string)
		if last != "" && (first <= low && low != "" || last > high) {
			p.bad(fmt.Sprintf("names %q to %q below", first, last), fmt.Sprintf("names after %q up to %q", low, high))
		}
		return more
	}
	w.run(t.BTree)
}

// groupKey reads a key, which is the offset of a name in the heap. Names in the child before the
// key are at most this name, and names in the child after it are greater.
func groupKey(p *part, heap *LocalHeap) any {
	offset := p.length("offset of name in local heap")
	name, err := heap.Name(offset)
	p.fail(err)
	p.mean("%q", name)
	return name
}

// entryLink converts an entry to a link.
func entryLink(e SymbolEntry, name string, heap *LocalHeap) (Link, error) {
	l := Link{Name: name, Target: e.Header}
	if e.Cache == SoftLinkCache {
		value, err := heap.Name(uint64(e.LinkOffset))
		l.Kind, l.Path, l.Target = SoftLink, value, Undefined
		return l, err
	}
	return l, nil
}
