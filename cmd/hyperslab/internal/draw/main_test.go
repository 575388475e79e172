package draw

import (
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) { leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}) }
