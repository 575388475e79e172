// Null elements: targets other than a CTable get an array of bool for them.

package treecopy

import (
	"context"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// planNulls plans an array of bool for each array with null elements, unless the source has it.
func (c *copier) planNulls() {
	has := func(path string) bool {
		return slices.ContainsFunc(c.plan.Arrays, func(item *tree.Item) bool { return item.Path == path })
	}
	for _, item := range slices.Clone(c.plan.Arrays) {
		if item.Nulls == 0 || item.Objects { // the JSON of objects has null
			continue
		}
		mask := &tree.Item{From: item.From, Path: item.Path + b2store.NotNull, Workers: item.Workers, NotNull: true}
		mask.Spec = &ndarray.Spec{Shape: item.Spec.Shape[:1], DType: ndarray.DTypeOf[bool]()}
		mask.Bytes = item.Spec.Shape[0]
		c.Report(item.From, "nulls", fmt.Sprintf("%d null elements", item.Nulls), fmt.Sprintf("%s stores their values, and false in %s", c.target.Traits().Format, mask.Path))
		if err := c.target.CheckName(mask.Path, false); !has(mask.Path) && err != nil {
			c.Lose(item.From, "nulls", err)
		} else if !has(mask.Path) {
			c.AddArray(mask)
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
