// Tests that the cost of a verification depends on the bytes of a file and not on the sizes in its
// headers. The tests count work and do not measure time.

package verify_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// crowded writes a frame with one stored chunk, whose values are 100 chunks of zeros. The index
// contains the offset of the chunk and 100 further offsets, step bytes apart.
func crowded(t *testing.T, step int) string {
	t.Helper()
	const size = 3200
	cp := cblosc.DefaultCParams()
	cp.TypeSize, cp.Level = 1, 0
	zeros, err := cblosc.SpecialChunk(cp, cblosc.Zeros, size, nil)
	require.NoError(t, err)
	values := bytes.Repeat(zeros, 100)
	require.Len(t, values, size)
	path := filepath.Join(t.TempDir(), "a.b2frame")
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: size})
	require.NoError(t, err)
	c, err := cblosc.NewCompressor(cp)
	require.NoError(t, err)
	raw := make([]byte, cblosc.MaxCompressedSize(size))
	n, err := c.Compress(raw, values)
	require.NoError(t, err)
	require.Equal(t, 32+size, n)
	require.NoError(t, w.WriteChunk(raw[:n]))
	require.NoError(t, w.WriteChunk(zeros))
	require.NoError(t, w.RepeatLast(99))
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	trailer := b[len(b)-int(f.Trailer.Size):]
	places := make([]byte, 8*101)
	for i := range 100 {
		if step > 0 {
			binary.LittleEndian.PutUint64(places[8*(i+1):], uint64(32+step*i))
		}
	}
	cp.TypeSize = 8
	e, err := cblosc.NewCompressor(cp)
	require.NoError(t, err)
	index := make([]byte, cblosc.MaxCompressedSize(len(places)))
	n, err = e.Compress(index, places)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, e.Close())
	b = append(append(append([]byte{}, b[:f.Index.Offset]...), index[:n]...), trailer...)
	binary.BigEndian.PutUint64(b[16:], uint64(len(b)))
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// TestClaims_sharedBytes checks that a chunk with many index entries is decoded once, and that
// overlapping chunks are reported.
func TestClaims_sharedBytes(t *testing.T) {
	for _, untrusted := range []bool{false, true} {
		r, err := verify.File(bg, crowded(t, 0), &verify.Options{Untrusted: untrusted})
		require.NoError(t, err)
		require.Equal(t, int64(100), r.NumDamages)
		require.ErrorContains(t, r.Damages[0].Err, "another chunk has the same position")
		require.Equal(t, int64(101), r.Chunks)
		require.Equal(t, int64(3200), r.DecodedBytes, "of one chunk")

		r, err = verify.File(bg, crowded(t, 32), &verify.Options{Untrusted: untrusted, Workers: 1})
		require.NoError(t, err)
		require.Positive(t, r.NumDamages)
		require.ErrorContains(t, r.Damages[0].Err, "up to the next chunk")
		require.LessOrEqual(t, r.StoredBytes, int64(3232))
	}
}
