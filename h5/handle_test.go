package h5_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func openIDs(t testing.TB) int64 {
	t.Helper()
	n, err := h5.OpenIDs()
	require.NoError(t, err)
	return n
}

func TestCloseTwice(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Close(), h5.ErrClosed)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), h5.ErrClosed)
}

// TestHandle_FileClosedFirst checks that a file may be closed before its objects. They are closed
// with it, and every use of them returns ErrClosed without a call of libhdf5.
func TestHandle_FileClosedFirst(t *testing.T) {
	before := openIDs(t)
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	d, err := g.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.Equal(t, before+3, openIDs(t))
	require.NoError(t, f.Close())
	require.Equal(t, before, openIDs(t))

	one := region([]int64{0}, []int64{1})
	_, open := g.OpenGroup("x")
	_, openDataset := g.OpenDataset("d")
	_, create := g.CreateGroup("x")
	_, createDataset := g.CreateDataset("x", h5.Int(1, 0), h5.ScalarSpace(), nil)
	_, info := d.Info()
	_, kind := g.Kind("d")
	_, committed := g.CommittedDatatype("d")
	_, size := f.Size()
	_, read := readStrings(d, one)
	_, attribute := d.ReadAttribute("a")
	var links, attributes error
	for _, links = range f.Root().Links() {
	}
	for _, attributes = range d.Attributes() {
	}
	for name, err := range map[string]error{
		"open": open, "open dataset": openDataset, "create": create, "create dataset": createDataset, "info": info,
		"kind": kind, "committed": committed, "size": size, "flush": f.Flush(), "flush dataset": d.Flush(),
		"read": h5value.Read(d, make([]int32, 1), one), "write": h5value.Write(d, make([]int32, 1), one),
		"read strings": read, "write strings": h5value.Write(d, []string{"a"}, one), "resize": d.Resize(1),
		"links": links, "attributes": attributes, "read attribute": attribute, "unlink": g.Unlink("d"),
		"soft": g.LinkSoft("a", "b"), "hard": g.LinkHard("a", "b"), "external": g.LinkExternal("a", "b", "c"),
		"write attribute": d.WriteAttribute(h5.Attribute{
			Name: "a", Datatype: h5.Int(1, 0), Space: h5.ScalarSpace(), Data: []byte{1},
		}),
		"user": g.LinkUser("a", 100, nil), "move": g.MoveLink("a", f.Root(), "b"), "copy link": g.CopyLink("a", g, "b"),
		"copy object": g.CopyObject("a", g, "b", nil), "link object": g.LinkObject("a", d), "unlink at": g.UnlinkAt(h5.ByName, 0),
		"comment": g.SetComment("a"), "keep": g.Keep(), "refresh": g.Refresh(), "flush group": g.Flush(), "hold": g.HoldMetadata(true),
		"delete attribute": d.DeleteAttribute("a"), "close group": g.Close(), "close dataset": d.Close(),
	} {
		require.ErrorIs(t, err, h5.ErrClosed, name)
	}
}

// TestHandle_GroupClosedFirst checks that closing a group leaves its children open, because they
// belong to the file.
func TestHandle_GroupClosedFirst(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	d, err := g.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.NoError(t, h5value.Write(d, []int32{1, 2, 3}, region([]int64{0}, []int64{3})))
	require.NoError(t, f.Root().Close(), "Close of the root group has no effect, because the file owns the group")
	_, err = f.Root().OpenDataset("g/d")
	require.NoError(t, err)
	require.Equal(t, "/g/d", d.Path())
	require.Same(t, f, d.File())
}

// TestFile_OpenedTwice checks that a file opened twice has two owners, and that closing one leaves
// the other open.
func TestFile_OpenedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	a, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	b, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	da, err := a.Root().OpenDataset("g/d")
	require.NoError(t, err)
	db, err := b.Root().OpenDataset("g/d")
	require.NoError(t, err)
	require.NoError(t, a.Close())
	_, err = da.Info()
	require.ErrorIs(t, err, h5.ErrClosed)
	_, err = db.Info()
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

// TestHandle_ForgottenOwners checks that the cleanup of an unreachable handle queues its id, and
// that the next call closes it. With the build tag invariants the handle is also reported, so the
// test restores the count that other tests need to be 0.
func TestHandle_ForgottenOwners(t *testing.T) {
	before := openIDs(t)
	defer h5.ExpectForgotten()()
	path := filepath.Join(t.TempDir(), "x.h5")
	func() {
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		_, err = f.Root().CreateGroup("g")
		require.NoError(t, err)
		require.Equal(t, before+2, openIDs(t))
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		return openIDs(t) == before
	}, 10*time.Second, time.Millisecond)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err, "the forgotten file was closed properly")
	_, err = f.Root().OpenGroup("g")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestManyGoroutines runs Close concurrently with other operations and with cleanups.
func TestManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	rounds := 30
	if !testenv.All() {
		rounds = 10
	}
	defer h5.ExpectForgotten()()
	before := openIDs(t)
	shared := filepath.Join(dir, "shared.h5")
	writeSample(t, shared, h5.Earliest)
	sharedFile, err := h5.Open(shared, h5.ReadOnly)
	require.NoError(t, err)
	sharedDataset, err := sharedFile.Root().OpenDataset("g/d")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprintf("%d.h5", worker))
			for round := range rounds {
				switch (worker + round) % 4 {
				case 0: // write and read back
					f, err := h5.Create(path, &h5.CreateOptions{Truncate: true, High: h5.LatestFormat})
					if !check(t, err) {
						return
					}
					d, err := f.Root().CreateDataset("a/b", h5.Int(4, h5.BigEndian), h5.SimpleSpace(10), nil)
					check(t, err)
					want := []int32{int32(worker), int32(round)}
					check(t, h5value.Write(d, want, region([]int64{4}, []int64{2})))
					got := make([]int32, 2)
					check(t, h5value.Read(d, got, region([]int64{4}, []int64{2})))
					if got[0] != want[0] || got[1] != want[1] {
						t.Errorf("wrote %v, read %v", want, got)
					}
					check(t, f.Close())
				case 1: // a shared handle
					got := make([]int32, 1)
					check(t, h5value.Read(sharedDataset, got, region([]int64{int64(worker)}, []int64{1})))
					if got[0] != int32(worker) {
						t.Errorf("element %d is %d", worker, got[0])
					}
				case 2: // closed by another goroutine at any moment
					f, err := h5.Open(shared, h5.ReadOnly)
					if !check(t, err) {
						return
					}
					d, err := f.Root().OpenDataset("g/fl")
					check(t, err)
					var inner sync.WaitGroup
					inner.Go(func() { check(t, f.Close()) })
					if _, err := h5value.ReadAll[int32](d); err != nil {
						require.ErrorIs(t, err, h5.ErrClosed)
					}
					inner.Wait()
				case 3: // not closed
					f, err := h5.Open(shared, h5.ReadOnly)
					if !check(t, err) {
						return
					}
					_, err = f.Root().OpenGroup("g")
					check(t, err)
					if round%10 == 3 {
						runtime.GC()
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, sharedFile.Close())
	require.Eventually(t, func() bool {
		runtime.GC()
		return openIDs(t) == before
	}, 10*time.Second, time.Millisecond)
}

func check(t testing.TB, err error) bool {
	if err != nil {
		t.Errorf("%+v", err)
	}
	return err == nil
}

func TestWithLock_exclusive(t *testing.T) {
	f := newFile(t)
	ran := false
	done := make(chan error)
	h5.WithLock(func() {
		ran = true
		go func() { done <- f.Flush() }()
		select {
		case <-done:
			t.Error("an operation ran inside WithLock")
		case <-time.After(20 * time.Millisecond):
		}
	})
	require.True(t, ran)
	require.NoError(t, <-done)
}
