// Work, which does one shard.

package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// WorkOptions are the options of Work and Commit. Nil means the zero value.
type WorkOptions struct {
	Workers  int                    // goroutines, at most Plan.Workers; default Plan.Workers
	Progress func(ndarray.Progress) // as in ndarray.CopyOptions; may be nil
	TempDir  string                 // as in ndarray.CopyOptions, also for parts before an upload

	// Changed is called at the end with the numbers of elements that a conversion of the element
	// type changed: by Work for a shard that it did, by Commit for all. Nil: it is not called.
	Changed func(rounded, clipped int64)

	// Files processes the files of some lines of the list of a plan of many files. Files writes the
	// targets to the directory dir and returns a JSON document about the targets. Publish moves the
	// targets from dir to their final locations. Commit calls Publish once for each shard. A Commit
	// after one that was stopped calls Publish for all shards again.
	Files   func(ctx context.Context, lines []byte, dir string) (json.RawMessage, error)
	Publish func(ctx context.Context, lines []byte, dir string, result json.RawMessage) error
}

// workers returns the number of goroutines. More than those of the plan would need more memory than
// the plan projects.
func (p *Plan) workers(o *WorkOptions) (int, error) {
	n := cmp.Or(o.Workers, p.Workers)
	if n < 1 || n > p.Workers {
		return 0, fmt.Errorf("%w: %d workers: the memory of the plan is for 1 to %d", ndarray.ErrParam, n, p.Workers)
	}
	return n, nil
}

// Work does one shard of a stage; stages count from 1 and shards from 0. done is false if the shard
// already has a receipt, of an earlier call or of a call that was faster.
//
// It returns ErrShard, ErrSource if the source changed before or during the call, ErrPlan,
// ErrTarget, ErrReceipt for an invalid receipt of the shard, ErrIncomplete if the shard is of the
// second stage and the first one has no receipts yet for its elements, ndarray.ErrExists if the
// target exists, or the errors of ndarray.Copy.
func (p *Plan) Work(ctx context.Context, stage int, shard int64, o *WorkOptions) (done bool, err error) {
	done, err = p.work(ctx, stage, shard, o)
	return done, ndarray.Wrap("work on", p.Target.Location, err)
}

func (p *Plan) work(ctx context.Context, stage int, shard int64, options *WorkOptions) (done bool, err error) {
	if options == nil {
		options = &WorkOptions{}
	}
	o := *options
	if o.Workers, err = p.workers(options); err != nil {
		return false, err
	}
	if stage < 1 || stage > len(p.Stages) {
		return false, fmt.Errorf("%w: stage: got %d, want 1 to %d", ErrShard, stage, len(p.Stages))
	}
	if n := p.Stages[stage-1].Shards; shard < 0 || shard >= n {
		return false, fmt.Errorf("%w: got %d, want 0 to %d", ErrShard, shard, n-1)
	}
	s, err := p.state(ctx, true, o.TempDir)
	if err != nil {
		return false, err
	}
	if _, err := p.receipt(ctx, s, stage, shard); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	r := &receipt{Schema: receiptSchema, Plan: p.ID, Stage: stage, Shard: shard}
	if p.ofFiles() {
		if err := p.workFiles(ctx, s, r, &o); err != nil {
			return false, err
		}
		return p.deliver(ctx, s, r, &o)
	}
	src, err := p.open(ctx)
	if err != nil {
		return false, err
	}
	defer cmem.Trim() // the chunk index of the source, before the next shard of this process
	defer func() { err = errors.Join(err, src.Close()) }()
	from := src.Array
	if stage == 2 {
		if err := p.finished(ctx, s, shard); err != nil {
			return false, err
		}
		m := src.Meta()
		m.Format, m.Path, m.ChunkShape, m.BlockShape, m.Compression = string(hyperslab.B2ND), p.Target.Location+partsSuffix, p.Stages[0].Chunks, nil, nil
		if from, err = p.assemble(ctx, s, 1, m, nil); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
	}
	box := p.Stages[stage-1].region(p.Source.Shape, shard)
	part, err := window(from, box)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, part.Close()) }()
	if operations[p.Operation] {
		err = p.writePart(ctx, s, r, src.Meta(), part, &o)
	} else {
		r.Result, err = p.examine(ctx, part, box, &o)
	}
	if err != nil {
		return false, err
	}
	r.Rounded, r.Clipped = src.changed()
	return p.deliver(ctx, s, r, &o)
}

// deliver creates the receipt of a part, or removes the part.
func (p *Plan) deliver(ctx context.Context, s store, r *receipt, o *WorkOptions) (done bool, err error) {
	lost := true // no receipt can name the part
	defer func() {
		if lost && r.Part != "" {
			err = errors.Join(err, s.remove(context.WithoutCancel(ctx), r.Part))
		}
	}()
	if !p.ofFiles() {
		again, _, err := p.openStored(ctx) // a source that changed meanwhile gives a part of both versions
		if err != nil {
			return false, err
		}
		if err := again.Close(); err != nil {
			return false, err
		}
	}
	if r.Digest, err = r.seal(); err != nil {
		return false, err
	}
	b, err := encode(r)
	if err != nil {
		return false, err
	}
	// A failed create may have had its effect, for example if only the answer was lost. The part
	// must then stay.
	lost = false
	err = s.create(ctx, receiptName(r.Stage, r.Shard), b)
	if errors.Is(err, errCommitted) {
		lost = true
		return false, err
	}
	if !errors.Is(err, fs.ErrExist) {
		if err == nil && o.Changed != nil {
			o.Changed(r.Rounded, r.Clipped)
		}
		return err == nil, err
	}
	first, err := p.receipt(ctx, s, r.Stage, r.Shard)
	if err != nil {
		return false, err
	}
	lost = first.Part != r.Part
	return first.Digest == r.Digest && r.Part != "", nil
}

// window returns the array of the elements in a box.
func window(a *ndarray.Array, box ndarray.Region) (*ndarray.Array, error) {
	items := make([]ndarray.Index, len(box.Shape))
	for i, start := range box.Start {
		items[i] = ndarray.Span(start, start+box.Shape[i])
	}
	return ndarray.View(a, ndarray.Select(items...))
}

// spec returns the array that the plan creates, without attributes.
func (p *Plan) spec(m ndarray.Meta) ndarray.Spec {
	t := p.Target
	s := ndarray.Spec{
		Shape: slices.Clone(p.Source.Shape), MaxShape: t.MaxShape, AxisNames: t.Dimensions, ChunkShape: t.Chunks, BlockShape: t.Blocks,
		DType: m.DType, Compression: &ndarray.Compression{Codec: t.Codec, Level: t.Level, Filters: t.Filters}, Comment: t.Comment,
	}
	if len(t.Fill) > 0 {
		s.Fill = t.Fill
	}
	return s
}

// partSpec returns the array of a part: the storage of the target, or of the chunks between two
// stages.
func (p *Plan) partSpec(stage int, m ndarray.Meta, shape []int64) ndarray.Spec {
	s := p.spec(m)
	s.Shape, s.MaxShape, s.AxisNames, s.Comment = shape, nil, nil, ""
	if stage < len(p.Stages) {
		s.ChunkShape, s.BlockShape = p.Stages[stage-1].Chunks, nil
		s.Compression = &ndarray.Compression{Codec: "lz4", Level: 1, Filters: []string{"shuffle"}}
	}
	for i, n := range shape {
		if p.partFormat(stage) == hyperslab.HDF5 && s.ChunkShape[i] > n && s.MaxShape == nil {
			s.MaxShape = slices.Clone(shape) // a fixed dimension would clip the chunks
		}
		if s.MaxShape != nil && s.ChunkShape[i] > n {
			s.MaxShape[i] = ndarray.Unlimited
		}
	}
	return s
}

// writePart writes the elements of a shard to a part and describes it in the receipt. After an
// error there is no part.
func (p *Plan) writePart(ctx context.Context, s store, r *receipt, m ndarray.Meta, from *ndarray.Array, o *WorkOptions) (err error) {
	format := p.partFormat(r.Stage)
	name := partName(r.Stage, r.Shard) + attempt()
	path, done, err := s.scratch(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	location := path
	if format == hyperslab.HDF5 {
		location += ":" + object
	}
	sparse := p.Target.Sparse && r.Stage == len(p.Stages)
	draft, err := hyperslab.Create(ctx, location, p.partSpec(r.Stage, m, from.Shape()), &hyperslab.CreateOptions{Format: format, Sparse: sparse})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	if _, err := ndarray.Copy(ctx, draft.Array, from, &ndarray.CopyOptions{
		Workers: o.Workers, Memory: p.Memory, Progress: o.Progress, TempDir: o.TempDir,
	}); err != nil {
		return err
	}
	if err := draft.Commit(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(context.WithoutCancel(ctx), name))
		}
	}()
	if sparse {
		if r.Chunks, err = chunksOf(path); err != nil {
			return err
		}
	}
	if r.Bytes, r.SHA256, err = sum(ctx, path, r.Chunks); err != nil {
		return err
	}
	r.Part = name
	if sparse {
		return s.putChunks(ctx, r, path, p.numbers(r.Shard))
	}
	return s.put(ctx, r, path)
}

// finished returns ErrIncomplete unless the shards of the first stage that a shard of the second
// one reads have receipts.
func (p *Plan) finished(ctx context.Context, s store, shard int64) error {
	box := p.Stages[1].region(p.Source.Shape, shard)
	j := &joined{meta: ndarray.Meta{Shape: p.Source.Shape}, stage: p.Stages[0]}
	return j.each(box, func(first int64, _ ndarray.Region) error {
		_, err := p.receipt(ctx, s, 1, first)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: shard %d of stage 2 needs shard %d of stage 1, which has no receipt", ErrIncomplete, shard, first)
		}
		return err
	})
}

// Missing returns the shards of a stage that have no receipt, in ascending order.
//
// It returns ErrShard for a stage that does not exist, ErrPlan or ErrTarget, and ndarray.ErrExists
// if the target exists.
func (p *Plan) Missing(ctx context.Context, stage int) ([]int64, error) {
	missing, err := p.missing(ctx, stage)
	return missing, ndarray.Wrap("list shards of", p.Target.Location, err)
}

func (p *Plan) missing(ctx context.Context, stage int) (missing []int64, err error) {
	if stage < 1 || stage > len(p.Stages) {
		return nil, fmt.Errorf("%w: stage: got %d, want 1 to %d", ErrShard, stage, len(p.Stages))
	}
	s, err := p.state(ctx, true, "")
	if err != nil {
		return nil, err
	}
	return p.without(ctx, s, stage)
}

// without lists the shards without a receipt.
func (p *Plan) without(ctx context.Context, s store, stage int) (missing []int64, err error) {
	names, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	have := make(map[string]bool, len(names))
	for _, name := range names {
		have[name] = true
	}
	for i := range p.Stages[stage-1].Shards {
		if !have[receiptName(stage, i)] {
			missing = append(missing, i)
		}
	}
	return missing, nil
}
