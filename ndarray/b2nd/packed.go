// Plain frames of save_array and save_tensor of python-blosc2, whose shape and dtype are in a
// metalayer.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// packLayer is the variable-length metalayer of a packed array: a tuple of the library ("numpy",
// "torch" or "tensorflow"), the shape, and dtype.str or dtype.descr of NumPy.
const packLayer = "__pack_tensor__"

// packed sets the shape and the element type of a plain frame from its metalayer, if it has one.
func (r *reader) packed(o *OpenOptions) error {
	names, err := frameLayers{r.frame}.Names()
	if err != nil {
		return err
	}
	has := false
	for _, name := range names {
		has = has || name == packLayer
	}
	if !has || o.DType != nil {
		return nil
	}
	if err := checkLayer(frameLayers{r.frame}, packLayer); err != nil {
		return err
	}
	content, err := r.frame.VLMetalayer(packLayer)
	if err != nil {
		return err
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return errs.Mark(err, ndarray.ErrCorrupt)
	}
	tuple, _ := v.([]any)
	if len(tuple) != 4 || tuple[0] != any(msgpack.TupleMark) {
		return fmt.Errorf("%w: metalayer %s: got %T, want a library, a shape and a dtype", ndarray.ErrCorrupt, packLayer, v)
	}
	dims, _ := dropTuples(tuple[2]).([]any)
	shape := make([]int64, len(dims))
	for i, x := range dims {
		n, ok := x.(int64)
		if !ok || n < 0 {
			return fmt.Errorf("%w: metalayer %s: got dimension %v, want a length", ndarray.ErrCorrupt, packLayer, x)
		}
		shape[i] = n
	}
	text, err := descr(dropTuples(tuple[3]))
	if err != nil {
		return err
	}
	d, err := npy.ParseDescr(text)
	if err != nil {
		return err
	}
	n, ok := grid.Product(shape)
	if bytes := r.frame.NBytes(); !ok || d.Size <= 0 || bytes%int64(d.Size) != 0 || n != bytes/int64(d.Size) {
		return fmt.Errorf("%w: metalayer %s: got shape %v of %v, want %d bytes", ndarray.ErrCorrupt, packLayer, shape, d, bytes)
	}
	r.meta.Shape, r.meta.DType, r.meta.ChunkShape = shape, d, nil
	return nil
}

// descr returns dtype.descr of NumPy as text for npy.ParseDescr.
func descr(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	fields, _ := v.([]any)
	parts := make([]string, 0, len(fields))
	for _, x := range fields {
		field, _ := x.([]any)
		if len(field) != 2 && len(field) != 3 {
			return "", fmt.Errorf("%w: metalayer %s: got field %v, want a name, a type and perhaps a shape", ndarray.ErrCorrupt, packLayer, x)
		}
		name, ok := field[0].(string)
		if !ok || strings.ContainsAny(name, "'\\\n\r") {
			return "", fmt.Errorf("%w: a field called %v", errors.ErrUnsupported, field[0])
		}
		text, err := descr(field[1])
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(text, "[") {
			text = "'" + text + "'"
		}
		part := "('" + name + "', " + text
		if len(field) == 3 {
			dims, _ := field[2].([]any)
			part += ", ("
			for _, n := range dims {
				part += fmt.Sprint(n) + ","
			}
			part += ")"
		}
		parts = append(parts, part+")")
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%w: metalayer %s: got %T, want a dtype", ndarray.ErrCorrupt, packLayer, v)
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

// readRows reads a region of values in row-major order.
func (r *reader) readRows(ctx context.Context, dst []byte, region ndarray.Region) error {
	shape, size := r.meta.Shape, int64(r.meta.DType.Size)
	k := len(shape) - 1 // dimensions after k are read whole
	for k > 0 && region.Start[k] == 0 && region.Shape[k] == shape[k] {
		k--
	}
	run := size
	strides := make([]int64, len(shape))
	for i, n := len(shape)-1, size; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
		if i >= k {
			run *= region.Shape[i]
		}
	}
	if run == 0 {
		return ctx.Err()
	}
	at := append([]int64{}, region.Start...)
	for len(dst) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		offset := int64(0)
		for i, n := range at {
			offset += n * strides[i]
		}
		if _, err := r.frame.ReadAt(dst[:run], offset); err != nil {
			return err
		}
		dst = dst[run:]
		for i := k - 1; i >= 0; i-- {
			if at[i]++; at[i] < region.Start[i]+region.Shape[i] {
				break
			}
			at[i] = region.Start[i]
		}
	}
	return ctx.Err()
}
