package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// writeSample creates a file with a group, an attribute, and a compressed and a checksummed
// dataset.
func writeSample(t testing.TB, path string, low h5.LibVer) {
	t.Helper()
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	level := 6
	v := make([]int32, 1000)
	for i := range v {
		v[i] = int32(i)
	}
	for name, o := range map[string]h5.DatasetOptions{
		"d":  {ChunkShape: []int64{100}, Deflate: &level},
		"fl": {ChunkShape: []int64{100}, Fletcher32: true},
	} {
		d, err := g.CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(1000), &o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, v, region([]int64{0}, []int64{1000})))
	}
	require.NoError(t, g.WriteAttribute(h5.Attribute{
		Name: "a", Datatype: h5.Int(1, h5.LittleEndian), Space: h5.ScalarSpace(), Data: []byte{1},
	}))
	require.NoError(t, f.Close())
}

// readSample reads all objects in a file of writeSample, and the elements if elements is true.
func readSample(path string, elements bool) (err error) {
	f, err := h5.Open(path, h5.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g, err := f.Root().OpenGroup("g")
	if err != nil {
		return err
	}
	for _, err := range g.Links() {
		if err != nil {
			return err
		}
	}
	for _, err := range g.Attributes() {
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"d", "fl"} {
		d, err := g.OpenDataset(name)
		if err != nil {
			return err
		}
		if _, err := d.Info(); err != nil {
			return err
		}
		if !elements {
			continue
		}
		if _, err := h5value.ReadAll[int32](d); err != nil {
			return err
		}
	}
	return nil
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.h5")
	_, err := h5.Open(path, h5.ReadOnly)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, h5.ErrNotFound)
	require.ErrorIs(t, err, syscall.ENOENT)
	require.Equal(t, "h5: open file "+path+": unable to open file: "+syscall.ENOENT.Error(), err.Error())
	_, err = h5.IsHDF5(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = h5.Open("a\x00b", h5.ReadOnly)
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.Open(path, h5.Mode(7))
	require.ErrorIs(t, err, h5.ErrParam)
}

func TestErrors_pathThroughDataset(t *testing.T) {
	for _, low := range []h5.LibVer{h5.Earliest, h5.LatestFormat} {
		path := filepath.Join(t.TempDir(), "x.h5")
		writeSample(t, path, low)
		f, err := h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		_, err = f.Root().Kind("g/d/inside")
		require.ErrorIs(t, err, h5.ErrNotFound)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, "/g/d/inside: not found: the path leads through an object that is not a group")
		_, err = f.Root().OpenDataset("g/d/inside")
		require.ErrorIs(t, err, h5.ErrNotFound)
		require.NoError(t, f.Close())
	}
}

func TestForbiddenFile(t *testing.T) {
	if os.Geteuid() == 0 {
		// root can read every file, but cannot open a directory for writing
		_, err := h5.Open(t.TempDir(), h5.ReadWrite)
		require.ErrorIs(t, err, syscall.EISDIR)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("a file has no mode there")
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	require.NoError(t, os.Chmod(path, 0))
	_, err := h5.Open(path, h5.ReadOnly)
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestNotHDF5(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	for _, content := range []string{"", "hello", strings.Repeat("x", 10000)} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := h5.Open(path, h5.ReadOnly)
		require.ErrorIs(t, err, h5.ErrNotHDF5)
		is, err := h5.IsHDF5(path)
		require.NoError(t, err)
		require.False(t, is)
	}
}

func TestTruncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, n := range []int{len(whole) - 1, len(whole) / 2, 100, 50} {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o644))
		_, err = h5.Open(path, h5.ReadOnly)
		if n < 56 { // libhdf5 looks first at the address that ends at byte 56
			require.ErrorIs(t, err, h5.ErrCorrupt)
			continue
		}
		require.ErrorIs(t, err, h5.ErrTruncated)
		require.ErrorContains(t, err, fmt.Sprintf("eof = %d", n))
		require.ErrorContains(t, err, fmt.Sprintf("stored_eof = %d", len(whole)), "both sizes")
	}
	require.NoError(t, os.WriteFile(path, whole[:8], 0o644))
	_, err = h5.Open(path, h5.ReadOnly)
	require.ErrorIs(t, err, h5.ErrCorrupt, "only a signature")
}

// TestDamagedFile checks that corrupting single bytes produces every row of the table that maps to
// ErrCorrupt. It changes bytes of the superblock, of the beginning of every structure and of the
// object headers, in the oldest and the newest format.
func TestDamagedFile(t *testing.T) {
	testenv.NoAssertions(t)
	missing := h5.CorruptRows()
	delete(missing, "H5E_OHDR H5E_CANTINIT") // libhdf5 detects the cause earlier
	for _, row := range []string{"H5E_CACHE H5E_BADTYPE", "H5E_VOL H5E_BADSIZE", "H5E_REFERENCE H5E_CANTDECODE"} {
		delete(missing, row) // elements of variable size and references: TestInvalid of ndarray/hdf5
	}
	for _, major := range []string{"HEAP", "CACHE", "BTREE", "SYM", "FILE"} {
		delete(missing, "H5E_"+major+" H5E_OVERFLOW") // a structure that ends inside a field: TestWays_damaged of internal/testkit/ways
	}
	for _, low := range []h5.LibVer{h5.LatestFormat, h5.Earliest} {
		path := filepath.Join(t.TempDir(), "x.h5")
		writeSample(t, path, low)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		chunk := bytes.Index(whole, []byte{0x78, 0x9c}) // beginning of the zlib stream
		require.Positive(t, chunk)
		for _, at := range append(placesToDamage(t, path, whole), chunk) {
			for _, flip := range []byte{0xff, 0x55, 0x01} {
				if len(missing) == 0 {
					return
				}
				corrupt := bytes.Clone(whole)
				corrupt[at] ^= flip
				require.NoError(t, os.WriteFile(path, corrupt, 0o644))
				err := readSample(path, at == chunk)
				if err == nil {
					continue
				}
				var e *h5.Error
				require.ErrorAs(t, err, &e, "byte %d ^ %#x", at, flip)
				for i, f := range e.Stack {
					row := f.Major + " " + f.Minor
					if missing[row] || i == len(e.Stack)-1 {
						delete(missing, row)
					}
				}
			}
		}
	}
	require.Empty(t, missing, "rows of the table that no damage leads to")
}

// placesToDamage returns the offsets of the structures of a file of writeSample.
func placesToDamage(t *testing.T, path string, whole []byte) []int {
	t.Helper()
	var places []int
	add := func(from, n int) {
		for at := from; at < min(from+n, len(whole)); at++ {
			places = append(places, at)
		}
	}
	for _, signature := range []string{"TREE", "SNOD", "HEAP"} {
		if at := bytes.Index(whole, []byte(signature)); at >= 0 {
			add(at, 32)
		}
	}
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for _, name := range []string{"g/d", "g/fl"} {
		info, err := f.Root().ObjectInfo(name)
		require.NoError(t, err)
		add(int(info.Address), 272)
	}
	add(0, 96)
	root, err := f.Root().ObjectInfo("g")
	require.NoError(t, err)
	add(int(root.Address), 64)
	return places
}

func TestErrors_Names(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	f, err := h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	defer f.Close()
	r := f.Root()
	require.NoError(t, r.LinkSoft("dangling", "/nowhere"))
	require.NoError(t, r.LinkSoft("loop", "/loop"))
	require.NoError(t, r.LinkExternal("outside", "gone.h5", "/x"))
	group := func(name string) error { _, err := r.OpenGroup(name); return err }
	dataset := func(name string) error { _, err := r.OpenDataset(name); return err }
	kind := func(name string) error { _, err := r.Kind(name); return err }
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"group", group("nope"), h5.ErrNotFound},
		{"group on the way", group("nope/x"), h5.ErrNotFound},
		{"dataset", dataset("g/nope"), h5.ErrNotFound},
		{"kind", kind("nope"), h5.ErrNotFound},
		{"dangling", dataset("dangling"), h5.ErrNotFound},
		{"loop", dataset("loop"), h5.ErrNotFound},
		{"external", dataset("outside"), h5.ErrNotFound},
		{"unlink", r.Unlink("nope"), h5.ErrNotFound},
		{"hard link", r.LinkHard("h", "/nope"), h5.ErrNotFound},
		{"attribute", func() error { _, err := r.ReadAttribute("nope"); return err }(), h5.ErrNotFound},
		{"delete attribute", r.DeleteAttribute("nope"), h5.ErrNotFound},
		{"group is a dataset", group("g/d"), h5.ErrKind},
		{"dataset is a group", dataset("g"), h5.ErrKind},
		{"group exists", func() error { _, err := r.CreateGroup("g"); return err }(), h5.ErrExists},
		{"dataset exists", func() error {
			_, err := r.CreateDataset("g", h5.Int(1, 0), h5.ScalarSpace(), nil)
			return err
		}(), h5.ErrExists},
		{"link exists", r.LinkSoft("g", "/x"), h5.ErrExists},
		{"empty name", group(""), h5.ErrParam},
		{"zero byte", group("a\x00b"), h5.ErrParam},
		{"file exists", func() error { _, err := h5.Create(path, nil); return err }(), h5.ErrExists},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.ErrorIs(t, tt.err, tt.want)
			for _, other := range []error{h5.ErrNotFound, h5.ErrExists, h5.ErrKind, h5.ErrCorrupt, h5.ErrClosed} {
				if other != tt.want {
					require.NotErrorIs(t, tt.err, other)
				}
			}
			if tt.want == h5.ErrNotFound {
				require.ErrorIs(t, tt.err, fs.ErrNotExist)
			}
			if tt.want == h5.ErrExists {
				require.ErrorIs(t, tt.err, fs.ErrExist)
			}
		})
	}
}

func TestCreate_Exclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
	_, err := h5.Create(path, nil)
	require.ErrorIs(t, err, h5.ErrExists)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "precious", string(content))
	o := h5.CreateOptions{}
	o.Truncate = true
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	_, err = h5.Create(path, &o)
	require.Error(t, err, "truncating a file that is open")
	require.NoError(t, f.Close())
	_, err = h5.Create(path, &h5.CreateOptions{Truncate: true, Low: h5.V114, High: h5.V18})
	require.ErrorIs(t, err, h5.ErrParam)
}

func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	other, err := os.Open(path)
	require.NoError(t, err)
	defer other.Close()
	flock(t, other, true)
	_, err = h5.Open(path, h5.ReadOnly)
	require.ErrorIs(t, err, h5.ErrLocked)
}

func TestFile_ReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	writeSample(t, path, h5.Earliest)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	r := f.Root()
	d, err := r.OpenDataset("g/d")
	require.NoError(t, err)
	_, create := r.CreateGroup("x")
	_, createDataset := r.CreateDataset("x", h5.Int(1, 0), h5.ScalarSpace(), nil)
	for name, err := range map[string]error{
		"create group": create, "create dataset": createDataset, "unlink": r.Unlink("g"),
		"soft": r.LinkSoft("x", "/g"), "external": r.LinkExternal("x", "f", "/g"), "hard": r.LinkHard("x", "/g"),
		"write": h5value.Write(d, []int32{1}, region([]int64{0}, []int64{1})), "resize": d.Resize(1),
		"write strings":    h5value.Write(d, []string{"a"}, region([]int64{0}, []int64{1})),
		"write attribute":  d.WriteAttribute(h5.Attribute{Name: "a"}),
		"delete attribute": d.DeleteAttribute("a"),
	} {
		require.ErrorIs(t, err, h5.ErrReadOnly, name)
		require.ErrorIs(t, err, fs.ErrPermission, name)
	}
}

func TestErrorForms(t *testing.T) {
	f := newFile(t)
	_, err := f.Root().OpenGroup("nope")
	var e *h5.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "h5: open group /nope: object 'nope' doesn't exist", err.Error())
	require.Equal(t, err.Error(), fmt.Sprintf("%v", err))
	require.Equal(t, fmt.Sprintf("%q", err.Error()), fmt.Sprintf("%q", err))
	long := fmt.Sprintf("%+v", err)
	require.Equal(t, len(e.Stack)+1, len(strings.Split(long, "\n")), "one line for each frame")
	require.Contains(t, long, "#0 H5Gopen2 (")
	require.Contains(t, long, "[H5E_SYM, H5E_NOTFOUND]")
	require.Equal(t, "H5Gopen2", e.Stack[0].Func, "the call from outside first")
	require.Equal(t, "H5E_SYM", e.Stack[len(e.Stack)-1].Major)
	require.Positive(t, e.Stack[0].Line)
	for _, fr := range e.Stack {
		require.NotEmpty(t, fr.Major, "%+v", fr)
		require.NotEmpty(t, fr.Minor, "%+v", fr)
	}
}
