package plan_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// Divide a copy into shards. Any number of processes can share the loop over the shards.
func Example() {
	dir, err := os.MkdirTemp("", "plan")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	source := filepath.Join(dir, "source.h5:/temperature")
	draft, err := hyperslab.Create(ctx, source, ndarray.Spec{
		Shape: []int64{100, 64, 64}, ChunkShape: []int64{10, 64, 64}, DType: ndarray.DTypeOf[float32](),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := draft.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	p, err := plan.New(ctx, "convert", source, filepath.Join(dir, "target.b2nd"), &plan.Options{ShardBytes: 500_000})
	if err != nil {
		log.Fatal(err)
	}
	for i, stage := range p.Stages {
		for shard := range stage.Shards {
			if _, err := p.Work(ctx, i+1, shard, nil); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := p.Commit(ctx, nil); err != nil {
		log.Fatal(err)
	}
	format, err := hyperslab.Sniff(filepath.Join(dir, "target.b2nd"))
	fmt.Println(p.Stages[0].Shards, "shards of", p.Stages[0].Shard, format, err)
	// Output: 4 shards of [30 64 64] b2nd <nil>
}
