package ordered_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
)

// TestQueue_order checks that blocks are stored unchanged in the order of their numbers, for any
// order of arrival and any memory limit.
func TestQueue_order(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "blocks")
		all := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 30), n, n).Draw(t, "bytes")
		skip := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "skip")
		type stored struct {
			n   int64
			b   string
			tag int
		}
		var got, want []stored
		q := ordered.New(rapid.IntRange(0, 200).Draw(t, "limit"), dir, func(n int64, b []byte, tag int) error {
			got = append(got, stored{n, string(b), tag})
			return nil
		})
		for i, b := range all {
			if !skip[i] {
				want = append(want, stored{int64(i), string(b), i * i})
			}
		}
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = i
		}
		for _, i := range rapid.Permutation(numbers).Draw(t, "order") {
			if skip[i] {
				require.NoError(t, q.Skip(int64(i)))
				continue
			}
			b := append([]byte(nil), all[i]...)
			require.NoError(t, q.Put(int64(i), b, i*i))
			clear(b) // the caller may reuse it
		}
		require.Equal(t, want, got)
		require.NoError(t, q.Flush())
		require.Equal(t, want, got)
		require.NoError(t, q.Close())
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestFlush checks that blocks after a missing number are stored only by Flush.
func TestFlush(t *testing.T) {
	var got []int64
	q := ordered.New(3, t.TempDir(), func(n int64, _ []byte, _ struct{}) error { got = append(got, n); return nil })
	for _, n := range []int64{5, 0, 3, 2, 9} {
		require.NoError(t, q.Put(n, []byte("ab"), struct{}{}))
	}
	require.Equal(t, []int64{0}, got)
	require.NoError(t, q.Flush())
	require.Equal(t, []int64{0, 2, 3, 5, 9}, got)
	require.NoError(t, q.Put(4, nil, struct{}{}), "before those that are stored")
	require.NoError(t, q.Put(10, nil, struct{}{}))
	require.Equal(t, []int64{0, 2, 3, 5, 9, 4, 10}, got)
	require.NoError(t, q.Close())
}

// TestQueueErrors checks that every later call returns the first storage error. If the directory
// does not exist, the first block that exceeds the memory limit must return an error.
func TestQueueErrors(t *testing.T) {
	wrong := errors.New("wrong")
	q := ordered.New(100, t.TempDir(), func(n int64, _ []byte, _ int) error {
		if n == 1 {
			return wrong
		}
		return nil
	})
	require.NoError(t, q.Put(1, []byte("x"), 0))
	require.ErrorIs(t, q.Put(0, []byte("x"), 0), wrong)
	require.ErrorIs(t, q.Put(2, []byte("x"), 0), wrong)
	require.ErrorIs(t, q.Skip(3), wrong)
	require.ErrorIs(t, q.Flush(), wrong)
	require.NoError(t, q.Close())
	require.ErrorIs(t, q.Put(4, []byte("x"), 0), os.ErrClosed)

	q = ordered.New(1, filepath.Join(t.TempDir(), "none"), func(int64, []byte, int) error { return nil })
	require.NoError(t, q.Put(1, []byte("x"), 0))
	require.ErrorIs(t, q.Put(2, []byte("x"), 0), os.ErrNotExist)
	require.NoError(t, q.Close())
}

// TestGate checks that at most Ahead numbers are assigned while the first is still in use. After
// that each of the others must be assigned once.
func TestGate(t *testing.T) {
	const ahead, workers, total = 5, 8, 500
	g := &ordered.Gate{Ahead: ahead}
	var given, done atomic.Int64
	first := make(chan struct{})
	seen := make([]atomic.Int64, total)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				n := g.Take()
				given.Add(1)
				if n >= total {
					g.Done(n)
					return
				}
				seen[n].Add(1)
				if n == 0 {
					<-first
				}
				done.Add(1)
				g.Done(n)
			}
		})
	}
	for given.Load() < ahead || done.Load() < ahead-1 { // all assigned, and all but the first done
		runtime.Gosched()
	}
	require.EqualValues(t, ahead, given.Load())
	close(first)
	all.Wait()
	for n := range seen {
		require.EqualValues(t, 1, seen[n].Load(), n)
	}
}
