package h5tree_test

import (
	"context"
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/remote"
)

func TestMain(m *testing.M) {
	worker.Init()
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()
