package h5types

import (
	"errors"
	"os"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// ParseAttributes parses the attributes of an object without libhdf5 and calls visit for each that
// has a name. For an attribute that cannot be parsed it calls visit with the error. values reads
// their elements of variable length.
//
// libhdf5 lists no attribute of an object if one of them has an unknown type. ParseAttributes
// visits all and then returns the first error that is not an unknown version of the type, space or
// encoding of an attribute.
func ParseAttributes(o h5.Object, visit func(values *h5file.Values, a *h5file.Attribute, err error)) (err error) {
	info, err := o.Stat()
	if err != nil {
		return err
	}
	r, err := os.Open(o.File().Path())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	stat, err := r.Stat()
	if err != nil {
		return err
	}
	file, err := h5file.Open(r, stat.Size(), nil)
	if err != nil {
		return err
	}
	header, err := file.Object(h5file.Addr(info.Address))
	if header == nil || err != nil && !errors.Is(err, format.ErrVersion) {
		return err
	}
	var failed error
	note := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	for i := range header.Messages {
		if m := &header.Messages[i]; m.Err != nil && m.Type != h5file.AttributeType {
			note(m.Err)
		}
	}
	values := file.Values()
	for a, err := range header.EachAttribute() {
		if err != nil && !errors.Is(err, format.ErrVersion) {
			note(err)
		}
		if a != nil && a.Name != "" {
			visit(values, a, err)
		} else if err != nil {
			note(err)
		}
	}
	return failed
}

// UnknownAttribute returns the name of the first attribute of an unknown version and its error, or
// "" if there is none or the attributes cannot be parsed.
func UnknownAttribute(o h5.Object) (name string, err error) {
	failed := ParseAttributes(o, func(_ *h5file.Values, a *h5file.Attribute, e error) {
		if e != nil && name == "" {
			name, err = a.Name, e
		}
	})
	if failed != nil {
		return "", nil
	}
	return name, err
}
