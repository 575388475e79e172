package h5_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// A provoked is an error that wraps a sentinel of errors.go or link.go. A sentinel has several of
// them if different operations return it.
type provoked struct {
	sentinel string
	is       error
	err      error
}

func provokeAll(t *testing.T) []provoked {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.h5")
	writeSample(t, path, h5.Earliest)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	opened := func(content []byte) error {
		name := filepath.Join(dir, "changed.h5")
		require.NoError(t, os.WriteFile(name, content, 0o644))
		f, err := h5.Open(name, h5.ReadOnly)
		if err == nil {
			require.NoError(t, f.Close())
		}
		return err
	}
	f := newFile(t)
	r := f.Root()
	d := written(t, f, "d", []int32{1, -2, 1 << 30})
	word, err := r.CreateDataset("word", h5.FixedString(3, h5.NullPad, h5.ASCII), h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	_, err = r.CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, r.LinkUser("user", 100, nil))
	require.NoError(t, r.LinkSoft("dangling", "/none/x"))
	require.NoError(t, r.LinkExternal("out", "none.h5", "/x"))
	gone := newFile(t)
	require.NoError(t, gone.Close())
	reading, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer reading.Close()
	all := h5.SimpleSpace(3).All()
	last := func(_ any, err error) error { return err }
	held := filepath.Join(dir, "held.h5")
	writeSample(t, held, h5.Earliest)
	other, err := os.Open(held)
	require.NoError(t, err)
	defer other.Close()
	flock(t, other, true)
	reentrant := &failingReader{bytes.NewReader(whole), 0, func([]byte) (int, error) { return 0, f.Flush() }}
	notOrdered := func() error {
		for _, err := range r.LinksIn(h5.ByCreation) {
			return err
		}
		return nil
	}
	return []provoked{
		{"ErrClosed", h5.ErrClosed, gone.Flush()},
		{"ErrParam", h5.ErrParam, last(r.OpenGroup(""))},
		{"ErrSize", h5.ErrSize, h5value.Read(d, make([]int32, 2), all)},
		{"ErrSize", h5.ErrSize, h5value.Write(word, []string{"four"}, h5.SimpleSpace(1).All())},
		{"ErrRegion", h5.ErrRegion, h5value.Read(d, make([]int32, 3), region([]int64{1}, []int64{3}))},
		{"ErrType", h5.ErrType, h5value.Read(word, make([]int32, 1), h5.SimpleSpace(1).All())},
		{"ErrOverflow", h5.ErrOverflow, h5value.Read(d, make([]uint32, 3), all)},
		{"ErrPrecision", h5.ErrPrecision, h5value.Write(d, []float64{0.5, 1, 2}, all)},
		{"ErrNotHDF5", h5.ErrNotHDF5, opened([]byte("no signature at all"))},
		{"ErrTruncated", h5.ErrTruncated, opened(whole[:len(whole)-1])},
		{"ErrCorrupt", h5.ErrCorrupt, opened(whole[:8])},
		{"ErrNoFilter", h5.ErrNoFilter, readUnknownFilter(writeUnknownFilter(t))},
		{"ErrLocked", h5.ErrLocked, last(h5.Open(held, h5.ReadOnly))},
		{"ErrKind", h5.ErrKind, last(r.OpenGroup("d"))},
		{"ErrKind", h5.ErrKind, last(r.OpenDataset("g"))},
		{"ErrKind", h5.ErrKind, last(r.OpenDatatype("g"))},
		{"ErrReentrant", h5.ErrReentrant, last(h5.OpenReaderAt(reentrant, int64(len(whole)), nil))},
		{"ErrNotFound", h5.ErrNotFound, last(h5.Open(filepath.Join(dir, "none"), h5.ReadOnly))},
		{"ErrNotFound", h5.ErrNotFound, last(r.OpenObject("none"))},
		{"ErrNotFound", h5.ErrNotFound, last(r.OpenObject("dangling"))},
		{"ErrNotFound", h5.ErrNotFound, last(r.OpenObject("out"))},
		{"ErrNotFound", h5.ErrNotFound, last(r.ReadAttribute("none"))},
		{"ErrNotFound", h5.ErrNotFound, last(r.Link("none"))},
		{"ErrNotFound", h5.ErrNotFound, r.Unlink("none")},
		{"ErrNotFound", h5.ErrNotFound, r.MoveLink("none", r, "x")},
		{"ErrExists", h5.ErrExists, r.LinkSoft("d", "/x")},
		{"ErrExists", h5.ErrExists, last(r.CreateGroup("g"))},
		{"ErrExists", h5.ErrExists, r.CopyObject("d", r, "g", nil)},
		{"ErrReadOnly", h5.ErrReadOnly, reading.Root().Unlink("g")},
		{"ErrUserLink", h5.ErrUserLink, last(r.OpenObject("user"))},
		{"ErrNoOrder", h5.ErrNoOrder, notOrdered()},
	}
}

// TestSentinels checks that every sentinel is returned by some operation, and that every row of the
// table of frames occurs. TestDamagedFile covers the rows of corrupt files, and `make deps-test`
// covers ErrVersion, which needs different releases of headers and library.
func TestSentinels(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range []string{"errors.go", "link.go"} {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^(?:var|\t)\s*(Err[A-Z]\w+)(?:\s+error)?\s+= `).FindAllSubmatch(source, -1) {
			missing[string(m[1])] = true
		}
	}
	require.Len(t, missing, 20)
	delete(missing, "ErrVersion")
	rows := h5.OtherRows()
	for _, p := range provokeAll(t) {
		require.ErrorIs(t, p.err, p.is, p.sentinel)
		var e *h5.Error
		require.ErrorAs(t, p.err, &e, p.sentinel)
		require.NotEmpty(t, e.Op)
		delete(missing, p.sentinel)
		for _, f := range e.Stack {
			delete(rows, f.Major+" "+f.Minor)
		}
		for _, twin := range []struct{ ours, theirs error }{{h5.ErrNotFound, fs.ErrNotExist}, {h5.ErrExists, fs.ErrExist}, {h5.ErrReadOnly, fs.ErrPermission}} {
			require.Equal(t, errors.Is(p.err, twin.ours), errors.Is(p.err, twin.theirs), p.err)
		}
	}
	require.Empty(t, missing, "sentinels that nothing leads to")
	require.Empty(t, rows, "rows of the table that no failure leads to")
}

// TestSilent checks that libhdf5 prints nothing when calls fail. A child process provokes every
// sentinel and opens corrupt files, and its standard error must be empty.
func TestSilent(t *testing.T) {
	if os.Getenv("H5_TEST_CHILD") != "" {
		for _, p := range provokeAll(t) {
			require.Error(t, p.err)
		}
		TestReaderAt_Failure(t)
		path := filepath.Join(t.TempDir(), "x.h5")
		writeSample(t, path, h5.LatestFormat)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := 0; at < min(len(whole), 2000); at += 7 {
			corrupt := bytes.Clone(whole)
			corrupt[at] ^= 0xff
			require.NoError(t, os.WriteFile(path, corrupt, 0o644))
			_ = readSample(path, true)
		}
		return
	}
	require.Empty(t, child(t, "TestSilent"))
}
