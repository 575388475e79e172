// Program cluster converts an array in shards, as the processes of a cluster do.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

func main() {
	ctx := context.Background()
	const source, target = "testdata/etopo120.h5:/ROSE", "rose.b2nd"
	p, err := plan.New(ctx, "convert", source, target, &plan.Options{
		Spec:       spec(ctx, source),
		ShardBytes: 40_000,
		Workers:    2,
	})
	if err != nil {
		log.Fatal(err)
	}
	// Encode returns the plan for other processes, which read it with plan.Parse.
	for i, stage := range p.Stages {
		for shard := range stage.Shards {
			done, err := p.Work(ctx, i+1, shard, nil)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("shard", shard, done)
		}
	}
	done, err := p.Work(ctx, 1, 0, nil) // a repeated shard is skipped
	fmt.Println("shard 0 again", done, err)
	if err := p.Commit(ctx, nil); err != nil {
		log.Fatal(err)
	}
	a, err := hyperslab.Open(ctx, target, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a)
}

// spec returns the array to write: that of the source with other chunks and without attributes.
func spec(ctx context.Context, source string) *ndarray.Spec {
	a, err := hyperslab.Open(ctx, source, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	s := a.Meta().Spec()
	s.ChunkShape, s.Compression = []int64{30, 60}, nil
	return &s
}
