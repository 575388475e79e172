// The record: an additional file for properties that bcolz's files cannot represent. bcolz ignores
// it. If another program has changed the array since, bcolz's files take precedence.

package bcolz

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

const (
	recordVersion = 2
	maxRecord     = 16 << 20 // bytes
)

// record is the content of bcolztree.RecordFile. The zero record adds no information and is not
// written.
type record struct {
	Version int          `json:"version"`
	DType   *recordType  `json:"dtype,omitempty"` // if the type differs from the one in bcolz's metadata
	Fill    []byte       `json:"fill,omitempty"`  // if dflt cannot represent it; native order
	Attrs   []recordAttr `json:"attrs,omitempty"`

	MaxShape  []int64  `json:"max_shape,omitempty"`
	AxisNames []string `json:"axis_names,omitempty"`
}

// recordAttr is an attribute that JSON cannot represent, or whose type JSON does not preserve.
type recordAttr struct {
	Name    string     `json:"name"`
	DType   recordType `json:"dtype"`
	Shape   []int64    `json:"shape,omitempty"`
	Null    bool       `json:"null,omitempty"`
	Plain   bool       `json:"plain,omitempty"` // the value is in __attrs__
	Data    []byte     `json:"data,omitempty"`  // little-endian
	Strings []string   `json:"strings,omitempty"`
}

func readRecord(fsys fs.FS, file string) (*record, error) {
	r := &record{}
	// The mode is checked before the file is opened, because opening a pipe would block.
	info, err := fs.Stat(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, fmt.Errorf("%w: %s of %d bytes, at most %d", ndarray.ErrCorrupt, file, info.Size(), maxRecord)
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ndarray.ErrCorrupt, file, err)
	}
	if r.Version < 1 || r.Version > recordVersion {
		return nil, fmt.Errorf("%w: %s of version %d, this release reads 1 to %d", errors.ErrUnsupported, file, r.Version, recordVersion)
	}
	return r, nil
}

// apply sets the type and the fill value of the array from the record, if they still fit.
func (r *record) apply(m *ndarray.Meta) {
	if r.DType != nil && r.DType.Size == m.DType.Size {
		m.DType = r.DType.DType
	}
	if len(r.Fill) == m.DType.Size && m.Fill == nil {
		m.Fill = r.Fill
	}
	r.applyAxes(m)
}

// applyAxes is the part of apply for maximum shape and dimension names.
func (r *record) applyAxes(m *ndarray.Meta) {
	if len(r.AxisNames) == len(m.Shape) && r.AxisNames != nil {
		m.AxisNames = r.AxisNames
	}
	fits := len(r.MaxShape) == len(m.Shape)
	for i := range r.MaxShape {
		fits = fits && (r.MaxShape[i] == ndarray.Unlimited || r.MaxShape[i] >= m.Shape[i])
	}
	if fits && r.MaxShape != nil {
		m.MaxShape = r.MaxShape
	}
}

func (r *record) empty() bool {
	return r.DType == nil && r.Fill == nil && r.MaxShape == nil && r.AxisNames == nil && len(r.Attrs) == 0
}

// attrsWith returns the attributes of __attrs__ with the types of the record, and the attributes
// that are only in the record.
func attrsWith(members bcolztree.Attrs, r *record) ndarray.Attrs {
	var out ndarray.Attrs
	plainly := attrsOf(members)
	values := make(map[string]ndarray.Value, len(members))
	for _, a := range slices.Backward(plainly.List) {
		values[a.Name] = a.Value
	}
	recorded := make(map[string]*recordAttr, len(r.Attrs))
	for i := range slices.Backward(r.Attrs) {
		if a := &r.Attrs[i]; a.Plain {
			recorded[a.Name] = a
		}
	}
	member, known := make(map[string]bool, len(members)), make(map[string]bool, len(members))
	for _, m := range members {
		member[m.Name] = true
		v, ok := ndarray.Value{}, false
		if a := recorded[m.Name]; a != nil {
			v, ok = a.value(m.Value)
		}
		if !ok {
			v, ok = values[m.Name]
		}
		if ok {
			known[m.Name] = true
			out.List = append(out.List, ndarray.Attr{Name: m.Name, Value: v})
		}
	}
	out.Unsupported = slices.DeleteFunc(plainly.Unsupported, func(u ndarray.UnsupportedAttr) bool { return known[u.Name] })
	for _, a := range r.Attrs {
		if a.Plain || member[a.Name] {
			continue
		}
		v := ndarray.Value{DType: a.DType.DType, Shape: a.Shape, Null: a.Null, Strings: a.Strings}
		if a.DType.Size > 0 {
			v.Data = append([]byte{}, a.Data...)
		}
		x := ndarray.Attr{Name: a.Name, Value: v}
		if err := x.Validate(); err != nil {
			out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{Name: a.Name, Type: a.DType.String(), Reason: err.Error()})
			continue
		}
		out.List = append(out.List, x)
	}
	return out
}

// value converts the JSON value to the recorded type and shape. ok is false if the value has
// changed since.
func (a *recordAttr) value(j bcolztree.Value) (ndarray.Value, bool) {
	v := ndarray.Value{DType: a.DType.DType, Shape: a.Shape}
	var all []bcolztree.Value
	if !leaves(j, a.Shape, &all) {
		return v, false
	}
	for _, x := range all {
		if a.DType.Kind == ndarray.String {
			if x.Kind != bcolztree.String {
				return v, false
			}
			v.Strings = append(v.Strings, x.Text)
			continue
		}
		d := a.DType.DType
		if d.Kind == ndarray.Enum {
			d = *d.Base
		}
		e, ok := element(x, d)
		if !ok {
			return v, false
		}
		v.Data = append(v.Data, e...)
	}
	if a.DType.Kind != ndarray.String && v.Data == nil {
		v.Data = []byte{}
	}
	return v, (&ndarray.Attr{Name: a.Name, Value: v}).Validate() == nil
}

// jsonOf converts a value to JSON. ok is false if JSON cannot represent it, or if reading it back
// would return another value.
func jsonOf(v ndarray.Value) (j bcolztree.Value, ok bool) {
	if v.Null || v.DType.Size == 0 && v.DType.Kind != ndarray.String || v.DType.Kind == ndarray.Struct || v.DType.Kind == ndarray.SubArray || v.DType.Kind == ndarray.DateTime || v.DType.Kind == ndarray.TimeDelta {
		return j, false
	}
	n, _ := grid.Product(v.Shape) // 0 if null
	leaf := make([]bcolztree.Value, 0, n)
	for i := range n {
		if v.DType.Kind == ndarray.String {
			leaf = append(leaf, bcolztree.Text(v.Strings[i]))
			continue
		}
		size := int64(v.DType.Size)
		e, ok := plain(v.Data[i*size:(i+1)*size], v.DType)
		if !ok {
			return j, false
		}
		leaf = append(leaf, e)
	}
	j = nest(leaf, v.Shape)
	// Reading it back excludes, for example, NaN with a payload and strings that are not UTF-8.
	rec := recordAttr{Name: "x", DType: recordType{v.DType}, Shape: v.Shape}
	back, same := rec.value(j)
	return j, same && back.Equal(v)
}

func nest(leaf []bcolztree.Value, shape []int64) bcolztree.Value {
	if len(shape) == 0 {
		return leaf[0]
	}
	out := bcolztree.Value{Kind: bcolztree.List, List: []bcolztree.Value{}}
	step := len(leaf) / int(max(shape[0], 1))
	for i := range int(shape[0]) {
		out.List = append(out.List, nest(leaf[i*step:(i+1)*step], shape[1:]))
	}
	return out
}

// native reads an integer of 1 to 8 bytes in native order.
func native(e []byte) uint64 {
	switch len(e) {
	case 1:
		return uint64(e[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(e))
	case 4:
		return uint64(binary.NativeEndian.Uint32(e))
	}
	return binary.NativeEndian.Uint64(e)
}
