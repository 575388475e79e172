// Copying of objects, within a file or into another file.

package h5

// #include "shim.h"
import "C"

// CopyOptions selects which parts of an object are copied. nil means CopyOptions{}: copy the object
// with everything below it, copy soft and external links as links, and copy references as null
// references.
type CopyOptions struct {
	Shallow           bool // copy only direct members of a group (H5O_COPY_SHALLOW_HIERARCHY_FLAG)
	ExpandSoft        bool // replace soft links by copies of their targets
	ExpandExternal    bool // replace external links by copies of their targets
	ExpandReferences  bool // copy the targets of references, and point at the copies
	WithoutAttributes bool
	KeepSpace         bool // keep free space in object headers (H5O_COPY_PRESERVE_NULL_FLAG)

	// MergeTypes uses an equal committed datatype of the destination, if there is one, and does not
	// copy the committed datatype. libhdf5 checks the datatypes at TypePaths first.
	MergeTypes bool
	TypePaths  []string
}

func (o *CopyOptions) flags() C.uint32_t {
	var flags C.uint32_t
	for _, f := range []struct {
		on  bool
		bit C.uint32_t
	}{
		{o.Shallow, C.H5O_COPY_SHALLOW_HIERARCHY_FLAG},
		{o.ExpandSoft, C.H5O_COPY_EXPAND_SOFT_LINK_FLAG},
		{o.ExpandExternal, C.H5O_COPY_EXPAND_EXT_LINK_FLAG},
		{o.ExpandReferences, C.H5O_COPY_EXPAND_REFERENCE_FLAG},
		{o.WithoutAttributes, C.H5O_COPY_WITHOUT_ATTR_FLAG},
		{o.KeepSpace, C.H5O_COPY_PRESERVE_NULL_FLAG},
		{o.MergeTypes, C.H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
	} {
		if f.on {
			flags |= f.bit
		}
	}
	return flags
}

// CopyObject copies the object at name to a new object called as in the group to, which may be in
// another file (H5Ocopy). Stored data is copied without decompression if both files can hold it in
// the same form. Missing intermediate groups are created.
//
// It returns ErrNotFound, ErrExists or ErrReadOnly. For a dataset that cannot be opened, or whose
// chunks have a different number of dimensions, it returns ErrCorrupt or another error. It returns
// errors.ErrUnsupported before it copies anything into another file if one of the datasets has a
// fill value of variable length or of references, because libhdf5 would write a dataset that no
// program can read, and for chunked sequences with FillOnAlloc in a file whose addresses have fewer
// than 8 bytes (see docs/defects.md). With ExpandSoft, ExpandExternal or ExpandReferences this
// applies to every dataset of the source file.
func (g *Group) CopyObject(name string, to *Group, as string, o *CopyOptions) error {
	const op = "copy object"
	path := g.join(name)
	if err := to.writable(op, to.join(as)); err != nil {
		return err
	}
	var opts CopyOptions
	if o != nil {
		opts = *o
	}
	types := appendWord(nil, uint64(len(opts.TypePaths)))
	for _, p := range opts.TypePaths {
		if _, _, err := cName(op, path, p); err != nil {
			return err
		}
		types = appendText(types, p)
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	cas, utf8, err := cName(op, to.join(as), as)
	if err != nil {
		return err
	}
	return g.runBoth(op, path, &to.object, func(from, dst C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_ocopy(cerr, from, cname, dst, cas, utf8, opts.flags(), cBytes(types), C.size_t(len(types)))
	})
}
