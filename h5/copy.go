// Copying objects, within a file or into another.

package h5

// #include "shim.h"
import "C"

// CopyOptions says what of an object and its surroundings is copied. nil means
// CopyOptions{}: the object with everything below it, links that are not hard as
// they are, references as null references.
type CopyOptions struct {
	Shallow           bool // of a group only its members, not theirs (H5O_COPY_SHALLOW_HIERARCHY_FLAG)
	ExpandSoft        bool // in place of soft links what they lead to
	ExpandExternal    bool // in place of external links what they lead to
	ExpandReferences  bool // copy what references point at, and point at the copies
	WithoutAttributes bool
	KeepSpace         bool // object headers with the places that are free in them (H5O_COPY_PRESERVE_NULL_FLAG)

	// MergeTypes uses, in place of a copy of a committed datatype, an equal one that
	// is committed in the destination; those at TypePaths are looked at first.
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

// CopyObject copies what name leads to, to a new object called as in the group to,
// which may be of another file (H5Ocopy). Stored data is copied as it is where both
// files can hold it so: it is not decompressed. Groups on the way are made.
//
// It returns ErrNotFound, ErrExists, ErrReadOnly, or, for a dataset that does not open or
// whose chunks have another number of dimensions than it has, ErrCorrupt or another error.
// It returns errors.ErrUnsupported before it copies anything into another file if one of the
// datasets has a fill value of variable length or of references, because libhdf5 would write
// a dataset that no program can read (see Defects). With ExpandSoft, ExpandExternal or
// ExpandReferences this applies to every dataset of the source file.
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
