// Plan of a repair: the smallest change of an HDF5 file after which libhdf5 reads it.

package recovery

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Change replaces bytes of a file.
type Change struct {
	Offset    int64
	Old, New  []byte    // of the same length
	Structure string    // "superblock", "object header", …
	Object    string    // path of the object that the structure belongs to; "" for the file
	Reason    string    // the evidence for the change
	Certainty Certainty // Certain or Guessed

	follows bool // a checksum that follows from other changes
}

// maxRounds is the maximum number of passes of a planner through the metadata, each of which reads
// the structures that the pass before made readable.
const maxRounds = 64

// patched is a file with changes, which are sorted by offset and do not overlap.
type patched struct {
	in      io.ReaderAt
	changes []Change
}

// ReadAt reads the file with the changes.
func (p *patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.in.ReadAt(b, off)
	first, _ := slices.BinarySearchFunc(p.changes, off, func(c Change, off int64) int { return cmp.Compare(c.Offset+int64(len(c.New)), off+1) })
	for _, c := range p.changes[first:] {
		if c.Offset >= off+int64(n) {
			break
		}
		copy(b[max(c.Offset-off, 0):n], c.New[max(off-c.Offset, 0):])
	}
	return n, err
}

// planner finds the changes of a file. It implements the method for wrong checksums of h5file.
type planner struct {
	patched
	size int64
	most int64 // maximum size of a decoded chunk

	guess bool // also replace checksums and sizes that only the validity of the structure confirms

	object   string // the object whose structures are being read
	wrong    map[int64]wrongChecksum
	unproved map[int64]bool // wrong checksums that no change proved
	searched map[int64]bool // structures without a wrong byte that a search finds
	checked  map[h5file.Addr]bool
	used     int64 // end of the last structure or elements
	hashed   int64 // bytes that searches have hashed
	made     int   // number of changes of the current pass
}

// wrongChecksum is a wrong checksum of a structure of an object.
type wrongChecksum struct {
	h5file.WrongChecksum
	object string
}

var _ h5file.ChecksumRecorder = (*planner)(nil)

// WrongChecksum records a wrong checksum.
func (p *planner) WrongChecksum(c h5file.WrongChecksum) {
	if had, ok := p.wrong[c.At]; !ok || had.object == "" {
		p.wrong[c.At] = wrongChecksum{c, p.object}
	}
}

// change adds a change of the bytes from c.Offset on to c.New. It does nothing if they are equal,
// and merges changes that overlap.
func (p *planner) change(c Change) error {
	had := make([]byte, len(c.New))
	if _, err := p.ReadAt(had, c.Offset); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(had) == string(c.New) {
		return nil
	}
	p.made++
	start, end := c.Offset, c.Offset+int64(len(c.New))
	p.changes = slices.DeleteFunc(p.changes, func(x Change) bool {
		if x.Offset >= end || x.Offset+int64(len(x.New)) <= start {
			return false
		}
		if before := start - x.Offset; before > 0 {
			c.New = append(slices.Clone(x.New[:before]), c.New...)
			c.Offset = x.Offset
		}
		if after := x.Offset + int64(len(x.New)) - end; after > 0 {
			c.New = append(c.New, x.New[int64(len(x.New))-after:]...)
		}
		return true
	})
	c.Old = make([]byte, len(c.New))
	if _, err := p.in.ReadAt(c.Old, c.Offset); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(c.Old) != string(c.New) {
		at, _ := slices.BinarySearchFunc(p.changes, c.Offset, func(x Change, off int64) int { return cmp.Compare(x.Offset, off) })
		p.changes = slices.Insert(p.changes, at, c)
	}
	return nil
}

// plan finds the changes that evidence confirms, and with guess also guessed ones.
func (p *planner) plan(ctx context.Context) error {
	p.unproved, p.searched, p.checked = map[int64]bool{}, map[int64]bool{}, map[h5file.Addr]bool{}
	for range maxRounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.made, p.used, p.object, p.wrong = 0, 0, "", map[int64]wrongChecksum{}
		f, err := h5file.Open(p, p.size, nil)
		if err != nil {
			return nil // a file without a readable superblock has no changes
		}
		if f.Driver() != nil {
			return nil // the members of a set are repaired by no change of one file
		}
		if err := p.pass(ctx, f); err != nil || p.made == 0 {
			return err
		}
	}
	return nil
}

// pass reads all structures and makes the changes that follow from them.
func (p *planner) pass(ctx context.Context, f *h5file.File) error {
	s := &source{seen: &passes{}, most: p.most, in: p, size: p.size, file: f}
	defer func() { _ = s.library.close() }() // it is in memory
	sets := p.walk(f)
	_ = h5file.Structures(p, p.size, func(x format.Field) { p.use(x.Offset + x.Length) }) // also those that no object has
	rest, err := p.checksums()
	if err == nil {
		err = p.flags(f)
	}
	if err != nil || p.made > 0 {
		return err
	}
	for _, e := range sets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.checked[e.Object.Addr] {
			continue
		}
		p.checked[e.Object.Addr] = true
		if err := p.fields(s, e); err != nil {
			return err
		}
	}
	if p.made == 0 {
		if err := p.end(f); err != nil {
			return err
		}
	}
	if p.made > 0 || !p.guess {
		return nil
	}
	for _, c := range rest {
		if err := p.change(c.replaced(Guessed, "the structure has no other error")); err != nil {
			return err
		}
	}
	return nil
}

// walk reads the structures of each object, and returns the datasets whose fields may be wrong. The
// others are not kept, because an object needs about 1 KiB.
func (p *planner) walk(f *h5file.File) (sets []h5file.Entry) {
	const header = "\x00" // no path
	p.object = header
	for e := range f.Walk() {
		for at, c := range p.wrong {
			if c.object == header {
				c.object = e.Path
				p.wrong[at] = c
			}
		}
		o := e.Object
		if o == nil {
			continue
		}
		p.object = e.Path
		for range o.Attributes() {
		}
		if o.Kind() == h5file.GroupKind {
			for range o.Links() {
			}
		}
		if o.Kind() == h5file.DatasetKind && o.Layout() != nil && o.Dataspace() != nil && o.Datatype() != nil {
			if contradictory(o) {
				sets = append(sets, e)
			}
			p.elements(f, o)
		}
		p.object = header
	}
	p.object = ""
	return sets
}

// elements reads the index of a dataset, and records the end of its elements.
func (p *planner) elements(f *h5file.File, o *h5file.Object) {
	switch o.Layout().Class {
	case h5file.Contiguous:
		_, end := contiguousExtent(o, f.UserBlock())
		p.use(end)
	case h5file.Chunked:
		for c, err := range o.Chunks() {
			if err != nil {
				p.used = math.MaxInt64 // the end of the chunks is unknown
				continue
			}
			p.use(endOf(format.Size(c.Addr)+f.UserBlock(), c.Size))
		}
	}
}

// use records the end of a part of the file.
func (p *planner) use(end int64) { p.used = max(p.used, end) }

// flags clears the file consistency flags of superblock version 3.
func (p *planner) flags(f *h5file.File) error {
	sb := f.Superblock()
	if sb.Version < 3 || sb.Flags == 0 {
		return nil
	}
	return p.change(Change{
		Offset: f.UserBlock() + flagsAt, New: []byte{0}, Structure: "file consistency flags",
		Reason: "cleared: the writer did not close the file", Certainty: Certain,
	})
}

// flagsAt is the offset of the flags in a superblock of version 3.
const flagsAt = 11

// end corrects the end of the file in the superblock if it is outside the file, or before a
// structure or elements.
func (p *planner) end(f *h5file.File) error {
	sb := f.Superblock()
	base := f.UserBlock()
	stored := format.Size(sb.EndOfFile-sb.Base) + base
	valid := sb.EndOfFile.Defined() && sb.EndOfFile >= sb.Base && stored >= p.used && stored <= p.size
	if valid || p.used > p.size || sb.EndAt < 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(sb.Base)+uint64(p.size-base))
	b = append(b, make([]byte, 24)...)[:sb.OffsetSize]
	return p.change(Change{
		Offset: sb.EndAt, New: b, Structure: "end of file address", Certainty: Certain,
		Reason: fmt.Sprintf("got %d, want %d, the size of the file; the last structure ends at %d", stored, p.size, p.used),
	})
}
