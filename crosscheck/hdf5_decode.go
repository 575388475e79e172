// Decoding of HDF5 objects with the reference library.

package crosscheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// hdf5Object is an object as the reference decodes it.
type hdf5Object struct {
	data     []byte
	dtype    string
	shape    []int64
	item     int   // 0 if elements differ in length
	starts   []int // offsets of the elements in data, if they differ in length
	metadata map[string]any
}

// decodeHDF5 reads a dataset, an attribute ("/path@name") or a group.
func decodeHDF5(path, object string) (x *hdf5Object, err error) {
	f, err := openHDF5File(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	name, attribute, ok := strings.Cut(object, "@")
	o, err := openHDF5(f, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if ok {
		return decodeAttribute(f, o, attribute)
	}
	switch o := o.(type) {
	case *h5.Dataset:
		x, err = decodeDataset(f, o)
	case *h5.Group:
		x, err = decodeGroup(o)
	case *h5.CommittedType:
		x, err = decodeType(o)
	default:
		err = fmt.Errorf("%w: %T", errors.ErrUnsupported, o)
	}
	if err != nil {
		return nil, err
	}
	return x, x.describe(o)
}

func decodeType(o *h5.CommittedType) (*hdf5Object, error) {
	dt, err := o.Datatype()
	if err != nil {
		return nil, err
	}
	text := []byte(dt.String())
	return &hdf5Object{data: text, shape: []int64{int64(len(text))}, item: 1, metadata: map[string]any{"kind": "datatype"}}, nil
}

// describe adds optional properties: a comment, and times in seconds since 1970.
func (x *hdf5Object) describe(o h5.Object) error {
	info, err := o.Stat()
	if err != nil {
		return err
	}
	for name, t := range map[string]time.Time{"accessed": info.Accessed, "modified": info.Modified, "changed": info.Changed, "born": info.Born} {
		if !t.IsZero() {
			x.metadata[name] = t.Unix()
		}
	}
	comment, err := o.Comment()
	if comment != "" {
		x.metadata["comment"] = comment
	}
	return err
}

// openHDF5 opens an object. External files of a dataset must be in the directory of its file.
func openHDF5(f *h5.File, name string) (h5.Object, error) {
	if kind, err := f.Root().Kind(name); err == nil && kind == h5.DatasetObject {
		return f.Root().OpenDatasetWith(name, &h5.DatasetAccess{ExternalPrefix: "${ORIGIN}"})
	}
	return f.Root().OpenObject(name)
}

func decodeDataset(f *h5.File, d *h5.Dataset) (*hdf5Object, error) {
	i, err := d.Info()
	if err != nil {
		return nil, err
	}
	x := &hdf5Object{shape: i.Space.Dims, metadata: hdf5Layout(&i)}
	x.dtype, x.item = numpyType(i.Datatype)
	if i.Space.NumElems() == 0 {
		return x, nil
	}
	v, err := d.ReadValues(i.Datatype, h5.All, -1)
	if err != nil {
		return nil, err
	}
	return x, x.appendValues(f, &v)
}

func decodeAttribute(f *h5.File, o h5.Object, name string) (*hdf5Object, error) {
	a, err := o.ReadAttribute(name)
	if err != nil {
		return nil, err
	}
	x := &hdf5Object{shape: a.Space.Dims, metadata: map[string]any{"datatype": a.Datatype.String(), "dataspace": a.Space.String()}}
	x.dtype, x.item = numpyType(a.Datatype)
	if a.Data != nil {
		x.data = a.Data
		return x, nil
	}
	if a.Strings != nil {
		if a.Values, err = h5value.AttributeValues(&a); err != nil {
			return nil, err
		}
	}
	return x, x.appendValues(f, &a.Values)
}

// decodeGroup lists the links, one per line in the order of names: the kind, the name and the
// target, separated by tabs.
func decodeGroup(g *h5.Group) (*hdf5Object, error) {
	var b []byte
	for l, err := range g.Links() {
		if err != nil {
			return nil, err
		}
		switch l.Kind {
		case h5.HardLink:
			kind, err := g.Kind(l.Name)
			if err != nil {
				return nil, err
			}
			b = fmt.Appendf(b, "hard\t%s\t%s\n", l.Name, kind)
		case h5.SoftLink:
			b = fmt.Appendf(b, "soft\t%s\t%s\n", l.Name, l.Target)
		case h5.ExternalLink:
			b = fmt.Appendf(b, "external\t%s\t%s\t%s\n", l.Name, l.File, l.Target)
		default:
			b = fmt.Appendf(b, "user\t%s\t%d\t%x\n", l.Name, l.Class, l.Value)
		}
	}
	i, err := g.Info()
	if err != nil {
		return nil, err
	}
	return &hdf5Object{data: b, shape: []int64{int64(len(b))}, item: 1, metadata: map[string]any{"kind": "group", "links": i.Links, "storage": i.Storage.String()}}, nil
}

// withDataset calls do with a dataset, and not at all for other objects.
func withDataset(path, object string, do func(d *h5.Dataset, i h5.DatasetInfo) error) (err error) {
	f, err := openHDF5File(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if kind, err := f.Root().Kind(object); strings.Contains(object, "@") || err != nil || kind != h5.DatasetObject {
		return nil // an attribute, or a group
	}
	o, err := openHDF5(f, object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	d := o.(*h5.Dataset)
	i, err := d.Info()
	if err != nil {
		return err
	}
	return do(d, i)
}

// hdf5Numbers returns the elements of a dataset of numbers as the library converts them: in 8
// bytes, little-endian, as signed or unsigned integers or as floating-point numbers. The dtype is
// <i8, <u8 or <f8. It is "" for other objects, and for types that the library does not convert.
func hdf5Numbers(path, object string) (b []byte, dtype string, err error) {
	err = withDataset(path, object, func(d *h5.Dataset, i h5.DatasetInfo) error {
		to, name := h5.IEEEFloat(8, h5.LittleEndian), "<f8"
		switch t := i.Datatype; {
		case t.Class == h5.Float && t.Size <= 8:
		case t.Class == h5.Integer && t.Size <= 8 && t.Signed:
			to, name = h5.Int(8, h5.LittleEndian), "<i8"
		case t.Class == h5.Integer && t.Size <= 8:
			to, name = h5.Uint(8, h5.LittleEndian), "<u8"
		default:
			return nil
		}
		to8 := make([]byte, 8*i.Space.NumElems())
		if len(to8) == 0 || i.Space.Kind == h5.Null || d.ReadSelection(to8, to, h5.All) != nil {
			return nil // no elements, or for example a mantissa whose leading bit is always set
		}
		b, dtype = to8, name
		return nil
	})
	return b, dtype, err
}

// hdf5Little returns the stored elements of a dataset with all numbers in little-endian order. It
// returns nil for other objects, and if a part is no number that NumPy has.
func hdf5Little(path, object string, stored []byte) (b []byte, err error) {
	err = withDataset(path, object, func(_ *h5.Dataset, i h5.DatasetInfo) error {
		size := i.Datatype.Size
		if size == 0 || len(stored)%size != 0 {
			return nil
		}
		all := slices.Clone(stored)
		for at := 0; at < len(all); at += size {
			if !toLittle(all[at:at+size], i.Datatype) {
				return nil
			}
		}
		b = all
		return nil
	})
	return b, err
}

// toLittle reverses the big-endian numbers of an element, and reports false if NumPy has no such
// type.
func toLittle(e []byte, t h5.Datatype) bool {
	switch t.Class {
	case h5.String: // NumPy has no other padding
		return t.Plain() && t.Pad == h5.NullPad
	case h5.Opaque:
		return true
	case h5.Compound:
		for _, m := range t.Members {
			if !toLittle(e[m.Offset:m.Offset+m.Type.Size], *m.Type) {
				return false
			}
		}
		return true
	case h5.Array, h5.Enum, h5.Complex:
		for at := 0; at < t.Size; at += t.Base.Size {
			if t.Base.Size == 0 || !toLittle(e[at:at+t.Base.Size], *t.Base) {
				return false
			}
		}
		return true
	case h5.Integer, h5.Bitfield:
		if t.Offset != 0 || t.Precision != 8*t.Size || t.Size > 8 {
			return false
		}
	case h5.Float: // two bytes of another layout are bytes in NumPy
		if t.Size != 2 && (t.Order == h5.VAX || !t.Equal(h5.IEEEFloat(t.Size, t.Order))) {
			return false
		}
	default:
		return false
	}
	if t.Order == h5.BigEndian {
		slices.Reverse(e)
	}
	return true
}

// numpyType returns the NumPy name of a type, or "" if NumPy has no such type, and the bytes of an
// element, or 0 if elements differ in length.
func numpyType(t h5.Datatype) (name string, item int) {
	if !t.Plain() {
		return "", 0
	}
	order := "<"
	if t.Order == h5.BigEndian {
		order = ">"
	}
	if t.Size == 1 {
		order = "|"
	}
	whole := t.Offset == 0 && t.Precision == 8*t.Size && t.Size&(t.Size-1) == 0
	switch {
	case h5value.IsBool(t):
		name = "|b1"
	case t.Class == h5.Integer && whole && t.Size <= 8 && t.Signed:
		name = fmt.Sprintf("%si%d", order, t.Size)
	case t.Class == h5.Integer && whole && t.Size <= 8:
		name = fmt.Sprintf("%su%d", order, t.Size)
	case t.Class == h5.Float && t.Order != h5.VAX && t.Size <= 8 && t.Equal(h5.IEEEFloat(max(t.Size, 2), t.Order)):
		name = fmt.Sprintf("%sf%d", order, t.Size)
	case t.Class == h5.Complex && t.Base.Equal(h5.IEEEFloat(t.Base.Size, t.Base.Order)):
		name = fmt.Sprintf("%sc%d", map[h5.Order]string{h5.LittleEndian: "<", h5.BigEndian: ">"}[t.Base.Order], t.Size)
	case t.Class == h5.String && t.CharSet == h5.ASCII && t.Pad == h5.NullPad: // NumPy has no other padding
		name = fmt.Sprintf("|S%d", t.Size)
	}
	return name, t.Size
}

func (x *hdf5Object) appendValues(f *h5.File, v *h5.Values) (err error) {
	for i := range v.N {
		if x.item == 0 {
			x.starts = append(x.starts, len(x.data))
		}
		if x.data, err = appendView(x.data, f, h5elem.ViewOf(v, i)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// appendView appends an element. Plain elements are appended as they are stored; elements of
// variable length are preceded by their length.
func appendView(b []byte, f *h5.File, v h5elem.View) (_ []byte, err error) {
	t := v.Datatype()
	if t.Plain() {
		return append(b, v.Bytes()...), nil
	}
	switch t.Class {
	case h5.String:
		text, _ := v.Text()
		return appendSized(b, []byte(text)), nil
	case h5.Reference:
		text, err := referenceText(f, v.Ref())
		if err != nil {
			return nil, err
		}
		return appendSized(b, []byte(text)), nil
	}
	var inner []byte
	for i := range v.Len() {
		if inner, err = appendView(inner, f, v.At(i)); err != nil {
			return nil, err
		}
	}
	if t.Class == h5.Sequence {
		return appendSized(b, inner), nil
	}
	return append(b, inner...), nil // a compound or an array
}

func appendSized(b, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(content))), content...)
}

// referenceText returns the path of the object that a reference refers to. For an attribute "@" and
// its name follow, for a region the corners of each block. A null reference is "".
func referenceText(f *h5.File, r h5.Ref) (string, error) {
	if r.IsNull() {
		return "", nil
	}
	to, err := f.Resolve(r)
	if err != nil {
		return "", err
	}
	text := to.Path
	if to.Attribute != "" {
		text += "@" + to.Attribute
	}
	if to.Region {
		for box, err := range to.Space.Boxes(to.Selection.Selection) {
			if err != nil {
				return "", err
			}
			text += fmt.Sprintf("%v-%v", box.First, box.Last)
		}
	}
	return text, nil
}
