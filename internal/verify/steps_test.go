package verify_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestSteps_libraryDecoders checks n-bit and scale-offset chunks with changed parameters or a wrong
// length. They must never reach libhdf5's decoders, which would read out of bounds. This must be
// true also for chunks with other filters.
func TestSteps_libraryDecoders(t *testing.T) {
	level := 1
	thin := h5.Int(4, h5.LittleEndian)
	thin.Precision = 20
	for name, step := range map[string]h5.Filter{"nbit": h5.Nbit(), "scaleoffset": h5.ScaleOffsetInt(0)} {
		typ := thin
		if name == "scaleoffset" {
			typ = h5.Int(4, h5.LittleEndian)
		}
		for _, deflated := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "a.h5")
			o := &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: []h5.Filter{step}}
			if deflated {
				o.Filters = append(o.Filters, h5.Deflate(level))
			}
			f, err := h5.Create(path, nil)
			require.NoError(t, err)
			d, err := f.Root().CreateDataset("x", typ, h5.SimpleSpace(100), o)
			require.NoError(t, err)
			data := make([]byte, 400)
			for i := range 100 {
				binary.LittleEndian.PutUint16(data[4*i:], uint16(i*i))
			}
			require.NoError(t, d.WriteRegion(data, typ, h5.SimpleSpace(100).All()))
			require.NoError(t, f.Close())
			r, err := verify.File(bg, path, nil)
			require.NoError(t, err)
			require.Equal(t, verify.ExitValid, r.ExitCode(), "%s: %v %v", name, r.Damages, r.Unchecked)

			// Write a chunk of half the length.
			f, err = h5.Open(path, h5.ReadWrite)
			require.NoError(t, err)
			d, err = f.Root().OpenDataset("x")
			require.NoError(t, err)
			raw := make([]byte, 1000)
			n, _, err := d.ReadChunk(raw, 0)
			require.NoError(t, err)
			half := raw[:n/2]
			if deflated {
				half = deflate(t, make([]byte, 40))
				if name == "scaleoffset" {
					half = deflate(t, append([]byte{20, 0, 0, 0, 8}, make([]byte, 40)...))
				}
			}
			require.NoError(t, d.WriteChunk(half, 0, 0))
			require.NoError(t, f.Close())
			r, err = verify.File(bg, path, nil)
			require.NoError(t, err)
			require.Equal(t, verify.ExitCorrupt, r.ExitCode(), name)
			require.ErrorIs(t, r.Damages[0].Err, format.ErrCorrupt)
			require.ErrorContains(t, r.Damages[0].Err, "at least", name)
			require.NotEmpty(t, r.Damages[0].What, name)

			// Change the number of elements in the parameters.
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			values := []byte{8, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0}
			if name == "scaleoffset" {
				values = []byte{2, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0}
			}
			at := bytes.Index(b, values)
			require.Positive(t, at)
			b[at+9] = 1
			require.NoError(t, os.WriteFile(path, b, 0o600))
			r, err = verify.File(bg, path, nil)
			require.NoError(t, err)
			require.Equal(t, verify.ExitCorrupt, r.ExitCode(), name)
			require.ErrorContains(t, r.Damages[0].Err, "356 elements of 4 bytes", name)
		}
	}
}

// TestSteps_shortChunk checks that a chunk that is too short is one finding, with its location and
// both sizes.
func TestSteps_shortChunk(t *testing.T) {
	i4 := h5.Int(4, h5.LittleEndian)
	three := []byte{1, 2, 3}
	for name, tt := range map[string]struct {
		filters []h5.Filter
		stored  []byte
		want    string
	}{
		"deflate":              {[]h5.Filter{h5.Deflate(1)}, deflate(t, make([]byte, 396)), "396 bytes, the chunk has 400"},
		"szip":                 {[]h5.Filter{h5.Szip(h5.SzipNearest, 4)}, three, "szip: a chunk of 3 bytes, want at least 4"},
		"checksum":             {[]h5.Filter{h5.Shuffle(), h5.Fletcher32()}, three, "fletcher32: a chunk of 3 bytes, want at least 4"},
		"checksum and deflate": {[]h5.Filter{h5.Fletcher32(), h5.Deflate(1)}, deflate(t, three), "fletcher32: a chunk of 3 bytes, want at least 4"},
	} {
		path := filepath.Join(t.TempDir(), "a.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("x", i4, h5.SimpleSpace(200), &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: tt.filters})
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk(tt.stored, 0, 100))
		require.NoError(t, f.Close())
		for _, isolated := range []bool{false, true} {
			r, err := verify.File(bg, path, &verify.Options{Isolated: isolated})
			require.NoError(t, err)
			require.Len(t, r.Damages, 1, "%s: %v", name, r.Damages)
			require.ErrorIs(t, r.Err(), ndarray.ErrCorrupt, name)
			require.ErrorContains(t, r.Damages[0].Err, tt.want, name)
			require.Equal(t, "/x", r.Damages[0].Object, name)
			require.Equal(t, []int64{100}, r.Damages[0].Coords, name)
		}
	}
}

// deflate returns src compressed with the deflate filter.
func deflate(t *testing.T, src []byte) []byte {
	t.Helper()
	p, err := filter.New([]h5.Filter{{ID: h5.FilterDeflate, Values: []uint32{1}}}, filter.Options{})
	require.NoError(t, err)
	b, _, err := p.Encode(nil, src)
	require.NoError(t, err)
	return b
}
