package h5_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/leak"
)

// A peer in the process keeps ids of its own (gonum's makes datatypes when it is
// loaded and never closes them), so that then only ours can be counted.
var peerInProcess bool

func TestMain(m *testing.M) {
	checks := []leak.Check{
		{Name: "queued HDF5 ids", Left: h5.QueuedIDs},
		{Name: "HDF5 files forgotten", Left: h5.ForgottenOwners},
	}
	if !peerInProcess {
		checks = append(checks, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
	}
	leak.Main(m, checks...)
}
