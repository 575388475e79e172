package ways_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/internal/testkit/ways"
	"github.com/hyperslab/hyperslab/remote"
)

// TestWays compares every way of the Go API with the reference libraries.
func TestWays(t *testing.T) {
	s := ways.Generate(t, need.All())
	reference := ways.NewReference(t, need.Python(t, "h5py", "blosc2", "bcolz", "caterva"))
	all := slices.Concat(ways.Arrays(), ways.Remote(t, s, swap), ways.Serve(t, s, reference), ways.Writes(t, reference))
	require.Greater(t, len(all), 100, "README has the number of all ways")
	report := s.Run(context.Background(), ways.Select(all), ways.Limits)
	report.Require(t)
}

// TestWays_damaged compares the results for damaged copies of the files.
func TestWays_damaged(t *testing.T) {
	s := ways.Generate(t, need.All())
	reference := ways.NewReference(t, need.Python(t, "h5py", "blosc2", "bcolz", "caterva"))
	report, err := s.RunDamaged(context.Background(), reference, 2)
	require.NoError(t, err)
	report.Require(t)
}

// swap replaces the client of package hyperslab and returns the previous one.
func swap(c *remote.Client) *remote.Client {
	before := remote.DefaultClient
	remote.DefaultClient = c
	return before
}
