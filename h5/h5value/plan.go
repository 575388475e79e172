// Plans convert between a Go type and a stored datatype. A plan contains a function for each field,
// element and number. Plans are made once for a pair of types and cached. The package
// comment lists the possible pairs.

package h5value

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/elements/structconv"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// state is the state of one call: the block that is read, or that grows.
type state = structconv.State

// A plan converts elements of one datatype to one Go type and back.
type plan struct {
	structconv.Converter
	mem h5.Datatype // datatype to read; for a compound, the members that the struct has
}

// newPlan returns a plan for elements of type t.
func newPlan(t *h5.Datatype, decode structconv.Decoder, encode structconv.Encoder) *plan {
	return &plan{structconv.New(decode, encode), *t}
}

// items returns the converter of consecutive values of the plan's Go type.
func (p *plan) items(goType reflect.Type, inItem string) structconv.Items {
	return structconv.Items{Item: p.Converter, Size: p.mem.InMemory(), Step: goType.Size(), InItem: inItem}
}

type planKey struct {
	goType reflect.Type
	stored string
}

// maxPlans limits the memory used for files with many types.
const maxPlans = 1024

var plans struct {
	sync.Mutex
	made map[planKey]*plan
}

// planFor returns a cached plan or makes one. It returns ErrType with the part of the types that
// does not match.
func planFor(goType reflect.Type, stored *h5.Datatype) (*plan, error) {
	id, err := stored.Key()
	if err != nil {
		return nil, err
	}
	key := planKey{goType, id}
	plans.Lock()
	p := plans.made[key]
	plans.Unlock()
	if p != nil {
		return p, nil
	}
	p, err = makePlan(goType, stored, 0)
	if err != nil {
		return nil, err
	}
	plans.Lock()
	defer plans.Unlock()
	if len(plans.made) >= maxPlans || plans.made == nil {
		plans.made = make(map[planKey]*plan)
	}
	plans.made[key] = p
	return p, nil
}

var (
	recordType    = reflect.TypeFor[Record]()
	referenceType = reflect.TypeFor[h5.Ref]()
	enumType      = reflect.TypeFor[EnumValue]()
	bigFloatType  = reflect.TypeFor[*big.Float]()
	anyType       = reflect.TypeFor[any]()
)

// maxTypeDepth is the maximum nesting depth of types, as in the shim.
const maxTypeDepth = 64

func mismatch(goType reflect.Type, stored *h5.Datatype) error {
	return fmt.Errorf("%w: %v and Go's %v", h5.ErrType, stored, goType)
}

func makePlan(goType reflect.Type, t *h5.Datatype, depth int) (*plan, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", h5.ErrType, maxTypeDepth)
	}
	switch {
	case goType == anyType:
		return anyPlan(t, depth)
	case IsBool(*t) && goType.Kind() == reflect.Bool:
		return boolPlan(t), nil
	}
	switch t.Class {
	case h5.Integer, h5.Float, h5.Bitfield, h5.Time:
		return numberPlan(goType, t)
	case h5.Enum:
		return enumPlan(goType, t)
	case h5.String:
		if goType.Kind() == reflect.String {
			return stringPlan(t), nil
		}
	case h5.Opaque:
		return bytesPlan(goType, t)
	case h5.Compound:
		return compoundPlan(goType, t, depth)
	case h5.Complex:
		if k := goType.Kind(); k == reflect.Complex64 || k == reflect.Complex128 {
			return complexPlan(goType, t, t.Base, 0, t.Base.Size)
		}
	case h5.Array:
		return arrayPlan(goType, t, t.Dims, depth)
	case h5.Sequence:
		return sequencePlan(goType, t, depth)
	case h5.Reference:
		if goType == referenceType {
			return referencePlan(t), nil
		}
	}
	return nil, mismatch(goType, t)
}

// natural returns the Go type that Read uses for the empty interface. It can hold every element of
// t. The package comment has the list.
func natural(t *h5.Datatype, depth int) (reflect.Type, error) {
	switch {
	case depth > maxTypeDepth:
		return nil, fmt.Errorf("%w: nested deeper than %d", h5.ErrType, maxTypeDepth)
	case IsBool(*t):
		return reflect.TypeFor[bool](), nil
	}
	switch t.Class {
	case h5.Integer, h5.Bitfield, h5.Time:
		return naturalInt(t), nil
	case h5.Float:
		switch {
		case fits(&t.Layout, &numbers.IEEE32):
			return reflect.TypeFor[float32](), nil
		case fits(&t.Layout, &numbers.IEEE64):
			return reflect.TypeFor[float64](), nil
		}
		return bigFloatType, nil
	case h5.Enum:
		return enumType, nil
	case h5.String:
		return reflect.TypeFor[string](), nil
	case h5.Opaque:
		return reflect.TypeFor[[]byte](), nil
	case h5.Compound:
		if part := complexPart(t); part != nil {
			return complexOf(part), nil
		}
		return recordType, nil
	case h5.Complex:
		return complexOf(t.Base), nil
	case h5.Reference:
		return referenceType, nil
	case h5.Sequence:
		base, err := natural(t.Base, depth+1)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(base), nil
	case h5.Array:
		base, err := natural(t.Base, depth+1)
		if err != nil {
			return nil, err
		}
		for range t.Dims {
			base = reflect.SliceOf(base)
		}
		return base, nil
	}
	return nil, fmt.Errorf("%w: %v has no natural Go type", h5.ErrType, t)
}

// fits reports whether layout big can represent every float of layout l.
func fits(l *h5.FloatLayout, big *numbers.Layout) bool {
	own := h5elem.LayoutOf(l)
	return own.Fits(big)
}

func naturalInt(t *h5.Datatype) reflect.Type {
	size := (t.Precision + 7) / 8
	if t.Precision > 64 {
		return reflect.TypeFor[[]byte]()
	}
	kinds := []reflect.Type{reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64]()}
	if t.Signed {
		kinds = []reflect.Type{reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64]()}
	}
	if t.Size <= 8 {
		size = t.Size // as wide as it is stored
	}
	switch {
	case size <= 1:
		return kinds[0]
	case size <= 2:
		return kinds[1]
	case size <= 4:
		return kinds[2]
	default:
		return kinds[3]
	}
}

func complexOf(part *h5.Datatype) reflect.Type {
	if fits(&part.Layout, &numbers.IEEE32) {
		return reflect.TypeFor[complex64]()
	}
	return reflect.TypeFor[complex128]()
}

// complexPart returns the type of both parts if t is a complex number as written by h5py: a
// compound of the floats r and i.
func complexPart(t *h5.Datatype) *h5.Datatype {
	if t.Class != h5.Compound || len(t.Members) != 2 {
		return nil
	}
	r, i := &t.Members[0], &t.Members[1]
	if r.Name != "r" || i.Name != "i" || r.Type.Class != h5.Float || !r.Type.Equal(*i.Type) || !fits(&r.Type.Layout, &numbers.IEEE64) {
		return nil
	}
	return r.Type
}

// ---- plans of types without elements ----

func numberPlan(goType reflect.Type, t *h5.Datatype) (*plan, error) {
	if t.Class != h5.Float && t.Precision > 64 {
		return bytesPlan(goType, t)
	}
	if t.Size > numbers.MaxSize {
		return nil, fmt.Errorf("%w: number of %d bytes", h5.ErrType, t.Size)
	}
	if t.Class == h5.Float && t.Layout.ExpSize > 31 {
		return nil, mismatch(goType, t)
	}
	set, get := numberAccess(goType)
	if set == nil {
		return nil, mismatch(goType, t)
	}
	if mem, ok := elementType(goType); ok && mem.Equal(*t) {
		return &plan{structconv.Copy(t.Size), *t}, nil
	}
	format := h5elem.FormatOf(t)
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		return unrepresentable(set(p, format.Load(src), x.Lossy), goType)
	}, func(x *state, at int, p unsafe.Pointer) error {
		n, err := get(p)
		if err != nil {
			return err
		}
		return unrepresentable(format.Store(x.Block[at:at+format.Size], n, x.Lossy), t)
	}), nil
}

// unrepresentable adds a sentinel of package h5 and the type to the error of a number.
func unrepresentable(err error, target fmt.Stringer) error {
	var e *numbers.Error
	if !errors.As(err, &e) {
		return err
	}
	sentinel := h5.ErrPrecision
	if e.Overflow {
		sentinel = h5.ErrOverflow
	}
	if e.Target != "" {
		return fmt.Errorf("%w: %v as %s", sentinel, e.Value, e.Target)
	}
	return fmt.Errorf("%w: %v in %v", sentinel, e.Value, target)
}

type (
	setNumber func(p unsafe.Pointer, n numbers.Number, lossy bool) error
	getNumber func(p unsafe.Pointer) (numbers.Number, error)
)

func setInt[T int8 | int16 | int32 | int64 | int](p unsafe.Pointer, n numbers.Number, lossy bool) error {
	v, err := n.Signed(8*int(unsafe.Sizeof(T(0))), lossy)
	*(*T)(p) = T(v)
	return err
}

func setUint[T uint8 | uint16 | uint32 | uint64 | uint](p unsafe.Pointer, n numbers.Number, lossy bool) error {
	v, err := n.Unsigned(8*int(unsafe.Sizeof(T(0))), lossy)
	*(*T)(p) = T(v)
	return err
}

func getInt[T int8 | int16 | int32 | int64 | int](p unsafe.Pointer) (numbers.Number, error) {
	return numbers.OfInt(int64(*(*T)(p))), nil
}

func getUint[T uint8 | uint16 | uint32 | uint64 | uint](p unsafe.Pointer) (numbers.Number, error) {
	return numbers.OfUint(uint64(*(*T)(p))), nil
}

// numberAccess returns functions that set and get a Go number; nil for other types.
func numberAccess(goType reflect.Type) (setNumber, getNumber) {
	switch goType.Kind() {
	case reflect.Int8:
		return setInt[int8], getInt[int8]
	case reflect.Int16:
		return setInt[int16], getInt[int16]
	case reflect.Int32:
		return setInt[int32], getInt[int32]
	case reflect.Int64:
		return setInt[int64], getInt[int64]
	case reflect.Int:
		return setInt[int], getInt[int]
	case reflect.Uint8:
		return setUint[uint8], getUint[uint8]
	case reflect.Uint16:
		return setUint[uint16], getUint[uint16]
	case reflect.Uint32:
		return setUint[uint32], getUint[uint32]
	case reflect.Uint64:
		return setUint[uint64], getUint[uint64]
	case reflect.Uint:
		return setUint[uint], getUint[uint]
	case reflect.Float32:
		return func(p unsafe.Pointer, n numbers.Number, lossy bool) (err error) {
				*(*float32)(p), err = n.Float32(lossy)
				return err
			}, func(p unsafe.Pointer) (numbers.Number, error) {
				return numbers.OfFloat(float64(*(*float32)(p))), nil
			}
	case reflect.Float64:
		return func(p unsafe.Pointer, n numbers.Number, lossy bool) (err error) {
				*(*float64)(p), err = n.Float64(lossy)
				return err
			}, func(p unsafe.Pointer) (numbers.Number, error) {
				return numbers.OfFloat(*(*float64)(p)), nil
			}
	}
	if goType == bigFloatType {
		return setBig, getBig
	}
	return nil, nil
}

func setBig(p unsafe.Pointer, n numbers.Number, _ bool) error {
	if n.IsNaN() {
		*(**big.Float)(p) = nil // a big.Float cannot be NaN
		return nil
	}
	*(**big.Float)(p) = n.Big()
	return nil
}

func getBig(p unsafe.Pointer) (numbers.Number, error) {
	v := *(**big.Float)(p)
	if v == nil {
		return numbers.Number{}, fmt.Errorf("%w: nil *big.Float", h5.ErrParam)
	}
	return numbers.OfBig(v), nil
}

func boolPlan(t *h5.Datatype) *plan {
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		if src[0] > 1 {
			return fmt.Errorf("%w: %d is neither FALSE nor TRUE", h5.ErrOverflow, src[0])
		}
		*(*bool)(p) = src[0] == 1
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		x.Block[at] = 0
		if *(*bool)(p) {
			x.Block[at] = 1
		}
		return nil
	})
}

// EnumValue is an element of an enumeration. Name is "" for a value that is not a member. On
// writing, Name takes precedence over Value unless it is "".
type EnumValue struct {
	Name  string
	Value int64 // the bits of a uint64 if the base is unsigned
}

func (v EnumValue) String() string {
	if v.Name == "" {
		return fmt.Sprint(v.Value)
	}
	return v.Name
}

// memberNumber returns the value of an enumeration's member.
func memberNumber(m *h5.Member, base *h5.Datatype) numbers.Number {
	if base.Signed {
		return numbers.OfInt(m.Value)
	}
	return numbers.OfUint(uint64(m.Value))
}

func enumPlan(goType reflect.Type, t *h5.Datatype) (*plan, error) {
	base, whole := t.Base, reflect.TypeFor[int64]()
	if !base.Signed {
		whole = reflect.TypeFor[uint64]()
	}
	inner, err := numberPlan(whole, base)
	if err != nil {
		return nil, mismatch(goType, t)
	}
	format := h5elem.FormatOf(base)
	if set, _ := numberAccess(goType); set != nil {
		if inner, err = numberPlan(goType, base); err != nil {
			return nil, err
		}
		return newPlan(t, inner.Decode, func(x *state, at int, p unsafe.Pointer) error {
			if err := inner.Encode(x, at, p); err != nil {
				return err
			}
			if n := format.Load(x.Block[at : at+base.Size]); !slices.ContainsFunc(t.Members, func(m h5.Member) bool { return n == memberNumber(&m, base) }) {
				return fmt.Errorf("%w: %v is not a member of %v", h5.ErrOverflow, n, t)
			}
			return nil
		}), nil
	}
	names, values := make(map[int64]string), make(map[string]int64)
	for _, m := range t.Members {
		if _, ok := names[m.Value]; !ok {
			names[m.Value] = m.Name
		}
		values[m.Name] = m.Value
	}
	encodeName := func(x *state, at int, name string) error {
		v, ok := values[name]
		if !ok {
			return fmt.Errorf("%w: %q is not a member of %v", h5.ErrParam, name, t)
		}
		return inner.Encode(x, at, unsafe.Pointer(&v))
	}
	switch {
	case goType == enumType:
		return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
			e := (*EnumValue)(p)
			if err := inner.Decode(x, src, unsafe.Pointer(&e.Value)); err != nil {
				return err
			}
			e.Name = names[e.Value]
			return nil
		}, func(x *state, at int, p unsafe.Pointer) error {
			e := (*EnumValue)(p)
			if e.Name != "" {
				return encodeName(x, at, e.Name)
			}
			return inner.Encode(x, at, unsafe.Pointer(&e.Value))
		}), nil
	case goType.Kind() == reflect.String:
		return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
			var v int64
			if err := inner.Decode(x, src, unsafe.Pointer(&v)); err != nil {
				return err
			}
			name, ok := names[v]
			if !ok {
				return fmt.Errorf("%w: %d is not a member of %v", h5.ErrOverflow, v, t)
			}
			*(*string)(p) = name
			return nil
		}, func(x *state, at int, p unsafe.Pointer) error {
			return encodeName(x, at, *(*string)(p))
		}), nil
	}
	return nil, mismatch(goType, t)
}

// bytesPlan copies elements as bytes: to a slice, or to an array of the same size.
func bytesPlan(goType reflect.Type, t *h5.Datatype) (*plan, error) {
	size := t.Size
	bytesOf := goType.Kind() == reflect.Slice || goType.Kind() == reflect.Array && goType.Len() == size
	if !bytesOf || goType.Elem().Kind() != reflect.Uint8 {
		if t.Class != h5.Opaque {
			return nil, fmt.Errorf("%w: integers of %d bits come as bytes only: %v and Go's %v", h5.ErrType, t.Precision, t, goType)
		}
		return nil, mismatch(goType, t)
	}
	if goType.Kind() == reflect.Array {
		return &plan{structconv.Copy(size), *t}, nil
	}
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		*(*[]byte)(p) = slices.Clone(src)
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		b := *(*[]byte)(p)
		if len(b) != size {
			return fmt.Errorf("%w: %d bytes, %v has %d", h5.ErrSize, len(b), t, size)
		}
		copy(x.Block[at:at+size], b)
		return nil
	}), nil
}

func stringPlan(t *h5.Datatype) *plan {
	if t.Variable {
		return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
			if place := h5elem.Word(src); place != 0 {
				*(*string)(p) = string(h5elem.BytesAt(x.Block, place))
			} else {
				*(*string)(p) = ""
			}
			return nil
		}, func(x *state, at int, p unsafe.Pointer) error {
			s := *(*string)(p)
			if i := strings.IndexByte(s, 0); i >= 0 {
				return fmt.Errorf("%w: zero byte at %d of a string", h5.ErrParam, i)
			}
			place := len(x.Block)
			x.Block = h5elem.AppendBytes(x.Block, s, true)
			h5elem.PutWord(x.Block[at:], uint64(place))
			return nil
		})
	}
	size, pad := t.Size, t.Pad
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		*(*string)(p) = h5elem.TrimPadding(src, pad)
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		return padString(x.Block[at:at+size], *(*string)(p), pad)
	})
}

// padString fills dst with s as a string of fixed length. It returns an error if reading would not
// return s.
func padString(dst []byte, s string, pad h5.StringPad) error {
	capacity := len(dst)
	if pad == h5.NullTerm {
		capacity--
	}
	switch {
	case len(s) > capacity:
		return fmt.Errorf("%w: string: got %d bytes, want at most %d", h5.ErrSize, len(s), capacity)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("%w: zero byte at %d of a string", h5.ErrParam, strings.IndexByte(s, 0))
	case pad == h5.SpacePad && strings.HasSuffix(s, " "):
		return fmt.Errorf("%w: string ends in the spaces with which its type pads, and would be read back shorter", h5.ErrParam)
	}
	n := copy(dst, s)
	fill := byte(0)
	if pad == h5.SpacePad {
		fill = ' '
	}
	for i := range dst[n:] {
		dst[n+i] = fill
	}
	return nil
}
