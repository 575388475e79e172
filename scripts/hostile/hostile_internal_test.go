package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

func TestMain(m *testing.M) {
	worker.Init()
	if slices.Contains(os.Args, "-child") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestReproducible checks that the same seed gives the same cases and that another seed gives other
// mutants.
func TestReproducible(t *testing.T) {
	c := config{mutants: 300, cuts: 3, seed: 7, root: "../.."}
	a, err := plan(c)
	require.NoError(t, err)
	b, err := plan(c)
	require.NoError(t, err)
	c.seed = 8
	other, err := plan(c)
	require.NoError(t, err)
	require.Len(t, b, len(a))
	mutants, same, changed := 0, 0, 0
	for i := range a {
		if a[i].rare && i%211 > 0 {
			continue
		}
		require.Equal(t, a[i].name(), b[i].name())
		x, y := a[i].make(), b[i].make()
		require.Equal(t, x, y)
		if a[i].how != "mutated" {
			continue
		}
		mutants++
		for name, was := range a[i].seed.files {
			if !bytes.Equal(was, x[name]) {
				changed++
			}
			if !bytes.Equal(other[i].make()[name], x[name]) {
				same--
			}
		}
	}
	require.Equal(t, 300, mutants)
	require.Greater(t, changed, mutants/2)
	require.Negative(t, same)
}

// TestOptions_Every checks that the option every reduces the number of rare cases only.
func TestOptions_Every(t *testing.T) {
	count := func(every int) (rare, often int) {
		list, err := plan(config{mutants: 50, cuts: 1, seed: 1, every: every, root: "../.."})
		require.NoError(t, err)
		for i := range list {
			if list[i].rare {
				rare++
			} else {
				often++
			}
		}
		return rare, often
	}
	all, often := count(1)
	require.Greater(t, all, 1000)
	some, same := count(7)
	require.Equal(t, all/7, some)
	require.Equal(t, often, same)
}

// TestOptions_Workers checks that the option workers selects rare cases that run in a worker too.
func TestOptions_Workers(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		list, err := plan(config{mutants: 50, cuts: 1, seed: 1, every: 50, workers: workers, root: "../.."})
		require.NoError(t, err)
		rare, both := 0, 0
		for i := range list {
			x := &list[i]
			require.True(t, x.fits(direct))
			if !x.rare {
				require.True(t, x.fits(isolated), x.name())
			} else if x.fits(isolated) {
				both++
			}
			require.Equal(t, !x.rare && x.seed.sort != "chunk", x.fits(examined), x.name())
			require.Equal(t, !x.rare, x.fits(entries), x.name())
			if x.rare {
				rare++
			}
		}
		require.Greater(t, rare, 3)
		if workers == 0 {
			require.Zero(t, both)
		} else {
			require.Equal(t, rare/workers, both)
		}
	}
}

// TestModes checks that valid files are read and invalid files are refused in each mode.
func TestModes(t *testing.T) {
	list, err := plan(config{root: "../..", cuts: 1})
	require.NoError(t, err)
	count := map[mode]map[outcome]int{}
	for _, m := range modes {
		if m == entries || m == trusted { // TestEntries has child processes for them
			continue
		}
		count[m] = map[outcome]int{}
		often := 120 // because the worker of each case is a new process
		if m == direct || m == examined {
			often = 24
		}
		seen := 0
		for i := range list {
			if !list[i].fits(m) || list[i].rare {
				continue
			}
			if seen++; seen%often > 0 {
				continue
			}
			place := filepath.Join(t.TempDir(), "case")
			o, detail := list[i].run(context.Background(), m, place)
			require.Contains(t, []outcome{refused, failed, read}, o, "%s: %s", list[i].name(), detail)
			count[m][o]++
		}
	}
	require.Positive(t, count[direct][read])
	require.Positive(t, count[direct][refused])
	require.Positive(t, count[examined][read])
	require.Positive(t, count[examined][refused])
	require.Positive(t, count[isolated][read])
	require.Positive(t, count[isolated][refused])
}

// TestChunks_Workers checks that decompressing a chunk has the same outcome in the process and in
// a worker.
func TestChunks_Workers(t *testing.T) {
	list, err := plan(config{root: "../..", cuts: 1, mutants: 400, seed: 3})
	require.NoError(t, err)
	seen := map[outcome]int{}
	for i := range list {
		x := &list[i]
		if x.seed.sort != "chunk" || x.rare || i%5 > 0 {
			continue
		}
		here, _ := x.run(t.Context(), direct, filepath.Join(t.TempDir(), "here"))
		there, detail := x.run(t.Context(), isolated, filepath.Join(t.TempDir(), "there"))
		require.Equal(t, here, there, "%s: %s", x.name(), detail)
		seen[there]++
	}
	require.Positive(t, seen[read])
	require.Positive(t, seen[refused])
}

func TestHighWater(t *testing.T) {
	n, err := highWater()
	require.NoError(t, err)
	require.Greater(t, n, int64(1<<20))
}
