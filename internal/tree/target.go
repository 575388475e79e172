// The formats that a tree is copied to, and the copy as they see it.

package tree

import (
	"context"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Target is the format of a copy. Its fitness methods decide which parts of the source it keeps,
// and Write creates them. Package treecopy plans the copy.
type Target interface {
	Traits() Traits

	// CheckName returns an error if the target cannot store an object of that path.
	CheckName(path string, group bool) error
	// Check returns an error if the target cannot store an array at a path. rows is the number of
	// rows of the first array, or -1.
	Check(path string, spec ndarray.Spec, rows int64) error
	// Attr returns an attribute as the target stores it.
	Attr(a ndarray.Attr) (ndarray.Attr, error)
	// Stores reports whether the target stores an attribute without a Value.
	Stores(raw ndarray.Attr) bool

	// Begin plans an object whose kind alone decides how it is copied. It reports whether it did.
	Begin(item *Item) bool
	// Plan plans an object with a name that CheckName accepts, unless it is planned as in other
	// formats. It reports whether it did.
	Plan(item *Item) (bool, error)
	// Divide plans an array that becomes several ones, from its spec. It reports whether it did.
	Divide(item *Item, attrs ndarray.Attrs) (bool, error)
	// Complete completes the plan after the last object of the source.
	Complete(ctx context.Context) error

	// Source returns the elements of a newly opened array of the source as the target stores them.
	Source(a *ndarray.Array, item *Item) (*ndarray.Array, error)
	// Write writes the file or the directory.
	Write(ctx context.Context, file string) error
}

// Traits are the properties of the format of a Target.
type Traits struct {
	Format      string                // of its arrays
	Compression *ndarray.Compression  // the default
	Frames      bool                  // each array is a Blosc2 frame
	Text        bool                  // strings of each kind are stored as they are
	Variable    bool                  // strings of variable length
	Nulls       bool                  // null elements; other formats get an array of bool for them
	Comments    bool                  // of objects
	GroupAttrs  bool                  // attributes of groups
	Links       []string              // kinds of links
	CopiesAttrs bool                  // the target copies the attributes of the source itself
	Adopt       func(s *ndarray.Spec) // removes properties of an array of another format; may be nil
}

// ArrayWriter creates the arrays of a Target.
type ArrayWriter interface {
	// Own writes an array that is not created and filled. It reports whether it did.
	Own(ctx context.Context, item *Item) (bool, error)
	// Create creates an array.
	Create(item *Item) (ndarray.Backend, error)
	// Finish completes an array that is filled.
	Finish(ctx context.Context, item *Item) error
	// Remove removes an array that could not be filled.
	Remove(item *Item) error
}

// PlainTarget has the methods of a Target, and of its ArrayWriter, that copies each array as one
// array.
type PlainTarget struct{}

// Attr implements Target.
func (PlainTarget) Attr(a ndarray.Attr) (ndarray.Attr, error) { return a, nil }

// Begin implements Target.
func (PlainTarget) Begin(*Item) bool { return false }

// Plan implements Target.
func (PlainTarget) Plan(*Item) (bool, error) { return false, nil }

// Divide implements Target.
func (PlainTarget) Divide(*Item, ndarray.Attrs) (bool, error) { return false, nil }

// Complete implements Target.
func (PlainTarget) Complete(context.Context) error { return nil }

// Source implements Target.
func (PlainTarget) Source(a *ndarray.Array, _ *Item) (*ndarray.Array, error) { return a, nil }

// Own implements ArrayWriter.
func (PlainTarget) Own(context.Context, *Item) (bool, error) { return false, nil }

// Finish implements ArrayWriter.
func (PlainTarget) Finish(context.Context, *Item) error { return nil }

// Item is one object to create.
type Item struct {
	From    string         // path in the source
	Path    string         // path in the target
	Spec    *ndarray.Spec  // of an array that is no frame; equal ones may share it
	Bytes   int64          // of an array's elements
	Workers int            // maximum goroutines for copying an array
	Entry   *Entry         // of a link, and while the object is planned
	Field   *ndarray.Field // of the source's structures, for a column of a CTable; nil: the whole array

	Frame func() (*stores.Frame, error) // opens a frame that is copied byte for byte; else nil
	Ext   string                        // of the file of the frame

	Attrs   []ndarray.Attr  // of a group
	Comment string          // of a group
	Axes    []dimscale.Axis // labels and scales of an array of HDF5

	Objects  bool   // elements are Python objects
	Nullable bool   // elements may be null
	Nulls    int64  // number of null elements
	NotNull  bool   // the array has a bool for each row of the source: false for a null one
	Column   string // name in the schema of a CTable

	Retyped   []ndarray.Attr // of an array of HDF5 that is copied to HDF5: attributes with another type than in the source
	KeepsType bool           // of an array of HDF5 that is copied to HDF5: the element type does not change
	AsStored  bool           // ndarray does not have the element type
}

// Plan are the objects that a copy creates. Parents precede their children.
type Plan struct {
	Groups, Arrays, Links []*Item
	Whole                 []string // groups that are copied as a whole, with everything in them
	Counts                Counts

	SkipUnreadable bool // objects that cannot be read are left out
}

// Counts are the numbers of the parts of a copy.
type Counts struct {
	Groups, Arrays, Links, Attrs int
	Types                        int   // committed datatypes
	Bytes                        int64 // of elements, in memory
}

// CopySource is the tree that is copied.
type CopySource struct {
	Tree
	Root        string // path of the copied group in its file
	ExternalDir string // as in hyperslab.OpenOptions
}

// Prefix returns the root, or "" for "/".
func (s *CopySource) Prefix() string { return strings.TrimSuffix(s.Root, "/") }

// Copier is a copy of a tree, as its Target uses it.
type Copier interface {
	Source() *CopySource
	Plan() *Plan
	// Excluded reports whether the caller leaves out the object at a path of the source.
	Excluded(path string) bool
	// Key returns the key of a path of the target in its container of python-blosc2.
	Key(path string) string
	// InDirectory reports whether the target is a new directory in an existing .b2d.
	InDirectory() bool

	// AddArray plans an array.
	AddArray(item *Item)
	// Rows returns the number of rows of the first array, or -1 before it.
	Rows() int64
	// Keep returns the attributes of an object that the target can represent. named reports whether
	// the target gets the dimension names of the array.
	Keep(path string, attrs ndarray.Attrs, named bool) []ndarray.Attr

	// Lose records a part of the source that the target cannot represent.
	Lose(path, what string, err error)
	// Report records a change that needs no acceptance.
	Report(path, what, value, reason string)
	// Unreadable records an object that cannot be read, and leaves it out.
	Unreadable(path, what string, err error)
	// UnreadablePart records a part of an object that cannot be read. The object itself is copied.
	UnreadablePart(path, what string, err error)
	// Skips reports whether the object that caused an error is left out.
	Skips(ctx context.Context, err error) bool
	// LeftOut reports whether a path, or a group that contains it, is left out.
	LeftOut(path string) bool

	// CopyArrays writes each array. It removes an array that could not be filled, if unreadable
	// objects are skipped.
	CopyArrays(ctx context.Context, w ArrayWriter) error
	// CopyElements creates an array and fills it with the elements of the source.
	CopyElements(ctx context.Context, item *Item, create func(*Item) (ndarray.Backend, error), progress func(ndarray.Progress)) error
	// Count copies one array with write and reports the progress of all arrays.
	Count(item *Item, write func(progress func(ndarray.Progress)) error) error
	// OpenItem opens the source of an array of the target.
	OpenItem(ctx context.Context, item *Item) (*ndarray.Array, error)
	// BrokenLinks removes hard links to objects that could not be read.
	BrokenLinks()
}
