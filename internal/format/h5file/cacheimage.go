// Metadata cache images. An image is one block with structures that were in memory when the file
// was closed. They replace the contents of the file at their addresses (H5Cimage.c; not in the
// specification).

package h5file

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// imageEntry is a structure in the image, with its offset in the file.
type imageEntry struct {
	at   int64
	data []byte
}

// overlay is a file with the entries of an image at their offsets.
type overlay struct {
	src     io.ReaderAt
	entries []imageEntry // in ascending order, without overlaps
}

// ReadAt reads the file and replaces the ranges of the entries.
func (o overlay) ReadAt(b []byte, at int64) (int, error) {
	n, err := o.src.ReadAt(b, at)
	i, _ := slices.BinarySearchFunc(o.entries, at, func(e imageEntry, v int64) int { return cmp.Compare(e.at+int64(len(e.data)), v) })
	for ; i < len(o.entries) && o.entries[i].at < at+int64(n); i++ {
		e := o.entries[i]
		from := max(e.at-at, 0)
		copy(b[from:n], e.data[max(at-e.at, 0):])
	}
	return n, err
}

// cacheImage reads the image and applies it to the file.
func (r *reader) cacheImage(c *CacheImage) {
	f := r.f
	p := r.part("metadata cache image", c.Addr, int64(min(c.Length, uint64(f.limits.Structure)+1)))
	if !p.signature("MDCI") {
		r.note(p.done())
		return
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	flags := p.u8("flags")
	p.flags(flags, 0)
	n := p.length("image data length")
	p.check(n == c.Length, n, fmt.Sprint(c.Length))
	count := p.u32("number of entries")
	p.check(count > 0, count, "at least 1")
	var entries []imageEntry
	for i := 0; uint64(i) < uint64(count) && p.ok(); i++ {
		end := p.group("entry", i)
		if e, ok := p.imageEntry(); ok {
			entries = append(entries, e)
		}
		end()
	}
	p.checksum()
	err := p.done()
	r.note(err)
	slices.SortStableFunc(entries, func(a, b imageEntry) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(entries); i++ {
		if entries[i-1].at+int64(len(entries[i-1].data)) > entries[i].at {
			r.note(r.corrupt("metadata cache image", c.Addr, fmt.Sprintf("two entries at byte %d", entries[i].at), "entries that do not overlap"))
			return
		}
	}
	f.src = overlay{f.src, entries}
}

func (p *part) imageEntry() (imageEntry, bool) {
	p.u8("type")
	flags := p.u8("flags")
	p.flags(flags, 0x0F)
	p.u8("ring")
	p.u8("age")
	children := p.u16("flush dependency child count")
	dirty := p.u16("dirty flush dependency child count")
	p.check(dirty <= children, dirty, fmt.Sprintf("at most %d", children))
	parents := p.u16("flush dependency parent count")
	p.u32("position in LRU list")
	a := p.addr("address")
	at := p.r.f.position(a)
	good := p.check(a.Defined() && at >= 0 && at < p.r.f.size, a, "an address inside the file")
	size := p.length("size")
	good = p.check(size > 0 && size <= uint64(p.rest()), size, fmt.Sprintf("1 to %d", p.rest())) && good
	for i := 0; i < int(parents) && p.ok(); i++ {
		q := p.addr("flush dependency parent address")
		p.check(q.Defined(), q, "an address")
	}
	if !p.ok() || size > uint64(p.rest()) {
		p.ended = true
		return imageEntry{}, false
	}
	return imageEntry{at, p.bytes("image", int(size))}, good
}
