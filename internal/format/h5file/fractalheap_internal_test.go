// Tests of heap ids that libhdf5 writes only in its own tests: extended tiny objects, and huge
// objects whose ids contain their address.

package h5file

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

// bare returns a reader of any bytes, with addresses and lengths of 8 bytes.
func bare(b []byte) *reader {
	f := &File{src: bytes.NewReader(b), size: int64(len(b)), limits: DefaultLimits()}
	f.super.OffsetSize, f.super.LengthSize = 8, 8
	return f.reader()
}

func readObject(t *testing.T, r *reader, h *FractalHeap, id []byte) ([]byte, error) {
	t.Helper()
	p, err := r.locateObject(h, id, "object")
	if err != nil {
		return nil, err
	}
	return p.b, nil
}

func TestTinyObjects(t *testing.T) {
	r := bare(make([]byte, 64))
	for _, n := range []int{1, 15, 16} {
		id := append([]byte{0x20 | byte(n-1)}, bytes.Repeat([]byte{7}, 16)...)
		got, err := readObject(t, r, &FractalHeap{IDLength: 17}, id)
		require.NoError(t, err)
		require.Len(t, got, n)
	}
	long := make([]byte, 402)
	long[0], long[1] = 0x20|1, 0x8F // 0x18F is the length minus one
	got, err := readObject(t, r, &FractalHeap{IDLength: 402}, long)
	require.NoError(t, err)
	require.Len(t, got, 400)
	for _, bad := range [][]byte{{}, {0x40}, {0x30, 0}, {0x25, 1, 2}, append([]byte{0x2F, 0xFF}, make([]byte, 30)...)} {
		_, err := readObject(t, r, &FractalHeap{IDLength: 8}, bad)
		require.ErrorIs(t, err, format.ErrCorrupt, "%x", bad)
	}
}

// TestHugeDirect checks ids that are long enough for the address and length of a huge object. With
// filters, such an id also contains the filter mask and the size in memory.
func TestHugeDirect(t *testing.T) {
	data := append(make([]byte, 100), "the object itself"...)
	r := bare(data)
	le := binary.LittleEndian.AppendUint64
	id := append(le(le([]byte{0x10}, 100), 17), make([]byte, 40)...)
	got, err := readObject(t, r, &FractalHeap{IDLength: uint16(len(id))}, id)
	require.NoError(t, err)
	require.Equal(t, "the object itself", string(got))

	filtered := le(binary.LittleEndian.AppendUint32(le(le([]byte{0x10}, 100), 17), 1), 17)
	h := &FractalHeap{IDLength: uint16(len(filtered)), Pipeline: &Pipeline{Filters: []Filter{{ID: Deflate}}}}
	got, err = readObject(t, r, h, filtered)
	require.NoError(t, err, "the filter was left out")
	require.Equal(t, "the object itself", string(got))
	filtered[17] = 0
	_, err = readObject(t, r, h, filtered)
	require.ErrorIs(t, err, format.ErrCorrupt, "it is no zlib stream")
	outside := le(le([]byte{0x10}, 110), 17)
	_, err = readObject(t, r, &FractalHeap{IDLength: 17}, outside)
	require.ErrorIs(t, err, format.ErrTruncated)
}

// TestHugeRecords checks the four record types of huge objects.
func TestHugeRecords(t *testing.T) {
	for _, x := range []struct {
		treeType byte
		idLength uint16
		filtered bool
		record   int
	}{
		{hugeIndirect, 8, false, 24}, {hugeIndirectFiltered, 8, true, 36}, {hugeDirect, 33, false, 16}, {hugeDirectFiltered, 33, true, 28},
	} {
		record := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1000), 77)
		if x.filtered {
			record = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(record, 3), 99)
		}
		if x.idLength == 8 {
			record = binary.LittleEndian.AppendUint64(record, 5)
		}
		require.Len(t, record, x.record)
		r := bare(smallTree(x.treeType, record))
		h := &FractalHeap{IDLength: x.idLength}
		if x.filtered {
			h.Pipeline = &Pipeline{}
		}
		n := 0
		r.hugeRecords(h, func(number uint64, o hugeObject) {
			n++
			require.EqualValues(t, 1000, o.addr)
			require.EqualValues(t, 77, o.length)
			if x.filtered {
				require.EqualValues(t, 3, o.mask)
				require.EqualValues(t, 99, o.size)
			}
			if x.idLength == 8 {
				require.EqualValues(t, 5, number)
			}
		})
		require.NoError(t, r.first)
		require.Equal(t, 1, n)
		r = bare(smallTree(x.treeType+20, record))
		r.hugeRecords(h, func(uint64, hugeObject) { t.Error("a tree of another type") })
		require.ErrorIs(t, r.first, format.ErrCorrupt)
	}
}

// smallTree returns a version 2 B-tree of one leaf with one record.
func smallTree(treeType byte, record []byte) []byte {
	sum := func(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, Lookup3(b)) }
	b := append([]byte("BTHD\x00"), treeType)
	b = binary.LittleEndian.AppendUint32(b, 64)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(record)))
	b = append(b, 0, 0, 100, 40)
	b = binary.LittleEndian.AppendUint64(b, 64)
	b = binary.LittleEndian.AppendUint64(append(b, 1, 0), 1)
	b = sum(b)
	b = append(b, make([]byte, 64-len(b))...)
	leaf := sum(append(append([]byte("BTLF\x00"), treeType), record...))
	return append(append(b, leaf...), make([]byte, 64)...)
}
