// Walk lists the contents of a file.

package hyperslab

import (
	"context"
	"iter"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// EntryKind is the kind of an Entry.
type EntryKind string

// The kinds of entry.
const (
	Group EntryKind = "group"
	Array EntryKind = "array"
	Link  EntryKind = "link"     // a link, which is not followed
	Type  EntryKind = "datatype" // a committed datatype
	Other EntryKind = "other"    // an object of an unknown kind
)

// Entry is one name in a file.
type Entry struct {
	Path string // path inside the file, for example "/a/b"; "/" if the whole file or directory is the array
	Kind EntryKind

	Meta    ndarray.Meta    // Array: complete except DType if ndarray does not have the element type
	Storage ndarray.Storage // Array: stored size of the elements; StoredBytes is -1 with WalkOptions.NoSizes
	Attrs   int             // Group, Array: number of attributes

	Comment string // Group: comment of an HDF5 group, "" if absent; that of an Array is in Meta

	// Type is the element type of an Array or the datatype of a Type, in the notation of the
	// format, for example "H5T_IEEE_F64LE" or "<f8".
	// A Group that is a table of python-blosc2 has the type "ctable".
	Type string

	LinkKind   string // Link: "hard", "soft", "external" or "user-defined"
	TargetFile string // Link of kind "external": the file, as the link names it
	Target     string // Link: its target; for a hard link the path that was listed first

	// Err is the reason why an Array cannot be opened, or another object cannot be read. It is
	// errors.ErrUnsupported for a type that ndarray does not have, and for an array whose elements
	// cannot be read although Meta is complete. The walk continues.
	Err error
}

// Walk yields the objects of a file, or those below a path of an HDF5 file, in the order of paths:
// a group, then its members by name. Each object is yielded once. A further hard link to it, which
// may form a cycle, is an entry of kind Link. Soft and external links are also Links, and are not
// followed. A b2nd file or a bcolz carray is one entry. A ctable is a group of its columns, and a
// nested one contains groups. A directory of arrays is a group too, and so is a container of
// python-blosc2. Files in a container that are no frames have the kind Other.
//
// An error ends the walk and is yielded once, last. It is an error of Open for the file, or the
// context's error. The file is open while the loop runs.
//
// An untrusted HDF5 file is checked as a whole before a library reads it; in a directory each array
// is checked before it is listed. A worker lists links and datasets with elements in other files
// regardless of Untrusted, because it cannot open other files. Without a worker Untrusted
// decides. A corrupt HDF5 file, frame or ctable is one error; a corrupt array of a directory is an
// entry with an error.
func Walk(ctx context.Context, location string, o *WalkOptions) iter.Seq2[Entry, error] {
	x := orZero(o)
	from := OpenOptions{Unlocked: x.Unlocked, Untrusted: x.Untrusted}
	return entries(opened.List(ctx, location, from.internal(), walkOptions(o)))
}

// entryOf returns the Entry of an entry of a tree.
func entryOf(e tree.Entry) Entry {
	return Entry{
		Path: e.Path, Kind: EntryKind(e.Kind), Meta: e.Meta, Storage: e.Storage, Attrs: e.Attrs, Comment: e.Comment, Type: e.Type,
		LinkKind: e.LinkKind, TargetFile: e.TargetFile, Target: e.Target, Err: e.Err,
	}
}
