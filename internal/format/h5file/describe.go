// Annotation of a file, structure by structure.

package h5file

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// MaxDescribed is the maximum number of structures that Describe lists. Further structures are
// counted in one field, but still checked.
const MaxDescribed = 1 << 16

// Describe annotates the file in r, which has size bytes: superblock, object headers with their
// messages, indexes, heaps, and all other structures that can be reached, in ascending order of
// their offsets. Offsets count from the start of the file, user block included. Elements are not
// described. A structure inside another one, for example a message in a heap, is part of the field
// of the other. A structure that was decoded by a filter has length 0.
//
// Describe reads as much as it can and attaches complaints to errors, including all errors in
// structures that File.Check reports. It does not report features that only the zero Policy
// refuses. It never fails.
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
		// Errors without a field, for example a chunk outside the file, are attached to the root.
		if !shown(root) {
			root.Complain(rd.first)
		}
	}
	return root
}

// anything is a Policy that allows all features.
var anything = Policy{ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true, describing: true}

// Structures calls visit for each structure that Describe annotates, without a limit on their
// number. Structures come in the order of the traversal, and nested structures are visited
// separately too. It reads as much as it can and returns the first error in the file.
func Structures(r io.ReaderAt, size int64, visit func(format.Field)) error {
	_, err := ObjectStructures(r, size, func(_ string, f format.Field) { visit(f) })
	return err
}

// ObjectStructures is Structures with the path of the object through which a structure is reached
// first, "" for structures of the file as a whole. It returns this path for the first error too.
func ObjectStructures(r io.ReaderAt, size int64, visit func(object string, f format.Field)) (object string, err error) {
	_, rd, err := open(r, size, nil, true)
	for _, f := range rd.fields {
		visit("", f)
	}
	if err != nil {
		return "", err
	}
	rd.fields, rd.visit = nil, func(f format.Field) { visit(rd.path, f) }
	rd.everything(anything)
	return rd.firstIn, rd.first
}

// shown reports whether f or any field below it has a complaint.
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
	_, _ = r.object(a) // errors are complaints of the fields
	field := format.Field{Name: "object", Offset: f.place(a), Fields: r.fields}
	if len(r.fields) > 0 {
		field.Length = r.fields[0].Length
	}
	return field
}

// nest sorts the structures by offset and puts structures inside others below them. A structure of
// length 0, for example one that a filter decoded, contains no others.
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

// enclose is nest for sorted fields.
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
