// Converters of elements for each pair of a Go type and an element type, and the reads and writes
// that need them: of elements of variable size, and of numbers that are converted.

package ndarray

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// mapping makes the converters of a read or write. For writing, every part of the element must have
// a source in the Go value. With exact, numbers are converted if their value is exactly
// representable.
type mapping struct{ write, exact bool }

// of returns the converter of elements of type d to values of type t. It returns ErrType with the
// part of the types that does not match.
func (m mapping) of(t reflect.Type, d DType) (structconv.Converter, error) {
	if m.exact && d.Size > 0 { // the types may match without a conversion
		if c, err := (mapping{write: m.write}).of(t, d); err == nil {
			return c, nil
		} else if c, ok := m.number(t, d); ok {
			return c, nil
		}
	}
	switch t.Kind() {
	case reflect.String:
		if d.Kind == Bytes || d.Kind == Unicode || d.Kind == String || d.Kind == Reference {
			return stringConverter(d.Kind, d.Size, d.Pad), nil
		}
	case reflect.Slice:
		if d.Kind == VLen {
			return m.sequence(t, d)
		}
	case reflect.Array:
		if isRaw(t, d) {
			return structconv.Copy(d.Size), nil
		}
		if d.Kind == SubArray {
			return m.array(t, d)
		}
	case reflect.Struct:
		if d.Kind == DateTime && t == reflect.TypeFor[time.Time]() {
			return timeConverter(d.Unit), nil
		}
		if d.Kind == Struct {
			return m.fields(t, d)
		}
	default:
		have := d
		switch d.Kind {
		case Enum:
			have = *d.Base
		case DateTime, TimeDelta:
			have = DType{Kind: Int, Size: d.Size, Order: d.Order}
		}
		if want := scalarType(t); want.Kind != 0 && want.EqualValues(have) {
			if want.Kind == Bool {
				return boolConverter, nil
			}
			return structconv.Copy(d.Size), nil
		}
	}
	return notConvertible(t, d)
}

func notConvertible(t reflect.Type, d DType) (structconv.Converter, error) {
	return structconv.Converter{}, fmt.Errorf("%w: %v is not a Go %v", ErrType, d, t)
}

// isRaw reports whether t is an array of the bytes of an element.
func isRaw(t reflect.Type, d DType) bool {
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == d.Size && d.Size > 0
}

// boolConverter stores 1 for every byte except 0, because a Go bool must be 0 or 1.
var boolConverter = structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) error {
	*(*byte)(p) = min(src[0], 1)
	return nil
}, func(s *structconv.State, at int, p unsafe.Pointer) error {
	s.Block[at] = *(*byte)(p)
	return nil
})

func stringConverter(kind Kind, size int, pad Pad) structconv.Converter {
	return structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) (err error) {
		text := ""
		switch kind {
		case Bytes:
			text = decodeBytes(src, pad)
		case Unicode:
			text, err = decodeUnicode(src)
		default:
			text = string(src)
		}
		*(*string)(p) = text
		return err
	}, func(s *structconv.State, at int, p unsafe.Pointer) error {
		text := *(*string)(p)
		switch kind {
		case Bytes:
			return encodeBytes(s.Block[at:at+size], text, pad)
		case Unicode:
			return encodeUnicode(s.Block[at:at+size], text)
		}
		s.Block = append(s.Block, text...)
		return checkString(text)
	})
}

func timeConverter(unit TimeUnit) structconv.Converter {
	return structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) (err error) {
		*(*time.Time)(p), err = decodeTime(loadInt(src), unit)
		return err
	}, func(s *structconv.State, at int, p unsafe.Pointer) error {
		ticks, err := encodeTime(*(*time.Time)(p), unit)
		binary.NativeEndian.PutUint64(s.Block[at:], uint64(ticks))
		return err
	})
}

// number returns the converter of a number of another type. ok is false if the types cannot be
// converted.
func (m mapping) number(t reflect.Type, d DType) (c structconv.Converter, ok bool) {
	of := scalarType(t)
	to, from := of, d
	if m.write {
		to, from = d, of
	}
	if of.Kind == 0 || Convert(nil, to, nil, from, false) != nil {
		return c, false
	}
	return structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) error {
		if _, ok := convertAll(unsafe.Slice((*byte)(p), of.Size), of, src, d, false); !ok {
			return fmt.Errorf("%w: %s is not a value of %v", ErrValue, FormatElement(d, src), of)
		}
		return nil
	}, func(s *structconv.State, at int, p unsafe.Pointer) error {
		if _, ok := convertAll(s.Block[at:at+d.Size], d, unsafe.Slice((*byte)(p), of.Size), of, false); !ok {
			return fmt.Errorf("%w: %v is not a value of %v", ErrValue, reflect.NewAt(t, p).Elem(), d)
		}
		return nil
	}), true
}

// inPart returns the format of the errors of the parts of an element of type d. Errors of elements
// of a fixed size contain no path, unless numbers are converted.
func (m mapping) inPart(d DType, format string) string {
	if d.Size > 0 && !m.exact {
		return ""
	}
	return format
}

// splitter returns the function that finds the parts of an element without fixed offsets.
func splitter(d DType) structconv.Split {
	if d.Size > 0 {
		return nil
	}
	return d.Split
}

// part returns the converter of a part of an element of type whole, with the form of DType.Join.
func (m mapping) part(t reflect.Type, d, whole DType) (structconv.Converter, error) {
	c, err := m.of(t, d)
	if err == nil && whole.Size == 0 {
		c = appended(c, d.Size)
	}
	return c, err
}

// appended returns c with an encoder that appends an element of size bytes to the block, or with
// size 0 an element of variable size after its length.
func appended(c structconv.Converter, size int) structconv.Converter {
	return structconv.New(c.Decode, func(s *structconv.State, _ int, p unsafe.Pointer) error {
		at := grow(s, size)
		err := c.Encode(s, at, p)
		if size == 0 {
			var length [binary.MaxVarintLen64]byte
			n := binary.PutUvarint(length[:], uint64(len(s.Block)-at))
			s.Block = slices.Insert(s.Block, at, length[:n]...)
		}
		return err
	})
}

// grow appends n zero bytes to the block and returns their offset.
func grow(s *structconv.State, n int) int {
	at := len(s.Block)
	s.Block = append(s.Block, make([]byte, n)...)
	return at
}

// sequence returns the converter of a Go slice. An empty sequence is a nil slice.
func (m mapping) sequence(t reflect.Type, d DType) (c structconv.Converter, err error) {
	size := d.Base.Size
	items := structconv.Items{Size: size, Step: t.Elem().Size(), InItem: "item %d: %w"}
	if items.Item, err = m.part(t.Elem(), *d.Base, *d.Base); err != nil {
		return c, err
	}
	return structconv.New(func(s *structconv.State, src []byte, p unsafe.Pointer) error {
		*(*[]byte)(p) = nil // every nil slice is the same in memory
		if len(src) == 0 {
			return nil
		}
		if size > 0 && len(src)%size == 0 {
			n := len(src) / size
			return items.Decode(s, n, src, structconv.MakeSlice(t, p, n))
		}
		parts, err := d.Split(src)
		if err != nil {
			return err
		}
		return items.DecodeParts(s, parts, structconv.MakeSlice(t, p, len(parts)))
	}, func(s *structconv.State, _ int, p unsafe.Pointer) error {
		n, first := structconv.SliceAt(p)
		return items.Encode(s, n, grow(s, n*size), first)
	}), nil
}

// array returns the converter of nested Go arrays, one for each dimension.
func (m mapping) array(t reflect.Type, d DType) (c structconv.Converter, err error) {
	n, item := 1, d
	for i, length := range d.Dims {
		if i > 0 && isRaw(t, item) {
			break
		}
		if t.Kind() != reflect.Array || int64(t.Len()) != length {
			if d.Size == 0 || m.exact { // then an error names the type of the whole array
				item = d
			}
			return notConvertible(t, item)
		}
		n, t, item = n*t.Len(), t.Elem(), *d.Base
		if rest := d.Dims[i+1:]; len(rest) > 0 {
			item = SubArrayOf(*d.Base, rest...)
		}
	}
	items := structconv.Items{Size: item.Size, Step: t.Size(), InItem: m.inPart(d, "item %d: %w")}
	if items.Item, err = m.part(t, item, d); err != nil {
		return c, err
	}
	return items.Array(n, splitter(d)), nil
}

// fields returns the converter of a Go struct.
func (m mapping) fields(t reflect.Type, d DType) (c structconv.Converter, err error) {
	fields, err := matchFields(t, d, m.write)
	if err != nil {
		return c, err
	}
	const inField = "field %q: %w"
	parts := make([]structconv.Part, len(fields))
	for i, f := range fields {
		in := d.Fields[f.field]
		part, err := m.field(f, in.Type, d)
		if err != nil {
			return c, fmt.Errorf(inField, f.Name, err)
		}
		parts[i] = structconv.Part{Converter: part, Name: f.Name, Field: f.Offset, At: in.Offset, Size: in.Type.Size}
		if d.Size == 0 {
			parts[i].At = f.field
		}
	}
	if d.Size == 0 && m.write { // fields are appended in the order of the element
		slices.SortFunc(parts, func(a, b structconv.Part) int { return cmp.Compare(a.At, b.At) })
	}
	return structconv.Struct(parts, splitter(d), m.inPart(d, inField)), nil
}

// field returns the converter of a field of a Go struct, with the form of DType.Join. An integer of
// 8 bytes is a time if the tag has its unit.
func (m mapping) field(f matchedField, d, whole DType) (c structconv.Converter, err error) {
	unit, ok, err := unixUnit(f.Field)
	if err != nil || !ok || d.Kind != Int || d.Size != 8 {
		if err == nil {
			c, err = m.part(f.Type, d, whole)
		}
		return c, err
	}
	if c = timeConverter(unit); whole.Size == 0 {
		c = appended(c, d.Size)
	}
	return c, nil
}

// readMapped fills dst with the elements of r.
func readMapped[T any](ctx context.Context, a *Array, dst []T, r Region, m mapping) error {
	d := a.m().DType
	c, err := codecFor[T](d, m)
	if err := errors.Join(err, a.checkCount(len(dst), r)); err != nil {
		return a.wrap("read", err)
	}
	var strs []string
	var raw []byte
	for box := range grid.Slabs(a.m().ChunkShape, a.m().DType.Size, grid.Box(r)) {
		part := Region(box)
		n := int(part.NumElems())
		if d.Size == 0 {
			strs = slices.Grow(strs[:0], n)[:n]
			err = a.ReadStrings(ctx, strs, part)
		} else {
			raw = slices.Grow(raw[:0], n*d.Size)[:n*d.Size]
			err = a.Read(ctx, raw, part)
		}
		if err != nil {
			return err
		}
		for i := range n {
			b := []byte(nil)
			if d.Size == 0 {
				b = []byte(strs[i])
			} else {
				b = raw[i*d.Size:][:d.Size]
			}
			if err := c.Item.Decode(nil, b, unsafe.Pointer(&dst[i])); err != nil {
				return a.wrap("read", fmt.Errorf("element %v: %w", grid.Box(part).Index(int64(i)), err))
			}
		}
		dst = dst[n:]
	}
	return nil
}

// checkCount checks a region and the length of the slice with its elements.
func (a *Array) checkCount(have int, r Region) error {
	if a.m().Null {
		return fmt.Errorf("%w: the array is null", ErrRegion)
	}
	if err := r.Check(a.m().Shape); err != nil {
		return err
	}
	if n := r.NumElems(); n != int64(have) {
		return fmt.Errorf("%w: got %d elements, want %d for region %v", ErrSize, have, n, r)
	}
	return nil
}

// writeMapped converts all elements of src and then writes them to r.
func writeMapped[T any](ctx context.Context, a *Array, src []T, r Region, m mapping) error {
	if err := a.checkCount(len(src), r); err != nil {
		return a.wrap("write", err)
	}
	data, strs, err := encodeMapped(a.m().DType, src, m, func(i int) any { return grid.Box(r).Index(int64(i)) })
	if err != nil {
		return a.wrap("write", err)
	}
	if a.m().DType.Size == 0 {
		return a.WriteStrings(ctx, strs, r)
	}
	return a.Write(ctx, data, r)
}

// encodeMapped returns the elements of src: one buffer, or for a variable size a string for each.
// index returns the index of an element for errors.
func encodeMapped[T any](d DType, src []T, m mapping, index func(i int) any) (data []byte, strs []string, err error) {
	c, err := codecFor[T](d, m)
	if err != nil {
		return nil, nil, err
	}
	return encodeItems(c, src, index)
}

// encodeItems is encodeMapped with the codec from T.
func encodeItems[T any](c *codec, src []T, index func(i int) any) (data []byte, strs []string, err error) {
	s := structconv.State{Block: make([]byte, len(src)*c.Size)}
	for i := range src {
		if err := c.Item.Encode(&s, i*c.Size, unsafe.Pointer(&src[i])); err != nil {
			return nil, nil, fmt.Errorf("element %v: %w", index(i), err)
		}
		if c.Size == 0 {
			strs = append(strs, string(s.Block))
			s.Block = s.Block[:0]
		}
	}
	return s.Block, strs, nil
}
