package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

var errInjected = errors.New("injected failure")

// counting is a store that counts its requests. Some requests fail, before or after their effect.
type counting struct {
	store
	mu     sync.Mutex
	counts map[string]int
	random *rand.Rand
	rate   float64 // fraction of requests that fail
}

func (c *counting) count(name string, f func() error) error {
	c.mu.Lock()
	c.counts[name]++
	fails, after := c.random.Float64() < c.rate, c.random.IntN(2) == 0
	c.mu.Unlock()
	if fails && !after {
		return errInjected
	}
	err := f()
	if fails && err == nil {
		return errInjected
	}
	return err
}

func (c *counting) create(ctx context.Context, name string, b []byte) error {
	return c.count("create", func() error { return c.store.create(ctx, name, b) })
}

func (c *counting) read(ctx context.Context, name string) (b []byte, err error) {
	err = c.count("read", func() (err error) { b, err = c.store.read(ctx, name); return err })
	return b, err
}

func (c *counting) list(ctx context.Context) (names []string, err error) {
	err = c.count("list", func() (err error) { names, err = c.store.list(ctx); return err })
	return names, err
}

func (c *counting) put(ctx context.Context, r *receipt, path string) error {
	return c.count("put", func() error { return c.store.put(ctx, r, path) })
}

func (c *counting) intact(ctx context.Context, r *receipt) error {
	return c.count("compare", func() error { return c.store.intact(ctx, r) })
}

func (c *counting) remove(ctx context.Context, name string) error {
	return c.count("remove", func() error { return c.store.remove(ctx, name) })
}

// count replaces the store of the package with a counting store until the test ends.
func count(t *testing.T, rate float64) *counting {
	c := &counting{counts: make(map[string]int), random: rand.New(rand.NewPCG(1, 2)), rate: rate}
	before := newStore
	newStore = func(dir, _ string) store {
		c.store = directory{dir}
		return c
	}
	t.Cleanup(func() { newStore = before })
	return c
}

// rows returns a plan of n shards with one chunk each, and the target.
func rows(t *testing.T, n int64) (*Plan, string) {
	t.Helper()
	dir := t.TempDir()
	d, err := hyperslab.Create(t.Context(), dir+"/a.b2nd", ndarray.Spec{
		Shape: []int64{n, 16}, ChunkShape: []int64{1, 16}, DType: ndarray.DTypeOf[int32](),
	}, nil)
	require.NoError(t, err)
	v := make([]int32, d.NumElems())
	for i := range v {
		v[i] = int32(i)
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(t.Context()))
	p, err := New(t.Context(), "copy", dir+"/a.b2nd", dir+"/out.b2nd", &Options{ShardBytes: 64, Workers: 1})
	require.NoError(t, err)
	require.Equal(t, n, p.Stages[0].Shards)
	return p, dir
}

// TestStore_requests compares the requests of 1,000 workers, each with one shard, with
// docs/cluster/requests.md.
func TestStore_requests(t *testing.T) {
	p, dir := rows(t, 1000)
	c := count(t, 0)
	for shard := range p.Stages[0].Shards {
		_, err := p.Work(t.Context(), 1, shard, nil)
		require.NoError(t, err)
	}
	work := maps.Clone(c.counts)
	clear(c.counts)
	require.NoError(t, p.Commit(t.Context(), nil))
	text, err := os.ReadFile("../docs/cluster/requests.md")
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(map[string]bool{"create": true, "read": true, "list": true, "put": true, "compare": true, "remove": true})) {
		row := fmt.Sprintf("| %s | %d | %d |", name, work[name], c.counts[name])
		require.Contains(t, string(text), row)
	}
	same(t, dir)
}

func same(t *testing.T, dir string) {
	t.Helper()
	want, err := os.ReadFile(dir + "/a.b2nd")
	require.NoError(t, err)
	got, err := os.ReadFile(dir + "/out.b2nd")
	require.NoError(t, err)
	require.Equal(t, want, got)
	left, err := filepath.Glob(dir + "/*.parts*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestStore_failures checks that repeated calls succeed although 5 percent of the requests fail,
// before or after their effect.
func TestStore_failures(t *testing.T) {
	p, dir := rows(t, 100)
	c := count(t, 0.05)
	failed := 0
	repeat := func(f func() error) {
		for {
			err := f()
			if err == nil {
				return
			}
			require.ErrorIs(t, err, errInjected)
			failed++
		}
	}
	for shard := range p.Stages[0].Shards {
		repeat(func() error { _, err := p.Work(t.Context(), 1, shard, nil); return err })
	}
	require.NoFileExists(t, dir+"/out.b2nd")
	parts, err := filepath.Glob(dir + "/out.b2nd.parts/*")
	require.NoError(t, err)
	receipts := slices.DeleteFunc(slices.Clone(parts), func(name string) bool { return !strings.HasSuffix(name, ".json") })
	require.Len(t, receipts, 101) // and the plan
	c.rate = 0.002                // a commit makes 200 requests
	repeat(func() error { return p.Commit(t.Context(), nil) })
	require.Greater(t, failed, 10)
	same(t, dir)
}
