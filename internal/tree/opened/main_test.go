package opened_test

import (
	"context"
	"os"
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

// withoutInit is the environment variable that makes this test binary a program without
// worker.Init.
const withoutInit = "FORMATS_TEST_WITHOUT_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(withoutInit) == "" {
		worker.Init()
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()
