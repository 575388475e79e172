package cblosc_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

// TestMain checks for leaks: every handle is allocated in C memory by package cmem, and leak counts
// the allocations.
func TestMain(m *testing.M) { leak.Main(m) }
