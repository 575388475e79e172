package h5fs_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"log"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5fs"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/leak"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

func newFile(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "new.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func region(start, count []int64) h5.Region { return h5.Region{Start: start, Count: count} }

// TestNew checks a file with fstest.TestFS. The file contains symbolic links, a cycle and unusual
// names.
func TestNew(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	numbers := make([]uint32, 6000)
	for i := range numbers {
		numbers[i] = uint32(i) * 77
	}
	d, err := r.CreateDataset("a/b/numbers", h5.Uint(4, h5.BigEndian), h5.SimpleSpace(20, 300), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, numbers, region([]int64{0, 0}, []int64{20, 300})))
	_, err = r.CreateDataset("empty", h5.Int(1, 0), h5.NullSpace(), nil)
	require.NoError(t, err)
	_, err = r.CreateDataset("数据 x", h5.FixedString(3, h5.NullPad, h5.ASCII), h5.ScalarSpace(), nil)
	require.NoError(t, err)
	require.NoError(t, r.LinkSoft("a/soft", "/a/b/numbers"))
	require.NoError(t, r.LinkSoft("rel", "a/b"))
	require.NoError(t, r.LinkHard("a/b/up", "/a"))
	require.NoError(t, r.LinkHard("a/b/self", "/a/b"))
	require.NoError(t, r.LinkHard("same", "/a/b/numbers"))
	require.NoError(t, r.LinkExternal("out", "other.h5", "/"))
	_, err = r.CreateGroup("..")
	require.NoError(t, err)
	sys := h5fs.New(f)
	require.NoError(t, fstest.TestFS(sys, "a/b/numbers", "empty", "数据 x", "rel", "same"))

	want := []byte{}
	for _, n := range numbers {
		want = binary.BigEndian.AppendUint32(want, n)
	}
	for _, name := range []string{"a/b/numbers", "a/soft", "rel/numbers", "same", "a/b/up/b/self/numbers"} {
		got, err := fs.ReadFile(sys, name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	target, err := fs.ReadLink(sys, "a/b/up")
	require.NoError(t, err)
	require.Equal(t, "..", target)
	target, err = fs.ReadLink(sys, "a/soft")
	require.NoError(t, err)
	require.Equal(t, "/a/b/numbers", target)
	_, err = fs.ReadLink(sys, "a")
	require.ErrorIs(t, err, fs.ErrInvalid)
	var names []string
	require.NoError(t, fs.WalkDir(sys, ".", func(p string, d fs.DirEntry, err error) error {
		names = append(names, p)
		return err
	}))
	require.Equal(t, []string{".", "a", "a/b", "a/b/numbers", "a/b/self", "a/b/up", "a/soft", "empty", "rel", "same", "数据 x"}, names)
	for _, name := range []string{"none", "a/none", "same/x", "out"} {
		_, err := sys.Open(name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	for _, name := range []string{"/a", "../a", "", "a/"} {
		_, err := sys.Open(name)
		require.ErrorIs(t, err, fs.ErrInvalid, name)
	}
}

// TestNew_irregular checks that datasets of elements that are not plain bytes are listed, and that
// reading them returns an error with the reason.
func TestNew_irregular(t *testing.T) {
	f := newFile(t)
	_, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	info, err := fs.Stat(h5fs.New(f), "s")
	require.NoError(t, err)
	require.Equal(t, fs.ModeIrregular, info.Mode().Type())
	_, err = fs.ReadFile(h5fs.New(f), "s")
	require.ErrorIs(t, err, h5.ErrType)
	require.NoError(t, f.Root().LinkSoft("loop", "/loop"))
	_, err = h5fs.New(f).Open("loop")
	require.ErrorContains(t, err, "too many symbolic links")
	require.NoError(t, f.Close())
	_, err = h5fs.New(f).Open("s")
	require.ErrorIs(t, err, h5.ErrClosed)
}

// TestNew_pieces checks that reading any range of a dataset of any shape returns the same bytes as
// the whole.
func TestNew_pieces(t *testing.T) {
	f := newFile(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dims := rapid.SliceOfN(rapid.Int64Range(1, 7), 0, 4).Draw(rt, "shape")
		space, total := h5.ScalarSpace(), int64(1)
		if len(dims) > 0 {
			space = h5.SimpleSpace(dims...)
		}
		for _, d := range dims {
			total *= d
		}
		name := fmt.Sprint("d", n)
		d, err := f.Root().CreateDataset(name, h5.Uint(2, h5.LittleEndian), space, nil)
		require.NoError(t, err)
		defer d.Close()
		want := make([]byte, 2*total)
		for i := range want {
			want[i] = byte(i*31 + i>>8)
		}
		require.NoError(t, d.WriteRegion(want, h5.Uint(2, h5.LittleEndian), space.All()))
		file, err := h5fs.New(f).Open(name)
		require.NoError(t, err)
		defer file.Close()
		from := rapid.Int64Range(0, 2*total).Draw(rt, "from")
		length := rapid.Int64Range(0, 2*total-from+5).Draw(rt, "length")
		got := make([]byte, length)
		read, err := file.(io.ReaderAt).ReadAt(got, from)
		require.Equal(t, int(min(length, 2*total-from)), read)
		require.Equal(t, want[from:from+int64(read)], got[:read])
		if int64(read) < length {
			require.Equal(t, io.EOF, err)
		} else {
			require.NoError(t, err)
		}
		pos, err := file.(io.Seeker).Seek(-from, io.SeekEnd)
		require.NoError(t, err)
		rest, err := io.ReadAll(file)
		require.NoError(t, err)
		require.Equal(t, want[pos:], rest)
	})
}

// TestNew_extremeShape reads the last bytes of a dataset of 2^63-2 bytes with a buffer that extends
// past its end.
func TestNew_extremeShape(t *testing.T) {
	const length = 1<<62 - 1
	const size = 2 * length
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().CreateDataset("d", h5.Uint(2, h5.LittleEndian), h5.SimpleSpace(length), &h5.DatasetOptions{ChunkShape: []int64{1 << 10}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []uint16{7, 8, 9}, region([]int64{length - 3}, []int64{3})))
	require.NoError(t, d.Close())
	file, err := h5fs.New(f).Open("d")
	require.NoError(t, err)
	defer file.Close()
	b := make([]byte, 100)
	n, err := file.(io.ReaderAt).ReadAt(b, size-5)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []byte{0, 8, 0, 9, 0}, b[:n])
	info, err := fs.Stat(h5fs.New(f), "d")
	require.NoError(t, err)
	require.EqualValues(t, int64(size), info.Size())
}

func ExampleNew() {
	f, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Root().CreateGroup("raw/2026"); err != nil {
		log.Fatal(err)
	}
	if _, err := f.Root().CreateDataset("raw/2026/d", h5.Int(2, h5.LittleEndian), h5.SimpleSpace(3), nil); err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(h5fs.New(f), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			fmt.Println(path, e.IsDir())
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// . true
	// raw true
	// raw/2026 true
	// raw/2026/d false
}
