// The function build, which adds the steps of a plan to a pipeline.

package main

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/hyperslab/hyperslab/plan"
)

func init() {
	register.DoFn3x0[context.Context, []byte, func(int64)](&firstShards{})
	register.DoFn4x1[context.Context, int, func(*int64) bool, func(int64), error](&nextShards{})
	register.DoFn2x3[context.Context, int64, int, int64, error](&work{})
	register.DoFn3x2[context.Context, int, func(*int64) bool, string, error](&commit{})
	register.Emitter1[int64]()
	register.Iter1[int64]()
}

// Counters of a pipeline, for the progress that a runner shows.
var (
	shardsDone    = beam.NewCounter("hyperslab", "shards_done")
	shardsSkipped = beam.NewCounter("hyperslab", "shards_skipped") // an earlier attempt has written the receipt
	bytesDone     = beam.NewCounter("hyperslab", "bytes_done")     // of elements, before compression
)

// build adds the steps of a plan to a pipeline and returns a collection of one string, the location
// of the committed target. path is the program hyperslab, for a plan of many files.
func build(s beam.Scope, p *plan.Plan, path string) (beam.PCollection, error) {
	b, err := p.Encode()
	if err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("hyperslab " + p.Operation)
	shards := beam.ParDo(s.Scope("shards"), &firstShards{Count: p.Stages[0].Shards}, beam.Impulse(s))
	var done beam.PCollection
	for i, stage := range p.Stages {
		in := s.Scope(fmt.Sprintf("stage %d", i+1))
		if i > 0 { // grouping is the barrier between two stages
			shards = beam.ParDo(in.Scope("shards"), &nextShards{Count: stage.Shards, Before: p.Stages[i-1].Shards}, done)
		}
		results := beam.ParDo(in.Scope("work"), &work{Plan: b, Stage: i + 1, Program: path}, beam.Reshuffle(in, shards))
		done = beam.GroupByKey(in, results)
	}
	return beam.ParDo(s.Scope("commit"), &commit{Plan: b, Shards: p.Stages[len(p.Stages)-1].Shards, Program: path}, done), nil
}

// firstShards emits the numbers of the shards of the first stage.
type firstShards struct{ Count int64 }

// ProcessElement is called once, with the impulse.
func (f *firstShards) ProcessElement(_ context.Context, _ []byte, emit func(int64)) {
	for i := range f.Count {
		emit(i)
	}
}

// nextShards emits the numbers of the shards of a stage after those of the stage before are done.
type nextShards struct{ Count, Before int64 }

// ProcessElement is called once, with all results of the stage before.
func (f *nextShards) ProcessElement(_ context.Context, _ int, results func(*int64) bool, emit func(int64)) error {
	if err := requireAll(results, f.Before); err != nil {
		return err
	}
	for i := range f.Count {
		emit(i)
	}
	return nil
}

// requireAll checks the number of different results.
func requireAll(results func(*int64) bool, want int64) error {
	seen := make(map[int64]bool)
	var shard int64
	for results(&shard) {
		seen[shard] = true
	}
	if n := int64(len(seen)); n != want {
		return fmt.Errorf("results of shards: got %d, want %d", n, want)
	}
	return nil
}

// work does one shard.
type work struct {
	Plan    []byte
	Stage   int
	Program string // hyperslab

	plan *plan.Plan
}

// Setup parses the plan once for each instance.
func (f *work) Setup() (err error) {
	f.plan, err = plan.Parse(f.Plan)
	return err
}

// ProcessElement does a shard and returns its number under a common key.
func (f *work) ProcessElement(ctx context.Context, shard int64) (int, int64, error) {
	done, err := true, error(nil)
	if ofFiles(f.plan) {
		err = (&program{f.Program, f.Plan}).work(ctx, shard)
	} else {
		done, err = f.plan.Work(ctx, f.Stage, shard, nil)
	}
	if err != nil {
		return 0, 0, err
	}
	if !done {
		shardsSkipped.Inc(ctx, 1)
		return 0, shard, nil
	}
	shardsDone.Inc(ctx, 1)
	bytesDone.Inc(ctx, f.plan.Source.Bytes/f.plan.Stages[f.Stage-1].Shards)
	return 0, shard, nil
}

// commit commits the plan after all shards of the last stage.
type commit struct {
	Plan    []byte
	Shards  int64
	Program string // hyperslab
}

// ProcessElement is called once, with all results.
func (f *commit) ProcessElement(ctx context.Context, _ int, results func(*int64) bool) (string, error) {
	if err := requireAll(results, f.Shards); err != nil {
		return "", err
	}
	p, err := plan.Parse(f.Plan)
	if err != nil {
		return "", err
	}
	if ofFiles(p) {
		return p.Target.Location, (&program{f.Program, f.Plan}).commit(ctx)
	}
	return p.Target.Location, p.Commit(ctx, nil)
}
