// Null elements in CopyTree: targets other than a CTable get an array of bool for them.

package hyperslab

import (
	"context"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/ndarray"
)

// planNulls plans an array of bool for each array with null elements, unless the source has it.
func (c *treeCopy) planNulls() {
	has := func(path string) bool {
		return slices.ContainsFunc(c.arrays, func(item *treeItem) bool { return item.path == path })
	}
	for _, item := range slices.Clone(c.arrays) {
		if item.nulls == 0 || item.objects { // the JSON of objects has null
			continue
		}
		mask := &treeItem{from: item.from, path: item.path + b2store.NotNull, most: item.most, notNull: true}
		mask.spec = &ndarray.Spec{Shape: item.spec.Shape[:1], DType: ndarray.DTypeOf[bool]()}
		mask.bytes = item.spec.Shape[0]
		c.report(item.from, "nulls", fmt.Sprintf("%d null elements", item.nulls), fmt.Sprintf("%s stores their values, and false in %s", c.target.traits().format, mask.path))
		if err := c.target.checkName(mask.path, false); !has(mask.path) && err != nil {
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
