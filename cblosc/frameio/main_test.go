package frameio_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/leak"
)

// Every context lives in C memory of package cmem, which leak counts.
func TestMain(m *testing.M) { leak.Main(m) }
