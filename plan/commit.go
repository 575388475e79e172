// Commit, which joins the parts and publishes the target.

package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
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
	again, err := p.commitOnce(ctx, &o)
	if err == nil || again || ctx.Err() != nil {
		return err
	}
	// A concurrent Commit may have been faster and have removed the files that this one read.
	if _, taken := p.state(ctx, false, o.TempDir); !errors.Is(taken, ndarray.ErrExists) {
		return err
	}
	_, err = p.commitOnce(ctx, &o)
	return err
}

// commitOnce commits the plan. If an earlier Commit has published the target and removed the files
// of the plan, it only compares the target, and again is true.
func (p *Plan) commitOnce(ctx context.Context, o *WorkOptions) (again bool, err error) {
	s, err := p.state(ctx, false, o.TempDir)
	again = errors.Is(err, ndarray.ErrExists)
	if err != nil && !again {
		return false, err
	}
	if p.ofFiles() {
		return false, p.commitFiles(ctx, s, o)
	}
	var receipts map[int64]*receipt
	if !again {
		if receipts, err = p.receipts(ctx, s); err != nil {
			return again, err
		}
	}
	src, err := p.open(ctx)
	if err != nil {
		return again, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	switch {
	case again && operations[p.Operation]:
		// A cluster repeats a Commit that was stopped when it removed the files of the plan, or
		// later.
		err = p.published(ctx, src.Array, o)
	case again:
		err = p.concluded(ctx)
	case operations[p.Operation]:
		err = p.publish(ctx, s, receipts, src, o)
	default:
		err = p.conclude(ctx, src.DType(), receipts)
	}
	if err == nil && again {
		s, err = p.store(o.TempDir)
	}
	if err == nil && o.Changed != nil {
		err = p.reportChanged(ctx, s, receipts, src, o)
	}
	if err != nil {
		return again, err
	}
	return again, s.removeAll(ctx)
}

// reportChanged calls WorkOptions.Changed with the sums of the receipts of the first stage, which
// converts the elements. Without receipts, because an earlier Commit removed them, the comparison
// with the target has converted all elements again.
func (p *Plan) reportChanged(ctx context.Context, s store, receipts map[int64]*receipt, src *source, o *WorkOptions) error {
	if receipts == nil || p.Target.DType == "" {
		o.Changed(src.changed())
		return nil
	}
	rounded, clipped := int64(0), int64(0)
	for shard := range p.Stages[0].Shards {
		r := receipts[shard]
		if len(p.Stages) > 1 {
			var err error
			if r, err = p.receipt(ctx, s, 1, shard); err != nil {
				return err
			}
		}
		rounded, clipped = rounded+r.Rounded, clipped+r.Clipped
	}
	o.Changed(rounded, clipped)
	return nil
}

// mostListed is the number of shards in the message of ErrIncomplete.
const mostListed = 10

// complete returns ErrIncomplete with the first shards without a receipt.
func (p *Plan) complete(ctx context.Context, s store) error {
	for i := range p.Stages {
		missing, err := p.without(ctx, s, i+1)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			list := make([]string, 0, mostListed)
			for _, n := range missing[:min(len(missing), mostListed)] {
				list = append(list, fmt.Sprint(n))
			}
			if len(missing) > mostListed {
				list = append(list, "…")
			}
			return fmt.Errorf("%w: %d of %d shards of stage %d have no receipt: %s", ErrIncomplete, len(missing), p.Stages[i].Shards, i+1, strings.Join(list, ", "))
		}
	}
	return nil
}

// receipts returns the receipts of the last stage. It checks those of all stages and the parts of
// the last one.
func (p *Plan) receipts(ctx context.Context, s store) (map[int64]*receipt, error) {
	if err := p.complete(ctx, s); err != nil {
		return nil, err
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
			if r.SHA256 != "" {
				err = s.intact(gctx, r)
			}
			if p.Target.Sparse {
				err = cmp.Or(p.counted(r), err)
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
func (p *Plan) publish(ctx context.Context, s store, receipts map[int64]*receipt, src *source, o *WorkOptions) (err error) {
	at, err := locate.Parse(p.Target.Location)
	if err != nil {
		return err
	}
	if err := p.vacant(ctx); errors.Is(err, ndarray.ErrExists) && p.present(ctx) {
		return p.published(ctx, src.Array, o) // an earlier Commit was stopped
	} else if err != nil && !errors.Is(err, ndarray.ErrExists) {
		return err
	}
	spec := p.spec(src.Meta())
	if spec.Attrs, err = p.attributes(src.attrs); err != nil {
		return err
	}
	remote := urlfile.IsURL(at.File)
	url := at.File
	if remote {
		dir, remove, err := temporary(ctx, o.TempDir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
		at.File = filepath.Join(dir, "target")
	}
	if p.virtual() {
		err = p.publishVirtual(ctx, s, receipts, spec)
	} else {
		err = p.join(ctx, s, receipts, at.String(), spec, o)
	}
	if remote && err == nil {
		err = p.upload(ctx, at.File, url)
	}
	if errors.Is(err, fs.ErrExist) && p.present(ctx) { // a concurrent Commit was faster
		return p.published(ctx, src.Array, o)
	}
	return err
}

// upload uploads the joined target: the file, or the index of a sparse target.
func (p *Plan) upload(ctx context.Context, file, url string) error {
	if p.Target.Sparse {
		file, url = filepath.Join(file, cframe.IndexFile), strings.TrimSuffix(url, "/")+"/"+cframe.IndexFile
	}
	return exclusive(ctx, url, urlfile.Upload{Path: file})
}

// present reports whether an array of the target can be opened.
func (p *Plan) present(ctx context.Context) bool {
	a, err := hyperslab.Open(ctx, p.Target.Location, nil)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ndarray.ErrNotFound)
	}
	return a.Close() == nil
}

// join writes the target to a location from the parts without recompression.
func (p *Plan) join(ctx context.Context, s store, receipts map[int64]*receipt, location string, spec ndarray.Spec, o *WorkOptions) (err error) {
	draft, err := hyperslab.Create(ctx, location, spec, &hyperslab.CreateOptions{
		Format: hyperslab.Format(p.Target.Format), Sparse: p.Target.Sparse,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	if p.Target.Sparse {
		if err := p.placeChunks(ctx, s, receipts, draft.Backend()); err != nil {
			return err
		}
		return draft.Commit(ctx)
	}
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
	return draft.Commit(ctx)
}

// published returns ndarray.ErrExists unless the existing target has the shape and the chunks of
// the plan, and the elements of the source.
func (p *Plan) published(ctx context.Context, src *ndarray.Array, o *WorkOptions) (err error) {
	target, err := hyperslab.Open(ctx, p.Target.Location, nil)
	if err != nil {
		return fmt.Errorf("%w, and it is not the array of the plan: %w", ndarray.ErrExists, err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	chunks := p.Target.Chunks
	if p.virtual() {
		chunks = nil
	}
	if m := target.Meta(); !slices.Equal(m.Shape, p.Source.Shape) || !slices.Equal(m.ChunkShape, chunks) {
		return fmt.Errorf("%w with shape %v in chunks of %v, want %v in chunks of %v", ndarray.ErrExists, m.Shape, m.ChunkShape, p.Source.Shape, chunks)
	}
	c, err := ndarray.Compare(ctx, target, src, &ndarray.CompareOptions{Workers: o.Workers, Memory: p.Memory, Progress: o.Progress, IgnoreAttrs: true})
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
	values, unsupported := make(map[string]ndarray.Attr), make(map[string]ndarray.UnsupportedAttr)
	for _, a := range slices.Backward(attrs.List) {
		values[a.Name] = a
	}
	for _, u := range slices.Backward(attrs.Unsupported) {
		unsupported[u.Name] = u
	}
	for _, name := range p.Target.Attributes {
		if a, ok := values[name]; ok {
			keep = append(keep, a)
			continue
		}
		u, ok := unsupported[name]
		if !ok {
			return nil, fmt.Errorf("%w: attribute %q of %s is missing", ErrSource, name, p.Source.Location)
		}
		raw, ok := u.Stored()
		if !ok {
			return nil, fmt.Errorf("%w: attribute %q of %s", errors.ErrUnsupported, name, p.Source.Location)
		}
		keep = append(keep, raw)
	}
	return keep, nil
}
