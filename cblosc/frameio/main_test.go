package frameio_test

import (
	"os"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

// TestMain checks for leaks: every context is allocated in C memory by package cmem, and leak
// counts the allocations. If the test binary is started as a peer, it runs C-Blosc2, whose output
// the tests compare with that of a Writer.
func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) != "" {
		// C code sees the variable because the program itself sets it.
		if err := os.Setenv("BLOSC_NTHREADS", "1"); err != nil {
			panic(err)
		}
		os.Exit(servePeer(os.Stdin, os.Stdout))
	}
	leak.Main(m)
}
