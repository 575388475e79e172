// Copying of elements to the arrays of a target.

package treecopy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CopyArrays writes each array. With SkipUnreadable it removes an array that could not be filled.
func (c *copier) CopyArrays(ctx context.Context, w tree.ArrayWriter) error {
	for _, item := range c.plan.Arrays {
		err := c.Count(item, func(progress func(ndarray.Progress)) error {
			err := c.copyArray(ctx, item, w, progress)
			if err != nil && c.Skips(ctx, err) {
				c.Unreadable(item.From, "array", err)
				c.plan.Counts.Arrays--
				return w.Remove(item)
			}
			if err == nil {
				err = w.Finish(ctx, item)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", item.From, err)
		}
	}
	return nil
}

// Count copies one array with write and reports the progress of all arrays.
func (c *copier) Count(item *tree.Item, write func(progress func(ndarray.Progress)) error) error {
	before := c.progress.DoneBytes
	report := func(done int64) {
		c.progress.DoneBytes = before + done
		if c.options.Progress != nil {
			c.options.Progress(c.progress)
		}
	}
	if err := write(func(p ndarray.Progress) { report(p.DoneBytes) }); err != nil {
		return err
	}
	c.progress.DoneUnits++
	report(item.Bytes)
	return nil
}

// copyArray writes one array.
func (c *copier) copyArray(ctx context.Context, item *tree.Item, w tree.ArrayWriter, progress func(ndarray.Progress)) error {
	if done, err := w.Own(ctx, item); done || err != nil {
		return err
	}
	return c.CopyElements(ctx, item, w.Create, progress)
}

// CopyElements creates an array and fills it with the elements of the source.
func (c *copier) CopyElements(ctx context.Context, item *tree.Item, create func(*tree.Item) (ndarray.Backend, error), progress func(ndarray.Progress)) (err error) {
	src, err := c.OpenItem(ctx, item)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	shown := src
	if d := src.DType(); !c.target.Traits().Text && (d.Kind == ndarray.String || d.Kind == ndarray.Unicode) {
		if shown, err = textview.New(src, item.Spec.DType); err != nil {
			return err
		}
	}
	b, err := create(item)
	if err != nil {
		return err
	}
	dst, err := ndarray.New(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if !slices.Equal(dst.Shape(), src.Shape()) {
		return fmt.Errorf("%w: created as %v, source is %v", ndarray.ErrShape, dst.Shape(), src.Shape())
	}
	_, err = ndarray.Copy(ctx, dst, shown, &ndarray.CopyOptions{Workers: item.Workers, Memory: c.options.Memory, Progress: progress})
	return err
}

// OpenItem opens the source of an array of the target.
func (c *copier) OpenItem(ctx context.Context, item *tree.Item) (*ndarray.Array, error) {
	if item.NotNull {
		a, err := c.source.Array(ctx, item.From, false)
		if err != nil {
			return nil, err
		}
		return newNotNull(a)
	}
	a, _, err := c.array(ctx, item.From)
	if err != nil {
		return nil, err
	}
	return c.target.Source(a, item)
}

// BrokenLinks removes hard links to objects that could not be read.
func (c *copier) BrokenLinks() {
	c.plan.Links = slices.DeleteFunc(c.plan.Links, func(item *tree.Item) bool {
		if item.Entry.LinkKind != h5.HardLink.String() || !c.LeftOut(item.Entry.Target) {
			return false
		}
		c.UnreadablePart(item.From, "link", fmt.Errorf("hard link to %s, which cannot be read", item.Entry.Target))
		c.plan.Counts.Links--
		return true
	})
}
