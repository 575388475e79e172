// Commit, which joins the parts and publishes the target.

package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Commit requires a valid receipt and an unchanged part of every shard, joins the parts without
// recompression, publishes the target and removes the directory of the plan's files. The target
// appears complete or not at all. A Commit that was stopped can be repeated.
// One that succeeded can be repeated too; it then compares the target with the source.
//
// It returns ErrIncomplete with the first shards that are missing, ErrReceipt, ErrSource if the
// source changed, ErrPlan, ErrTarget, ndarray.ErrExists if the target exists with other elements,
// or an error of reading or writing.
func (p *Plan) Commit(ctx context.Context, o *WorkOptions) error {
	return ndarray.Wrap("commit", p.Target.Location, p.commit(ctx, o))
}

func (p *Plan) commit(ctx context.Context, options *WorkOptions) (err error) {
	if options == nil {
		options = &WorkOptions{}
	}
	o := *options
	if o.Workers, err = p.workers(options); err != nil {
		return err
	}
	s, err := p.state(ctx, false)
	if errors.Is(err, ndarray.ErrExists) && operations[p.Operation] {
		return p.committed(ctx, &o)
	}
	if err != nil {
		return err
	}
	receipts, err := p.receipts(ctx, s)
	if err != nil {
		return err
	}
	src, attrs, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if operations[p.Operation] {
		err = p.publish(ctx, s, receipts, src.Meta(), attrs, &o)
	} else {
		err = p.conclude(ctx, src.DType(), receipts)
	}
	if err != nil {
		return err
	}
	return s.removeAll(ctx)
}

// mostListed is the number of shards in the message of ErrIncomplete.
const mostListed = 10

// receipts returns the receipts of the last stage. It checks those of all stages and the parts of
// the last one.
func (p *Plan) receipts(ctx context.Context, s store) (map[int64]*receipt, error) {
	for i := range p.Stages {
		missing, err := p.without(ctx, s, i+1)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			list := make([]string, 0, mostListed)
			for _, n := range missing[:min(len(missing), mostListed)] {
				list = append(list, fmt.Sprint(n))
			}
			if len(missing) > mostListed {
				list = append(list, "…")
			}
			return nil, fmt.Errorf("%w: %d of %d shards of stage %d have no receipt: %s", ErrIncomplete, len(missing), p.Stages[i].Shards, i+1, strings.Join(list, ", "))
		}
	}
	last := len(p.Stages)
	all := make(map[int64]*receipt, p.Stages[last-1].Shards)
	var mu sync.Mutex
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(p.Workers)
	for shard := range p.Stages[last-1].Shards {
		if gctx.Err() != nil {
			break
		}
		group.Go(func() error {
			r, err := p.receipt(gctx, s, last, shard)
			if err != nil {
				return err
			}
			if r.Part != "" {
				_, err = r.intact(gctx, s)
			}
			mu.Lock()
			defer mu.Unlock()
			all[shard] = r
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return all, ctx.Err()
}

// publish creates the target array from the parts.
func (p *Plan) publish(ctx context.Context, s store, receipts map[int64]*receipt, m ndarray.Meta, attrs ndarray.Attrs, o *WorkOptions) (err error) {
	file, err := p.file()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return p.published(ctx, s, receipts, o)
	}
	spec := p.spec(m)
	if spec.Attrs, err = p.attributes(attrs); err != nil {
		return err
	}
	draft, err := hyperslab.Create(ctx, p.Target.Location, spec, &hyperslab.CreateOptions{
		Format: hyperslab.Format(p.Target.Format), Sparse: p.Target.Sparse,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	from, err := p.assemble(ctx, s, len(p.Stages), draft.Meta(), receipts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if _, err := ndarray.Copy(ctx, draft.Array, from, &ndarray.CopyOptions{
		Workers: o.Workers, Memory: p.Memory, Progress: o.Progress, TempDir: o.TempDir,
	}); err != nil {
		return err
	}
	err = draft.Commit(ctx)
	if errors.Is(err, fs.ErrExist) { // a concurrent Commit was faster
		return p.published(ctx, s, receipts, o)
	}
	return err
}

// committed returns nil if the target exists, no file of the plan exists, and the target has the
// elements of the source. An earlier Commit was then stopped after it had done everything, and a
// cluster repeats it.
func (p *Plan) committed(ctx context.Context, o *WorkOptions) (err error) {
	src, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return p.equal(ctx, o, func(*ndarray.Array) (*ndarray.Array, error) { return src, nil })
}

// published returns nil if the existing target has the elements of the parts, because an earlier
// Commit was stopped after it published the target.
func (p *Plan) published(ctx context.Context, s store, receipts map[int64]*receipt, o *WorkOptions) (err error) {
	var from *ndarray.Array
	defer func() {
		if from != nil {
			err = errors.Join(err, from.Close())
		}
	}()
	return p.equal(ctx, o, func(target *ndarray.Array) (_ *ndarray.Array, err error) {
		from, err = p.assemble(ctx, s, len(p.Stages), target.Meta(), receipts)
		return from, err
	})
}

// equal returns ndarray.ErrExists unless the existing target has the shape and the chunks of the
// plan, and the elements of another array.
func (p *Plan) equal(ctx context.Context, o *WorkOptions, other func(target *ndarray.Array) (*ndarray.Array, error)) (err error) {
	target, err := hyperslab.Open(ctx, p.Target.Location, nil)
	if err != nil {
		return fmt.Errorf("%w, and it is not the array of the plan: %w", ndarray.ErrExists, err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if m := target.Meta(); !slices.Equal(m.Shape, p.Source.Shape) || !slices.Equal(m.ChunkShape, p.Target.Chunks) {
		return fmt.Errorf("%w with shape %v in chunks of %v, want %v in chunks of %v", ndarray.ErrExists, m.Shape, m.ChunkShape, p.Source.Shape, p.Target.Chunks)
	}
	from, err := other(target)
	if err != nil {
		return err
	}
	c, err := ndarray.Compare(ctx, target, from, &ndarray.CompareOptions{Workers: o.Workers, Memory: p.Memory, Progress: o.Progress, IgnoreAttrs: true})
	if err != nil {
		return err
	}
	if !c.Equal() {
		return fmt.Errorf("%w with other elements: got %d different ones, want 0", ndarray.ErrExists, c.NumDiffs)
	}
	return nil
}

// attributes returns the attributes of the source that the target gets.
func (p *Plan) attributes(attrs ndarray.Attrs) (keep []ndarray.Attr, err error) {
	for _, name := range p.Target.Attributes {
		at := slices.IndexFunc(attrs.List, func(a ndarray.Attr) bool { return a.Name == name })
		if at >= 0 {
			keep = append(keep, attrs.List[at])
			continue
		}
		at = slices.IndexFunc(attrs.Unsupported, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("%w: attribute %q of %s is missing", ErrSource, name, p.Source.Location)
		}
		raw, ok := attrs.Unsupported[at].Stored()
		if !ok {
			return nil, fmt.Errorf("%w: attribute %q of %s", errors.ErrUnsupported, name, p.Source.Location)
		}
		keep = append(keep, raw)
	}
	return keep, nil
}
