package h5_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

// peerInProcess is true if another binding in the process also has open ids. For example, gonum's
// creates datatypes when it is loaded and never closes them. The check of open ids is then
// disabled.
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
