// The interface Tree, and the drivers that implement it.

package tree

import (
	"context"
	"errors"
	"time"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Kind is the kind of an Entry.
type Kind string

// The kinds of entry.
const (
	Group Kind = "group"
	Array Kind = "array"
	Link  Kind = "link"     // a link, which is not followed
	Type  Kind = "datatype" // a committed datatype
	Other Kind = "other"    // an object of an unknown kind
)

// Entry is one name in a file: Entry of package hyperslab, which documents the fields.
type Entry struct {
	Path string
	Kind Kind

	Meta    ndarray.Meta
	Storage ndarray.Storage
	Attrs   int

	Comment string
	Type    string

	LinkKind   string
	TargetFile string
	Target     string

	Err error
}

// NamedBytes is a metalayer or a file.
type NamedBytes = struct {
	Name    string
	Content []byte
}

// Metadata is the metadata of an array or a group in its stored form: Metadata of package
// hyperslab, which documents the fields.
type Metadata struct {
	Fixed, Variable []NamedBytes
	Files           []NamedBytes
	Comment         string

	Born, Changed, Modified, Accessed time.Time
}

// Tree is an open file of any format. Paths begin with "/", or are "" for the whole file.
//
// All methods return the context's error after its end.
type Tree interface {
	// Walk calls visit for the object at a path and for those below it, in the order of paths: a
	// group, then its members by name. A nil o means the zero value. It returns
	// ndarray.ErrNotFound for a missing path, ErrParam for a path in a file that is one array, and
	// the error of visit.
	Walk(ctx context.Context, path string, o *WalkOptions, visit Visit) error
	// Open opens the array at a path. A nil o means the zero value. It returns
	// ndarray.ErrNotFound, ErrParam for a path that the format does not allow, ErrCorrupt,
	// ErrType, and errors.ErrUnsupported for an option that the driver does not have.
	Open(ctx context.Context, path string, o *ArrayOptions) (ndarray.Backend, error)
	// GroupAttrs reads the attributes of the group at a path. It returns ndarray.ErrNotFound, and
	// ErrParam for the path of an array.
	GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error)
	// Metadata reads the stored metadata of the object at a path.
	Metadata(ctx context.Context, path string) (Metadata, error)
	// Close closes the tree and its Source.
	Close() error
}

// Visit receives the entries of a walk. It reports whether the members of a group are visited too.
type Visit func(Entry) (descend bool, err error)

// WalkOptions are the options of Tree.Walk.
type WalkOptions struct {
	NoSizes bool // Entry.Storage.StoredBytes of each Array is -1
	All     bool // visit does not prune: it returns true for every group
	Names   bool // datasets of HDF5 are not opened: their entries have no Meta, Storage and Type
}

// ArrayOptions are the options of Tree.Open. They are those of hyperslab.OpenOptions, which
// documents them.
type ArrayOptions struct {
	DType       *ndarray.DType
	Metadata    bool
	Write       bool // also set with Durable
	Durable     bool
	AllowLossy  bool
	Library     bool
	Checksums   bool
	Lock        *ndarray.Lock // of the file, with Write
	ExternalDir string
	Missing     func(error)

	Unlocked func(file string, err error) // of an array that is opened alone

	References bool // attributes with references are read too, by libhdf5
}

// OpenOptions are the options of Format.Open.
type OpenOptions struct {
	// Alone promises that the tree is used for one call of Open, with the path Path, and closed.
	Alone bool
	Path  string

	Unlocked func(file string, err error) // as in hyperslab.OpenOptions; may be nil
}

// Format is the driver of a format.
type Format struct {
	Name string // as in package detect

	// Match reports whether the Source has this format. head are its first bytes if it is a file
	// of which package detect does not know the format, and else nil.
	Match func(head []byte, s *Source) bool

	// Open opens a Source, which the Tree closes. After an error it belongs to the caller. An
	// untrusted Source is checked before a C library reads it.
	Open func(ctx context.Context, s *Source, o *OpenOptions) (Tree, error)

	// Part returns the Source of the array at a path that is a file or directory of its own, and
	// the path in it. Nil: the arrays of the format are in one file.
	Part func(s *Source, path string) (part *Source, rest string, err error)

	// Also are the names of further formats that Create creates.
	Also []string

	// CheckCreate returns an error for an array that cannot be created with these options. It does
	// not access the file. Nil: the format has no files with one new array.
	CheckCreate func(spec ndarray.Spec, o *CreateOptions) error

	// Create creates a file or a directory with one array. Nil: it cannot be created alone.
	Create func(file string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error)

	// Build creates a file for many new arrays. Nil: they are written by Target only.
	Build func(file string) (Builder, error)

	// Many is set if an existing file receives further arrays and is not replaced.
	Many bool

	// Member starts the file of an array in the existing file or directory o.File. held is its
	// lock, which the caller holds, or nil. Nil: new arrays are no files of their own.
	Member func(ctx context.Context, held *ndarray.Lock, overwrite bool, o *CreateOptions) (*atomicfile.Output, error)

	// EditGroup changes the attributes of the group at a path, in place. Unless Part is set, the
	// caller holds the lock of the file. Nil: the attributes of groups are read only.
	EditGroup func(ctx context.Context, file, path string, e GroupEdit) error

	// Target returns the target of a copy. table is set for a table of python-blosc2 instead of a
	// tree of arrays. Nil: a tree cannot be copied to the format.
	Target func(c Copier, table bool) Target
}

// GroupEdit is a change of the attributes of a group: those in Remove are removed first.
type GroupEdit struct {
	Set    []ndarray.Attr
	Remove []string
}

// As returns the tree t, or the first tree in its chain of methods Unwrap, as a T.
func As[T any](t Tree) (T, bool) {
	for {
		if x, ok := t.(T); ok {
			return x, true
		}
		w, ok := t.(wrapper)
		if !ok {
			return *new(T), false
		}
		t = w.Unwrap()
	}
}

// wrapper is implemented by trees that wrap another one and have its abilities.
type wrapper interface{ Unwrap() Tree }

// WithoutPath returns the cause of an error that contains an operation and a path, because its
// caller adds them.
func WithoutPath(err error) error {
	if e, ok := errors.AsType[*ndarray.Error](err); ok && e.Err != nil {
		return e.Err
	}
	return err
}
