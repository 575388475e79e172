// The new file: its objects, links and references, and the steps that wait for all objects.

package h5copy

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
)

// Writer creates objects, links and references in a new file. Its caller reads the source file: a
// Copier with libhdf5, package recovery with the parser.
type Writer struct {
	File *h5.File // nil in a dry run

	// Placed contains the path in File of each copied object, by its address in the source. The
	// path is "" if the object was left out.
	Placed map[uint64]string

	refs    map[uint64]h5.Ref // by address in the source
	waiting []func(ctx context.Context) error
}

// NewWriter returns a Writer to a file.
func NewWriter(file *h5.File) *Writer {
	return &Writer{File: file, Placed: make(map[uint64]string), refs: make(map[uint64]h5.Ref)}
}

// Root returns the root group of the file, nil in a dry run.
func (w *Writer) Root() *h5.Group {
	if w.File == nil {
		return nil
	}
	return w.File.Root()
}

// CreateFile creates a file. With dense its root group can store attributes outside of its header.
func CreateFile(path string, o h5.CreateOptions, dense bool) (*h5.File, error) {
	if dense {
		o.Low = max(o.Low, h5.V18)
	}
	return h5.Create(path, &o)
}

// create calls f to create an object. With dense the object can store attributes outside of its
// header.
func create[T any](w *Writer, dense bool, f func() (T, error)) (made T, err error) {
	if !dense || w.File == nil {
		return f()
	}
	_, low, high, err := w.File.Access()
	if err != nil {
		return made, err
	}
	if low >= h5.V18 || low == h5.LatestFormat {
		return f()
	}
	if err := w.File.SetFormats(h5.V18, high); err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, w.File.SetFormats(low, high)) }()
	return f()
}

// sparse reports whether numbers of a type, or of its parts, leave more than half of their bits
// unused. libhdf5 reads such a type only in a header of HDF5 1.8, which has a checksum
// (H5T_is_numeric_with_unusual_unused_bits).
func sparse(t h5.Datatype) bool {
	switch t.Class {
	case h5.Integer, h5.Float, h5.Bitfield:
		return t.Size > 1 && t.Precision < 8*t.Size && 8*t.Size > 2*(t.Precision+t.Offset)
	}
	return t.Base != nil && sparse(*t.Base) ||
		slices.ContainsFunc(t.Members, func(m h5.Member) bool { return m.Type != nil && sparse(*m.Type) })
}

// Group creates a group in another one. With dense it can store attributes outside of its header.
func (w *Writer) Group(in *h5.Group, name string, o *h5.GroupOptions, dense bool) (*h5.Group, error) {
	return create(w, dense, func() (*h5.Group, error) { return in.CreateGroupWith(name, o) })
}

// Dataset creates a dataset in a group. With dense it can store attributes outside of its header.
func (w *Writer) Dataset(in *h5.Group, name string, t h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions, dense bool) (*h5.Dataset, error) {
	return create(w, dense || sparse(t), func() (*h5.Dataset, error) { return in.CreateDataset(name, t, space, o) })
}

// Datatype creates a committed datatype. With dense it can store attributes outside of its header.
func (w *Writer) Datatype(path string, t h5.Datatype, dense bool) (*h5.CommittedType, error) {
	return create(w, dense || sparse(t), func() (*h5.CommittedType, error) { return w.Root().CommitDatatype(path, t) })
}

// Link creates a link in a group, except to an object that was left out. It returns false for a
// hard link to an object that is not in Placed: the caller must copy this object.
func (w *Writer) Link(in *h5.Group, l h5.Link) (done bool, err error) {
	to, known := w.Placed[l.Address]
	switch hard := l.Kind == h5.HardLink; {
	case hard && !known:
		return false, nil
	case w.File == nil, hard && to == "":
		return true, nil
	}
	switch l.Kind {
	case h5.HardLink:
		err = in.LinkHard(l.Name, to)
	case h5.SoftLink:
		err = in.LinkSoft(l.Name, l.Target)
	case h5.ExternalLink:
		err = in.LinkExternal(l.Name, l.File, l.Target)
	default:
		err = in.LinkUser(l.Name, l.Class, l.Value)
	}
	return true, err
}

// Later defers a step until all objects exist. made is the object at path, nil in a dry run.
func (w *Writer) Later(path string, step func(ctx context.Context, made h5.Object) error) {
	w.waiting = append(w.waiting, func(ctx context.Context) error {
		if w.File == nil {
			return step(ctx, nil)
		}
		made, err := w.Root().OpenObject(cmp.Or(path, "/"))
		if err != nil {
			return err
		}
		return errors.Join(step(ctx, made), made.Close())
	})
}

// Finish runs the deferred steps.
func (w *Writer) Finish(ctx context.Context) error {
	for i := 0; i < len(w.waiting); i++ { // a step may add others
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.waiting[i](ctx); err != nil {
			return err
		}
	}
	w.waiting = nil
	return nil
}

// Reference returns a reference to the copy of an object. If region is not nil, it refers to these
// elements; if attribute is not "", to this attribute.
func (w *Writer) Reference(addr uint64, kind h5.ReferenceKind, region h5.Selection, attribute string) (to h5.Ref, err error) {
	root, path := w.Root(), w.Placed[addr]
	switch {
	case region != nil:
		return root.ReferenceRegion(path, kind, region)
	case attribute != "":
		return root.ReferenceAttribute(path, attribute)
	case kind != h5.ObjectReference:
		return root.Reference(path, kind)
	}
	to, ok := w.refs[addr]
	if !ok {
		if to, err = root.Reference(path, kind); err == nil {
			w.refs[addr] = to
		}
	}
	return to, err
}
