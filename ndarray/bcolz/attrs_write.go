// Attributes of an open carray or ctable. __attrs__ and the record are read together and written
// together.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// attributes are the attributes in __attrs__ and the record.
type attributes struct {
	mu         sync.Mutex
	dir        store
	recordFile string
	members    bcolztree.Attrs
	record     *record
	others     []string // files in meta/ that neither bcolz nor ndarray uses
}

// list returns the attributes of __attrs__, with the types of the record, and the attributes that
// are only in the record.
func (x *attributes) list(ctx context.Context) (ndarray.Attrs, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := attrsWith(x.members, x.record)
	for _, name := range x.others {
		all.Unsupported = append(all.Unsupported, ndarray.UnsupportedAttr{Name: name, Type: "file", Reason: "a file of neither bcolz nor ndarray; it is not moved"})
	}
	return all, ctx.Err()
}

// set writes an attribute. If JSON can represent the value, it goes to __attrs__, and its type goes
// to the record if JSON would lose it. Otherwise the attribute goes only to the record.
func (x *attributes) set(a ndarray.Attr) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	j, rec, err := stored(a)
	if err != nil {
		return err
	}
	x.drop(a.Name)
	x.add(a.Name, j, rec)
	return x.write()
}

// setAll is set for all attributes of a new tree. The last attribute of each name counts.
func (x *attributes) setAll(attrs []ndarray.Attr) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := make(map[string]int, len(attrs))
	for i, a := range attrs {
		last[a.Name] = i
	}
	for i, a := range attrs {
		if last[a.Name] != i {
			continue
		}
		j, rec, err := stored(a)
		if err != nil {
			return err
		}
		x.add(a.Name, j, rec)
	}
	return x.write()
}

// remove removes an attribute.
func (x *attributes) remove(name string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.drop(name) {
		return fmt.Errorf("%w: attribute %q", ndarray.ErrNotFound, name)
	}
	return x.write()
}

// stored returns the forms of an attribute in __attrs__ and in the record, nil if it is not stored
// there.
func stored(a ndarray.Attr) (*bcolztree.Value, *recordAttr, error) {
	if onlyRaw(a) {
		j, err := jsonOfRaw(a.Raw)
		if err != nil {
			return nil, nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		return &j, nil, nil
	}
	if err := a.Validate(); err != nil {
		return nil, nil, err
	}
	v := a.Value
	j, plainly := jsonOf(v)
	rec := recordAttr{Name: a.Name, DType: recordType{v.DType}, Shape: v.Shape, Null: v.Null, Plain: plainly}
	if !plainly {
		rec.Data, rec.Strings = v.Data, v.Strings
		return nil, &rec, nil
	}
	if natural, err := valueOf(j); err == nil && natural.Equal(v) && sameType(natural.DType, v.DType) {
		return &j, nil, nil
	}
	return &j, &rec, nil
}

// add adds an attribute with a new name.
func (x *attributes) add(name string, j *bcolztree.Value, rec *recordAttr) {
	if j != nil {
		x.members = append(x.members, bcolztree.Member{Name: name, Value: *j})
	}
	if rec != nil {
		x.record.Attrs = append(x.record.Attrs, *rec)
	}
}

// drop deletes an attribute from the lists and reports whether it existed.
func (x *attributes) drop(name string) bool {
	n := len(x.members) + len(x.record.Attrs)
	x.members = slices.DeleteFunc(x.members, func(m bcolztree.Member) bool { return m.Name == name })
	x.record.Attrs = slices.DeleteFunc(x.record.Attrs, func(r recordAttr) bool { return r.Name == name })
	return len(x.members)+len(x.record.Attrs) < n
}

// write writes the record, then __attrs__. If only one of the files is written, the attributes are
// still valid: a plain value without a record entry has its natural type, and a record entry of
// type Plain without a matching value is ignored.
func (x *attributes) write() error {
	if x.record.empty() {
		if err := x.dir.root.Remove(x.recordFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else {
		x.record.Version = recordVersion
		text, err := readable(x.record, " ")
		if err != nil {
			return err
		}
		if len(text) > maxRecord {
			return fmt.Errorf("%w: attributes of %d bytes, at most %d", errors.ErrUnsupported, len(text), maxRecord)
		}
		if err := x.dir.replace(x.recordFile, text); err != nil {
			return err
		}
	}
	return x.dir.replace(bcolztree.AttrsFile, x.members.Append(nil))
}

// Attrs returns the attributes of __attrs__, with the types of the record, and the attributes that
// are only in the record. Files in meta/ that are not bcolz's are listed as unsupported, so that a
// copy can report them as not copied.
func (b *backend) Attrs(ctx context.Context) (ndarray.Attrs, error) { return b.attrs.list(ctx) }

// SetAttr writes an attribute. If JSON can represent the value, it goes to __attrs__, and its type
// goes to the record if JSON would lose it. Otherwise the attribute goes only to the record.
func (b *backend) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	return b.attrs.set(a)
}

// DeleteAttr removes an attribute.
func (b *backend) DeleteAttr(ctx context.Context, name string) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	return b.attrs.remove(name)
}
