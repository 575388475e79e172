package crosscheck_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("CROSSCHECK_TEST_READER"); mode == "judge" {
		limitMemory()
		os.Exit(crosscheck.ReadBroken(os.Getenv("CROSSCHECK_TEST_LIST")))
	} else if mode == "mutated" {
		limitMemory()
		os.Exit(crosscheck.ReadMutated(os.Getenv("CROSSCHECK_TEST_LIST")))
	} else if name, ok := strings.CutPrefix(mode, "adapter-"); ok {
		os.Exit(adapterUnderTest(name))
	} else if strings.HasPrefix(mode, "write-") {
		os.Exit(writer(mode, os.Args[1], os.Args[2]))
	} else if mode != "" {
		os.Exit(reader(mode, os.Args[1], os.Args[2]))
	}
	leak.Main(m, leak.Check{Name: "directories of vectors", Left: func() (int64, error) { return 0, crosscheck.RemoveCorpus() }})
}

// limitMemory limits the data of this process to 1 GiB, because libhdf5 allocates as much memory as
// a damaged file declares: 4 GiB for the nodes of a B-tree.
func limitMemory() {
	const limit = 1 << 30
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}

// TestEmit_removed checks that Emit does not make its directory again. An interrupted command
// removes the directory, possibly before Emit returns.
func TestEmit_removed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vectors")
	var once sync.Once
	_, err := crosscheck.Emit(t.Context(), dir, &crosscheck.Options{Small: true, Progress: func(string, int) {
		once.Do(func() { require.NoError(t, os.RemoveAll(dir)) })
	}})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoDirExists(t, dir)
}

func TestEmit_reproducible(t *testing.T) {
	t.Parallel()
	a, m := crosscheck.Corpus(t)
	b := filepath.Join(t.TempDir(), "b")
	var o crosscheck.Options
	if crosscheck.Sampling() { // TestVectors_digests compares the digests of the other areas
		o.Areas = []string{"chunk", "frame", "caterva", "metalayer", "bcolz", "store"}
	}
	again, err := crosscheck.Emit(t.Context(), b, &o)
	require.NoError(t, err)
	first := m.Cases
	if len(o.Areas) > 0 {
		first = crosscheck.InAreas(m, o.Areas...)
	}
	require.Len(t, again.Cases, len(first))
	for i, c := range first {
		require.Equal(t, c, again.Cases[i])
	}
	for _, c := range again.Cases {
		require.NoError(t, crosscheck.Unchanged(b, c))
	}
	na, da, err := crosscheck.Digest(a)
	require.NoError(t, err)
	if len(o.Areas) == 0 {
		nb, db, err := crosscheck.Digest(b)
		require.NoError(t, err)
		require.Equal(t, na, nb)
		require.Equal(t, da, db)
	}
	require.LessOrEqual(t, na, int64(30<<20), "small by default")
	loaded, err := crosscheck.Load(a)
	require.NoError(t, err)
	require.Len(t, loaded.Cases, len(m.Cases))
	for _, c := range m.Coverage {
		require.Equal(t, c.Pairs, c.Covered, "%s: every possible pair is in a case", c.Area)
		t.Logf("%s: %d cases contain %d pairs, %d are impossible", c.Area, c.Cases, c.Pairs, c.Impossible)
	}
	t.Logf("%d cases, %d bytes", len(m.Cases), na)

	_, err = crosscheck.Emit(t.Context(), a, nil)
	require.ErrorIs(t, err, os.ErrExist)
	_, err = crosscheck.Emit(t.Context(), filepath.Join(t.TempDir(), "c"), &crosscheck.Options{Areas: []string{"zarr"}})
	require.ErrorContains(t, err, "zarr")
}

func TestEmit_environment(t *testing.T) {
	t.Setenv("BLOSC_NTHREADS", "2")
	_, err := crosscheck.Emit(t.Context(), filepath.Join(t.TempDir(), "d"), nil)
	require.ErrorContains(t, err, "BLOSC_NTHREADS")
}
