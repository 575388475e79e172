// The command line.

package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	apache "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/hyperslab/hyperslab/plan"
	_ "github.com/hyperslab/hyperslab/remote" // sources and targets of S3
)

func main() {
	file := flag.String("plan", "", "`FILE` that hyperslab plan wrote")
	path := flag.String("program", "hyperslab", "`PROGRAM` hyperslab of the workers, which does the shards of a plan of many files")
	flag.Parse()
	apache.Init() // does not return in a worker process
	if err := run(context.Background(), *file, *path); err != nil {
		fmt.Fprintf(os.Stderr, "hyperslab-beam: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, path string) error {
	if file == "" {
		return fmt.Errorf("--plan is missing")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := plan.Parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	pipeline, scope := apache.NewPipelineWithRoot()
	if _, err := build(scope, p, path); err != nil {
		return err
	}
	return beamx.Run(ctx, pipeline)
}
