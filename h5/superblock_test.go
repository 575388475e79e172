package h5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// widest returns a valid file with addresses of 32 bytes, which contains an empty group.
func widest(t *testing.T) []byte {
	address := func(b []byte, a uint64) []byte {
		return append(binary.LittleEndian.AppendUint64(b, a), make([]byte, 24)...)
	}
	none := bytes.Repeat([]byte{0xFF}, 32)
	sum := func(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, h5file.Lookup3(b)) }
	const superblock, header = 12 + 4*32 + 4, 7 + 4 + 66 + 4
	b := append([]byte(h5file.Signature), 2, 32, 8, 0)
	b = append(address(b, 0), none...)
	b = sum(address(address(b, superblock+header), superblock))
	h := append([]byte("OHDR\x02\x00"), 4+66, byte(h5file.LinkInfoType), 66, 0, 0, 0, 0)
	b = append(b, sum(append(append(h, none...), none...))...)
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	require.NoError(t, f.Damage())
	return b
}

// TestSuperblock_longAddresses checks that addresses longer than libhdf5's object token are
// rejected before libhdf5 uses them, for every driver and offset of the superblock.
func TestSuperblock_longAddresses(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.h5")
	createWith(t, old, nil)
	version0, err := os.ReadFile(old)
	require.NoError(t, err)
	require.Zero(t, version0[8])
	version0[13] = 32
	newer := widest(t)
	for i, b := range [][]byte{
		newer, version0,
		append(make([]byte, 512), newer...), append(make([]byte, 1024), newer...), append(make([]byte, 4096), version0...),
	} {
		refused := func(f *h5.File, err error) {
			t.Helper()
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "addresses of 32 bytes, of which the library holds 16")
			require.Nil(t, f)
		}
		for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} {
			for name, d := range map[string]h5.Driver{
				"file": nil, "family%d": h5.Family{}, "split": h5.Split{}, "multi": h5.DefaultMulti(), "core": h5.Core{},
			} {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d-%s", i, mode, name))
				first, known := map[string]string{
					"family%d": path[:len(path)-2] + "0", "split": path + ".meta", "multi": path + "-s.h5",
				}[name]
				if !known {
					first = path
				}
				require.NoError(t, os.WriteFile(first, b, 0o600))
				a := h5.DefaultFileAccess()
				a.Driver = d
				o := h5.OpenOptions{}
				o.Mode, o.Access = mode, &a
				refused(h5.OpenWith(path, &o))
				left, err := os.ReadFile(first)
				require.NoError(t, err)
				require.Equal(t, b, left)
			}
			refused(h5.OpenImage(b, mode))
		}
		refused(h5.Open(filepath.Join(dir, fmt.Sprintf("%d-0-file", i)), h5.ReadOnly))
		refused(h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), &h5.ReaderOptions{BlockSize: 7, Blocks: 2}))
	}
}

// TestSuperblock_unclosedNotTruncated checks files whose writer was killed before it stored the end
// of the file. They must open for reading, and must never be truncated.
func TestSuperblock_unclosedNotTruncated(t *testing.T) {
	testenv.NoAssertions(t)
	refused := func(path string) *h5.UnclosedError {
		t.Helper()
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = h5.Open(path, h5.ReadWrite)
		var unclosed *h5.UnclosedError
		require.ErrorAs(t, err, &unclosed)
		require.ErrorIs(t, err, h5.ErrCorrupt)
		require.ErrorContains(t, err, "hyperslab recover")
		require.ErrorContains(t, err, "h5clear --increment")
		_, err = h5.OpenImage(before, h5.ReadWrite)
		require.ErrorAs(t, err, &unclosed)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
		return unclosed
	}
	opens := func(path string, mode h5.Mode) {
		t.Helper()
		f, err := h5.Open(path, mode)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	dir := t.TempDir()
	for name, want := range map[string]*h5.UnclosedError{
		"noclose": {End: 2048, Size: 2448}, "less": {End: 512, Size: 2565}, "user_less": {End: 3000, Size: 3077},
	} {
		b, err := os.ReadFile(testenv.Files(t, testenv.HDF5Source, "tools/test/misc/testfiles/h5clear_fsm_persist_"+name+".h5")[0])
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		require.Equal(t, want, refused(path))
	}

	path := filepath.Join(dir, "killed.h5")
	f, d, _, flushed := grownUnclosed(t, path, h5.Earliest)
	killed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Greater(t, len(killed), len(flushed))
	opens(path, h5.ReadWrite) // the file is open in this process, so libhdf5 shares it
	again, err := f.Reopen()
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	opens(path, h5.ReadWrite)
	require.NoError(t, again.Close())
	opens(path, h5.ReadWrite) // the file was closed

	// Bytes after the end of a closed file were not written by libhdf5, so the file opens.
	closed, err := os.ReadFile(path)
	require.NoError(t, err)
	path = filepath.Join(dir, "followed.h5")
	require.NoError(t, os.WriteFile(path, append(closed, "more"...), 0o600))
	opens(path, h5.ReadWrite)

	path = filepath.Join(dir, "flushed.h5")
	require.NoError(t, os.WriteFile(path, flushed, 0o600))
	opens(path, h5.ReadWrite)
	path = filepath.Join(dir, "copy.h5")
	require.NoError(t, os.WriteFile(path, killed, 0o600))
	require.EqualValues(t, len(killed), refused(path).Size)
	opens(path, h5.ReadOnly)
	other, err := os.Open(path)
	require.NoError(t, err)
	flock(t, other, true)
	_, err = h5.Open(path, h5.ReadWrite)
	require.ErrorIs(t, err, h5.ErrLocked, "its writer lives")
	flock(t, other, false)
	refused(path)
	require.NoError(t, other.Close())
	refused(path)
	out, err := exec.Command(testenv.Tool(t, "h5clear"), "--increment=512", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	opens(path, h5.ReadWrite)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Size(), int64(len(killed)))
}

// grownUnclosed creates a file that stores its free space, with a dataset written after a flush. It
// leaves the file f and the dataset d open, and returns the bytes of the file at the flush as
// flushed.
func grownUnclosed(t *testing.T, path string, low h5.LibVer) (f *h5.File, d *h5.Dataset, values []int32, flushed []byte) {
	t.Helper()
	c := h5.DefaultFileCreation()
	c.Space = h5.FileSpace{Strategy: h5.FreeListAggregate, Persist: true, Threshold: 1, PageSize: 4096}
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.V110, Creation: &c})
	require.NoError(t, err)
	d, err = f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(100000), nil)
	require.NoError(t, err)
	require.NoError(t, f.Flush())
	flushed, err = os.ReadFile(path)
	require.NoError(t, err)
	values = make([]int32, 100000)
	for i := range values {
		values[i] = int32(i)
	}
	require.NoError(t, h5value.Write(d, values, region([]int64{0}, []int64{100000})))
	return f, d, values, flushed
}

// TestSuperblock_unclosed3 checks superblock 3 after the writer was killed. libhdf5 itself refuses
// to open the file for writing and does not truncate it, because a flag marks it as open. After the
// flag is cleared, this package must refuse the file.
func TestSuperblock_unclosed3(t *testing.T) {
	testenv.NoAssertions(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.h5")
	f, d, values, _ := grownUnclosed(t, path, h5.V110)
	killed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.EqualValues(t, 3, killed[8])
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	for range 2 { // a closed file opens and has the same values
		f, err = h5.Open(path, h5.ReadWrite)
		require.NoError(t, err)
		got := make([]int32, 100000)
		d, err = f.Root().OpenDataset("d")
		require.NoError(t, err)
		require.NoError(t, h5value.Read(d, got, region([]int64{0}, []int64{100000})))
		require.Equal(t, values, got)
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
	}

	path = filepath.Join(dir, "b.h5")
	require.NoError(t, os.WriteFile(path, killed, 0o600))
	var unclosed *h5.UnclosedError
	var e *h5.Error
	_, err = h5.Open(path, h5.ReadWrite)
	require.False(t, errors.As(err, &unclosed))
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "already open for write")
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	// libhdf5 sets the times of the superblock extension, an object header, before it refuses the
	// file. Everything else is unchanged.
	extension := binary.LittleEndian.Uint64(killed[20:])
	root := binary.LittleEndian.Uint64(killed[36:])
	require.Equal(t, killed[:extension], left[:extension])
	require.Equal(t, killed[root:], left[root:])

	killed[11] = 0
	binary.LittleEndian.PutUint32(killed[44:], h5file.Lookup3(killed[:44]))
	require.NoError(t, os.WriteFile(path, killed, 0o600))
	_, err = h5.Open(path, h5.ReadWrite)
	require.ErrorAs(t, err, &unclosed)
	require.EqualValues(t, len(killed), unclosed.Size)
}
