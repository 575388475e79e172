// Copying of elements to the arrays of a target.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// copyArrays writes each array. With SkipUnreadable it removes an array that could not be filled.
func (c *treeCopy) copyArrays(ctx context.Context, w arrayWriter) error {
	for _, item := range c.arrays {
		err := c.count(item, func(progress func(ndarray.Progress)) error {
			err := c.copyArray(ctx, item, w, progress)
			if err != nil && c.skips(ctx, err) {
				c.unreadable(item.from, "array", err)
				c.stats.Arrays--
				return w.remove(item)
			}
			if err == nil {
				err = w.finish(ctx, item)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", item.from, err)
		}
	}
	return nil
}

// count copies one array with write and reports the progress of all arrays.
func (c *treeCopy) count(item *treeItem, write func(progress func(ndarray.Progress)) error) error {
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
	report(item.bytes)
	return nil
}

// copyArray writes one array.
func (c *treeCopy) copyArray(ctx context.Context, item *treeItem, w arrayWriter, progress func(ndarray.Progress)) error {
	if done, err := w.own(ctx, item); done || err != nil {
		return err
	}
	return c.copyElements(ctx, item, w.create, progress)
}

// copyElements creates an array and fills it with the elements of the source.
func (c *treeCopy) copyElements(ctx context.Context, item *treeItem, create func(*treeItem) (ndarray.Backend, error), progress func(ndarray.Progress)) (err error) {
	src, err := c.openItem(ctx, item)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	shown := src
	if d := src.DType(); !c.target.traits().text && (d.Kind == ndarray.String || d.Kind == ndarray.Unicode) {
		if shown, err = textview.New(src, item.spec.DType); err != nil {
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
	_, err = ndarray.Copy(ctx, dst, shown, &ndarray.CopyOptions{Workers: item.most, Memory: c.options.Memory, Progress: progress})
	return err
}

// openItem opens the source of an array of the target.
func (c *treeCopy) openItem(ctx context.Context, item *treeItem) (*ndarray.Array, error) {
	a, err := c.source.Open(ctx, item.from)
	switch {
	case err != nil:
		return nil, err
	case item.notNull:
		return newNotNull(a)
	}
	return c.target.source(a, item)
}

// brokenLinks removes hard links to objects that could not be read.
func (c *treeCopy) brokenLinks() {
	c.links = slices.DeleteFunc(c.links, func(item *treeItem) bool {
		if item.entry.LinkKind != h5.HardLink.String() || !c.leftOut(item.entry.Target) {
			return false
		}
		c.unreadablePart(item.from, "link", fmt.Errorf("hard link to %s, which cannot be read", item.entry.Target))
		c.stats.Links--
		return true
	})
}
