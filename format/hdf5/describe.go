// A file annotated structure by structure.

package hdf5

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hyperslab/hyperslab/format"
)

// MaxDescribed is the number of structures that Describe lists. What comes after is
// counted in one field, but still checked.
const MaxDescribed = 1 << 16

// Describe annotates the file in r, which holds size bytes: superblock, object
// headers with their messages, indexes, heaps, and whatever else they lead to, in
// order of their places. Offsets count from the start of the file, user block
// included. Elements are not described. A structure inside another one, as a message
// in a heap, is part of its field; what came out of a filter has no bytes of its
// own.
//
// It describes as much as there is and attaches complaints to what is wrong, among
// them all that File.Check refuses for its structure; what the zero Policy does not
// allow is no complaint here. It never fails.
func Describe(r io.ReaderAt, size int64) format.Field {
	root := format.Field{Name: "HDF5 file", Length: size}
	f, rd, err := open(r, size, nil, true)
	if err != nil {
		root.Fields = nest(rd.fields)
		if !shown(root) {
			root.Complain(err)
		}
		return root
	}
	root.Value = f.summary()
	rd.everything(anything)
	root.Fields = nest(rd.fields)
	if rd.first != nil {
		// What no field shows, as a chunk outside the file, stands at the root.
		if !shown(root) {
			root.Complain(rd.first)
		}
	}
	return root
}

// anything is the Policy that refuses nothing for what it is.
var anything = Policy{ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true, describing: true}

// Structures calls visit for each structure that Describe annotates, however many there
// are: as they are met, one inside another one for itself, too. It returns the first
// thing that is wrong with the file, after it went through all that can be read.
func Structures(r io.ReaderAt, size int64, visit func(format.Field)) error {
	_, rd, err := open(r, size, nil, true)
	for _, f := range rd.fields {
		visit(f)
	}
	if err != nil {
		return err
	}
	rd.fields, rd.visit = nil, visit
	rd.everything(anything)
	return rd.first
}

// shown reports whether any field below f has a complaint.
func shown(f format.Field) bool {
	for range f.Complaints() {
		return true
	}
	return false
}

func (f *File) summary() string {
	s := f.super
	return fmt.Sprintf("superblock version %d, offsets of %d and lengths of %d bytes", s.Version, s.OffsetSize, s.LengthSize)
}

// DescribeObject annotates one object header with its continuations.
func (f *File) DescribeObject(a Addr) format.Field {
	r := f.reader()
	r.tracing = true
	_, _ = r.object(a) // its errors are complaints at the fields
	field := format.Field{Name: "object", Offset: f.place(a), Fields: r.fields}
	if len(r.fields) > 0 {
		field.Length = r.fields[0].Length
	}
	return field
}

// nest puts the structures in order of their places, each that lies inside another
// one below it. A structure without bytes of its own, as those that a filter made, contains none.
func nest(all []format.Field) []format.Field {
	slices.SortStableFunc(all, func(a, b format.Field) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	more := max(len(all)-MaxDescribed, 0)
	out := enclose(all[:len(all)-more])
	if more > 0 {
		out = append(out, format.Field{Name: "…", Value: fmt.Sprint(more), Meaning: "further structures, not listed"})
	}
	return out
}

// enclose is nest for fields in order.
func enclose(all []format.Field) []format.Field {
	var out []format.Field
	for i := 0; i < len(all); {
		f := all[i]
		end := f.Offset + f.Length
		j := i + 1
		for f.Length > 0 && j < len(all) && all[j].Offset+all[j].Length <= end {
			j++
		}
		f.Fields = append(f.Fields, enclose(all[i+1:j])...)
		out = append(out, f)
		i = j
	}
	return out
}
