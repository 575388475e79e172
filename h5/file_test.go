package h5_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestFileCreation checks that Creation returns the options with which a file was created, both
// before and after it is closed and opened again.
func TestFileCreation(t *testing.T) {
	for name, edit := range map[string]func(*h5.FileCreation){
		"default":    func(*h5.FileCreation) {},
		"user block": func(c *h5.FileCreation) { c.UserBlock = 1024 },
		"sizes":      func(c *h5.FileCreation) { c.OffsetSize, c.LengthSize = 4, 4 },
		"trees":      func(c *h5.FileCreation) { c.GroupLeafK, c.GroupTreeK, c.ChunkTreeK = 8, 32, 64 },
		"paged": func(c *h5.FileCreation) {
			c.Space = h5.FileSpace{Strategy: h5.Paged, Persist: true, Threshold: 16, PageSize: 8192}
		},
		"aggregate": func(c *h5.FileCreation) { c.Space.Strategy = h5.Aggregate },
		"no reuse":  func(c *h5.FileCreation) { c.Space.Strategy = h5.NoReuse },
		"shared": func(c *h5.FileCreation) {
			c.Shared = []h5.SharedMessages{{Types: h5.SharedDatatypes | h5.SharedDataspaces, MinBytes: 20}, {Types: h5.SharedAttributes, MinBytes: 40}}
			c.SharedPhase = h5.PhaseChange{MaxCompact: 30, MinDense: 20}
			c.AttrOrder = h5.TrackCreationOrder // libhdf5 sets this if attributes are shared
		},
		"root group": func(c *h5.FileCreation) {
			c.LinkPhase, c.LinkOrder = h5.PhaseChange{MaxCompact: 3, MinDense: 2}, h5.IndexedCreationOrder
			c.AttrPhase, c.AttrOrder = h5.PhaseChange{MaxCompact: 0, MinDense: 0}, h5.TrackCreationOrder
		},
		"times": func(c *h5.FileCreation) { c.Times = true },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			want := h5.DefaultFileCreation()
			edit(&want)
			o := h5.CreateOptions{}
			o.Low = h5.V110
			o.Creation = &want
			f, err := h5.Create(path, &o)
			require.NoError(t, err)
			got, err := f.Creation()
			require.NoError(t, err)
			require.Equal(t, want, got)
			fillFile(t, f)
			require.NoError(t, f.Close())
			f, err = h5.Open(path, h5.ReadOnly)
			require.NoError(t, err)
			got, err = f.Creation()
			require.NoError(t, err)
			require.Equal(t, want, got)
			requireThousand(t, f)
			require.NoError(t, f.Close())
			if want.UserBlock > 0 {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, "\x89HDF", string(b[want.UserBlock:][:4]))
				require.Equal(t, make([]byte, want.UserBlock), b[:want.UserBlock])
			}
		})
	}
}

func TestOpen_invalidFiles(t *testing.T) {
	for name, edit := range map[string]func(*h5.FileCreation, *h5.FileAccess){
		"user block":  func(c *h5.FileCreation, _ *h5.FileAccess) { c.UserBlock = 1000 },
		"offset size": func(c *h5.FileCreation, _ *h5.FileAccess) { c.OffsetSize = 3 },
		"length size": func(c *h5.FileCreation, _ *h5.FileAccess) { c.LengthSize = -1 },
		"leaf":        func(c *h5.FileCreation, _ *h5.FileAccess) { c.GroupLeafK = -1 },
		"tree":        func(c *h5.FileCreation, _ *h5.FileAccess) { c.GroupTreeK = 1 << 15 },
		"chunk tree":  func(c *h5.FileCreation, _ *h5.FileAccess) { c.ChunkTreeK = -1 },
		"strategy":    func(c *h5.FileCreation, _ *h5.FileAccess) { c.Space.Strategy = 4 },
		"threshold":   func(c *h5.FileCreation, _ *h5.FileAccess) { c.Space.Threshold = -1 },
		"page":        func(c *h5.FileCreation, _ *h5.FileAccess) { c.Space.PageSize = 100 },
		"nine indexes": func(c *h5.FileCreation, _ *h5.FileAccess) {
			c.Shared = make([]h5.SharedMessages, 9)
		},
		"shared twice": func(c *h5.FileCreation, _ *h5.FileAccess) {
			c.Shared = []h5.SharedMessages{{Types: h5.SharedFills}, {Types: h5.SharedAll}}
		},
		"phase":       func(c *h5.FileCreation, _ *h5.FileAccess) { c.LinkPhase = h5.PhaseChange{MaxCompact: 1, MinDense: 5} },
		"order":       func(c *h5.FileCreation, _ *h5.FileAccess) { c.AttrOrder = 3 },
		"locking":     func(_ *h5.FileCreation, a *h5.FileAccess) { a.Locking = 3 },
		"alignment":   func(_ *h5.FileCreation, a *h5.FileAccess) { a.Align.Bytes = -1 },
		"meta block":  func(_ *h5.FileCreation, a *h5.FileAccess) { a.MetaBlock = -1 },
		"small data":  func(_ *h5.FileCreation, a *h5.FileAccess) { a.SmallDataBlock = -1 },
		"sieve":       func(_ *h5.FileCreation, a *h5.FileAccess) { a.SieveBuffer = -1 },
		"chunk cache": func(_ *h5.FileCreation, a *h5.FileAccess) { a.ChunkCache.Preempt = math.NaN() },
		"page buffer": func(_ *h5.FileCreation, a *h5.FileAccess) {
			a.PageBuffer = h5.PageBuffer{Bytes: 1, MinMeta: 60, MinData: 60}
		},
		"attempts":      func(_ *h5.FileCreation, a *h5.FileAccess) { a.ReadAttempts = -1 },
		"external":      func(_ *h5.FileCreation, a *h5.FileAccess) { a.ExternalFiles = -1 },
		"log with zero": func(_ *h5.FileCreation, a *h5.FileAccess) { a.CacheLog = &h5.CacheLog{Path: "a\x00"} },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			c, a := h5.DefaultFileCreation(), h5.DefaultFileAccess()
			edit(&c, &a)
			o := h5.CreateOptions{}
			o.Creation, o.Access = &c, &a
			_, err := h5.Create(path, &o)
			require.ErrorIs(t, err, h5.ErrParam)
			require.NoFileExists(t, path)
		})
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	for _, o := range []h5.OpenOptions{
		{Mode: 5, High: h5.LatestFormat}, {Low: h5.V114, High: h5.V18}, {Low: -2, High: -1}, {High: 99},
	} {
		_, err := h5.OpenWith(path, &o)
		require.ErrorIs(t, err, h5.ErrParam, "%+v", o)
	}
}

// TestFileDefaults checks that the defaults of this package are those of libhdf5, except for times.
func TestFileDefaults(t *testing.T) {
	f := newFile(t)
	a, low, high, err := f.Access()
	require.NoError(t, err)
	want := h5.DefaultFileAccess()
	want.Driver, want.ReadAttempts = h5.Sec2{}, 1
	require.NotNil(t, a.MetadataCache)
	require.True(t, a.MetadataCache.Evictions)
	a.MetadataCache = nil
	require.Equal(t, want, a)
	require.Equal(t, h5.Earliest, low)
	require.Greater(t, high, h5.V112)
	require.NoError(t, f.SetFormats(h5.V18, h5.V110))
	_, low, high, err = f.Access()
	require.NoError(t, err)
	require.Equal(t, []h5.LibVer{h5.V18, h5.V110}, []h5.LibVer{low, high})
	require.ErrorIs(t, f.SetFormats(h5.V110, h5.V18), h5.ErrParam)
}

func TestFileAccess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.h5")
	c := h5.DefaultFileCreation()
	c.Space = h5.FileSpace{Strategy: h5.Paged, Threshold: 1, PageSize: 4096}
	a := h5.FileAccess{
		Driver: h5.Sec2{}, Locking: h5.LockNever, Align: h5.Alignment{Threshold: 4096, Bytes: 512}, MetaBlock: 4096, SmallDataBlock: 1024,
		SieveBuffer: 1 << 10, ChunkCache: h5.ChunkCache{Slots: 101, Bytes: 1 << 16, Preempt: 0.5},
		PageBuffer: h5.PageBuffer{Bytes: 1 << 16, MinMeta: 20, MinData: 30}, EvictOnClose: true, ExternalFiles: 3, CollectRefs: true, RelaxChecks: true,
		CacheLog: &h5.CacheLog{Path: filepath.Join(dir, "cache.log"), Start: false},
	}
	o := h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat, Access: &a, Creation: &c}
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	got, _, _, err := f.Access()
	require.NoError(t, err)
	want := a
	want.ReadAttempts, got.MetadataCache = 1, nil
	want.Align = got.Align // libhdf5 aligns paged files to their page size
	require.Equal(t, want, got)

	fillFile(t, f)
	requireThousand(t, f)
	pages, err := f.PageCounts()
	require.NoError(t, err)
	require.NotZero(t, pages.Accesses[0]+pages.Accesses[1])
	require.NoError(t, f.ResetPageCounts())
	pages, err = f.PageCounts()
	require.NoError(t, err)
	require.Equal(t, h5.PageCounts{}, pages)
	require.NoError(t, f.LogCache(true))
	facts, err := f.Facts()
	require.NoError(t, err)
	require.True(t, facts.CacheLogging)
	require.NoError(t, f.LogCache(false))
	require.NoError(t, f.Close())
	log, err := os.ReadFile(filepath.Join(dir, "cache.log"))
	require.NoError(t, err)
	require.NotEmpty(t, log)

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	_, err = f.PageCounts()
	require.Error(t, err, "no page buffer")
	require.NoError(t, f.Close())
}

// TestAlignment checks that objects of at least Threshold bytes have aligned addresses in files
// without paged allocation.
func TestAlignment(t *testing.T) {
	o, a := h5.CreateOptions{}, h5.DefaultFileAccess()
	a.Align = h5.Alignment{Threshold: 800, Bytes: 4096}
	o.Access = &a
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &o)
	require.NoError(t, err)
	defer f.Close()
	got, _, _, err := f.Access()
	require.NoError(t, err)
	require.Equal(t, a.Align, got.Align)
	for i := range 3 {
		info, err := written(t, f, fmt.Sprint("large", i), make([]float64, 100)).Info()
		require.NoError(t, err)
		require.Zero(t, info.Address%4096)
	}
	info, err := written(t, f, "small", make([]float64, 99)).Info()
	require.NoError(t, err)
	require.NotZero(t, info.Address%4096)
}

// TestLockingPolicies checks that a file locked by another owner opens only with LockNever.
func TestLockingPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	other, err := os.Open(path)
	require.NoError(t, err)
	defer other.Close()
	flock(t, other, true)
	for policy, want := range map[h5.Locking]error{h5.LockIfPossible: h5.ErrLocked, h5.LockAlways: h5.ErrLocked, h5.LockNever: nil} {
		o, a := h5.OpenOptions{}, h5.DefaultFileAccess()
		a.Locking = policy
		o.Access = &a
		f, err := h5.OpenWith(path, &o)
		require.ErrorIs(t, err, want, "policy %d", policy)
		if err == nil {
			got, _, _, err := f.Access()
			require.NoError(t, err)
			require.Equal(t, policy, got.Locking)
			require.NoError(t, f.Close())
		}
	}
}

func TestMetadataCache(t *testing.T) {
	f := newFile(t)
	fillFile(t, f)
	s, err := f.CacheState()
	require.NoError(t, err)
	require.Positive(t, s.Entries)
	require.Positive(t, s.Now)
	c := s.Config
	c.Max, c.Min, c.SetInitial, c.Initial = 4<<20, 1<<20, true, 2<<20
	require.NoError(t, f.SetMetadataCache(c))
	s, err = f.CacheState()
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, s.Config.Max)
	require.EqualValues(t, 2<<20, s.Max)
	require.NoError(t, f.ResetCacheStats())
	c.Min = 8 << 20
	var e *h5.Error
	require.ErrorAs(t, f.SetMetadataCache(c), &e, "the least is more than the most")

	// The configuration also applies from the creation of a file, which can store an image of the
	// cache.
	path := filepath.Join(t.TempDir(), "x.h5")
	c.Min = 1 << 20
	a := h5.DefaultFileAccess()
	a.MetadataCache, a.CacheImage = &c, true
	f, err = h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat, Access: &a})
	require.NoError(t, err)
	s, err = f.CacheState()
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, s.Config.Max)
	fillFile(t, f)
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	facts, err := f.Facts()
	require.NoError(t, err)
	require.NotEqual(t, uint64(h5.NoAddress), facts.CacheImage)
	require.Positive(t, facts.CacheImageBytes)
	requireThousand(t, f)
	require.NoError(t, f.Close())
}

func TestFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	c := h5.DefaultFileCreation()
	c.Space = h5.FileSpace{Strategy: h5.FreeListAggregate, Persist: true, Threshold: 1, PageSize: 4096}
	c.Shared = []h5.SharedMessages{{Types: h5.SharedAll, MinBytes: 1}}
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat, Creation: &c})
	require.NoError(t, err)
	fillFile(t, f)
	g, err := f.Root().CreateGroup("g2")
	require.NoError(t, err)
	facts, err := f.Facts()
	require.NoError(t, err)
	require.GreaterOrEqual(t, facts.Superblock, 2)
	require.Positive(t, facts.SuperblockBytes)
	require.Positive(t, facts.ExtensionBytes)
	require.Positive(t, facts.SharedHeader)
	require.Positive(t, facts.SharedIndex)
	require.True(t, facts.ReadWrite)
	require.False(t, facts.SWMR)
	require.Equal(t, []int{1, 1, 1, 0, 0}, []int{facts.OpenFiles, facts.OpenGroups, facts.OpenDatasets, facts.OpenDatatypes, facts.OpenAttributes})
	require.Equal(t, uint64(h5.NoAddress), facts.CacheImage)
	require.NoError(t, g.Close())
	require.NoError(t, f.Root().Unlink("g"))
	require.NoError(t, f.Grow(1000))
	require.ErrorIs(t, f.Grow(-1), h5.ErrParam)
	require.NoError(t, f.Flush())
	require.NoError(t, f.Minimize(true))
	after, err := f.Facts()
	require.NoError(t, err)
	require.True(t, after.Minimized)
	require.GreaterOrEqual(t, after.End, facts.End+1000)
	require.NoError(t, f.CloseExternal())
	require.NoError(t, f.Close())

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	facts, err = f.Facts()
	require.NoError(t, err)
	require.False(t, facts.ReadWrite)
	require.Positive(t, facts.Free, "the deleted dataset's space")
	sections, err := f.FreeSections()
	require.NoError(t, err)
	var free int64
	for _, s := range sections {
		free += s.Bytes
	}
	require.Equal(t, facts.Free, free)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.Size(), facts.Size)
	require.ErrorIs(t, f.Grow(1), h5.ErrReadOnly)
	require.ErrorIs(t, f.StartSWMR(), h5.ErrReadOnly)
	retries, err := f.ReadRetries()
	require.NoError(t, err)
	require.Zero(t, retries)
	require.NoError(t, f.Close())
	for name, err := range map[string]error{
		"minimize": f.Minimize(true), "log": f.LogCache(true), "reopen": func() error { _, err := f.Reopen(); return err }(),
		"cache": f.SetMetadataCache(h5.MetadataCache{}),
	} {
		require.ErrorIs(t, err, h5.ErrClosed, name)
	}
}

// TestReopen checks that Reopen returns an independent owner of the file, and that both can be
// closed in any order.
func TestReopen(t *testing.T) {
	for _, firstFirst := range []bool{true, false} {
		f := newFile(t)
		fillFile(t, f)
		again, err := f.Reopen()
		require.NoError(t, err)
		a, err := f.Facts()
		require.NoError(t, err)
		b, err := again.Facts()
		require.NoError(t, err)
		require.Equal(t, a.Number, b.Number)
		first, second := f, again
		if !firstFirst {
			first, second = again, f
		}
		require.NoError(t, first.Close())
		requireThousand(t, second)
		require.NoError(t, second.Close())
	}
}

func TestMount(t *testing.T) {
	for _, order := range []string{"unmounted", "parent first", "child first"} {
		t.Run(order, func(t *testing.T) {
			before := openIDs(t)
			parent, child := newFile(t), newFile(t)
			fillFile(t, child)
			require.NoError(t, func() error { _, err := parent.Root().CreateGroup("m"); return err }())
			require.NoError(t, parent.Root().Mount("m", child))
			d, err := parent.Root().OpenDataset("m/g/d")
			require.NoError(t, err)
			got, err := h5value.ReadAll[int32](d)
			require.NoError(t, err)
			require.Equal(t, thousand(), got)
			require.Error(t, parent.Root().Mount("m", parent), "a file in itself")
			if order == "unmounted" {
				require.NoError(t, d.Close())
				require.NoError(t, parent.Root().Unmount("m"))
				_, err = parent.Root().OpenDataset("m/g/d")
				require.ErrorIs(t, err, h5.ErrNotFound)
				require.Error(t, parent.Root().Unmount("m"))
			}
			if order == "child first" {
				require.NoError(t, child.Close())
				require.NoError(t, parent.Close())
			} else {
				require.NoError(t, parent.Close())
				require.NoError(t, child.Close())
			}
			require.Equal(t, before, openIDs(t))
		})
	}
	f := newFile(t)
	closed := newFile(t)
	require.NoError(t, closed.Close())
	require.ErrorIs(t, f.Root().Mount("x", closed), h5.ErrClosed)
	require.ErrorIs(t, f.Root().Mount("", f), h5.ErrParam)
	require.ErrorIs(t, f.Root().Unmount(""), h5.ErrParam)
}

func TestDeleteRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	require.ErrorIs(t, h5.Delete(path, nil), h5.ErrNotFound)
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
	require.ErrorIs(t, h5.Delete(path, nil), h5.ErrNotHDF5)
	require.FileExists(t, path)
	createWith(t, filepath.Join(t.TempDir(), "y.h5"), nil)
}

// TestSWMR checks a writer and a reader of one file in two processes. The reader prints the values
// it read, and reads again for each line of its standard input.
func TestSWMR(t *testing.T) {
	if path := os.Getenv("HYPERSLAB_H5_SWMR"); path != "" {
		swmrReader(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{0}, MaxDims: []int64{h5.Unlimited}}
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), space, &h5.DatasetOptions{ChunkShape: []int64{16}})
	require.NoError(t, err)

	type reader struct {
		in  io.Writer
		out *bufio.Scanner
		cmd *exec.Cmd
	}
	start := func() reader {
		cmd := testenv.Self("-test.run=^TestSWMR$")
		cmd.Env = append(os.Environ(), "HYPERSLAB_H5_SWMR="+path)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return reader{in, bufio.NewScanner(out), cmd}
	}
	ask := func(r reader, word string) string {
		_, err := fmt.Fprintln(r.in, word)
		require.NoError(t, err)
		require.True(t, r.out.Scan(), "the reader ended")
		return r.out.Text()
	}
	require.NoError(t, f.StartSWMR())
	readers := []reader{start(), start()}
	for round := range 5 {
		n := int64(10 * (round + 1))
		require.NoError(t, d.Resize(n))
		v := make([]int32, 10)
		for i := range v {
			v[i] = int32(n) - 10 + int32(i)
		}
		require.NoError(t, h5value.Write(d, v, region([]int64{n - 10}, []int64{10})))
		require.NoError(t, d.Flush())
		for _, r := range readers {
			require.Equal(t, fmt.Sprintf("%d right", n), ask(r, "look"))
		}
	}
	for _, r := range readers {
		require.Equal(t, "bye", ask(r, "end"))
		require.NoError(t, r.cmd.Wait())
	}
	facts, err := f.Facts()
	require.NoError(t, err)
	require.True(t, facts.SWMR)
	require.NoError(t, f.Close())

	// The writer opens the file again.
	o := h5.OpenOptions{Mode: h5.ReadWrite, SWMR: true, Low: h5.V110, High: h5.LatestFormat}
	f, err = h5.OpenWith(path, &o)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	// SWMR needs a new file format.
	old := filepath.Join(t.TempDir(), "old.h5")
	createWith(t, old, nil)
	_, err = h5.OpenWith(old, &o)
	require.Error(t, err)
}

func swmrReader(t *testing.T, path string) {
	o := h5.OpenOptions{SWMR: true, High: h5.LatestFormat}
	f, err := h5.OpenWith(path, &o)
	require.NoError(t, err)
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() == "look" {
		require.NoError(t, d.Refresh())
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		verdict := "right"
		for i, v := range got {
			if v != int32(i) {
				verdict = fmt.Sprintf("wrong at %d: %d", i, v)
			}
		}
		fmt.Println(strings.TrimSpace(fmt.Sprint(len(got), " ", verdict)))
	}
	require.NoError(t, f.Close())
	fmt.Println("bye")
}

// TestFile_addressesOfDrivers writes and closes files with short addresses through drivers that
// return no end of allocation.
func TestFile_addressesOfDrivers(t *testing.T) {
	for name, d := range map[string]h5.Driver{"core": h5.Core{Increment: 64 << 10}, "stdio": h5.Stdio{}, "family": h5.Family{MemberSize: 1 << 20}} {
		for _, size := range []int{2, 4} {
			creation, access := h5.DefaultFileCreation(), h5.DefaultFileAccess()
			creation.OffsetSize, access.Driver = size, d
			f, err := h5.Create(filepath.Join(t.TempDir(), "x%d.h5"), &h5.CreateOptions{Creation: &creation, Access: &access})
			require.NoError(t, err, name)
			d, err := f.Root().CreateDataset("d", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(100), nil)
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, make([]byte, 100), h5.SimpleSpace(100).All()))
			require.NoError(t, f.Flush(), name)
			require.NoError(t, f.Close(), name)
		}
	}
}

// TestFile_addresses fills files until their addresses are too small, which libhdf5 does not
// detect.
func TestFile_addresses(t *testing.T) {
	const limit = 1<<16 - 2
	for _, n := range []int{5000, 55_000, 70_000, 200_000} {
		creation := h5.DefaultFileCreation()
		creation.OffsetSize, creation.LengthSize = 2, 4
		path := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(path, &h5.CreateOptions{Creation: &creation})
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("d", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(int64(n)), &h5.DatasetOptions{ChunkShape: []int64{5000}})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.NoError(t, f.Flush())
		require.NoError(t, f.Close())
		f, err = h5.Open(path, h5.ReadWrite)
		require.NoError(t, err)
		d, err = f.Root().OpenDataset("d")
		require.NoError(t, err)
		want := bytes.Repeat([]byte{7}, n)
		require.NoError(t, h5value.Write(d, want, h5.SimpleSpace(int64(n)).All()))
		if n > limit {
			require.ErrorIs(t, f.Flush(), errors.ErrUnsupported)
			require.ErrorIs(t, f.Close(), errors.ErrUnsupported)
			require.ErrorIs(t, f.Close(), h5.ErrClosed)
			continue
		}
		require.NoError(t, f.Flush())
		require.NoError(t, f.Close())
		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		d, err = f.Root().OpenDataset("d")
		require.NoError(t, err)
		got, err := h5value.ReadAll[uint8](d)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, f.Close())
	}
}
