// Null elements in CopyTree: a CTable has a mask for them, and other targets an array of bool.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// planNulls plans an array of bool for each array with null elements, unless the source has it. A
// CTable has masks instead, and none of these arrays.
func (c *treeCopy) planNulls() {
	has := func(path string) bool {
		return slices.ContainsFunc(c.arrays, func(item treeItem) bool { return item.path == path })
	}
	if c.table() {
		masks := make(map[string]bool)
		for _, item := range c.arrays {
			if item.nullable {
				masks[item.path+b2store.NotNull] = true
			}
		}
		c.arrays = slices.DeleteFunc(c.arrays, func(item treeItem) bool {
			if masks[item.path] {
				c.stats.Arrays--
				c.stats.Bytes -= item.bytes
			}
			return masks[item.path]
		})
		return
	}
	for _, item := range slices.Clone(c.arrays) {
		if item.nulls == 0 || item.entry.Meta.Format == detect.Objects { // the JSON of objects has null
			continue
		}
		mask := treeItem{from: item.from, path: item.path + b2store.NotNull, entry: item.entry, most: item.most, notNull: true}
		mask.spec = ndarray.Spec{Shape: item.spec.Shape[:1], DType: ndarray.DTypeOf[bool]()}
		mask.bytes = item.spec.Shape[0]
		c.report(item.from, "nulls", fmt.Sprintf("%d null elements", item.nulls), fmt.Sprintf("%s stores their values, and false in %s", c.format(), mask.path))
		if err := c.checkName(mask.path, false); !has(mask.path) && err != nil {
			c.lose(item.from, "nulls", err)
		} else if !has(mask.path) {
			c.addArray(mask)
		}
	}
}

// notNull is a source of bool: for each row of an array whether it is not null.
type notNull struct {
	from *ndarray.Array
	meta ndarray.Meta
}

func newNotNull(a *ndarray.Array) (*ndarray.Array, error) {
	m := a.Meta()
	return ndarray.New(&notNull{a, ndarray.Meta{Path: m.Path, Shape: m.Shape[:1], DType: ndarray.DTypeOf[bool](), ReadOnly: true}})
}

// Meta implements ndarray.Backend.
func (n *notNull) Meta() ndarray.Meta { return n.meta }

// ReadRegion implements ndarray.Backend. All elements of a row are null, or none is.
func (n *notNull) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	rows := ndarray.Whole(n.from.Shape())
	rows.Start[0], rows.Shape[0] = r.Start[0], r.Shape[0]
	for i := 1; i < len(rows.Shape); i++ {
		rows.Shape[i] = min(rows.Shape[i], 1)
	}
	if rows.NumElems() == 0 { // rows without elements
		for i := range dst {
			dst[i] = 1
		}
		return ctx.Err()
	}
	marks := make([]bool, len(dst))
	if err := n.from.ReadNulls(ctx, marks, rows); err != nil {
		return err
	}
	for i, null := range marks {
		dst[i] = 1
		if null {
			dst[i] = 0
		}
	}
	return nil
}

// Close implements ndarray.Backend.
func (n *notNull) Close() error { return n.from.Close() }

// writeMask writes the mask of a column with null elements.
func (c *treeCopy) writeMask(ctx context.Context, item *treeItem, files storeFiles) error {
	if item.nulls == 0 {
		return nil
	}
	item.notNull = true
	src, err := c.openItem(ctx, *item)
	if err != nil {
		return err
	}
	spec := ndarray.Spec{Shape: src.Shape(), DType: src.DType()}
	return c.writeColumn(ctx, files, item.path+b2store.NotNull, spec, func(b ndarray.Backend) (err error) {
		defer func() { err = errors.Join(err, src.Close()) }()
		w, err := regionWriter(b)
		if err != nil {
			return err
		}
		buf := make([]byte, min(spec.Shape[0], rowsAtOnce))
		for at := int64(0); at < spec.Shape[0]; at += rowsAtOnce {
			part := buf[:min(spec.Shape[0]-at, rowsAtOnce)]
			r := rowRegion(at, int64(len(part)))
			if err := src.Read(ctx, part, r); err != nil {
				return err
			}
			if err := w.WriteRegion(ctx, part, r, 0); err != nil {
				return err
			}
		}
		return nil
	})
}
