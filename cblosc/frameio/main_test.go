package frameio_test

import (
	"os"
	"testing"

	"github.com/hyperslab/hyperslab/internal/leak"
)

// Every context lives in C memory of package cmem, which leak counts. Started by
// itself as a peer, the test binary is the library that writes what a Writer is
// compared with.
func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) != "" {
		if err := os.Setenv("BLOSC_NTHREADS", "1"); err != nil { // seen by C because the program sets it
			panic(err)
		}
		os.Exit(servePeer(os.Stdin, os.Stdout))
	}
	leak.Main(m)
}
