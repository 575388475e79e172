// Walk lists the contents of a file.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/npy"
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
	opts := orZero(o)
	if opts.Untrusted != nil {
		return walkUntrusted(ctx, location, opts)
	}
	return walkTrusted(ctx, location, opts, nil, false)
}

// walkTrusted is Walk for a trusted file. If the tree at the location is open, it is t. With bare
// the datasets of an HDF5 file are not opened: their entries have no Meta, Storage and Type.
func walkTrusted(ctx context.Context, location string, opts WalkOptions, t *Tree, bare bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := walker{ctx: ctx, yield: yield, skip: opts.Prune, unlocked: opts.Unlocked}
		switch {
		case bare:
			w.detail = h5walk.Names
		case opts.NoSizes:
			w.detail = h5walk.NoSizes
		}
		if t != nil {
			w.store, w.held, w.format = t.store, t.file, t.Format
			w.opened = t.single
		}
		if err := w.walk(location); err != nil && !errors.Is(err, errStop) {
			yield(Entry{}, ndarray.Wrap("list", shown(location), err))
		}
	}
}

// errStop ends a walk after the caller has left the loop.
var errStop = errors.New("the iteration was stopped")

type walker struct {
	ctx    context.Context
	yield  func(Entry, error) bool
	skip   func(Entry) bool
	detail h5walk.Detail // of arrays

	unlocked func(file string, err error) // as in OpenOptions

	count int // entries yielded

	store  *stores.Store // the open store; nil: it is opened for each call
	held   *h5.File      // the open HDF5 file; nil: it is opened for each call
	opened openFile      // the file, if it was opened to detect its format
	format Format        // of opened

	suspect *suspect // the file, if it is untrusted and was checked; nil: files are opened normally
}

func (w *walker) emit(e Entry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.count++
	if w.detail == h5walk.NoSizes {
		e.unmeasure()
	}
	if !w.yield(e, nil) {
		return errStop
	}
	return nil
}

// unmeasure marks the stored size as not measured.
func (e *Entry) unmeasure() {
	if e.Kind == Array {
		e.Storage.StoredBytes = -1
	}
}

// prune yields a group and reports whether its members are skipped.
func (w *walker) prune(e Entry) (bool, error) {
	err := w.emit(e)
	return err == nil && w.skip != nil && w.skip(e), err
}

func (w *walker) walk(location string) (err error) {
	defer func() { err = errors.Join(err, w.opened.close()) }()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return err
	}
	if w.held != nil {
		return w.hdf5(l)
	}
	format := w.format
	if isURL(l.File) {
		// The object stays open, so that requests for more than its beginning are not stopped.
		u, err := openURLBy(w.ctx, l.File, urlfile.Client.OpenWhole)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, u.close()) }()
		format = u.format
	} else if w.opened.file == nil {
		f, sniffed, err := openSniffed(w.ctx, l.File)
		if err != nil {
			return err
		}
		w.opened, format = *f, sniffed
	}
	return w.from(l, format)
}

// from lists the object at a location of a known format, and the objects below it.
func (w *walker) from(l locate.Location, format Format) error {
	switch format {
	case B2ND:
		if err := checkObject(format, l); err != nil {
			return err
		}
		if isURL(l.File) {
			return w.urlFrame(l.File, "/")
		}
		return w.frame(l.File, "/")
	case NPY:
		if err := checkObject(format, l); err != nil {
			return err
		}
		return w.npy(l.File)
	case Directory:
		return w.directory(l)
	case B2Z, B2D, B2E:
		return w.stored(l, format)
	case Bcolz:
		return w.bcolz(l)
	}
	return w.hdf5(l)
}

// npy lists the one array of a .npy file.
func (w *walker) npy(name string) (err error) {
	var b ndarray.Backend
	switch {
	case isURL(name):
		u, err := openURL(w.ctx, name)
		if err != nil {
			return err
		}
		if b, err = u.npy(); err != nil {
			return err
		}
		name = u.name
	case w.opened.file != nil:
		b, err = w.opened.npy(name)
	default:
		b, err = npy.Open(name, false)
	}
	if err != nil {
		return err
	}
	e, err := w.describe("/", b)
	if err != nil {
		return err
	}
	e.Meta.Path = name
	return w.emit(e)
}

// frame lists the one array of a b2nd file, even if ndarray does not have its element type.
func (w *walker) frame(name, at string) (err error) {
	file, done, err := w.reach(name)
	if err != nil {
		return ndarray.Wrap("open", name, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	if w.opened.file != nil { // a contiguous frame
		b, err := w.opened.reader(name, listing)
		if err == nil {
			return w.listFrame(name, at, b)
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return ndarray.Wrap("open", name, bare(err))
		}
	}
	b, err := b2nd.Open(file, listing)
	if isPlain(file, err) {
		plain, err := b2nd.OpenFrame(file, listing)
		if err != nil {
			return err
		}
		return w.listFrame(name, at, plain)
	}
	if err != nil {
		return ndarray.Wrap("open", name, bare(err))
	}
	return w.listFrame(name, at, b)
}

// listFrame lists an open array of a frame, and closes it.
func (w *walker) listFrame(name, at string, b ndarray.Backend) error {
	e, err := w.describeFrame(name, at, b)
	if err != nil {
		return err
	}
	e.Meta.Path = name
	return w.emit(e)
}

// listing are the options of arrays that are listed: their elements may be unreadable.
var listing = &b2nd.OpenOptions{AnyType: true, Metadata: true}

// describeFrame is describe for an array of a frame that was opened with the options listing. The
// entry has an error if the elements cannot be read.
func (w *walker) describeFrame(name, at string, b ndarray.Backend) (Entry, error) {
	stored, reason := storedDType(b), unreadable(b)
	e, err := w.describe(at, b)
	if err != nil {
		return e, err
	}
	if stored != "" { // Caterva stores no element type; its elements are opaque
		if _, err := ndarray.ParseDType(stored); err != nil {
			e.Meta.DType, e.Type, reason = ndarray.DType{}, stored, err
		}
	}
	e.Err = ndarray.Wrap("open", name, bare(reason))
	return e, nil
}

// unreadable returns the reason why the elements of an array that was opened for its metadata
// cannot be read, or nil.
func unreadable(b ndarray.Backend) error {
	if r, ok := ndarray.As[ndarray.MetadataReader](b); ok {
		return r.Unreadable()
	}
	return nil
}

// bcolz lists a carray, a column, or a ctable with its columns in their order.
func (w *walker) bcolz(l locate.Location) error {
	object := strings.Trim(l.Object, "/")
	table, err := openTable(w.ctx, l.File, w.bcolzOptions())
	switch {
	case errors.Is(err, ndarray.ErrFormat) && object == "":
		b, err := openPlainCarray(w.ctx, l.File, w.bcolzOptions())
		return w.array("/", b, err)
	case errors.Is(err, ndarray.ErrFormat):
		return fmt.Errorf("%w: a bcolz carray is one array, it has no %s", ndarray.ErrParam, l.Object)
	case err != nil:
		return err
	case slices.Contains(table.Names, object):
		b, err := table.Column(object)
		return w.array("/"+object, b, err)
	}
	inside := func(name string) bool { return strings.HasPrefix(name, object+"/") }
	if object != "" && !slices.ContainsFunc(table.Names, inside) {
		return fmt.Errorf("%w: no column or group %s in %s", ndarray.ErrNotFound, l.Object, l.File)
	}
	return w.columns(table, object)
}

// columns lists a group of a ctable and its columns. The groups of a nested ctable below its root
// are the directories in the names of its columns.
func (w *walker) columns(table *bcolz.Table, root string) error {
	skipped := make(map[string]bool) // the listed groups, and whether their members are skipped
	list := func(group string) (bool, error) {
		if skip, known := skipped[group]; known {
			return skip, nil
		}
		e := Entry{Path: "/" + group, Kind: Group}
		if group == "" {
			e.Attrs = len(table.Attrs.List) + len(table.Attrs.Unsupported)
		}
		skip, err := w.prune(e)
		skipped[group] = skip
		return skip, err
	}
	if skip, err := list(root); skip || err != nil {
		return err
	}
	for _, name := range table.Names {
		below, inside := strings.CutPrefix("/"+name, strings.TrimSuffix("/"+root, "/")+"/")
		if !inside {
			continue
		}
		group, skip := root, false
		var err error
		for dirs := strings.Split(below, "/"); len(dirs) > 1 && !skip && err == nil; dirs = dirs[1:] {
			group = path.Join(group, dirs[0])
			skip, err = list(group)
		}
		if err == nil && !skip {
			err = w.column(table, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// column lists one column. A column that cannot be opened is an entry with an error.
func (w *walker) column(table *bcolz.Table, name string) error {
	b, err := table.Column(name)
	if err != nil {
		return w.emit(Entry{Path: "/" + name, Kind: Array, Err: err})
	}
	return w.array("/"+name, b, nil)
}

// attrsOf reads the attributes of a backend.
func attrsOf(ctx context.Context, b ndarray.Backend) (ndarray.Attrs, error) {
	r, ok := ndarray.As[ndarray.AttrReader](b)
	if !ok {
		return ndarray.Attrs{}, fmt.Errorf("%w: attributes of an array of format %s", errors.ErrUnsupported, b.Meta().Format)
	}
	return r.Attrs(ctx)
}

// storageOf measures the stored size of a backend.
func storageOf(ctx context.Context, b ndarray.Backend) (ndarray.Storage, error) {
	r, ok := ndarray.As[ndarray.StorageReporter](b)
	if !ok {
		return ndarray.Storage{}, fmt.Errorf("%w: size of an array of format %s", errors.ErrUnsupported, b.Meta().Format)
	}
	return r.Storage(ctx)
}

// readStrings reads elements of variable size.
func readStrings(ctx context.Context, b ndarray.Backend, dst []string, r ndarray.Region) error {
	s, ok := ndarray.As[ndarray.StringReader](b)
	if !ok {
		return fmt.Errorf("%w: strings in an array of %v", errors.ErrUnsupported, b.Meta().DType)
	}
	return s.ReadStrings(ctx, dst, r)
}

// storedDType returns the element type as the file of a frame stores it, or "" without one.
func storedDType(b ndarray.Backend) string {
	if r, ok := ndarray.As[ndarray.StoredTyper](b); ok {
		return r.StoredDType()
	}
	return ""
}

// array lists one newly opened array. If ndarray does not have its element type, it is an entry
// with an error.
func (w *walker) array(at string, b ndarray.Backend, openErr error) error {
	if openErr != nil {
		if !errors.Is(openErr, ndarray.ErrType) {
			return openErr
		}
		return w.emit(Entry{Path: at, Kind: Array, Err: openErr})
	}
	e, err := w.describe(at, b)
	if err != nil {
		return err
	}
	return w.emit(e)
}

// describe returns the Entry of b, and closes b.
func (w *walker) describe(at string, b ndarray.Backend) (e Entry, err error) {
	defer func() { err = errors.Join(err, b.Close()) }()
	e = Entry{Path: at, Kind: Array, Meta: b.Meta(), Type: b.Meta().DType.String()}
	if e.Storage, err = storageOf(w.ctx, b); err != nil {
		return e, err
	}
	attrs, err := attrsOf(w.ctx, b)
	e.Attrs = len(attrs.List) + len(attrs.Unsupported)
	return e, err
}

func (w *walker) hdf5(l locate.Location) (err error) {
	f, done, err := w.openHDF5(l.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return h5walk.Walk(f, l.File, "/"+strings.Trim(l.Object, "/"), w.detail, func(o h5walk.Object) (bool, error) {
		e := entryOf(o)
		if e.Kind != Group {
			return false, w.emit(e)
		}
		skip, err := w.prune(e)
		return !skip, err
	})
}

// entryOf returns the Entry of an object of an HDF5 file.
func entryOf(o h5walk.Object) Entry {
	e := Entry{Path: o.Path, Kind: Other, Attrs: o.Info.NumAttrs, Comment: o.Comment, Type: o.Type, Err: o.Err}
	if l := o.Link; l != nil {
		e.Kind, e.LinkKind, e.Target = Link, l.Kind.String(), l.Target
		switch l.Kind {
		case h5.HardLink:
			e.Target = o.First
		case h5.ExternalLink:
			e.TargetFile = l.File
			e.Target = l.File + ":" + l.Target
		case h5.UserLink:
			e.Target = fmt.Sprintf("link class %d", l.Class)
		}
		return e
	}
	switch o.Info.Kind {
	case h5.GroupObject:
		e.Kind = Group
	case h5.DatasetObject:
		e.Kind = Array
		e.Meta, e.Storage, e.Type = o.Dataset.Meta, o.Dataset.Storage, o.Dataset.Type
	case h5.DatatypeObject:
		e.Kind = Type
	}
	return e
}
