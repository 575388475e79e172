// Plans for compounds, arrays, sequences, complex numbers, and the empty interface.

package h5value

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/structconv"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// Record is a compound without a Go struct: its members in the order of the file, each with a value
// of its natural type.
type Record []Field

// Field is a member of a Record.
type Field struct {
	Name  string
	Value any
}

// Get returns the value of the member called name.
func (r Record) Get(name string) (any, bool) {
	for _, f := range r {
		if f.Name == name {
			return f.Value, true
		}
	}
	return nil, false
}

// structField contains the options of a field's tag.
type structField struct {
	name     string
	optional bool             // may be missing in the file; on writing it is left out then
	size     int              // bytes of a fixed string; 0: variable
	ref      h5.ReferenceKind // stored kind of a Ref; 0: object
	field    reflect.StructField
}

// structFields parses the tags `h5:"name,option,…"`. The name of a field without a name in its tag
// is the Go name. The name "-" excludes a field, and unexported fields are excluded. Options are
// "optional", "size=N" and "ref=object", "ref=region" or "ref=standard".
func structFields(goType reflect.Type) ([]structField, error) {
	var out []structField
	seen := make(map[string]bool)
	for _, f := range structconv.Fields(goType, "h5") {
		if !f.IsExported() {
			return nil, fmt.Errorf("%w: field %s of %v has a tag and is not exported", h5.ErrType, f.StructField.Name, goType)
		}
		s := structField{name: f.Name, field: f.StructField}
		for option := range strings.SplitSeq(f.Options, ",") {
			if err := s.option(option); err != nil {
				return nil, fmt.Errorf("%w: field %s of %v: option %q", h5.ErrType, f.StructField.Name, goType, option)
			}
		}
		if seen[s.name] {
			return nil, fmt.Errorf("%w: two fields of %v are called %q", h5.ErrType, goType, s.name)
		}
		seen[s.name] = true
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %v has no exported field", h5.ErrType, goType)
	}
	return out, nil
}

func (s *structField) option(option string) error {
	key, value, _ := strings.Cut(option, "=")
	switch key {
	case "":
		return nil
	case "optional":
		s.optional = true
		return nil
	case "size":
		n, err := strconv.Atoi(value)
		if err == nil && n < 1 {
			err = h5.ErrParam
		}
		s.size = n
		return err
	case "ref":
		s.ref = h5.ReferenceKind(slices.Index([]string{"", "object", "region", "standard"}, value))
		if s.ref < h5.ObjectReference {
			return h5.ErrParam
		}
		return nil
	}
	return h5.ErrParam
}

func compoundPlan(goType reflect.Type, t *h5.Datatype, depth int) (*plan, error) {
	switch k := goType.Kind(); {
	case goType == recordType:
		return recordPlan(t, depth)
	case k == reflect.Struct:
		return structPlan(goType, t, depth)
	case k == reflect.Complex64 || k == reflect.Complex128:
		if len(t.Members) == 2 && t.Members[0].Name == "r" && t.Members[1].Name == "i" &&
			t.Members[0].Type.Class == h5.Float && t.Members[0].Type.Equal(*t.Members[1].Type) {
			return complexPlan(goType, t, t.Members[0].Type, t.Members[0].Offset, t.Members[1].Offset)
		}
	}
	return nil, mismatch(goType, t)
}

// inMember is the format of an error of a member.
const inMember = "member %q: %w"

func structPlan(goType reflect.Type, t *h5.Datatype, depth int) (*plan, error) {
	fields, err := structFields(goType)
	if err != nil {
		return nil, err
	}
	mem := h5.Datatype{Class: h5.Compound}
	var parts []structconv.Part
	for _, f := range fields {
		m := memberCalled(t, f.name)
		if m == nil {
			if f.optional {
				continue
			}
			return nil, fmt.Errorf("%w: %v has no member %q for Go's %v", h5.ErrType, t, f.name, goType)
		}
		p, err := makePlan(f.field.Type, m.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf(inMember, f.name, err)
		}
		size := p.mem.InMemory()
		parts = append(parts, structconv.Part{Converter: p.Converter, Name: f.name, Field: f.field.Offset, At: mem.Size, Size: size})
		mem.Members = append(mem.Members, h5.Member{Name: f.name, Offset: mem.Size, Type: &p.mem})
		mem.Size += size
	}
	if len(parts) == 0 {
		return nil, mismatch(goType, t)
	}
	return &plan{structconv.Struct(parts, nil, inMember), mem}, nil
}

func recordPlan(t *h5.Datatype, depth int) (*plan, error) {
	parts := make([]structconv.Part, len(t.Members))
	for i := range t.Members {
		m := &t.Members[i]
		p, err := anyPlan(m.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf(inMember, m.Name, err)
		}
		value := uintptr(i)*unsafe.Sizeof(Field{}) + unsafe.Offsetof(Field{}.Value)
		parts[i] = structconv.Part{Converter: p.Converter, Name: m.Name, Field: value, At: m.Offset, Size: p.mem.InMemory()}
	}
	members := structconv.Struct(parts, nil, inMember)
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		r := make(Record, len(parts))
		for i := range parts {
			r[i].Name = parts[i].Name
		}
		if err := members.Decode(x, src, unsafe.Pointer(unsafe.SliceData(r))); err != nil {
			return err
		}
		*(*Record)(p) = r
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		r := *(*Record)(p)
		if len(r) != len(parts) {
			return fmt.Errorf("%w: record of %d members, %v has %d", h5.ErrSize, len(r), t, len(parts))
		}
		ordered := make(Record, len(parts))
		for i := range parts {
			v, ok := r.Get(parts[i].Name)
			if !ok {
				return fmt.Errorf("%w: the record has no member %q", h5.ErrType, parts[i].Name)
			}
			ordered[i].Value = v
		}
		return members.Encode(x, at, unsafe.Pointer(unsafe.SliceData(ordered)))
	}), nil
}

// complexPlan converts two floats of type base at two offsets of an element of t.
func complexPlan(goType reflect.Type, t, base *h5.Datatype, re, im int) (*plan, error) {
	float := reflect.TypeFor[float64]()
	step := uintptr(8)
	if goType.Kind() == reflect.Complex64 {
		float, step = reflect.TypeFor[float32](), 4
	}
	p, err := numberPlan(float, base)
	if err != nil {
		return nil, mismatch(goType, t)
	}
	parts := []structconv.Part{
		{Converter: p.Converter, At: re, Size: base.Size},
		{Converter: p.Converter, At: im, Size: base.Size, Field: step},
	}
	return &plan{structconv.Struct(parts, nil, ""), *t}, nil
}

// arrayPlan makes a plan for an array, recursively for each dimension.
func arrayPlan(goType reflect.Type, t *h5.Datatype, dims []int64, depth int) (*plan, error) {
	var inner *plan
	var err error
	k := goType.Kind()
	if k != reflect.Slice && (k != reflect.Array || int64(goType.Len()) != dims[0]) {
		return nil, mismatch(goType, t)
	}
	if len(dims) > 1 {
		inner, err = arrayPlan(goType.Elem(), t, dims[1:], depth)
	} else {
		inner, err = makePlan(goType.Elem(), t.Base, depth+1)
	}
	if err != nil {
		return nil, err
	}
	n, size := int(dims[0]), inner.mem.InMemory()
	mem := h5.Datatype{Class: h5.Array, Size: n * size, Dims: dims, Base: &inner.mem}
	if len(dims) > 1 { // as one array of all dimensions
		mem.Base = inner.mem.Base
	}
	items := inner.items(goType.Elem(), "")
	if k == reflect.Array {
		return &plan{items.Array(n, nil), mem}, nil
	}
	return newPlan(&mem, func(x *state, src []byte, p unsafe.Pointer) error {
		return items.Decode(x, n, src, structconv.MakeSlice(goType, p, n))
	}, func(x *state, at int, p unsafe.Pointer) error {
		length, first := structconv.SliceAt(p)
		if length != n {
			return fmt.Errorf("%w: slice of %d elements, %v has %d", h5.ErrSize, length, t, n)
		}
		return items.Encode(x, n, at, first)
	}), nil
}

func sequencePlan(goType reflect.Type, t *h5.Datatype, depth int) (*plan, error) {
	if goType.Kind() == reflect.String {
		return charactersPlan(goType, t)
	}
	if goType.Kind() != reflect.Slice {
		return nil, mismatch(goType, t)
	}
	inner, err := makePlan(goType.Elem(), t.Base, depth+1)
	if err != nil {
		return nil, err
	}
	items := inner.items(goType.Elem(), "")
	mem := h5.Datatype{Class: h5.Sequence, Size: t.Size, Base: &inner.mem}
	return newPlan(&mem, func(x *state, src []byte, p unsafe.Pointer) error {
		n, place := int(h5elem.Word(src)), int(h5elem.Word(src[h5elem.WordSize:]))
		return items.Decode(x, n, x.Block[place:], structconv.MakeSlice(goType, p, n))
	}, func(x *state, at int, p unsafe.Pointer) error {
		n, first := structconv.SliceAt(p)
		place := h5elem.Grow(&x.Block, n, items.Size)
		h5elem.PutWord(x.Block[at:], uint64(n))
		h5elem.PutWord(x.Block[at+h5elem.WordSize:], uint64(place))
		return items.Encode(x, n, place, first)
	}), nil
}

// charactersPlan is for sequences of bytes or characters, which some programs use for strings.
func charactersPlan(goType reflect.Type, t *h5.Datatype) (*plan, error) {
	if b := t.Base; b.Size != 1 || b.Class != h5.Integer && b.Class != h5.String {
		return nil, mismatch(goType, t)
	}
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		n, place := h5elem.Word(src), h5elem.Word(src[h5elem.WordSize:])
		*(*string)(p) = h5elem.TrimPadding(x.Block[place:place+n], h5.NullPad)
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		s := *(*string)(p)
		if i := strings.IndexByte(s, 0); i >= 0 {
			return fmt.Errorf("%w: zero byte at %d of a string", h5.ErrParam, i)
		}
		place := h5elem.Grow(&x.Block, len(s), 1)
		copy(x.Block[place:], s)
		h5elem.PutWord(x.Block[at:], uint64(len(s)))
		h5elem.PutWord(x.Block[at+h5elem.WordSize:], uint64(place))
		return nil
	}), nil
}

// anyPlan makes a plan that reads the natural type and writes any Go type that matches t.
func anyPlan(t *h5.Datatype, depth int) (*plan, error) {
	natural, err := natural(t, depth)
	if err != nil {
		return nil, err
	}
	inner, err := makePlan(natural, t, depth)
	if err != nil {
		return nil, err
	}
	return newPlan(&inner.mem, func(x *state, src []byte, p unsafe.Pointer) error {
		v := reflect.New(natural)
		if err := inner.Decode(x, src, v.UnsafePointer()); err != nil {
			return err
		}
		*(*any)(p) = v.Elem().Interface()
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		v := reflect.ValueOf(*(*any)(p))
		if !v.IsValid() {
			return fmt.Errorf("%w: nil for %v", h5.ErrType, t)
		}
		given := inner
		if v.Type() != natural {
			var err error
			if given, err = planFor(v.Type(), t); err != nil {
				return err
			}
			if !given.mem.Equal(inner.mem) {
				return fmt.Errorf("%w: Go's %v has not all members of %v in their order", h5.ErrType, v.Type(), t)
			}
		}
		held := reflect.New(v.Type()) // a value in an interface has no address
		held.Elem().Set(v)
		return given.Encode(x, at, held.UnsafePointer())
	}), nil
}

// memberCalled returns the member of a compound, or nil.
func memberCalled(t *h5.Datatype, name string) *h5.Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}
