// Tests that the cost of recovery depends on the bytes of a file and not on the sizes in its
// headers. The tests count work and do not measure time.

package recovery_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// claim writes a frame of n chunks of zeros, 16 bytes each. The frame itself has a few hundred
// bytes.
func claim(t *testing.T, sparse bool, n int) (path, head string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.b2frame")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: 16, Sparse: sparse})
	require.NoError(t, err)
	zeros, err := cblosc.SpecialChunk(cp, cblosc.Zeros, 16, nil)
	require.NoError(t, err)
	require.NoError(t, w.WriteChunk(zeros))
	require.NoError(t, w.RepeatLast(n-1))
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	if head = path; sparse {
		head = filepath.Join(path, cframe.IndexFile)
	}
	return path, head
}

// calls counts the allocations of f. Each chunk that is handled individually would cause some.
func calls(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// TestClaims_specialChunks checks that an index of millions of special chunks is copied as a whole.
func TestClaims_specialChunks(t *testing.T) {
	testenv.NoASan(t, "variables on the stack are allocations there")
	const n = 3_500_000
	for _, sparse := range []bool{false, true} {
		src, head := claim(t, sparse, n)
		info, err := os.Stat(head)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(500_000))
		dst := filepath.Join(t.TempDir(), "new.b2frame")
		var r *recovery.Report
		require.Less(t, calls(func() { r, err = recovery.Recover(bg, dst, src, nil) }), uint64(100_000))
		require.NoError(t, err)
		require.Equal(t, int64(n), r.Chunks)
		require.Equal(t, int64(n), r.Unverified)
		require.Zero(t, r.Lost)
		require.Equal(t, content(t, src)[head], content(t, dst)[filepath.Join(dst, head[len(src):])])

		// Without the index all chunks are lost. Recover must detect this once and not for each
		// chunk.
		change(t, head, func(b []byte) []byte { return b[:len(b)/2] })
		require.Less(t, calls(func() { _, err = recovery.Recover(bg, dst, src, &recovery.Options{Overwrite: true}) }), uint64(100_000))
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
	}
}

// TestClaims_manyChunks checks an array whose header claims millions of chunks although one chunk
// remains.
func TestClaims_manyChunks(t *testing.T) {
	testenv.NoASan(t, "variables on the stack are allocations there")
	src := save(t, "a.b2nd", nil)
	whole, err := os.ReadFile(src)
	require.NoError(t, err)
	p := partsOf(t, whole)
	for _, n := range []uint64{5_000_000, 1 << 40} {
		// A frame without the metalayer has the length in its header.
		change(t, src, func([]byte) []byte {
			b := append([]byte{}, whole...)
			b[cframe.MinHeaderSize-1]++ // the map of metalayers becomes invalid
			binary.BigEndian.PutUint64(b[30:], n*6*7*8)
			return b[:p.index]
		})
		dst := filepath.Join(t.TempDir(), "new.b2frame")
		var r *recovery.Report
		require.Less(t, calls(func() { r, err = recovery.Recover(bg, dst, src, &recovery.Options{Format: detect.B2ND}) }), uint64(100_000))
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			continue
		}
		require.Less(t, r.NumFindings, int64(100))
	}
}

func squares8(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 8)
	}
	return b
}

// nest returns a file of chunk headers, 64 bytes apart. Each chunk extends to the end of the file
// and contains n bytes of values.
func nest(t *testing.T, raw []byte, count int) []byte {
	t.Helper()
	b := make([]byte, 64*count, 64*count+len(raw))
	b = append(b, raw...)
	for i := range count {
		copy(b[64*i:], raw[:64])
		binary.LittleEndian.PutUint32(b[64*i+12:], uint32(len(b)-64*i))
	}
	return b
}

// TestChunksWithinChunks checks that the cost of nested chunks is not quadratic in their number,
// and that special chunks are not expanded for a check.
func TestChunksWithinChunks(t *testing.T) {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	c, err := cblosc.NewCompressor(cp)
	require.NoError(t, err)
	values := make([]byte, 64<<20)
	for i := range values {
		values[i] = byte(i >> 20)
	}
	raw := make([]byte, cblosc.MaxCompressedSize(len(values)))
	n, err := c.Compress(raw, values)
	require.NoError(t, err)
	raw = raw[:n]
	first := make([]byte, cblosc.MaxCompressedSize(5000))
	n, err = c.Compress(first, squares8(5000))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	b := append(make([]byte, cframe.MinHeaderSize), first[:n]...)
	b = append(b, nest(t, raw, 6000)...)
	src, dst := filepath.Join(t.TempDir(), "a.b2frame"), filepath.Join(t.TempDir(), "new.b2frame")
	require.NoError(t, os.WriteFile(src, b, 0o600))
	const minWork = 4 << 20
	recovery.SetMinWork(t, minWork)
	r, err := recovery.Recover(bg, dst, src, &recovery.Options{Format: detect.B2ND})
	require.NoError(t, err)
	require.Positive(t, r.Chunks)
	require.True(t, slices.ContainsFunc(r.Findings, func(f recovery.Finding) bool { return strings.Contains(f.Err.Error(), "were not searched") }), "%v", r.Findings)
	require.Less(t, recovery.Work(r), int64(minWork+len(b)<<10+len(b)+len(values)+5000), "one chunk more than it may be, and those that are there")

	zeros, err := cblosc.SpecialChunk(cp, cblosc.Zeros, 512<<20, nil)
	require.NoError(t, err)
	var many []byte
	for range 1000 {
		many = append(many, zeros...)
	}
	require.NoError(t, os.WriteFile(src, many, 0o600))
	r, err = recovery.Recover(bg, dst, src, &recovery.Options{Format: detect.B2ND, Overwrite: true})
	require.NoError(t, err)
	require.Equal(t, int64(1000-4), r.Chunks) // the others are where a header would be
	require.Less(t, recovery.Work(r), int64(1<<20))
	v, err := verify.File(bg, dst, nil)
	require.NoError(t, err)
	require.Zero(t, v.NumDamages)
}

// TestObjectsWithinObjects checks that the search is bounded if many apparent objects extend to the
// end of the file.
func TestObjectsWithinObjects(t *testing.T) {
	src := save(t, "a.h5:/x", nil)
	whole, err := os.ReadFile(src)
	require.NoError(t, err)
	const count, step = 8000, 24 // a version 1 prefix and an empty message
	for name, head := range map[string]func(left int) []byte{
		"version 2": func(left int) []byte {
			return binary.LittleEndian.AppendUint32([]byte("OHDR\x02\x02"), uint32(left-14))
		},
		"version 1": func(left int) []byte {
			return binary.LittleEndian.AppendUint32([]byte{1, 0, 0xFF, 0xFF, 1, 0, 0, 0}, uint32(left-16)&^7)
		},
	} {
		b := append([]byte{}, whole...)
		b = append(b, make([]byte, step*count+64)...)
		for i := range count {
			at := (len(whole)+7)&^7 + step*i
			copy(b[at:], head(len(b)-at))
		}
		clear(b[:48]) // superblock
		require.NoError(t, os.WriteFile(src, b, 0o600))
		recovery.SetMinWork(t, 4<<20)
		dst := filepath.Join(t.TempDir(), "new.h5")
		r, err := recovery.Recover(bg, dst, src, nil)
		require.NoError(t, err, name)
		require.Positive(t, r.Arrays, name)
		require.True(t, slices.ContainsFunc(r.Findings, func(f recovery.Finding) bool { return strings.Contains(f.Err.Error(), "were not searched") }), "%s: %v", name, r.Findings)
		// Two bounded passes, and the objects themselves.
		require.Less(t, recovery.Work(r), int64(3*16*len(b)), name)
	}
}
