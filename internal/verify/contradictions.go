// Contradictions between the structures of an HDF5 file: each structure is valid by itself, and
// programs that read the file do not notice.

package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// A claim is a piece of the file that belongs to one object.
type claim struct {
	start, size uint64
	owner       int32 // index in claims.owners
	chunk       int32 // or -1
}

// claims collects the pieces of the file that object headers, chunks and contiguous elements take.
type claims struct {
	owners []owner
	list   []claim
}

type owner struct {
	path string
	set  *dataset // nil: an object header
}

// add adds an owner, whose pieces the following calls of take add.
func (c *claims) add(path string, set *dataset) {
	c.owners = append(c.owners, owner{path, set})
}

func (c *claims) take(at h5file.Addr, size uint64, chunk int) {
	if size > 0 {
		c.list = append(c.list, claim{uint64(at), size, int32(len(c.owners) - 1), int32(chunk)})
	}
}

// contradiction is the error of structures that do not agree.
func contradiction(what string, offset int64, got, want string) error {
	return &format.Error{Format: "hdf5", What: what, Offset: max(offset, 0), Got: got, Want: want, Err: format.ErrCorrupt}
}

// overlaps reports pieces of the file that belong to two objects, or to one twice, because both may
// decode.
func (u *h5File) overlaps() error {
	c := &u.claims
	slices.SortStableFunc(c.list, func(a, b claim) int { return cmp.Compare(a.start, b.start) })
	for k, last := 1, 0; k < len(c.list); k++ {
		a, b := c.list[last], c.list[k]
		if b.start-a.start >= a.size {
			last = k
			continue
		}
		if b.size > a.size-(b.start-a.start) { // b ends last
			last = k
		}
		if c.owners[b.owner].set == nil { // the report names the chunk or the dataset, not the header
			a, b = b, a
		}
		x, y := c.owners[a.owner], c.owners[b.owner]
		p := Finding{Object: y.path, What: "object header", Offset: u.file.Position(h5file.Addr(b.start)), Chunk: -1}
		if y.set != nil {
			p = y.set.place(int64(max(b.chunk, 0)))
		}
		got := "bytes of " + x.path + " too"
		switch {
		case x.set == nil:
			got = "bytes of the object header of " + x.path + " too"
		case x.set == y.set && a.chunk >= 0:
			got = fmt.Sprintf("bytes of the chunk at %v too", x.set.chunks[a.chunk].Offset)
		}
		p.Err = contradiction(p.What, p.Offset, got, "bytes of its own")
		if err := u.job.note(p); err != nil {
			return err
		}
	}
	return nil
}

// beyond reports the first piece after the end of the file that the superblock stores, which
// libhdf5 does not read. A wrong base address also moves this end.
func (u *h5File) beyond() error {
	s := u.file.Superblock()
	if len(u.f.Members()) > 1 || !s.EndOfFile.Defined() || s.EndOfFile < s.Base {
		return nil
	}
	end := uint64(s.EndOfFile - s.Base)
	for _, c := range u.claims.list {
		if c.start+c.size <= end {
			continue
		}
		x := u.claims.owners[c.owner]
		p := Finding{Object: x.path, What: "object header", Offset: u.file.Position(h5file.Addr(c.start)), Chunk: -1}
		if x.set != nil {
			p = x.set.place(int64(max(c.chunk, 0)))
		}
		p.Err = &format.Error{Format: "hdf5", What: p.What, Offset: max(p.Offset, 0), Got: fmt.Sprintf("%d bytes at %d", c.size, c.start), Want: fmt.Sprintf("at most the end of the file in the superblock, %d", end), Err: format.ErrTruncated}
		return u.job.note(p)
	}
	return nil
}

// outside reports the chunks of a dataset that begin after the last element, because programs do
// not read them. libhdf5 removes them from B-trees when a dataset shrinks; in arrays of chunks it
// also allocates chunks after the last element.
func (u *h5File) outside(d *dataset) error {
	if d.layout.Version > 3 && d.layout.Index != h5file.BTree1Index && d.layout.Index != h5file.BTree2Index {
		return nil
	}
	for i, c := range d.chunks {
		beyond := false
		for axis, n := range d.dims {
			beyond = beyond || axis < len(c.Offset) && c.Offset[axis] >= n
		}
		if !beyond {
			continue
		}
		p := d.place(int64(i))
		p.Err = contradiction("chunk", p.Offset, fmt.Sprintf("a chunk at %v", c.Offset), fmt.Sprintf("one inside the shape %v", d.dims))
		if err := u.job.note(p); err != nil {
			return err
		}
	}
	return nil
}

// spare reports stored elements that the shape of a dataset does not have.
func (u *h5File) spare(path string, l *h5file.Layout, need uint64) error {
	stored := uint64(len(l.Data))
	if l.Class == h5file.Contiguous {
		if stored = l.Size; l.Version < 3 {
			return nil // these versions do not store a size
		}
	}
	if stored <= need {
		return nil // other checks report fewer bytes
	}
	return u.job.note(Finding{Object: path, What: "elements", Offset: -1, Chunk: -1, Err: contradiction("elements", 0, fmt.Sprintf("%d bytes stored", stored), fmt.Sprintf("%d, those of the shape", need))})
}

// headers compares object headers with the links that lead to them, and the superblock's copy of
// the addresses of the root group with its object header.
func (u *h5File) headers(ctx context.Context) error {
	links := map[h5file.Addr]uint32{u.file.Superblock().Root: 1}
	type counted struct { // without the object, whose messages take kilobytes
		path string
		at   h5file.Addr
		refs uint32
	}
	var objects []counted
	var root *h5file.Message // the symbol table of the root group
	for e := range u.file.Walk() {
		if err := ctx.Err(); err != nil {
			return err
		}
		o := e.Object
		if o == nil {
			continue
		}
		u.claims.add(e.Path, nil)
		for _, p := range o.Pieces {
			u.claims.take(p.Addr, uint64(p.Size), -1)
		}
		if o.Kind() == h5file.GroupKind {
			for l, err := range o.Links() {
				if err == nil && l.Kind == h5file.HardLink {
					links[l.Target]++
				}
			}
		}
		if k := o.Kind(); k == h5file.GroupKind || k == h5file.DatasetKind { // users of a committed datatype count too
			if len(objects) == 0 {
				root = o.Message(h5file.SymbolTableType)
			}
			objects = append(objects, counted{e.Path, o.Addr, o.RefCount})
		}
	}
	for _, c := range objects {
		at := u.file.Position(c.at)
		if n := links[c.at]; c.refs != n {
			p := Finding{Object: c.path, What: "object header", Offset: at, Chunk: -1,
				Err: contradiction("object reference count", at, fmt.Sprint(c.refs), fmt.Sprintf("%d, the hard links to it", n))}
			if err := u.job.note(p); err != nil {
				return err
			}
		}
	}
	entry := u.file.Superblock().RootEntry
	if entry == nil || entry.Cache != h5file.SymbolTableCache || root == nil {
		return nil
	}
	if t, ok := root.Body.(*h5file.SymbolTable); ok && (t.BTree != entry.BTree || t.Heap != entry.Heap) {
		at := u.file.UserBlock()
		return u.job.note(Finding{What: "superblock", Offset: at, Chunk: -1, Err: contradiction("root group symbol table entry", at,
			fmt.Sprintf("B-tree at %v, name heap at %v", entry.BTree, entry.Heap), fmt.Sprintf("%v and %v, those of the root group", t.BTree, t.Heap))})
	}
	return nil
}
