// Tests of HDF5 files with corruption in each structure.

package recovery_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// saveHDF5 writes a file of the oldest or the newest format. It contains a dataset of every layout,
// strings, a compound, attributes and links.
func saveHDF5(t *testing.T, low h5.LibVer) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	must := func(d *h5.Dataset, err error) *h5.Dataset { require.NoError(t, err); return d }
	level := 4
	chunked := must(g.CreateDataset("chunked", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(20, 30), &h5.DatasetOptions{ChunkShape: []int64{6, 7}, Shuffle: true, Deflate: &level, Fletcher32: true, Fill: []byte{7, 0, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, h5value.Write(chunked, squares(600), h5.SimpleSpace(20, 30).All()))
	require.NoError(t, h5value.WriteAttr(chunked, "units", []string{"metre"}))
	require.NoError(t, h5value.WriteAttr(chunked, "scale", []float64{0.5, 2}))
	big := must(g.CreateDataset("contiguous", h5.Int(8, h5.BigEndian), h5.SimpleSpace(600), nil))
	require.NoError(t, h5value.Write(big, squares(600), h5.SimpleSpace(600).All()))
	small := must(f.Root().CreateDataset("compact", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(6), &h5.DatasetOptions{Compact: true}))
	require.NoError(t, h5value.Write(small, squares(6), h5.SimpleSpace(6).All()))
	strs := must(f.Root().CreateDataset("texts", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil))
	require.NoError(t, h5value.Write(strs, []string{"one", "", "zwölf"}, h5.SimpleSpace(3).All()))
	require.NoError(t, f.Root().LinkSoft("soft", "/g/chunked"))
	require.NoError(t, f.Root().LinkHard("hard", "/g/chunked"))
	for _, d := range []*h5.Dataset{chunked, big, small, strs} {
		require.NoError(t, d.Close())
	}
	require.NoError(t, g.Close())
	require.NoError(t, f.Close())
	return path
}

// requireDump requires that h5dump prints the same for two files, except for the file name.
func requireDump(t *testing.T, want, got string) {
	t.Helper()
	tool := testenv.Tool(t, "h5dump")
	dump := func(path string) string {
		c := exec.Command(tool, filepath.Base(path))
		c.Dir = filepath.Dir(path)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		_, rest, _ := bytes.Cut(out, []byte("\n")) // after the file name
		return string(rest)
	}
	require.Equal(t, dump(want), dump(got))
}

func requireSound(t *testing.T, path string) {
	t.Helper()
	v, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitValid, v.ExitCode(), "%v %v", v.Damages, v.Unchecked)
}

func firstChunk(t *testing.T, path string) h5file.Chunk {
	t.Helper()
	for c, err := range hdf5test.Object(t, path, "/hard").Chunks() {
		require.NoError(t, err)
		return c
	}
	t.Fatal("no chunk")
	return h5file.Chunk{}
}

var versions = map[string]h5.LibVer{"oldest": h5.Earliest, "newest": h5.V110}

func TestHDF5_complete(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveHDF5(t, low)
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitWhole, r.ExitCode())
			require.Equal(t, content(t, src)[src], content(t, dst)[dst])
		})
	}
}

func TestHDF5_writerFlags(t *testing.T) {
	src := saveHDF5(t, h5.V110)
	whole := content(t, src)[src]
	change(t, src, func(b []byte) []byte { b[11] = 5; relabel(b); return b })
	_, err := h5.Open(src, h5.ReadOnly)
	require.Error(t, err)
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitWhole, r.ExitCode())
	require.Len(t, r.Findings, 1)
	require.Equal(t, whole, content(t, dst)[dst])
}

// relabel corrects the checksum of superblock 3.
func relabel(b []byte) {
	sum := h5file.Lookup3(b[:44])
	for i := range 4 {
		b[44+i] = byte(sum >> (8 * i))
	}
}

func TestHDF5_corruptChunk(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveHDF5(t, low)
			c := firstChunk(t, src)
			change(t, src, func(b []byte) []byte { b[c.Addr+9] ^= 0x55; return b })
			dst, r := recovered(t, src, nil)
			require.Equal(t, int64(1), r.Lost)
			require.Equal(t, int64(c.Addr), r.Findings[0].Offset)
			requireSound(t, dst)
			v, want := values(t, dst+":/g/chunked"), squares(600)
			require.Equal(t, int64(7), v[0], "the fill value")
			require.Equal(t, want[7:30], v[7:30])
			require.Equal(t, want[180:], v[180:])
		})
	}
}

// TestHDF5_LostGroup destroys the symbol table or the links of a group. Its objects must be
// recovered.
func TestHDF5_LostGroup(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveHDF5(t, low)
			o := hdf5test.Object(t, src, "/g")
			change(t, src, func(b []byte) []byte { clear(b[o.Addr : o.Addr+16]); return b })
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitPartly, r.ExitCode())
			requireSound(t, dst)
			require.Equal(t, squares(6), values(t, dst+":/compact"))
			found := 0
			f, err := h5.Open(dst, h5.ReadOnly)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			g, err := f.Root().OpenGroup("lost+found")
			if low == h5.Earliest { // the second hard link still refers to one object
				require.Equal(t, squares(600), values(t, dst+":/hard"))
			}
			require.NoError(t, err)
			for l, err := range g.Links() {
				require.NoError(t, err)
				require.Equal(t, squares(600), values(t, dst+":/lost+found/"+l.Name))
				found++
			}
			require.Equal(t, 1, found)
			require.NoError(t, g.Close())
			require.Equal(t, squares(600), values(t, dst+":/hard"))
		})
	}
}

func TestHDF5_LostSuperblock(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveHDF5(t, low)
			whole := filepath.Join(t.TempDir(), "a.h5")
			b, err := os.ReadFile(src)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(whole, b, 0o600))
			change(t, src, func(b []byte) []byte { clear(b[:48]); return b })
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitPartly, r.ExitCode())
			require.Positive(t, r.Guessed)
			require.Zero(t, r.Certain)
			requireSound(t, dst)
			requireDump(t, whole, dst)
		})
	}
}

// TestHDF5_truncated checks that the objects before the end of a truncated file are recovered.
func TestHDF5_truncated(t *testing.T) {
	for name, low := range versions {
		src := saveHDF5(t, low)
		b, err := os.ReadFile(src)
		require.NoError(t, err)
		some := false
		for i := 1; i < 16; i++ {
			require.NoError(t, os.WriteFile(src, b[:len(b)*i/16], 0o600))
			dst := filepath.Join(t.TempDir(), "new.h5")
			r, err := recovery.Recover(bg, dst, src, nil)
			if err != nil {
				require.NoFileExists(t, dst)
				continue
			}
			some = some || r.Chunks > 0
			require.NotEqual(t, recovery.ExitWhole, r.ExitCode())
			requireSound(t, dst)
		}
		require.True(t, some, name)
	}
}

// TestHDF5_missingChunkIndex destroys the index of the chunks. The chunks must be recovered.
func TestHDF5_missingChunkIndex(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveHDF5(t, low)
			l := hdf5test.Object(t, src, "/hard").Layout()
			change(t, src, func(b []byte) []byte { clear(b[l.Addr : l.Addr+8]); return b })
			dst, r := recovered(t, src, nil)
			require.Positive(t, r.Lost)
			requireSound(t, dst)
			require.Equal(t, squares(600), values(t, dst+":/g/contiguous"))
			require.Equal(t, int64(7), values(t, dst+":/g/chunked")[0])
		})
	}
}

// TestHDF5_anyByte changes single bytes of a file. The new file must be valid, whichever byte is
// changed.
func TestHDF5_anyByte(t *testing.T) {
	src := saveHDF5(t, h5.Earliest)
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	step := 97
	for at := 0; at < len(b); at += step {
		corrupt := bytes.Clone(b)
		corrupt[at] ^= 0xFF
		require.NoError(t, os.WriteFile(src, corrupt, 0o600))
		dst := filepath.Join(t.TempDir(), "new.h5")
		if _, err := recovery.Recover(bg, dst, src, nil); err != nil {
			require.NoFileExists(t, dst, "byte %d: %v", at, err)
			continue
		}
		requireSound(t, dst)
	}
}

// TestHDF5_OverlappingChunks checks an index that contains one chunk twice. Such an index can be
// decoded, but a copy of the file would still be corrupt.
func TestHDF5_OverlappingChunks(t *testing.T) {
	src := saveHDF5(t, h5.Earliest)
	bySize := map[uint64]h5file.Addr{}
	var from, to h5file.Addr
	for c, err := range hdf5test.Object(t, src, "/hard").Chunks() {
		require.NoError(t, err)
		if at, ok := bySize[c.Size]; ok {
			from, to = c.Addr, at
		}
		bySize[c.Size] = c.Addr
	}
	require.NotZero(t, from, "two chunks of one size")
	change(t, src, func(b []byte) []byte {
		old := binary.LittleEndian.AppendUint64(nil, uint64(from))
		require.Equal(t, 1, bytes.Count(b, old))
		return bytes.Replace(b, old, binary.LittleEndian.AppendUint64(nil, uint64(to)), 1)
	})
	v, err := verify.File(bg, src, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, v.ExitCode())
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitPartly, r.ExitCode(), "%v", r.Findings)
	requireSound(t, dst)
}

// TestHDF5_overlappingChunks checks a valid index with a chunk that overlaps the superblock, a
// group or the elements of another dataset. Replacing this chunk would free those bytes and
// overwrite them with other chunks.
func TestHDF5_overlappingChunks(t *testing.T) {
	for _, c := range []struct {
		place string
		at    func(src string) h5file.Addr
	}{
		{"superblock", func(string) h5file.Addr { return 0 }},
		{"object header", func(src string) h5file.Addr { return hdf5test.Object(t, src, "/g").Addr }},
		{"elements", func(src string) h5file.Addr { return hdf5test.Object(t, src, "/g/contiguous").Layout().Addr + 8 }},
	} {
		t.Run(c.place, func(t *testing.T) {
			src := saveHDF5(t, h5.Earliest)
			old := binary.LittleEndian.AppendUint64(nil, uint64(firstChunk(t, src).Addr))
			other := binary.LittleEndian.AppendUint64(nil, uint64(c.at(src)))
			change(t, src, func(b []byte) []byte {
				require.Equal(t, 1, bytes.Count(b, old))
				return bytes.Replace(b, old, other, 1)
			})
			dst, r := recovered(t, src, nil)
			require.Equal(t, int64(1), r.Lost, "%v", r.Findings)
			require.Equal(t, "file", r.Findings[0].What)
			require.Contains(t, r.Findings[0].Err.Error(), "overlap")
			requireSound(t, dst)
			require.Equal(t, squares(600), values(t, dst+":/g/contiguous"))
			require.Equal(t, squares(6), values(t, dst+":/compact"))
			v, want := values(t, dst+":/hard"), squares(600)
			require.Equal(t, int64(7), v[0], "the fill value")
			require.Equal(t, want[7:30], v[7:30])
			require.Equal(t, want[180:], v[180:])
		})
	}
}

// TestHDF5_elementsBeyondFile checks a dataset whose shape has more elements than the file can
// contain. The new file must be small, because it must store only the existing elements.
func TestHDF5_elementsBeyondFile(t *testing.T) {
	src := saveHDF5(t, h5.Earliest)
	rows := uint64(1) << 40
	require.Equal(t, uint64(600), hdf5test.SetRows(t, src, "/g/contiguous", rows))
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitPartly, r.ExitCode())
	requireSound(t, dst)
	info, err := os.Stat(dst)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(4<<20))
	a, err := hyperslab.Open(bg, dst+":/g/contiguous", nil)
	require.NoError(t, err)
	require.Equal(t, []int64{int64(rows)}, a.Shape())
	v := make([]int64, 600)
	require.NoError(t, ndarray.Read(bg, a, v, ndarray.Region{Start: []int64{0}, Shape: []int64{600}}))
	require.Equal(t, squares(600), v)
	require.NoError(t, a.Close())
}

// TestHDF5_elementOverflow checks a dataset whose size in bytes overflows 64 bits. It must not be
// created.
func TestHDF5_elementOverflow(t *testing.T) {
	src := saveHDF5(t, h5.Earliest)
	require.Equal(t, uint64(600), hdf5test.SetRows(t, src, "/g/contiguous", 1<<62+2))
	dst, r := recovered(t, src, nil)
	require.Equal(t, int64(1), r.LostObjects, "%v", r.Findings)
	requireSound(t, dst)
	require.Equal(t, squares(600), values(t, dst+":/g/chunked"))
}

// TestHDF5_corruptCommittedType checks that an invalid committed datatype is not copied.
func TestHDF5_corruptCommittedType(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	c, err := f.Root().CommitDatatype("type", h5.IEEEFloat(4, h5.LittleEndian))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	d, err := f.Root().CreateDataset("x", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(6), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, squares(6), h5.SimpleSpace(6).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	at := hdf5test.Object(t, src, "/type").Message(h5file.DatatypeType).Offset
	change(t, src, func(b []byte) []byte {
		require.Equal(t, []byte{23, 8, 0, 23}, b[at+12:at+16], "exponent and mantissa")
		b[at+12] = 0
		return b
	})
	dst, r := recovered(t, src, nil)
	require.Equal(t, int64(1), r.LostObjects, "%v", r.Findings)
	requireSound(t, dst)
	require.Equal(t, squares(6), values(t, dst+":/x"))
}

// TestHDF5_refusedByLibrary checks a file that libhdf5 rejects because its superblock records an
// end before the last structure.
func TestHDF5_refusedByLibrary(t *testing.T) {
	src := testenv.Files(t, testenv.HDF5Source, "tools/test/misc/testfiles/h5clear_fsm_persist_less.h5")[0]
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
	require.Equal(t, "end of file address", r.Findings[0].What)
	requireSound(t, dst)
}

// TestHDF5_longerFile checks a file with persistent free space whose writer was killed. It must be
// rewritten, because package h5 cannot open a copy of it for writing.
func TestHDF5_longerFile(t *testing.T) {
	c := h5.DefaultFileCreation()
	c.Space = h5.FileSpace{Strategy: h5.FreeListAggregate, Persist: true, Threshold: 1, PageSize: 4096}
	path := filepath.Join(t.TempDir(), "open.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.Earliest, High: h5.V110, Creation: &c})
	require.NoError(t, err)
	for i, name := range []string{"x", "y"} {
		d, err := f.Root().CreateDataset(name, h5.Int(8, h5.LittleEndian), h5.SimpleSpace(60000), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, squares(60000), h5.SimpleSpace(60000).All()))
		require.NoError(t, d.Close())
		if i == 0 {
			require.NoError(t, f.Flush())
		}
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	src := filepath.Join(t.TempDir(), "killed.h5")
	require.NoError(t, os.WriteFile(src, b, 0o600))
	var unclosed *h5.UnclosedError
	_, err = h5.Open(src, h5.ReadWrite)
	require.ErrorAs(t, err, &unclosed)

	dst, r := recovered(t, src, nil)
	require.Zero(t, r.Lost, "%v", r.Findings)
	require.Contains(t, r.Findings[0].Err.Error(), "rewritten, because the library would truncate it")
	requireSound(t, dst)
	require.Equal(t, squares(60000), values(t, dst+":/x"))
	f, err = h5.Open(dst, h5.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestHDF5_missingCommittedType checks that an unreadable committed datatype is lost, and no other
// object.
func TestHDF5_missingCommittedType(t *testing.T) {
	src := filepath.Join(t.TempDir(), "cut.h5")
	b, err := os.ReadFile(testenv.Files(t, testenv.HDF5Source, "tools/test/h5dump/testfiles/xml/tenum.h5")[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(src, b[:1456], 0o600))
	dst := filepath.Join(t.TempDir(), "new.h5")
	if _, err := recovery.Recover(bg, dst, src, nil); err != nil {
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		return
	}
	requireSound(t, dst)
}

// TestHDF5_elementSize changes the size of a datatype so that it differs from the element size of
// the chunks. No chunk must be copied into chunks of another size.
func TestHDF5_elementSize(t *testing.T) {
	src := saveHDF5(t, h5.Earliest)
	at := hdf5test.Object(t, src, "/hard").Message(h5file.DatatypeType).Offset
	change(t, src, func(b []byte) []byte { b[at+4]++; return b })
	dst, r := recovered(t, src, nil)
	require.Positive(t, r.Lost, "%v", r.Findings)
	requireSound(t, dst)
}

// TestHDF5_shortChecksum checks chunks that have fewer than 4 bytes when they reach the Fletcher-32
// decoder. libhdf5 would read out of bounds for such chunks. Verify must report them as corrupt,
// and recover must keep the other chunks.
func TestHDF5_shortChecksum(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	deflated := zipped(t, []byte{1, 2, 3})
	sum, zip := h5.Fletcher32(), h5.Deflate(1)
	for name, tt := range map[string]struct {
		filters []h5.Filter
		stored  []byte
	}{
		"last": {[]h5.Filter{zip, sum}, []byte{1, 2, 3}}, "first": {[]h5.Filter{sum, zip}, deflated},
		"middle": {[]h5.Filter{h5.Shuffle(), sum, zip}, deflated}, "twice": {[]h5.Filter{sum, sum}, []byte{0, 0, 0, 0}},
	} {
		d, err := f.Root().CreateDataset(name, h5.Int(8, h5.LittleEndian), h5.SimpleSpace(600), &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: tt.filters})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, squares(600), h5.SimpleSpace(600).All()))
		require.NoError(t, d.WriteChunk(tt.stored, 0, 200))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	v, err := verify.File(bg, src, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, v.ExitCode())
	chunks := 0
	for _, d := range v.Damages {
		if d.Chunk == 2 {
			chunks++
		}
	}
	require.Equal(t, 4, chunks, "%v", v.Damages)
	dst, r := recovered(t, src, nil)
	require.EqualValues(t, 4, r.Lost)
	requireSound(t, dst)
	for _, name := range []string{"last", "first", "middle", "twice"} {
		got, want := values(t, dst+":/"+name), squares(600)
		clear(want[200:300])
		require.Equal(t, want, got, name)
	}
}

// TestHDF5_libraryDecoders checks chunks with filters that only libhdf5 implements. A corrupt chunk
// must be lost and the others must be kept, both in a file without other corruption and in one that
// is rewritten.
func TestHDF5_libraryDecoders(t *testing.T) {
	deflate := h5.Deflate(1)
	for name, tt := range map[string]struct {
		filters []h5.Filter
		stored  []byte
	}{
		"scale-offset, too short":    {[]h5.Filter{h5.ScaleOffsetInt(0)}, []byte{60, 0, 0, 0, 8, 0}},
		"scale-offset, wide":         {[]h5.Filter{h5.ScaleOffsetInt(0)}, append([]byte{200, 0, 0, 0, 8}, make([]byte, 1000)...)},
		"scale-offset under another": {[]h5.Filter{h5.ScaleOffsetInt(0), deflate}, zipped(t, []byte{60, 0, 0, 0, 8, 0})},
		"n-bit":                      {[]h5.Filter{h5.Nbit()}, []byte{1, 2, 3}},
		"n-bit under another":        {[]h5.Filter{h5.Nbit(), deflate}, zipped(t, []byte{1, 2, 3})},
	} {
		t.Run(name, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.h5")
			f, err := h5.Create(src, nil)
			require.NoError(t, err)
			number := h5.Int(8, h5.LittleEndian)
			number.Precision = 60
			d, err := f.Root().CreateDataset("a", number, h5.SimpleSpace(600), &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: tt.filters, Fill: []byte{5, 0, 0, 0, 0, 0, 0, 0}})
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, squares(600), h5.SimpleSpace(600).All()))
			require.NoError(t, d.WriteChunk(tt.stored, 0, 200))
			require.NoError(t, d.Close())
			other, err := f.Root().CreateDataset("b", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(1<<16), nil)
			require.NoError(t, err)
			require.NoError(t, h5value.Write(other, squares(1<<16), h5.SimpleSpace(1<<16).All()))
			require.NoError(t, other.Close())
			require.NoError(t, f.Close())
			whole, err := os.ReadFile(src)
			require.NoError(t, err)

			want := squares(600)
			for i := range want[200:300] {
				want[200+i] = 5
			}
			for _, end := range []int{len(whole), len(whole) - 1000} {
				require.NoError(t, os.WriteFile(src, whole[:end], 0o600))
				dst, r := recovered(t, src, nil)
				require.Positive(t, r.Lost)
				requireSound(t, dst)
				f, err := h5.Open(dst, h5.ReadOnly)
				require.NoError(t, err)
				d, err := f.Root().OpenDataset("a")
				require.NoError(t, err)
				got := make([]int64, 600)
				require.NoError(t, h5value.Read(d, got, h5.SimpleSpace(600).All()))
				require.NoError(t, d.Close())
				require.NoError(t, f.Close())
				require.Equal(t, want, got, "%d bytes", end)
			}
		})
	}
}

// TestHDF5_invalidParameters checks that invalid filter parameters are not copied. libhdf5 would
// create such a dataset, but refuse to read it.
func TestHDF5_invalidParameters(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("a", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(600), &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: []h5.Filter{h5.ScaleOffsetInt(0), h5.Deflate(1)}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 600), h5.SimpleSpace(600).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	at := bytes.Index(b, []byte{2, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0})
	require.Positive(t, at)
	b[at] = 0 // scale type of floats
	require.NoError(t, os.WriteFile(src, b, 0o600))
	dst, r := recovered(t, src, nil)
	require.Contains(t, fmt.Sprint(r.Findings), "filter pipeline")
	require.EqualValues(t, 6, r.Lost, "%v", r.Findings)
	requireSound(t, dst)
}

// zipped returns b compressed with deflate.
func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// TestHDF5_libraryParameters recovers chunks with filters that only libhdf5 has, from datasets
// without a fill value or with one that is never written, and with chunks whose filter was skipped.
func TestHDF5_libraryParameters(t *testing.T) {
	number := h5.Int(4, h5.LittleEndian)
	seven := []byte{7, 0, 0, 0}
	for name, o := range map[string]h5.DatasetOptions{
		"n-bit":                          {Filters: []h5.Filter{h5.Nbit()}},
		"scale-offset":                   {Filters: []h5.Filter{h5.ScaleOffsetInt(0)}},
		"scale-offset, no fill":          {Filters: []h5.Filter{h5.ScaleOffsetInt(0)}, NoFill: true},
		"scale-offset, fill":             {Filters: []h5.Filter{h5.ScaleOffsetInt(0)}, Fill: seven},
		"scale-offset, fill not written": {Filters: []h5.Filter{h5.ScaleOffsetInt(0)}, Fill: seven, FillTime: h5.FillNever},
	} {
		t.Run(name, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.h5")
			f, err := h5.Create(src, nil)
			require.NoError(t, err)
			o.ChunkShape = []int64{10}
			d, err := f.Root().CreateDataset("a", number, h5.SimpleSpace(60), &o)
			require.NoError(t, err)
			want := make([]int32, 60)
			for i := range want {
				want[i] = int32(i * i)
			}
			for at := int64(0); at < 60; at += 10 {
				if at != 10 && at != 30 {
					require.NoError(t, h5value.Write(d, want[at:at+10], h5.Region{Start: []int64{at}, Count: []int64{10}}))
					continue
				}
				raw := make([]byte, 0, 40)
				for _, v := range want[at : at+10] {
					raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
				}
				require.NoError(t, d.WriteChunk(raw, 1, at))
			}
			require.NoError(t, f.Close())
			dst, r := recovered(t, src, nil)
			require.Zero(t, r.Lost, "%v", r.Findings)
			f, err = h5.Open(dst, h5.ReadOnly)
			require.NoError(t, err)
			defer f.Close()
			d, err = f.Root().OpenDataset("a")
			require.NoError(t, err)
			got, err := h5value.ReadAll[int32](d)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}
