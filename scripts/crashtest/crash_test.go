// Tests of writers that are killed at a change, lose power, or have failing system calls. The
// committed state must stay readable by this module and by the reference libraries.

package crashtest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/scripts/crashtest"
)

// all reports whether the tests try every case, which takes minutes (make crash). Otherwise they
// try a sample that differs between writers.
func all() bool { return testenv.All() }

// losses returns the number of simulated power failures at each event.
func losses() int {
	if all() {
		return 8
	}
	return 2
}

// each runs f with all scenarios, or in a sample with every other one, which differ between tests.
func each(t *testing.T, f func(t *testing.T, name string, s scenario)) {
	startPeer(t)
	for i, name := range slices.Sorted(maps.Keys(scenarios)) {
		if !all() && (i+len(t.Name()))%2 != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) { f(t, name, scenarios[name]) })
	}
}

// state reports whether a directory contains the new state. It returns an error if the directory
// contains neither the old nor the new state.
func state(s scenario, dir string) (isNew bool, err error) {
	v, err := s.read(dir)
	switch {
	case err != nil && s.old == nil && errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case slices.Equal(v, s.new):
		return true, nil
	case s.old != nil && slices.Equal(v, s.old):
		return false, nil
	}
	return false, fmt.Errorf("%d values, neither the %d old ones nor the %d new ones", len(v), len(s.old), len(s.new))
}

// record prepares a directory, runs the scenario in it and returns the initial content and the
// events.
func record(t *testing.T, name string, s scenario) (*crashtest.Disk, []crashtest.Event) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, s.prepare(dir))
	before, err := crashtest.Snapshot(dir)
	require.NoError(t, err)
	events, r, said := run(t, name, dir, pass)
	require.Zero(t, r.Code, said)
	isNew, err := state(s, dir)
	require.NoError(t, err)
	require.True(t, isNew)
	events = slices.DeleteFunc(events, func(e crashtest.Event) bool { return e.Kind == crashtest.Read })
	require.NotEmpty(t, events)
	return before, events
}

// luck is a Loss that loses unsynced changes at random.
type luck struct{ *rand.Rand }

func (l luck) Write(int) bool  { return l.IntN(2) == 0 }
func (l luck) Names(n int) int { return l.IntN(n + 1) }

// TestReplay restores the state after each change, after half of each write, and with random
// unsynced changes lost. The result must be the old state or the new state. After the last event it
// must be the new state, whichever unsynced changes are lost.
func TestReplay(t *testing.T) {
	each(t, func(t *testing.T, name string, s scenario) {
		before, events := record(t, name, s)
		random := luck{rand.New(rand.NewPCG(1, uint64(len(name))))}
		decided := false
		try := func(what string, n int, events []crashtest.Event, loss crashtest.Loss) bool {
			dir, err := os.MkdirTemp(t.TempDir(), "")
			require.NoError(t, err)
			require.NoError(t, before.Restore(dir, events, n, loss))
			isNew, err := state(s, dir)
			if err != nil {
				for i, e := range events[:n] {
					t.Logf("%3d %v", i, e)
				}
			}
			require.NoError(t, err, "%s event %d", what, n)
			require.NoError(t, os.RemoveAll(dir))
			return isNew
		}
		for n := range len(events) + 1 {
			if n > 0 && n < len(events) && events[n-1].Kind == crashtest.Sync {
				continue // a sync changes no content
			}
			if !all() && len(events) > 20 && n%3 != 0 && n != len(events) {
				continue
			}
			isNew := try("before", n, events, nil)
			require.False(t, decided && !isNew, "event %d reverts committed data", n)
			decided = isNew
			if n > 0 && events[n-1].Kind == crashtest.Write && len(events[n-1].Data) > 1 {
				torn := slices.Clone(events[:n])
				torn[n-1].Data = torn[n-1].Data[:len(torn[n-1].Data)/2]
				// The header of a frame fits in one sector. A disk writes a sector completely or
				// not at all.
				if !(torn[n-1].Offset == 0 && len(events[n-1].Data) < 512) {
					try("in the middle of", n, torn, nil)
				}
			}
			for range losses() {
				isNew := try("after a loss at", n, events, random)
				require.True(t, isNew || n < len(events), "committed data is lost after a power failure")
			}
		}
		require.True(t, decided)
	})
}

// countChanges runs a scenario to its end and counts its changes.
func countChanges(t *testing.T, name, dir string) (changes int) {
	run(t, name, dir, func(_ int, e crashtest.Event) crashtest.Verdict {
		if e.Kind.Changes() {
			changes++
		}
		return crashtest.Verdict{}
	})
	return changes
}

// TestKilled kills a writer before each of its changes. The old or the new state must remain, and
// the next writer must succeed from there.
func TestKilled(t *testing.T) {
	each(t, func(t *testing.T, name string, s scenario) {
		dir := t.TempDir()
		require.NoError(t, s.prepare(dir))
		changes := countChanges(t, name, dir)
		for k := range changes {
			if !all() && k != len(name)*changes/37%changes {
				continue // try one change per writer
			}
			dir := t.TempDir()
			require.NoError(t, s.prepare(dir))
			seen := 0
			_, r, said := run(t, name, dir, func(_ int, e crashtest.Event) crashtest.Verdict {
				if e.Kind.Changes() {
					seen++
				}
				return crashtest.Verdict{Kill: e.Kind.Changes() && seen == k+1}
			})
			if !r.Killed { // thread scheduling differed, and the writer made fewer changes
				require.Greater(t, k, changes/2, said)
				require.Zero(t, r.Code, said)
				continue
			}
			isNew, err := state(s, dir)
			require.NoError(t, err, "killed before change %d", k)
			if isNew {
				continue
			}
			require.NoError(t, s.act(dir), "after a kill before change %d", k)
			isNew, err = state(s, dir)
			require.NoError(t, err)
			require.True(t, isNew)
		}
	})
}

// TestFaults injects failing system calls: a full disk, a short write, a read error, a failed sync.
// The writer must either succeed or return an error of its package that wraps the system error. The
// old state must stay readable if the writer fails.
func TestFaults(t *testing.T) {
	faults := map[crashtest.Kind][]crashtest.Verdict{
		crashtest.Write:    {{Errno: syscall.ENOSPC}, {Short: 1}},
		crashtest.Copy:     {{Errno: syscall.ENOSPC}},
		crashtest.Truncate: {{Errno: syscall.EIO}},
		crashtest.Sync:     {{Errno: syscall.EIO}},
		crashtest.Create:   {{Errno: syscall.ENOSPC}},
		crashtest.Mkdir:    {{Errno: syscall.ENOSPC}},
		crashtest.Rename:   {{Errno: syscall.EIO}},
		crashtest.Remove:   {{Errno: syscall.EIO}},
		crashtest.Read:     {{Errno: syscall.EIO}},
	}
	each(t, func(t *testing.T, name string, s scenario) {
		dir := t.TempDir()
		require.NoError(t, s.prepare(dir))
		first, last := map[crashtest.Kind]int{}, map[crashtest.Kind]int{}
		run(t, name, dir, func(n int, e crashtest.Event) crashtest.Verdict {
			if _, ok := first[e.Kind]; !ok {
				first[e.Kind] = n
			}
			last[e.Kind] = n
			return crashtest.Verdict{}
		})
		for k, kind := range slices.Sorted(maps.Keys(first)) {
			for i, v := range faults[kind] {
				if !all() && (k+i+len(name))%4 != 0 {
					continue // try a quarter per writer
				}
				at := last[kind]
				if i > 0 || kind == crashtest.Read {
					at = first[kind]
				}
				dir := t.TempDir()
				require.NoError(t, s.prepare(dir))
				_, r, said := run(t, name, dir, func(n int, _ crashtest.Event) crashtest.Verdict {
					if n == at {
						return v
					}
					return crashtest.Verdict{}
				})
				what := fmt.Sprintf("%v %d %+v: exit %d, %s", kind, at, v, r.Code, said)
				require.Contains(t, []int{0, 3}, r.Code, what)
				if r.Code == 3 && v.Errno != 0 {
					require.Contains(t, strings.ToLower(said), v.Errno.Error(), what)
				}
				isNew, err := state(s, dir)
				require.NoError(t, err, what)
				require.True(t, isNew || r.Code == 3, "%s: no message was printed", what)
			}
		}
	})
}

// TestFullDisk fails all writes and creations with ENOSPC from some change on; removals still
// succeed. The writer must return that error and the old state must stay readable, unless it had no
// more changes to make.
func TestFullDisk(t *testing.T) {
	each(t, func(t *testing.T, name string, s scenario) {
		dir := t.TempDir()
		require.NoError(t, s.prepare(dir))
		changes := countChanges(t, name, dir)
		for k, from := range []int{1, changes / 3, changes / 2, changes * 3 / 4} {
			if !all() && (k+len(name))%4 != 0 {
				continue // try one case per writer
			}
			dir := t.TempDir()
			require.NoError(t, s.prepare(dir))
			n, hit := 0, false
			_, r, said := run(t, name, dir, func(_ int, e crashtest.Event) crashtest.Verdict {
				if e.Kind.Changes() {
					n++
				}
				switch e.Kind {
				case crashtest.Write, crashtest.Copy, crashtest.Create, crashtest.Mkdir:
					if n >= from {
						hit = true
						return crashtest.Verdict{Errno: syscall.ENOSPC}
					}
				}
				return crashtest.Verdict{}
			})
			what := fmt.Sprintf("from change %d of %d on: exit %d, %s", from, changes, r.Code, said)
			isNew, err := state(s, dir)
			require.NoError(t, err, what)
			if r.Code == 0 {
				require.True(t, isNew && !hit, what)
				continue
			}
			require.Equal(t, 3, r.Code, what)
			require.Contains(t, said, "no space left", what)
		}
	})
}

// TestVanished deletes the files below a running writer. The writer must succeed or return an
// error, and must not crash.
func TestVanished(t *testing.T) {
	each(t, func(t *testing.T, name string, s scenario) {
		dir := t.TempDir()
		require.NoError(t, s.prepare(dir))
		gone := false
		_, r, said := run(t, name, dir, func(n int, e crashtest.Event) crashtest.Verdict {
			if !gone && e.Kind.Changes() {
				gone = true
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				for _, x := range entries {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, x.Name())))
				}
			}
			return crashtest.Verdict{}
		})
		require.True(t, gone)
		require.Contains(t, []int{0, 3}, r.Code, said)
	})
}
