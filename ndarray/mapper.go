// Mappers convert elements to Go values by reflection: elements of variable size, and elements
// with numbers that are converted. Other elements have a codec, which is faster.

package ndarray

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// mapper moves one element between Go and the form of DType.Join.
type mapper struct {
	decode func(v reflect.Value, b []byte) error // v must be addressable
	encode func(v reflect.Value) ([]byte, error)
}

// mapping finds the mappers of a read or write. With exact, numbers are converted if their value is
// exactly representable.
type mapping struct{ write, exact bool }

func mapperFor[T any](d DType, m mapping) (mapper, error) {
	t := reflect.TypeFor[T]()
	p, err := m.of(t, d)
	if err != nil {
		return p, fmt.Errorf("%w: array is %v, asked for %v", err, d, t)
	}
	return p, nil
}

func (m mapping) of(t reflect.Type, d DType) (mapper, error) {
	if d.Size > 0 {
		if steps, err := stepsFor(t, d, 0, 0, m.write); err == nil {
			return stepMapper(steps, d), nil
		} else if leaf, ok := m.number(t, d); ok {
			return leaf, nil
		} else if !m.exact {
			return mapper{}, err
		}
	}
	switch kind := t.Kind(); {
	case kind == reflect.String && (d.Kind == String || d.Kind == Reference):
		return mapper{
			decode: func(v reflect.Value, b []byte) error { v.SetString(string(b)); return nil },
			encode: func(v reflect.Value) ([]byte, error) {
				s := v.String()
				return []byte(s), d.checkElement(s)
			},
		}, nil
	case kind == reflect.Slice && d.Kind == VLen:
		return m.sequence(t, d)
	case kind == reflect.Array && d.Kind == SubArray:
		return m.array(t, d)
	case kind == reflect.Struct && d.Kind == Struct:
		return m.fields(t, d)
	}
	return mapper{}, fmt.Errorf("%w: %v is not a Go %v", ErrType, d, t)
}

// stepMapper returns the mapper of an element of a fixed size that has a codec.
func stepMapper(steps []step, d DType) mapper {
	return mapper{
		decode: func(v reflect.Value, b []byte) error { return decodeSteps(steps, v.Addr().UnsafePointer(), b) },
		encode: func(v reflect.Value) ([]byte, error) {
			b := make([]byte, d.Size)
			return b, encodeSteps(steps, b, v.Addr().UnsafePointer())
		},
	}
}

// number returns the mapper of a number of another type, if numbers are converted.
func (m mapping) number(t reflect.Type, d DType) (mapper, bool) {
	of := scalarType(t)
	if !m.exact || of.Kind == 0 {
		return mapper{}, false
	}
	to, from := of, d
	if m.write {
		to, from = d, of
	}
	if Convert(nil, to, nil, from, false) != nil {
		return mapper{}, false
	}
	goBytes := func(v reflect.Value) []byte { return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), of.Size) }
	return mapper{
		decode: func(v reflect.Value, b []byte) error {
			if _, ok := convertAll(goBytes(v), of, b, d, false); !ok {
				return fmt.Errorf("%w: %s is not a value of %v", ErrValue, FormatElement(d, b), of)
			}
			return nil
		},
		encode: func(v reflect.Value) ([]byte, error) {
			b := make([]byte, d.Size)
			if _, ok := convertAll(b, d, goBytes(v), of, false); !ok {
				return nil, fmt.Errorf("%w: %v is not a value of %v", ErrValue, v, d)
			}
			return b, nil
		},
	}, true
}

// sequence returns the mapper of a Go slice. An empty sequence is a nil slice.
func (m mapping) sequence(t reflect.Type, d DType) (mapper, error) {
	item, err := m.of(t.Elem(), *d.Base)
	if err != nil {
		return mapper{}, err
	}
	// Numbers of the same type are copied together.
	direct := scalarType(t.Elem())
	bulk := direct.Kind != 0 && direct.Kind != Bool && direct.EqualValues(d.Base.Native())
	memory := func(v reflect.Value) []byte {
		return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*d.Base.Size)
	}
	return mapper{
		decode: func(v reflect.Value, b []byte) error {
			v.SetZero()
			if len(b) == 0 {
				return nil
			}
			if bulk && len(b)%d.Base.Size == 0 {
				v.Set(reflect.MakeSlice(t, len(b)/d.Base.Size, len(b)/d.Base.Size))
				copy(memory(v), b)
				return nil
			}
			parts, err := d.Split(b)
			if err != nil {
				return err
			}
			v.Set(reflect.MakeSlice(t, len(parts), len(parts)))
			for i, p := range parts {
				if err := item.decode(v.Index(i), p); err != nil {
					return fmt.Errorf("item %d: %w", i, err)
				}
			}
			return nil
		},
		encode: func(v reflect.Value) ([]byte, error) {
			if bulk {
				return append([]byte{}, memory(v)...), nil
			}
			parts := make([][]byte, v.Len())
			for i := range parts {
				var err error
				if parts[i], err = item.encode(v.Index(i)); err != nil {
					return nil, fmt.Errorf("item %d: %w", i, err)
				}
			}
			return d.Join(parts...)
		},
	}, nil
}

// array returns the mapper of nested Go arrays, one for each dimension.
func (m mapping) array(t reflect.Type, d DType) (mapper, error) {
	for _, n := range d.Dims {
		if t.Kind() != reflect.Array || int64(t.Len()) != n {
			return mapper{}, fmt.Errorf("%w: %v is not a Go %v", ErrType, d, t)
		}
		t = t.Elem()
	}
	item, err := m.of(t, *d.Base)
	if err != nil {
		return mapper{}, err
	}
	at := func(v reflect.Value, i int) reflect.Value {
		n := 1
		for _, length := range d.Dims {
			n *= int(length)
		}
		for _, length := range d.Dims {
			n /= int(length)
			v = v.Index(i / n)
			i %= n
		}
		return v
	}
	return mapper{
		decode: func(v reflect.Value, b []byte) error {
			parts, err := d.Split(b)
			for i := 0; i < len(parts) && err == nil; i++ {
				if err = item.decode(at(v, i), parts[i]); err != nil {
					err = fmt.Errorf("item %d: %w", i, err)
				}
			}
			return err
		},
		encode: func(v reflect.Value) ([]byte, error) {
			n, _ := grid.Product(d.Dims)
			parts := make([][]byte, n)
			for i := range parts {
				var err error
				if parts[i], err = item.encode(at(v, i)); err != nil {
					return nil, fmt.Errorf("item %d: %w", i, err)
				}
			}
			return d.Join(parts...)
		},
	}, nil
}

// fields returns the mapper of a Go struct.
func (m mapping) fields(t reflect.Type, d DType) (mapper, error) {
	type part struct {
		mapper
		inGo, inElem int
	}
	fields, err := matchFields(t, d, m.write)
	if err != nil {
		return mapper{}, err
	}
	var parts []part
	for _, f := range fields {
		p := part{inGo: f.Index[0], inElem: f.field}
		if p.mapper, err = m.of(f.Type, d.Fields[f.field].Type); err != nil {
			return mapper{}, fmt.Errorf("field %q: %w", f.name, err)
		}
		parts = append(parts, p)
	}
	return mapper{
		decode: func(v reflect.Value, b []byte) error {
			in, err := d.Split(b)
			if err != nil {
				return err
			}
			for _, p := range parts {
				if err := p.decode(v.Field(p.inGo), in[p.inElem]); err != nil {
					return fmt.Errorf("field %q: %w", d.Fields[p.inElem].Name, err)
				}
			}
			return nil
		},
		encode: func(v reflect.Value) ([]byte, error) {
			out := make([][]byte, len(d.Fields))
			for _, p := range parts {
				var err error
				if out[p.inElem], err = p.encode(v.Field(p.inGo)); err != nil {
					return nil, fmt.Errorf("field %q: %w", d.Fields[p.inElem].Name, err)
				}
			}
			return d.Join(out...)
		},
	}, nil
}

// readMapped fills dst with the elements of r.
func readMapped[T any](ctx context.Context, a *Array, dst []T, r Region, m mapping) error {
	d := a.m().DType
	p, err := mapperFor[T](d, m)
	if err := errors.Join(err, a.checkCount(len(dst), r)); err != nil {
		return a.wrap("read", err)
	}
	all := reflect.ValueOf(dst)
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
			if err := p.decode(all.Index(i), b); err != nil {
				return a.wrap("read", fmt.Errorf("element %v: %w", coordinates(part, i), err))
			}
		}
		all = all.Slice(n, all.Len())
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
	data, strs, err := encodeMapped(a.m().DType, src, m, func(i int) any { return coordinates(r, i) })
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
	p, err := mapperFor[T](d, m)
	if err != nil {
		return nil, nil, err
	}
	all := reflect.ValueOf(src)
	for i := range src {
		b, err := p.encode(all.Index(i))
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("element %v: %w", index(i), err)
		case d.Size == 0:
			strs = append(strs, string(b))
		default:
			data = append(data, b...)
		}
	}
	return data, strs, nil
}
