// Elements as records and rows.

package ways

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/hyperslab/hyperslab/ndarray"
)

// iterate reads a region by Records or Rows, numbers as a larger type.
func iterate(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) (err error) {
	s, _ := selection(r, a.Shape, spans)
	v, err := ndarray.View(x, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	switch d := x.DType(); {
	case d.Kind == ndarray.String && len(a.Shape) == 1:
		var texts []string
		for text, err := range ndarray.Records[string](ctx, v) {
			if err != nil {
				return err
			}
			texts = append(texts, text)
		}
		return fillCells(dst, d, texts)
	case a.Cells() || d.Tag != "":
		return ErrForm
	case d.Kind == ndarray.Int:
		return iterateAs[int64](ctx, v, dst)
	case d.Kind == ndarray.Uint:
		return iterateAs[uint64](ctx, v, dst)
	case d.Kind == ndarray.Float && d.Size == 8:
		return iterateAs[float64](ctx, v, dst)
	case d.Kind == ndarray.Float && d.Size == 4:
		return iterateAs[float32](ctx, v, dst)
	case d.Kind == ndarray.Bool:
		return iterateAs[bool](ctx, v, dst)
	}
	return ErrForm
}

func iterateAs[T ndarray.Element](ctx context.Context, v *ndarray.Array, dst []byte) error {
	var all []T
	switch len(v.Shape()) {
	case 1:
		for x, err := range ndarray.Records[T](ctx, v) {
			if err != nil {
				return err
			}
			all = append(all, x)
		}
	case 2:
		for rows, err := range ndarray.Rows[T](ctx, v, 3) {
			if err != nil {
				return err
			}
			for _, row := range rows {
				all = append(all, row...)
			}
		}
	default:
		return ErrForm
	}
	wide, err := binary.Append(nil, binary.NativeEndian, all)
	if err != nil {
		return err
	}
	return ndarray.Convert(dst, v.DType().Native(), wide, ndarray.DTypeOf[T](), false)
}

// appendRecords appends elements of an array of one dimension with a RecordWriter, three at a time.
func appendRecords(ctx context.Context, x *ndarray.Array, tail []byte) error {
	switch x.DType().Size {
	case 1:
		return writeRecords(ctx, x, tail, func(b []byte) [1]byte { return [1]byte(b) })
	case 2:
		return writeRecords(ctx, x, tail, func(b []byte) [2]byte { return [2]byte(b) })
	case 4:
		return writeRecords(ctx, x, tail, func(b []byte) [4]byte { return [4]byte(b) })
	case 8:
		return writeRecords(ctx, x, tail, func(b []byte) [8]byte { return [8]byte(b) })
	case 16:
		return writeRecords(ctx, x, tail, func(b []byte) [16]byte { return [16]byte(b) })
	}
	return ErrForm
}

func writeRecords[T any](ctx context.Context, x *ndarray.Array, tail []byte, record func(b []byte) T) error {
	w, err := ndarray.NewRecordWriter[T](ctx, x, nil)
	if err != nil {
		return err
	}
	size := x.DType().Size
	var three []T
	for ; len(tail) > 0; tail = tail[size:] {
		if three = append(three, record(tail[:size])); len(three) == 3 || len(tail) == size {
			if err := w.Append(three...); err != nil {
				return errors.Join(err, w.Close())
			}
			three = three[:0]
		}
	}
	return w.Close()
}
