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
	"github.com/hyperslab/hyperslab/internal/h5elem"
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
	for i := range goType.NumField() {
		f := goType.Field(i)
		tag, tagged := f.Tag.Lookup("h5")
		if tag == "-" || !f.IsExported() {
			if tagged && tag != "-" {
				return nil, fmt.Errorf("%w: field %s of %v has a tag and is not exported", h5.ErrType, f.Name, goType)
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		s := structField{name: name, field: f}
		if name == "" {
			s.name = f.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			if err := s.option(option); err != nil {
				return nil, fmt.Errorf("%w: field %s of %v: option %q", h5.ErrType, f.Name, goType, option)
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

// A part is the plan of one member.
type part struct {
	name   string
	plan   *plan
	offset int     // in the element
	field  uintptr // in the Go struct
}

func inMember(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("member %q: %w", name, err)
}

func structPlan(goType reflect.Type, t *h5.Datatype, depth int) (*plan, error) {
	fields, err := structFields(goType)
	if err != nil {
		return nil, err
	}
	mem := h5.Datatype{Class: h5.Compound}
	var parts []part
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
			return nil, inMember(f.name, err)
		}
		parts = append(parts, part{f.name, p, mem.Size, f.field.Offset})
		mem.Members = append(mem.Members, h5.Member{Name: f.name, Offset: mem.Size, Type: &p.mem})
		mem.Size += p.mem.InMemory()
	}
	if len(parts) == 0 {
		return nil, mismatch(goType, t)
	}
	return &plan{
		mem: mem,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			for i := range parts {
				f := &parts[i]
				if err := f.plan.decode(x, src[f.offset:f.offset+f.plan.mem.InMemory()], unsafe.Add(p, f.field)); err != nil {
					return inMember(f.name, err)
				}
			}
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			for i := range parts {
				f := &parts[i]
				if err := f.plan.encode(x, at+f.offset, unsafe.Add(p, f.field)); err != nil {
					return inMember(f.name, err)
				}
			}
			return nil
		},
	}, nil
}

func recordPlan(t *h5.Datatype, depth int) (*plan, error) {
	parts := make([]part, 0, len(t.Members))
	for i := range t.Members {
		m := &t.Members[i]
		p, err := anyPlan(m.Type, depth+1)
		if err != nil {
			return nil, inMember(m.Name, err)
		}
		parts = append(parts, part{name: m.Name, plan: p, offset: m.Offset})
	}
	return &plan{
		mem: *t,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			r := make(Record, len(parts))
			for i := range parts {
				f := &parts[i]
				r[i].Name = f.name
				if err := f.plan.decode(x, src[f.offset:f.offset+f.plan.mem.InMemory()], unsafe.Pointer(&r[i].Value)); err != nil {
					return inMember(f.name, err)
				}
			}
			*(*Record)(p) = r
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			r := *(*Record)(p)
			if len(r) != len(parts) {
				return fmt.Errorf("%w: record of %d members, %v has %d", h5.ErrSize, len(r), t, len(parts))
			}
			for i := range parts {
				f := &parts[i]
				v, ok := r.Get(f.name)
				if !ok {
					return fmt.Errorf("%w: the record has no member %q", h5.ErrType, f.name)
				}
				if err := f.plan.encode(x, at+f.offset, unsafe.Pointer(&v)); err != nil {
					return inMember(f.name, err)
				}
			}
			return nil
		},
	}, nil
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
	size := base.Size
	return &plan{
		mem: *t,
		decode: func(x *transfer, src []byte, z unsafe.Pointer) error {
			if err := p.decode(x, src[re:re+size], z); err != nil {
				return err
			}
			return p.decode(x, src[im:im+size], unsafe.Add(z, step))
		},
		encode: func(x *transfer, at int, z unsafe.Pointer) error {
			if err := p.encode(x, at+re, z); err != nil {
				return err
			}
			return p.encode(x, at+im, unsafe.Add(z, step))
		},
	}, nil
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
	step := goType.Elem().Size()
	decode := func(x *transfer, src []byte, p unsafe.Pointer) error {
		for i := range n {
			if err := inner.decode(x, src[i*size:(i+1)*size], unsafe.Add(p, uintptr(i)*step)); err != nil {
				return err
			}
		}
		return nil
	}
	encode := func(x *transfer, at int, p unsafe.Pointer) error {
		for i := range n {
			if err := inner.encode(x, at+i*size, unsafe.Add(p, uintptr(i)*step)); err != nil {
				return err
			}
		}
		return nil
	}
	if k == reflect.Array {
		return &plan{mem: mem, decode: decode, encode: encode}, nil
	}
	return &plan{
		mem: mem,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			s := reflect.MakeSlice(goType, n, n)
			reflect.NewAt(goType, p).Elem().Set(s)
			return decode(x, src, s.UnsafePointer())
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			s := reflect.NewAt(goType, p).Elem()
			if s.Len() != n {
				return fmt.Errorf("%w: slice of %d elements, %v has %d", h5.ErrSize, s.Len(), t, n)
			}
			return encode(x, at, s.UnsafePointer())
		},
	}, nil
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
	size, step := inner.mem.InMemory(), goType.Elem().Size()
	mem := h5.Datatype{Class: h5.Sequence, Size: t.Size, Base: &inner.mem}
	return &plan{
		mem: mem,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			n, place := int(h5elem.Word(src)), int(h5elem.Word(src[h5elem.WordSize:]))
			s := reflect.MakeSlice(goType, n, n)
			reflect.NewAt(goType, p).Elem().Set(s)
			base := s.UnsafePointer()
			for i := range n {
				at := place + i*size
				if err := inner.decode(x, x.v.Block[at:at+size], unsafe.Add(base, uintptr(i)*step)); err != nil {
					return err
				}
			}
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			s := reflect.NewAt(goType, p).Elem()
			n := s.Len()
			place := h5elem.Grow(&x.v, n, size)
			h5elem.PutWord(x.v.Block[at:], uint64(n))
			h5elem.PutWord(x.v.Block[at+h5elem.WordSize:], uint64(place))
			base := s.UnsafePointer()
			for i := range n {
				if err := inner.encode(x, place+i*size, unsafe.Add(base, uintptr(i)*step)); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// charactersPlan is for sequences of bytes or characters, which some programs use for strings.
func charactersPlan(goType reflect.Type, t *h5.Datatype) (*plan, error) {
	if b := t.Base; b.Size != 1 || b.Class != h5.Integer && b.Class != h5.String {
		return nil, mismatch(goType, t)
	}
	return &plan{
		mem: *t,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			n, place := h5elem.Word(src), h5elem.Word(src[h5elem.WordSize:])
			*(*string)(p) = h5elem.TrimPadding(x.v.Block[place:place+n], h5.NullPad)
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			s := *(*string)(p)
			if i := strings.IndexByte(s, 0); i >= 0 {
				return fmt.Errorf("%w: zero byte at %d of a string", h5.ErrParam, i)
			}
			place := h5elem.Grow(&x.v, len(s), 1)
			copy(x.v.Block[place:], s)
			h5elem.PutWord(x.v.Block[at:], uint64(len(s)))
			h5elem.PutWord(x.v.Block[at+h5elem.WordSize:], uint64(place))
			return nil
		},
	}, nil
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
	return &plan{
		mem: inner.mem,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			v := reflect.New(natural)
			if err := inner.decode(x, src, v.UnsafePointer()); err != nil {
				return err
			}
			*(*any)(p) = v.Elem().Interface()
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
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
			return given.encode(x, at, held.UnsafePointer())
		},
	}, nil
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
