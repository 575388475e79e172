// Tests of the strict msgpack reader: each encoding and each error.

package msgpack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// all contains one value of each encoding.
var all = []byte{
	0x93,       // array of 3
	0x7F,       // 127
	0xC3, 0xC2, // true, false
	0xD1, 0xFF, 0xFE, // int16 -2
	0xD2, 0x80, 0, 0, 0, // int32
	0xD3, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, // int64
	0xCD, 0xFF, 0xFF, // uint16
	0xDC, 0, 2, // array 16
	0xDE, 0, 1, // map 16
	0xCE, 0xFF, 0, 0, 0, // uint32
	0xCF, 0xFF, 0, 0, 0, 0, 0, 0, 1, // uint64
	0xA2, 'h', 'i', // string
	0xA1, 0, // string of one byte
	0xDB, 0, 0, 0, 3, '<', 'f', '4', // str32
	0xC6, 0, 0, 0, 1, 9, // bin32
	0xD8, 6, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // fixext 16
}

func read(r *msgpack.Reader) []any {
	r.FixArray("array", 3)
	v := []any{r.FixInt("fixint"), r.Bool("true"), r.Bool("false"), r.Int16("int16"), r.Int32("int32"), r.Int64("int64"),
		r.Uint16("uint16"), r.Array16("array16"), r.Map16("map16"), r.Uint32("uint32"), r.Uint64("uint64"),
		r.FixStr("str"), r.FixStrN("strn", 1), r.Str32("str32"), r.Bin32("bin32")}
	typ, ext := r.FixExt16("ext")
	return append(v, typ, ext)
}

func TestReader(t *testing.T) {
	var fields []format.Field
	r := msgpack.NewReader("test", all)
	r.Record = &fields
	require.Equal(t, []any{int8(127), true, false, int16(-2), int32(-1 << 31), int64(1<<63 - 1),
		uint16(65535), uint16(2), uint16(1), uint32(0xFF000000), uint64(0xFF00000000000001),
		"hi", []byte{0}, "<f4", []byte{9}, byte(6), all[len(all)-16:]}, read(r))
	require.NoError(t, r.Err())
	require.Zero(t, r.Left())
	require.Len(t, fields, 17)
	next := int64(0)
	for _, f := range fields {
		require.Equal(t, next, f.Offset, f.Name)
		next += f.Length
	}
	require.EqualValues(t, len(all), next)
	r.Explain("%d bytes", 16)
	require.Equal(t, "16 bytes", fields[16].Meaning)
}

// TestTruncated checks that the reader of truncated data fails once, with the offset, and then
// returns zero values.
func TestTruncated(t *testing.T) {
	for n := range all {
		r := msgpack.NewReader("test", all[:n])
		read(r)
		require.ErrorIs(t, r.Err(), format.ErrTruncated, n)
		require.LessOrEqual(t, r.Offset(), n)
		require.Zero(t, r.Int64("more"))
	}
}

// TestMarkers checks that an unexpected marker is rejected at every offset.
func TestMarkers(t *testing.T) {
	offsets := []int{0, 1, 2, 3, 4, 7, 12, 21, 24, 27, 30, 35, 44, 47, 49, 57, 63}
	for _, off := range offsets {
		b := append([]byte(nil), all...)
		b[off] = 0xC1 // an invalid marker in msgpack
		r := msgpack.NewReader("test", b)
		read(r)
		require.ErrorIs(t, r.Err(), format.ErrCorrupt, off)
		var e *format.Error
		require.ErrorAs(t, r.Err(), &e)
		require.EqualValues(t, off, e.Offset)
	}
}

// TestHugeLength checks that a length of 4 GiB does not cause an allocation.
func TestHugeLength(t *testing.T) {
	r := msgpack.NewReader("test", []byte{0xDB, 0xFF, 0xFF, 0xFF, 0xFF})
	require.Empty(t, r.Str32("s"))
	require.ErrorIs(t, r.Err(), format.ErrTruncated)
}

func TestAppend(t *testing.T) {
	b := msgpack.AppendFixArray(nil, 16) // C-Blosc2 encodes 16 elements in this invalid form
	b = msgpack.AppendInt64(b, -1)
	b = msgpack.AppendInt32(b, 7)
	b = msgpack.AppendStr32(b, "|V4")
	r := msgpack.NewReader("test", b)
	r.FixArray("a", 16)
	require.EqualValues(t, -1, r.Int64("i"))
	require.EqualValues(t, 7, r.Int32("j"))
	require.Equal(t, "|V4", r.Str32("s"))
	require.NoError(t, r.Err())
	require.EqualValues(t, 0xA0, b[0])
}
