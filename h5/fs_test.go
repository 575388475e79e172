package h5_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// A file passes the standard library's test of file systems, with symbolic links, a
// cycle and names from everywhere.
func TestFS(t *testing.T) {
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
	sys := f.FS()
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

// What is more than bytes is there, and reading it says why it cannot be.
func TestFSIrregular(t *testing.T) {
	f := newFile(t)
	_, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	info, err := fs.Stat(f.FS(), "s")
	require.NoError(t, err)
	require.Equal(t, fs.ModeIrregular, info.Mode().Type())
	_, err = fs.ReadFile(f.FS(), "s")
	require.ErrorIs(t, err, h5.ErrType)
	require.NoError(t, f.Root().LinkSoft("loop", "/loop"))
	_, err = f.FS().Open("loop")
	require.ErrorContains(t, err, "too many symbolic links")
	require.NoError(t, f.Close())
	_, err = f.FS().Open("s")
	require.ErrorIs(t, err, h5.ErrClosed)
}

// Any piece of any shape is that piece of the whole.
func TestFSPieces(t *testing.T) {
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
		file, err := f.FS().Open(name)
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
