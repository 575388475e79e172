// Trees: files whose objects are listed and opened one by one.

package hyperslab

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/chunkmap"
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

	LinkKind   string // Link: "hard", "soft", "external", "user-defined" or "symbolic" (of a directory)
	TargetFile string // Link of kind "external": the file, as the link names it
	Target     string // Link: its target; for a hard link the path that was listed first; "" for a symbolic link in a worker

	// Err is the reason why an Array cannot be opened, or another object cannot be read. It is
	// errors.ErrUnsupported for a type that ndarray does not have, and for an array whose elements
	// cannot be read although Meta is complete. The walk continues.
	Err error
}

// Metadata is the metadata of an array or a group in its stored form, including attributes.
type Metadata struct {
	Fixed, Variable []namedBytes // metalayers of a Blosc2 frame, those of variable length decompressed
	Files           []namedBytes // of bcolz: the metadata files
	Comment         string       // of an HDF5 object, "" if absent

	// Times of an HDF5 object; zero if they are not in the file.
	Born, Changed, Modified, Accessed time.Time
}

// namedBytes is a metalayer or a file.
type namedBytes = struct {
	Name    string
	Content []byte
}

// WalkOptions are the options of Walk. Nil means the zero value.
type WalkOptions struct {
	// Prune reports whether the members of a group are skipped. The group itself is yielded. Nil:
	// no members are skipped.
	Prune func(Entry) bool

	// NoSizes does not measure stored sizes: Entry.Storage.StoredBytes of each Array is -1. A walk
	// over an HDF5 file at a URL then reads no chunk index.
	NoSizes bool

	Unlocked  func(file string, err error) // as in OpenOptions
	Untrusted *Untrusted                   // as in OpenOptions
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

// Chunk is a stored chunk of an array.
type Chunk struct {
	Index  []int64        // of the chunk in the grid of chunks
	Region ndarray.Region // its elements, clipped to the array

	File        string // file that contains it, relative to the directory of the array; "" for the file itself
	Offset      int64  // of the stored bytes in the file; -1 for a chunk in the compressed values of another one
	StoredBytes int64
	Bytes       int64 // of the elements

	Codec   string // of a Blosc chunk, for example "zstd"; "stored" without compression; "" in HDF5
	Special string // the value of a Blosc chunk whose elements are all equal, for example "zeros"; "" for other chunks

	SkippedFilter uint32 // bit n is set if filter n of an HDF5 chunk was not applied
}

// Chunks yields the stored chunks of an array in the order of their index, without reading them.
// Chunks that were never written are left out; a Blosc2 frame also lists the chunks of one value.
// Of an untrusted file the index is read in Go. ndarray.Array.StoredChunks lists all chunks of an
// open array with their stored bytes only.
//
// An error ends the list: the errors of Open, ndarray.ErrParam for an array that is not chunked,
// and errors.ErrUnsupported for a column of several frames.
func Chunks(ctx context.Context, location string, o *OpenOptions) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for c, err := range chunkmap.List(ctx, location, o.internal()) {
			if !yield(Chunk(c), err) {
				return
			}
		}
	}
}

// Tree is a file, or a group in it, whose objects are listed and opened one by one. For an
// untrusted file one worker serves all objects, after it has checked the file once.
//
// Any number of goroutines may use a Tree and its arrays. The arrays must be closed before the
// Tree. For an untrusted tree the worker holds only one array open at a time, so reading several
// arrays alternately is slow.
type Tree struct {
	Format Format // of the file; B2ND for a Caterva array. It must not be changed.

	tree *opened.Tree
}

// OpenTree returns the tree at a location. It uses o.ExternalDir, o.Metadata, o.Missing,
// o.Unlocked and o.Untrusted, and returns ndarray.ErrParam if another option is set. It returns the
// errors of Walk for the file. A file stays open until Close. Until then an HDF5 file is locked:
// other processes can open it for reading only.
func OpenTree(ctx context.Context, location string, o *OpenOptions) (*Tree, error) {
	return newTree(opened.Open(ctx, location, o.internal()))
}

// OpenTreeReaderAt returns the tree in size bytes that r reads, for example an upload or a member
// of an archive. name is the name of the file in messages. All formats that are one file can be
// read: HDF5, a Blosc2 frame, a container in one file (.b2z, .b2e) and .npy.
//
// A trusted tree, without o.Untrusted, is read from r when its elements are needed, by several
// goroutines at the same time. Nothing is copied, and r must stay open until Close. An HDF5 file
// that refers to other files is read without them: their elements are errors.ErrUnsupported.
//
// An untrusted tree is first copied into memory, at most Untrusted.MaxCopy bytes, so that the
// checked bytes are the ones that are read. No file is written, except outside of Linux. If r is an
// *os.File of size bytes, the file is read in place. Afterwards r may be closed.
//
// It uses o.Metadata and o.Untrusted, and returns ndarray.ErrParam if another option is set, for a
// nil r and for a negative size. It returns the errors of OpenTree and of r, ndarray.ErrCorrupt if
// r ends before size bytes, and io.ErrNoProgress if a read returns neither bytes nor an error;
// methods of the Tree and its arrays return the same errors.
func OpenTreeReaderAt(ctx context.Context, r io.ReaderAt, size int64, name string, o *OpenOptions) (*Tree, error) {
	return newTree(opened.ReaderTree(ctx, r, size, name, o.internal()))
}

// OpenTreeFS returns the tree in the file or the directory with a name in fsys, for example in an
// embed.FS or a zip.Reader; "." is the root. Files are as in OpenTreeReaderAt; the directories are
// those of bcolz, of a sparse Blosc2 frame, of a container (.b2d) and of arrays.
//
// The files of a trusted tree are opened when they are needed. Tree.Close does not close fsys. A
// file that is not an io.ReaderAt, for example in a ZIP archive, is read into memory when it is
// opened, and larger ones than 1 GiB are ErrLimit.
//
// An untrusted tree is copied into memory, with all files below a directory, at most
// Untrusted.MaxCopy bytes. A file or directory that fsys opens as an *os.File, as os.DirFS does, is
// not copied but used as by OpenTree. A copy does not follow symbolic links.
//
// The options and errors are those of OpenTreeReaderAt; ndarray.ErrParam is also for a name that
// fs.ValidPath rejects, and ndarray.ErrNotFound for a missing one.
func OpenTreeFS(ctx context.Context, fsys fs.FS, name string, o *OpenOptions) (*Tree, error) {
	return newTree(opened.FSTree(ctx, fsys, name, o.internal()))
}

// newTree returns an opened tree, or the error of opening it.
func newTree(t *opened.Tree, err error) (*Tree, error) {
	if err != nil {
		return nil, err
	}
	return &Tree{Format: Format(t.Format), tree: t}, nil
}

// Walk yields the object at the location and the objects below it, like Walk of the package. The
// options Unlocked and Untrusted are those of OpenTree. A tree that a worker reads supports one
// walk at a time: a walk ends with ErrParam if another one begins.
func (t *Tree) Walk(ctx context.Context, o *WalkOptions) iter.Seq2[Entry, error] {
	return entries(t.tree.All(ctx, walkOptions(o)))
}

// GroupAttrs reads the attributes of the group at a path of an HDF5 file, a bcolz ctable, a
// directory of arrays or a container of python-blosc2.
//
// It returns ndarray.ErrNotFound for a missing path, ErrParam if the path is that of an array, or
// ErrCorrupt; for an untrusted file also the errors of Open.
func (t *Tree) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	return t.tree.GroupAttrs(ctx, path)
}

// Open opens the array at a path of the file, for reading. It returns the errors of
// Open of the package.
func (t *Tree) Open(ctx context.Context, path string) (*ndarray.Array, error) {
	return t.tree.Array(ctx, path, false)
}

// Metadata reads the metadata of an array or a group at a path of the file. For an untrusted file
// Untrusted.MaxMetadata bounds the total size. It returns the errors of Open.
func (t *Tree) Metadata(ctx context.Context, path string) (Metadata, error) {
	m, err := t.tree.Metadata(ctx, path)
	return Metadata(m), err
}

// Close ends the worker of an untrusted tree, and closes an HDF5 file or a container of
// python-blosc2.
func (t *Tree) Close() error { return t.tree.Close() }

// walkOptions returns the options of a walk.
func walkOptions(o *WalkOptions) opened.WalkOptions {
	x := orZero(o)
	out := opened.WalkOptions{NoSizes: x.NoSizes}
	if x.Prune != nil {
		out.Prune = func(e tree.Entry) bool { return x.Prune(entryOf(e)) }
	}
	return out
}

// entries converts the entries of a walk.
func entries(all iter.Seq2[tree.Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range all {
			if !yield(entryOf(e), err) {
				return
			}
		}
	}
}

// entryOf returns the Entry of an entry of a tree.
func entryOf(e tree.Entry) Entry {
	return Entry{
		Path: e.Path, Kind: EntryKind(e.Kind), Meta: e.Meta, Storage: e.Storage, Attrs: e.Attrs, Comment: e.Comment, Type: e.Type,
		LinkKind: e.LinkKind, TargetFile: e.TargetFile, Target: e.Target, Err: e.Err,
	}
}
