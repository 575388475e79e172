// Options and statistics of a copy.

package treecopy

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Copy: hyperslab.TreeOptions documents them.
type Options struct {
	Accept         func(Problem) bool
	DryRun         bool
	Overwrite      bool
	Lock           *ndarray.Lock
	Exclude        func(path string) bool
	SkipUnreadable bool
	Adjust         func(path string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error
	View           func(path string, a *ndarray.Array) (*ndarray.Array, error)
	Strings        string
	Format         string
	Table          bool
	Workers        int
	Memory         int64
	Progress       func(ndarray.Progress)
}

// Problem is a part of a source: hyperslab.Problem documents the fields.
type Problem struct {
	Path string
	What string
	Err  error
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s: %v", p.Path, p.What, p.Err) }

// Stats are the statistics of Copy, also of a dry run: hyperslab.TreeStats documents the fields.
type Stats struct {
	tree.Counts
	Lost, Refused, Unreadable, Changes []Problem
}

// Copy copies a tree: hyperslab.CopyTree documents it.
func Copy(ctx context.Context, dst string, src *opened.Tree, o *Options) (Stats, error) {
	d, err := newDestination(ctx, dst, o)
	c := &copier{losses: losses{options: o}, source: newSource(src), destination: d}
	if err == nil {
		err = c.copy(ctx)
	}
	c.stats.Counts = c.plan.Counts
	return c.stats, errors.Join(err, d.close())
}

// newTarget returns the target of a copy.
func newTarget(c *copier) (tree.Target, error) {
	f, err := opener.All().Named(c.format)
	if err != nil || f.Target == nil {
		return nil, fmt.Errorf("%w: a tree in a file of format %s", ndarray.ErrParam, c.format)
	}
	c.plan.SkipUnreadable = c.options.SkipUnreadable
	return f.Target(c, c.options.Table), nil
}
