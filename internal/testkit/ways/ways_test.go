package ways_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/ways"
	"github.com/hyperslab/hyperslab/remote"
)

// TestWays compares every way of the Go API with the reference libraries.
func TestWays(t *testing.T) {
	s := ways.Generate(t, testenv.All())
	reference := ways.NewReference(t, testenv.Python(t, "h5py", "blosc2", "bcolz", "caterva"))
	all := slices.Concat(ways.Arrays(), ways.Remote(t, s, swap), ways.Serve(t, s, reference), ways.Writes(t, reference))
	require.Greater(t, len(all), 100, "README has the number of all ways")
	report := s.Run(context.Background(), ways.Select(all), ways.Limits)
	report.Require(t)
}

// TestWays_foreign reads the files of other software in every way of the Go API that
// does not write.
func TestWays_foreign(t *testing.T) {
	reference := ways.NewReference(t, testenv.Python(t, "h5py", "hdf5plugin", "blosc2"))
	for variable, every := range map[string]int{"HYPERSLAB_CORPUS": 6, "HYPERSLAB_HDF5_SRC": 60, "HYPERSLAB_BLOSC2_SRC": 3} {
		t.Run(variable, func(t *testing.T) {
			if testenv.All() {
				every = 1
			}
			s := ways.Foreign(t, reference, testenv.Directory(t, variable), every)
			require.NotEmpty(t, s.Files)
			s.Sample = !testenv.All()
			readers := slices.DeleteFunc(ways.Arrays(), func(w ways.Way) bool { return strings.HasPrefix(w.Name, "Open+Write") })
			report := s.Run(context.Background(), ways.Select(readers), ways.ForeignLimits)
			report.Require(t)
		})
	}
}

// TestWays_damaged compares the results for damaged copies of the files.
func TestWays_damaged(t *testing.T) {
	s := ways.Generate(t, testenv.All())
	reference := ways.NewReference(t, testenv.Python(t, "h5py", "blosc2", "bcolz", "caterva"))
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
