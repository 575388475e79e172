// Tests with metalayers in frames that C-Blosc2 and python-blosc2 wrote (../testdata), and with
// truncated and changed copies of them.

package b2ndmeta_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
)

// content returns the metalayer of a frame. Its name in the frame is followed by the offset of a
// bin32 (see internal/format/cframe).
func content(t testing.TB, file string) []byte {
	t.Helper()
	frame, err := os.ReadFile("../testdata/frame/" + file)
	require.NoError(t, err)
	_, rest, found := bytes.Cut(frame, []byte("\xa4b2nd\xd2"))
	require.True(t, found, file)
	at := binary.BigEndian.Uint32(rest)
	require.Equal(t, byte(0xC6), frame[at])
	n := binary.BigEndian.Uint32(frame[at+1:])
	return frame[at+5 : at+5+n]
}

// files lists the golden metalayers and their values.
var files = map[string]b2ndmeta.Meta{
	"0d.b2nd":          {Shape: []int64{}, Chunks: []int32{}, Blocks: []int32{}, DType: "<f4"},
	"2d.b2nd":          {Shape: []int64{10, 7}, Chunks: []int32{4, 5}, Blocks: []int32{2, 3}, DType: "<i4"},
	"zero-extent.b2nd": {Shape: []int64{20, 0}, Chunks: []int32{7, 0}, Blocks: []int32{3, 0}, DType: "|V4"},
	"8d.b2nd": {Shape: []int64{2, 1, 3, 1, 2, 1, 2, 1}, Chunks: []int32{2, 1, 2, 1, 1, 1, 2, 1},
		Blocks: []int32{1, 1, 1, 1, 1, 1, 1, 1}, DType: "|S4"}, // C-Blosc2's default dtype
	"py-15d.b2nd": {Shape: append([]int64{2, 2, 2}, ones[int64](12)...), Chunks: append([]int32{2, 2, 2}, ones[int32](12)...),
		Blocks: append([]int32{2, 2, 2}, ones[int32](12)...), DType: "<i2"},
	"py-16d.b2nd": {Shape: append([]int64{2, 2, 2}, ones[int64](13)...), Chunks: append([]int32{2, 2, 2}, ones[int32](13)...),
		Blocks: append([]int32{2, 2, 2}, ones[int32](13)...), DType: "<i2"},
	"py-structured.b2nd": {Shape: []int64{5}, Chunks: []int32{5}, Blocks: []int32{5}, DType: "[('a', '<i4'), ('b', 'S3'), ('c', '<f8', (2,))]"},
	"py-unicode.b2nd":    {Shape: []int64{2}, Chunks: []int32{2}, Blocks: []int32{2}, DType: "<U3"},
	"py-vlmeta.b2nd":     {Shape: []int64{10}, Chunks: []int32{4}, Blocks: []int32{2}, DType: "<f8"},
}

func ones[T int32 | int64](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// TestGolden checks that metalayers of real files are parsed correctly and encoded with the same
// bytes.
func TestGolden(t *testing.T) {
	for file, want := range files {
		b := content(t, file)
		m, err := b2ndmeta.Parse("b2nd", b)
		require.NoError(t, err, file)
		require.Equal(t, want, m, file)
		require.NoError(t, m.Check(), file)
		require.Equal(t, b, m.Append(nil), file)
		f := b2ndmeta.Describe("b2nd", b)
		for path, c := range f.Complaints() {
			t.Errorf("%s: %s: %s", file, path, c.Complaint)
		}
		require.Equal(t, m.String(), f.Value)
	}
}

// TestSixteenDimensions checks that the count byte of arrays of 16 elements is 0xA0, which is an
// empty string in msgpack.
func TestSixteenDimensions(t *testing.T) {
	b := content(t, "py-16d.b2nd")
	require.Equal(t, []byte{0x97, 0, 16, 0xA0, 0xD3}, b[:5])
	b[3] = 0xDC // the marker of msgpack, but C-Blosc2 would continue inside it
	_, err := b2ndmeta.Parse("b2nd", b)
	require.ErrorIs(t, err, format.ErrCorrupt)
}

// TestCaterva checks that the Caterva metalayer equals that of b2nd without the dtype.
func TestCaterva(t *testing.T) {
	m := files["2d.b2nd"]
	m.Caterva, m.DType = true, ""
	b := m.Append([]byte("before"))[6:]
	require.Equal(t, []byte{0x95, 0, 2, 0x92, 0xD3}, b[:5])
	require.Len(t, b, 6+19*2)
	got, err := b2ndmeta.Parse("caterva", b)
	require.NoError(t, err)
	require.Equal(t, m, got)
	require.NoError(t, got.Check())

	_, err = b2ndmeta.Parse("b2nd", b)
	require.ErrorIs(t, err, format.ErrCorrupt)
	_, err = b2ndmeta.Parse("caterva", content(t, "2d.b2nd"))
	require.ErrorIs(t, err, format.ErrCorrupt)

	nine := b2ndmeta.Meta{Shape: ones[int64](9), Chunks: ones[int32](9), Blocks: ones[int32](9), Caterva: true}
	require.ErrorIs(t, nine.Check(), format.ErrLimit)
	nine.Caterva = false
	require.NoError(t, nine.Check())
	m.DType = "<i4"
	require.ErrorIs(t, m.Check(), format.ErrCorrupt)
}

// TestTruncated checks that a metalayer that is truncated or one byte too long is rejected.
func TestTruncated(t *testing.T) {
	for file := range files {
		b := content(t, file)
		for n := range len(b) {
			_, err := b2ndmeta.Parse("b2nd", b[:n])
			require.ErrorIs(t, err, format.ErrTruncated, "%s cut at %d", file, n)
			require.NotEmpty(t, b2ndmeta.Describe("b2nd", b[:n]).Complaint)
		}
		_, err := b2ndmeta.Parse("b2nd", append(bytes.Clone(b), 0))
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
}

// TestMutations tries the values of each byte. There must be no panic, and an accepted metalayer
// must be encoded with the same bytes.
func TestMutations(t *testing.T) {
	for file := range files {
		b := content(t, file)
		for i := range b {
			orig := b[i]
			step := 1
			if len(b) > 100 {
				step = 15 // values 0, 15, … 255, because the bytes of long metalayers are similar
			}
			for v := 0; v < 256; v += step {
				b[i] = byte(v)
				checkBytes(t, "b2nd", b)
			}
			b[i] = orig
		}
	}
}

// checkBytes checks what must be true for any bytes.
func checkBytes(t *testing.T, name string, b []byte) {
	f := b2ndmeta.Describe(name, b)
	m, err := b2ndmeta.Parse(name, b)
	if err != nil {
		var e *format.Error
		if !errors.As(err, &e) || f.Complaint == "" {
			t.Fatalf("%x: error %v, complaint %q", b, err, f.Complaint)
		}
		return
	}
	if !bytes.Equal(b, m.Append(nil)) {
		t.Fatalf("%x is written as %x", b, m.Append(nil))
	}
	if err := m.Check(); (err != nil) != (f.Complaint != "") {
		t.Fatalf("%x: Check %v, complaint %q", b, err, f.Complaint)
	}
}

func TestParse_OtherNames(t *testing.T) {
	_, err := b2ndmeta.Parse("B2ND", nil)
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, `"B2ND"`)
}

func TestVersion(t *testing.T) {
	b := content(t, "2d.b2nd")
	b[1] = 1
	_, err := b2ndmeta.Parse("b2nd", b)
	require.ErrorIs(t, err, format.ErrVersion)
	m := files["2d.b2nd"]
	m.Version = 3
	require.ErrorIs(t, m.Check(), format.ErrVersion)
}

// TestCheck checks shapes that would make C-Blosc2 divide by zero, overflow, or read out of bounds.
func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		m    b2ndmeta.Meta
		want error
		at   int64
	}{
		"lengths":             {b2ndmeta.Meta{Shape: []int64{1}, Chunks: []int32{1}}, format.ErrCorrupt, 2},
		"17 dimensions":       {b2ndmeta.Meta{Shape: ones[int64](17), Chunks: ones[int32](17), Blocks: ones[int32](17)}, format.ErrLimit, 2},
		"negative extent":     {one(-1, 1, 1), format.ErrCorrupt, 4},
		"chunk 0":             {one(1, 0, 0), format.ErrCorrupt, 14},
		"chunk negative":      {one(0, -1, 0), format.ErrCorrupt, 14},
		"block 0":             {one(1, 1, 0), format.ErrCorrupt, 20},
		"block 0, extent 0":   {one(0, 1, 0), format.ErrCorrupt, 20},
		"block negative":      {one(0, 0, -1), format.ErrCorrupt, 20},
		"block beyond chunk":  {one(9, 2, 3), format.ErrCorrupt, 20},
		"chunk of 2^31 items": {one(9, math.MaxInt32, 1), format.ErrCorrupt, 14},
		"padding overflows":   {one(9, math.MaxInt32-40, math.MaxInt32/2), format.ErrCorrupt, 14},
		"extent overflows":    {one(math.MaxInt64, 1<<20, 1), format.ErrCorrupt, 4},
		"product overflows": {b2ndmeta.Meta{Shape: []int64{1 << 32, 1 << 32}, Chunks: []int32{1, 1}, Blocks: []int32{1, 1}},
			format.ErrCorrupt, 4},
		"product overflows beside 0": {b2ndmeta.Meta{Shape: []int64{0, 1 << 32, 1 << 32}, Chunks: []int32{1, 1, 1}, Blocks: []int32{1, 1, 1}},
			format.ErrCorrupt, 4},
		"dtype with NUL":  {b2ndmeta.Meta{DType: "<f\x008"}, format.ErrCorrupt, 7},
		"dtype format -1": {b2ndmeta.Meta{DTypeFormat: -1}, format.ErrCorrupt, 6},
	} {
		err := tt.m.Check()
		require.ErrorIs(t, err, tt.want, name)
		var e *format.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, tt.at, e.Offset, name)
	}
	require.NoError(t, one(math.MaxInt64-1, 1, 1).Check())
	require.NoError(t, one(0, 0, 0).Check())
	require.NoError(t, one(0, 4, 2).Check())
	require.NoError(t, one(1, math.MaxInt32-32, 1).Check())
}

func one(shape int64, chunk, block int32) b2ndmeta.Meta {
	return b2ndmeta.Meta{Shape: []int64{shape}, Chunks: []int32{chunk}, Blocks: []int32{block}, DType: "|u1"}
}

// TestCheckStorage checks that the sizes of the frame must equal those of the array.
func TestCheckStorage(t *testing.T) {
	m := files["2d.b2nd"] // 10×7 in 4×5 in 2×3: 3×2 chunks of 4×6
	require.EqualValues(t, 6, m.NumChunks())
	require.EqualValues(t, 24, m.ChunkItems())
	require.NoError(t, m.CheckStorage(4, 96, 576))
	for _, tt := range []struct {
		typeSize, chunkSize int32
		nbytes              int64
	}{{4, 80, 480}, {4, 96, 480}, {8, 96, 576}, {0, 96, 576}, {-4, 96, 576}, {math.MaxInt32, 96, 576}} {
		require.ErrorIs(t, m.CheckStorage(tt.typeSize, tt.chunkSize, tt.nbytes), format.ErrCorrupt, "%v", tt)
	}
	empty := files["zero-extent.b2nd"]
	require.Zero(t, empty.NumChunks())
	require.NoError(t, empty.CheckStorage(4, 0, 0))
	require.ErrorIs(t, empty.CheckStorage(4, 0, 4), format.ErrCorrupt)
	scalar := files["0d.b2nd"]
	require.EqualValues(t, 1, scalar.NumChunks())
	require.NoError(t, scalar.CheckStorage(4, 4, 4))

	many := one(math.MaxInt64-1, 1, 1)
	require.ErrorIs(t, many.CheckStorage(4, 4, 8), format.ErrCorrupt)
}

func TestAppend_invalidMeta(t *testing.T) {
	require.Panics(t, func() { b2ndmeta.Meta{Shape: []int64{1}}.Append(nil) })
}

// TestRoundTrip checks that Parse returns the values that Append encoded.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 16).Draw(t, "ndim")
		m := b2ndmeta.Meta{
			Shape:  rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "shape"),
			Chunks: rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "chunks"),
			Blocks: rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "blocks"),
		}
		name := "caterva"
		if m.Caterva = rapid.Bool().Draw(t, "caterva"); !m.Caterva {
			name = "b2nd"
			m.DTypeFormat = int8(rapid.IntRange(0, 127).Draw(t, "format"))
			m.DType = rapid.String().Draw(t, "dtype")
		}
		b := m.Append(nil)
		got, err := b2ndmeta.Parse(name, b)
		require.NoError(t, err)
		require.Equal(t, m, got)
	})
}

// TestCounts checks that an accepted metalayer has the counts of a direct calculation.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5).Draw(t, "ndim")
		m := b2ndmeta.Meta{Shape: make([]int64, n), Chunks: make([]int32, n), Blocks: make([]int32, n)}
		chunks, items := int64(1), int64(1)
		for i := range n {
			m.Shape[i] = rapid.Int64Range(1, 40).Draw(t, "extent")
			m.Chunks[i] = rapid.Int32Range(1, 20).Draw(t, "chunk")
			m.Blocks[i] = rapid.Int32Range(1, m.Chunks[i]).Draw(t, "block")
			along := int64(0)
			for at := int64(0); at < m.Shape[i]; at += int64(m.Chunks[i]) {
				along++
			}
			padded := int64(0)
			for padded < int64(m.Chunks[i]) {
				padded += int64(m.Blocks[i])
			}
			chunks, items = chunks*along, items*padded
		}
		require.NoError(t, m.Check())
		require.Equal(t, chunks, m.NumChunks())
		require.Equal(t, items, m.ChunkItems())
		require.NoError(t, m.CheckStorage(8, int32(8*items), 8*items*chunks))
	})
}

func FuzzMeta(f *testing.F) {
	for file := range files {
		f.Add(content(f, file), false)
	}
	m := files["2d.b2nd"]
	m.Caterva, m.DType = true, ""
	f.Add(m.Append(nil), true)
	f.Fuzz(func(t *testing.T, b []byte, caterva bool) {
		if caterva {
			checkBytes(t, "caterva", b)
		} else {
			checkBytes(t, "b2nd", b)
		}
	})
}
