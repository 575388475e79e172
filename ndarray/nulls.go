// Null elements: those of columns of a table that have no value.

package ndarray

import (
	"context"
	"errors"
	"fmt"
)

// NullReader is implemented by backends whose elements may be null (Meta.Nullable).
type NullReader interface {
	// ReadNulls sets the marks of the elements of r in row-major order: true for a null one. A
	// structure has a mark for each of its fields, in their order. r is already bounds-checked and
	// not empty, and dst has the length of all marks.
	ReadNulls(ctx context.Context, dst []bool, r Region) error
}

// NumMarks returns the number of marks of an element that ReadNulls sets: the number of fields of a
// Struct, otherwise 1.
func (d DType) NumMarks() int {
	if d.Kind == Struct {
		return len(d.Fields)
	}
	return 1
}

// ReadNulls sets the marks of the elements of r, in row-major order: true for an element that is
// null, which is an element without a value of a nullable array (Meta.Nullable). A structure has a
// mark for each of its fields, in their order, so that len(dst) must be exactly r.NumElems() times
// DType.NumMarks. An array that is not nullable has no null elements.
//
// Read and ReadStrings return the stored bytes of a null element, which have no meaning: for
// example zero, NaN, "" or the value that marks a null.
//
// It returns ErrSize for another length, and the errors of Read.
func (a *Array) ReadNulls(ctx context.Context, dst []bool, r Region) error {
	return a.use("read nulls of", func() error {
		m := a.m()
		if err := errors.Join(ctx.Err(), r.Check(m.Shape)); err != nil {
			return err
		}
		if n := r.NumElems() * int64(m.DType.NumMarks()); n != int64(len(dst)) {
			return fmt.Errorf("%w: got %d marks, want %d for region %v", ErrSize, len(dst), n, r)
		}
		clear(dst)
		if !m.Nullable || len(dst) == 0 {
			return nil
		}
		n, err := ability[NullReader](a, false)
		if err != nil {
			return err
		}
		return n.ReadNulls(ctx, dst, r)
	})
}

// nullsPerRead is the number of marks that CountNulls reads at a time.
const nullsPerRead = 1 << 20

// CountNulls returns the number of null elements, and for structures of null fields. It returns the
// errors of ReadNulls.
func CountNulls(ctx context.Context, a *Array) (count int64, err error) {
	m := a.Meta()
	if !m.Nullable || m.NumElems() == 0 {
		return 0, nil
	}
	marks := int64(m.DType.NumMarks())
	row := m.NumElems() / m.Shape[0] * marks
	rows := max(nullsPerRead/max(row, 1), 1)
	r := Whole(m.Shape)
	for at := int64(0); at < m.Shape[0]; at += rows {
		r.Start[0], r.Shape[0] = at, min(rows, m.Shape[0]-at)
		dst := make([]bool, r.Shape[0]*row)
		if err := a.ReadNulls(ctx, dst, r); err != nil {
			return 0, err
		}
		for _, null := range dst {
			if null {
				count++
			}
		}
	}
	return count, nil
}

// ReadNulls implements NullReader.
func (v *view) ReadNulls(ctx context.Context, dst []bool, r Region) error {
	marks := int64(v.meta.DType.NumMarks())
	return v.p.part(r, len(v.a.m().Shape)).eachSpan(len(v.a.m().Shape), func(r Region) error {
		n := r.NumElems() * marks
		err := v.a.ReadNulls(ctx, dst[:n], r)
		dst = dst[n:]
		return err
	})
}

// nullsOf returns the marks of a region, or nil if a is not nullable.
func nullsOf(ctx context.Context, a *Array, r Region) ([]bool, error) {
	m := a.m()
	if !m.Nullable {
		return nil, nil
	}
	dst := make([]bool, r.NumElems()*int64(m.DType.NumMarks()))
	return dst, a.ReadNulls(ctx, dst, r)
}

// DropNulls removes the null elements from the bytes of a region of an array without fields, and
// returns the others in the same order. It may overwrite b. It returns the errors of ReadNulls.
func DropNulls(ctx context.Context, a *Array, r Region, b []byte) ([]byte, error) {
	nulls, err := nullsOf(ctx, a, r)
	if nulls == nil || err != nil {
		return b, err
	}
	size, kept := a.m().DType.Size, 0
	for i, null := range nulls {
		if !null {
			copy(b[kept:kept+size], b[i*size:(i+1)*size])
			kept += size
		}
	}
	return b[:kept], nil
}

// nullPair are the marks of one region of two arrays that are compared; nil without null elements.
type nullPair struct{ a, b []bool }

func nullsOfBoth(ctx context.Context, a, b *Array, r Region) (n nullPair, err error) {
	if n.a, err = nullsOf(ctx, a, r); err == nil {
		n.b, err = nullsOf(ctx, b, r)
	}
	return n, err
}

func (n nullPair) any() bool { return n.a != nil || n.b != nil }

// compare reports whether an element is null in both arrays, and whether it is null in one of them.
// Fields of structures that are null in both are compared as zero bytes.
func (n nullPair) compare(d DType, i int, x, y []byte) (same, differ bool) {
	mark := func(marks []bool, k int) bool { return marks != nil && marks[k] }
	if d.Kind != Struct {
		a, b := mark(n.a, i), mark(n.b, i)
		return a && b, a != b
	}
	for k, f := range d.Fields {
		at := i*len(d.Fields) + k
		a, b := mark(n.a, at), mark(n.b, at)
		if a && b {
			clear(x[f.Offset:][:f.Type.Size])
			clear(y[f.Offset:][:f.Type.Size])
		}
		differ = differ || a != b
	}
	return false, differ
}

func nullOr(null bool, text string) string {
	if null {
		return "null"
	}
	return text
}

// formatNulls formats an element. A null element, or a null field of a structure, is "null".
func formatNulls(d DType, b []byte, marks []bool, i int) string {
	if marks == nil {
		return FormatElement(d, b)
	}
	if d.Kind != Struct {
		return nullOr(marks[i], FormatElement(d, b))
	}
	parts, err := d.Split(b)
	if err != nil {
		return "invalid"
	}
	s := "{"
	for k, f := range d.Fields {
		if k > 0 {
			s += ", "
		}
		s += f.Name + ": " + nullOr(marks[i*len(d.Fields)+k], FormatElement(f.Type, parts[k]))
	}
	return s + "}"
}
