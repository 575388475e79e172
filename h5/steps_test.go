package h5_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
)

// TestSteps_parameters checks that a parameter of szip, n-bit or scale-offset that does not match
// the dataset returns an error in every operation that runs the filters. libhdf5 must not run the
// filter, because it would access memory out of bounds.
func TestSteps_parameters(t *testing.T) {
	i4 := h5.Int(4, h5.LittleEndian)
	thin := i4
	thin.Precision = 20
	for name, tt := range map[string]struct {
		step     h5.Filter
		datatype h5.Datatype
		values   []uint32 // the first parameters in the file
		at       int      // index of the parameter that is changed to the value of to
		to       uint32
	}{
		"nbit elements":       {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 2, 1 << 20},
		"nbit class":          {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 3, 3},
		"nbit offset":         {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 7, 1<<32 - 20},
		"scaleoffset numbers": {h5.ScaleOffsetInt(0), i4, []uint32{2, 0, 10, 0, 4, 1}, 4, 8},
		"szip blocks":         {h5.Szip(h5.SzipNearest, 4), i4, []uint32{169, 4, 32, 10}, 1, 0},
	} {
		path := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		space := h5.SimpleSpace(20)
		space.MaxDims = []int64{h5.Unlimited}
		d, err := f.Root().CreateDataset("d", tt.datatype, space, &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{tt.step}})
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(make([]byte, 80), tt.datatype, space.All()))
		require.NoError(t, f.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		var stored []byte
		for _, v := range tt.values {
			stored = binary.LittleEndian.AppendUint32(stored, v)
		}
		at := bytes.Index(b, stored)
		require.Positive(t, at, name)
		binary.LittleEndian.PutUint32(b[at+4*tt.at:], tt.to)
		require.NoError(t, os.WriteFile(path, b, 0o644))

		f, err = h5.Open(path, h5.ReadWrite)
		require.NoError(t, err)
		d, err = f.Root().OpenDataset("d")
		require.NoError(t, err)
		all, data := space.All(), make([]byte, 80)
		_, _, values := d.ReadChunk(make([]byte, 400), 0)
		require.NoError(t, values, "as it is stored anybody may have it")
		for op, err := range map[string]error{
			"read": d.ReadRegion(data, tt.datatype, all), "read selection": d.ReadSelection(data, tt.datatype, all),
			"write": d.WriteRegion(data, tt.datatype, all), "resize": d.Resize(15),
		} {
			require.ErrorIs(t, err, h5.ErrCorrupt, "%s: %s", name, op)
			require.ErrorIs(t, err, format.ErrCorrupt, "%s: %s", name, op)
		}
		require.NoError(t, f.Close())
	}
}

// TestSteps_shortInput checks chunks that are shorter than the input that the decoder of n-bit,
// scale-offset or szip reads. Every operation that would decode the chunk must return an error with
// the chunk and both sizes. Other chunks must be readable, and a valid chunk written to the same
// offset too.
func TestSteps_shortInput(t *testing.T) {
	i4 := h5.Int(4, h5.LittleEndian)
	thin := i4
	thin.Precision = 20
	data := make([]byte, 4*20*20)
	for i := range 400 {
		data[4*i], data[4*i+1] = byte(i*i), byte(i/50)
	}
	for name, tt := range map[string]struct {
		filters  []h5.Filter
		datatype h5.Datatype
		chunk    int64 // rows and columns of a chunk
		cut      int   // number of bytes removed from the chunk
		want     string
	}{
		"nbit":                   {[]h5.Filter{h5.Nbit()}, thin, 5, 3, "60 bytes for nbit, which reads 63"},
		"nbit and checksums":     {[]h5.Filter{h5.Nbit(), h5.Fletcher32()}, thin, 5, 8, "55 bytes for nbit, which reads 63"},
		"scaleoffset":            {[]h5.Filter{h5.ScaleOffsetInt(0)}, i4, 5, 8, "42 bytes for scaleoffset, which reads 50"},
		"scaleoffset, head":      {[]h5.Filter{h5.ScaleOffsetInt(0)}, i4, 5, -3, "3 bytes for scaleoffset, which reads 21"},
		"szip":                   {[]h5.Filter{h5.Szip(h5.SzipNearest, 4)}, i4, 5, -3, "3 bytes for szip, which reads 4"},
		"checksum":               {[]h5.Filter{h5.Fletcher32()}, i4, 5, -3, "3 bytes for fletcher32, which reads 4"},
		"checksum of deflate":    {[]h5.Filter{h5.Deflate(1), h5.Fletcher32()}, i4, 5, -1, "1 bytes for fletcher32, which reads 4"},
		"two checksums of nbit":  {[]h5.Filter{h5.Nbit(), h5.Fletcher32(), h5.Fletcher32()}, thin, 5, -7, "7 bytes for fletcher32, which reads 8"},
		"nbit, very many chunks": {[]h5.Filter{h5.Nbit()}, thin, 1, 1, "2 bytes for nbit, which reads 3"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			side := int64(20)
			if tt.chunk == 1 {
				side = 70 // 4900 chunks
			}
			space := h5.SimpleSpace(side, side)
			space.MaxDims = []int64{h5.Unlimited, side}
			values := bytes.Repeat(data, 13)[:4*side*side]
			d, err := f.Root().CreateDataset("d", tt.datatype, space, &h5.DatasetOptions{ChunkShape: []int64{tt.chunk, tt.chunk}, Filters: tt.filters})
			require.NoError(t, err)
			require.NoError(t, d.WriteRegion(values, tt.datatype, space.All()))
			at := []int64{5, 10}
			whole := make([]byte, 4096)
			n, mask, err := d.ReadChunk(whole, at...)
			require.NoError(t, err)
			require.Zero(t, mask)
			whole = whole[:n]
			left := n - tt.cut
			if tt.cut < 0 {
				left = -tt.cut
			}
			rest := h5.Region{Start: []int64{0, 0}, Count: []int64{5, side}}
			inside := h5.Region{Start: []int64{6, 11}, Count: []int64{1, 1}}
			if tt.chunk == 1 {
				inside.Start = at
			}
			got := make([]byte, len(values))
			require.NoError(t, d.ReadRegion(got, tt.datatype, space.All()), "all chunks are as they should be")
			for range 2 {
				require.NoError(t, d.WriteChunk(whole[:left], 0, at...))
				operations := map[string]error{
					"read": d.ReadRegion(got, tt.datatype, space.All()), "read selection": d.ReadSelection(got, tt.datatype, h5.All),
					"read one": d.ReadRegion(got[:4], tt.datatype, inside), "write": d.WriteRegion(values[:4], tt.datatype, inside),
				}
				if tt.chunk > 1 {
					operations["cut"] = d.Resize(7, side)
				}
				for op, err := range operations {
					require.ErrorIs(t, err, h5.ErrCorrupt, op)
					require.ErrorContains(t, err, "chunk [5 10]: "+tt.want, op)
				}
				require.NoError(t, d.ReadRegion(got[:4*5*side], tt.datatype, rest))
				require.Equal(t, values[:4*5*side], got[:4*5*side])

				require.NoError(t, d.WriteChunk(whole, 0, at...))
				require.NoError(t, d.ReadRegion(got, tt.datatype, space.All()))
				require.Equal(t, values, got)
			}
			// A chunk stored without the filter may have any length.
			plain := make([]byte, 4*tt.chunk*tt.chunk)
			if len(tt.filters) == 1 {
				require.NoError(t, d.WriteChunk(plain, 1, at...))
				require.NoError(t, d.ReadRegion(got[:4], tt.datatype, inside))
				require.Equal(t, make([]byte, 4), got[:4])
			}
		})
	}
}

// TestSteps_scaleOffset checks integers that use all their bits. libhdf5 refuses to read them after
// scale-offset, so reading must return an error and no wrong values.
func TestSteps_scaleOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	i1, all := h5.Int(1, h5.LittleEndian), h5.SimpleSpace(4).All()
	d, err := f.Root().CreateDataset("d", i1, h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}})
	require.NoError(t, err)
	data := []byte{1, 0x80, 0x7F, 5} // from the minimum to the maximum
	require.NoError(t, d.WriteRegion(data, i1, all))
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	got := make([]byte, 4)
	require.NoError(t, d.ReadRegion(got, i1, all))
	require.Equal(t, data, got)
	raw := make([]byte, 100)
	n, _, err := d.ReadChunk(raw, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 25)
	require.Equal(t, data, raw[21:25], "they stand behind the chunk's head")
	require.NoError(t, f.Close())
}

// fletcher returns b with its checksum appended, as the filter stores it.
func fletcher(b []byte) []byte {
	var one, two uint32
	for i := 0; i < len(b); i += 2 {
		pair := uint32(b[i]) << 8
		if i+1 < len(b) {
			pair |= uint32(b[i+1])
		}
		one = (one + pair) % 65535
		two = (two + one) % 65535
	}
	return binary.LittleEndian.AppendUint32(bytes.Clone(b), two<<16|one)
}

// TestSteps_shortChecksum checks chunks that are shorter than the 4 bytes of a checksum when the
// decoder reaches fletcher32, at any position in the pipeline and also for chunks at the edge.
// Every operation that would decode the chunk must return an error, because libhdf5 would read all
// memory after the chunk (CVE-2026-19028).
func TestSteps_shortChecksum(t *testing.T) {
	plus := h5.GoFilter{ID: 41234, Name: "plus",
		Decode: func(b []byte, _ []uint32) ([]byte, error) {
			if b[0] == 0xFF {
				panic("nothing of the kind")
			}
			return bytes.Clone(b[1:]), nil
		},
		Encode: func(b []byte, _ []uint32) ([]byte, error) { return append([]byte{0}, b...), nil },
	}
	require.NoError(t, h5.RegisterFilter(plus))
	defer func() { require.NoError(t, h5.UnregisterFilter(plus.ID)) }()
	sum, zip, turn, own := h5.Fletcher32(), h5.Deflate(1), h5.Shuffle(), h5.Filter{ID: plus.ID}
	i4, short := h5.Int(4, h5.LittleEndian), []byte{1, 2, 3}
	const early = "a chunk of 3 bytes, want at least 4"
	for name, tt := range map[string]struct {
		filters []h5.Filter
		stored  []byte
		want    string
	}{
		"alone":         {[]h5.Filter{sum}, short, "3 bytes for fletcher32, which reads 4"},
		"alone, data":   {[]h5.Filter{sum}, fletcher(short), "3 bytes before the checksum, want 100"},
		"last":          {[]h5.Filter{turn, zip, sum}, short, "3 bytes for fletcher32, which reads 4"},
		"last, data":    {[]h5.Filter{turn, sum}, fletcher(short), "3 bytes before the checksum, want 100"},
		"twice at last": {[]h5.Filter{zip, sum, sum}, fletcher(short), "7 bytes for fletcher32, which reads 8"},
		"first":         {[]h5.Filter{sum, zip}, deflated(t, short), early},
		"first of more": {[]h5.Filter{sum, turn, zip}, deflated(t, short), early},
		"shuffled":      {[]h5.Filter{sum, turn}, short, early},
		"in the middle": {[]h5.Filter{turn, sum, zip}, deflated(t, short), early},
		"between":       {[]h5.Filter{zip, sum, turn}, short, early},
		"empty":         {[]h5.Filter{sum, zip}, deflated(t, nil), "a chunk of 0 bytes, want at least 4"},
		"first, last":   {[]h5.Filter{sum, zip, sum}, fletcher(deflated(t, short)), early},
		"last of both":  {[]h5.Filter{sum, zip, sum}, short, "3 bytes for fletcher32, which reads 4"},
		"three times":   {[]h5.Filter{sum, sum, zip, sum}, fletcher(deflated(t, fletcher(short))), early},
		"not deflated":  {[]h5.Filter{sum, zip}, short, "want a zlib stream"},
		"in Go":         {[]h5.Filter{sum, own}, append([]byte{0}, short...), early},
		"panic in Go":   {[]h5.Filter{sum, own}, []byte{0xFF, 1}, "nothing of the kind"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			f, err := h5.Create(path, nil)
			require.NoError(t, err)
			space := h5.SimpleSpace(8, 8)
			space.MaxDims = []int64{h5.Unlimited, 8}
			d, err := f.Root().CreateDataset("d", i4, space, &h5.DatasetOptions{ChunkShape: []int64{5, 5}, Filters: tt.filters})
			require.NoError(t, err)
			values := make([]byte, 4*64)
			for i := range values {
				values[i] = byte(i * i)
			}
			require.NoError(t, d.WriteRegion(values, i4, space.All()))
			got := make([]byte, 4*64)
			require.NoError(t, d.ReadRegion(got, i4, space.All()))
			require.Equal(t, values, got, "all chunks are as they should be")
			whole := map[int64][]byte{}
			for _, at := range []int64{0, 5} {
				b := make([]byte, 1000)
				n, _, err := d.ReadChunk(b, at, at)
				require.NoError(t, err)
				whole[at] = b[:n]
				require.NoError(t, d.WriteChunk(tt.stored, 0, at, at))
			}
			require.NoError(t, f.Close())

			f, err = h5.Open(path, h5.ReadWrite)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			d, err = f.Root().OpenDataset("d")
			require.NoError(t, err)
			for _, at := range []int64{0, 5} {
				one := h5.Region{Start: []int64{at, at}, Count: []int64{1, 1}}
				_, lines := h5value.ReadAll[int32](d)
				_, boxed := d.ReadValues(i4, one, 1)
				for op, err := range map[string]error{
					"read": d.ReadRegion(got[:4], i4, one), "read all": lines, "values": boxed,
					"points": d.ReadSelection(got[:4], i4, h5.Points{{at, at}}), "selection": d.ReadSelection(got, i4, h5.All),
					"convert": d.ReadRegionLossy(got[:8], h5.IEEEFloat(8, h5.LittleEndian), one),
					"write":   d.WriteRegion(values[:4], i4, one), "write points": d.WriteSelection(values[:4], i4, h5.Points{{at, at}}),
					"cut": d.Resize(at+1, 8),
				} {
					require.ErrorIs(t, err, h5.ErrCorrupt, op)
					require.ErrorContains(t, err, tt.want, op)
					require.ErrorContains(t, err, "chunk [", op)
				}
			}
			rest := h5.Region{Start: []int64{0, 5}, Count: []int64{5, 3}}
			require.NoError(t, d.ReadRegion(got[:60], i4, rest), "the others are read")
			require.Equal(t, values[20:32], got[:12])
			for at, b := range whole {
				require.NoError(t, d.WriteChunk(b, 0, at, at))
			}
			require.NoError(t, d.ReadRegion(got, i4, space.All()))
			require.Equal(t, values, got)
		})
	}
}

// TestSteps_checksumAtEdge checks that unfiltered chunks at the edge need no checksum.
func TestSteps_checksumAtEdge(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V114, High: h5.V114})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	all := h5.SimpleSpace(3).All()
	for name, filters := range map[string][]h5.Filter{"last": {h5.Fletcher32()}, "first": {h5.Fletcher32(), h5.Deflate(1)}} {
		d, err := f.Root().CreateDataset(name, h5.Int(1, h5.LittleEndian), h5.SimpleSpace(3), &h5.DatasetOptions{ChunkShape: []int64{2}, Filters: filters, PlainEdges: true})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int8{1, 2, 3}, all))
		for range 2 {
			numbers, err := h5value.ReadAll[int8](d)
			require.NoError(t, err)
			require.Equal(t, []int8{1, 2, 3}, numbers)
			require.NoError(t, d.WriteChunk([]byte{3, 9}, 0, 2))
		}
		stored := map[string][]byte{"last": {1}, "first": deflated(t, []byte{1})}[name]
		require.NoError(t, d.WriteChunk(stored, 0, 0))
		_, err = h5value.ReadAll[int8](d)
		require.ErrorIs(t, err, h5.ErrCorrupt, "a whole chunk")
	}
}
