// Tests of the parameters of n-bit, scale-offset and szip. Check must accept the parameters that
// libhdf5 writes, and reject those that make libhdf5's decoder access memory out of bounds.

package h5file_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// stepTypes returns a generator of datatypes for n-bit: numbers, types that n-bit does not change,
// and arrays and compounds of both.
func stepTypes(depth int) *rapid.Generator[h5.Datatype] {
	return rapid.Custom(func(t *rapid.T) h5.Datatype {
		kinds := 3
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
			d := h5.Int(size, rapid.SampledFrom([]h5.Order{h5.LittleEndian, h5.BigEndian}).Draw(t, "order"))
			// libhdf5 rejects such a type with fewer bits.
			d.Precision = rapid.IntRange(5*size, 8*size).Draw(t, "precision")
			d.Offset = rapid.IntRange(0, 8*size-d.Precision).Draw(t, "offset")
			return d
		case 1:
			return h5.IEEEFloat(rapid.SampledFrom([]int{4, 8}).Draw(t, "size"), h5.BigEndian)
		case 2:
			return h5.FixedString(rapid.IntRange(1, 9).Draw(t, "length"), h5.NullPad, h5.ASCII)
		case 3:
			base := stepTypes(depth-1).Draw(t, "base")
			n := rapid.IntRange(1, 3).Draw(t, "elements")
			return h5.Datatype{Class: h5.Array, Size: n * base.Size, Base: &base, Dims: []int64{int64(n)}}
		}
		d := h5.Datatype{Class: h5.Compound}
		for i := range rapid.IntRange(1, 3).Draw(t, "members") {
			m := stepTypes(depth-1).Draw(t, "member")
			d.Size += rapid.IntRange(0, 3).Draw(t, "gap")
			d.Members = append(d.Members, h5.Member{Name: string(rune('a' + i)), Offset: d.Size, Type: &m})
			d.Size += m.Size
		}
		return d
	})
}

// TestSteps_library checks that parameters written by libhdf5 are accepted, and that no stored
// chunk is shorter than the result of Needs.
func TestSteps_library(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := stepTypes(2).Draw(r, "type")
		o := &h5.DatasetOptions{ChunkShape: []int64{rapid.Int64Range(1, 9).Draw(r, "chunk")}}
		step := h5.Nbit()
		if d.Class == h5.Integer && d.Precision == 8*d.Size && rapid.Bool().Draw(r, "scale-offset") {
			step = h5.ScaleOffsetInt(rapid.IntRange(0, 8*d.Size).Draw(r, "bits"))
		}
		o.Filters = []h5.Filter{step}
		file := filepath.Join(t.TempDir(), "a.h5")
		f, err := h5.Create(file, nil)
		require.NoError(r, err)
		set, err := f.Root().CreateDataset("d", d, h5.SimpleSpace(17), o)
		require.NoError(r, err)
		data := rapid.SliceOfN(rapid.Byte(), 17*d.Size, 17*d.Size).Draw(r, "data")
		require.NoError(r, set.WriteRegion(data, d, h5.SimpleSpace(17).All()))
		require.NoError(r, f.Close())

		ours := mustOpen(t, load(t, file))
		require.NoError(r, ours.Check(h5file.Policy{}), "%v", d)
		x := object(t, ours, "/d")
		l := x.Pipeline().Filters[0]
		full := uint64(o.ChunkShape[0]) * uint64(d.Size)
		for c, err := range x.Chunks() {
			require.NoError(r, err)
			stored, err := ours.Read(c.Addr, int64(c.Size))
			require.NoError(r, err)
			n, err := l.Needs(stored, uint64(d.Size), full)
			require.NoError(r, err)
			require.LessOrEqual(r, n, c.Size)
			if n > 0 {
				require.Less(r, c.Size, n+3, "the library adds a byte")
			}
		}
	})
}

// TestStepsRefused checks each parameter that would make libhdf5's decoder read or write out of
// bounds.
func TestStepsRefused(t *testing.T) {
	scale := func(edit ...uint32) []uint32 {
		v := append([]uint32{2, 0, 10, 0, 4, 1, 0, 0}, make([]uint32, 12)...)
		for i := 0; i < len(edit); i += 2 {
			v[edit[i]] = edit[i+1]
		}
		return v
	}
	deep := []uint32{0, 0, 10}
	for range 100 {
		deep = append(deep, 2, 4)
	}
	deep = append(deep, 1, 4, 0, 12, 3)
	deep[0] = uint32(len(deep))
	for _, x := range []struct {
		id     h5file.FilterID
		values []uint32
		want   string // "" if they are valid
	}{
		{h5file.NBit, []uint32{8, 0, 10, 1, 4, 0, 12, 3}, ""},
		{h5file.NBit, []uint32{3, 1, 10}, ""},
		{h5file.NBit, []uint32{11, 0, 10, 2, 4, 3, 2, 1, 0, 4, 2}, ""},
		{h5file.NBit, nil, "0 parameters"},
		{h5file.NBit, []uint32{9, 0, 10, 1, 4, 0, 12, 3}, "and their number first"},
		{h5file.NBit, []uint32{9, 0, 10, 1, 4, 0, 12, 3, 0}, "1 parameters after the last"},
		{h5file.NBit, []uint32{3, 0, 10}, "the parameters of elements of 4 bytes"},
		{h5file.NBit, []uint32{8, 0, 10, 1, 5, 0, 12, 3}, "elements of 4 bytes"},
		{h5file.NBit, []uint32{8, 0, 11, 1, 4, 0, 12, 3}, "11 elements of 4 bytes"},
		{h5file.NBit, []uint32{8, 0, 10, 4, 4, 0, 12, 3}, "class 4"},
		{h5file.NBit, []uint32{8, 0, 10, 0, 4, 0, 12, 3}, "class 0"},
		{h5file.NBit, []uint32{8, 0, 10, 1, 4, 2, 12, 3}, "byte order 2"},
		{h5file.NBit, []uint32{8, 0, 10, 1, 4, 0, 30, 3}, "30 bits from 3"},
		{h5file.NBit, []uint32{8, 0, 10, 1, 4, 0, 0, 3}, "0 bits"},
		{h5file.NBit, []uint32{8, 0, 10, 1, 4, 0, 12, 1<<32 - 12}, "bits inside 4 bytes"},
		{h5file.NBit, []uint32{10, 0, 10, 2, 4, 1, 0, 0, 8, 0}, "elements of 0 bytes"},
		{h5file.NBit, []uint32{10, 0, 10, 2, 4, 1, 3, 0, 8, 0}, "elements of 3 bytes"},
		{h5file.NBit, []uint32{10, 0, 10, 2, 4, 1, 2, 0, 9, 0}, ""},
		{h5file.NBit, []uint32{7, 0, 10, 2, 4, 5, 2}, "class 5"},
		{h5file.NBit, []uint32{6, 0, 10, 2, 4, 1}, "too early"},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1, 2, 1, 2, 0, 9, 0}, ""},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1, 3, 1, 2, 0, 9, 0}, "a member of 2 bytes at 3"},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1, 1<<32 - 1, 1, 2, 0, 9, 0}, "members inside 4 bytes"},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1, 0, 1, 5, 0, 9, 0}, "a member of 5 bytes"},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1, 0, 1, 0, 0, 9, 0}, "a member of 0 bytes"},
		{h5file.NBit, []uint32{12, 0, 10, 3, 4, 1 << 31, 2, 1, 2, 0, 9, 0}, "too early"},
		{h5file.NBit, deep, "more than 64 types"},
		{h5file.NBit, make([]uint32, 5000), "5000 parameters"},
		{h5file.ScaleOffset, scale(), ""},
		{h5file.ScaleOffset, scale(1, 1<<32-1), ""}, // -1 is treated as 0
		{h5file.ScaleOffset, scale(0, 0, 3, 1), ""},
		{h5file.ScaleOffset, scale()[:19], "19 parameters"},
		{h5file.ScaleOffset, scale(2, 11), "11 elements"},
		{h5file.ScaleOffset, scale(2, 20, 4, 2), "numbers of 2 bytes"},
		{h5file.ScaleOffset, scale(3, 2), "class, sign"},
		{h5file.ScaleOffset, scale(5, 7), "class, sign"},
		{h5file.ScaleOffset, scale(6, 7), "class, sign"},
		{h5file.ScaleOffset, scale(7, 7), "class, sign"},
		{h5file.ScaleOffset, scale(0, 0), "scale type 0"},
		{h5file.ScaleOffset, scale(0, 1, 3, 1), "scale type 1"},
		{h5file.ScaleOffset, scale(1, 33), "33 bits"},
		{h5file.SZip, []uint32{141, 8, 32, 10}, ""},
		{h5file.SZip, []uint32{141, 8, 32}, "3 parameters"},
		{h5file.SZip, []uint32{141, 0, 32, 10}, "blocks of 0"},
		{h5file.SZip, []uint32{141, 9, 32, 10}, "blocks of 9"},
		{h5file.SZip, []uint32{141, 34, 32, 10}, "blocks of 34"},
		{h5file.SZip, []uint32{141, 8, 0, 10}, "numbers of 0 bits"},
		{h5file.SZip, []uint32{141, 8, 33, 10}, "numbers of 33 bits"},
		{h5file.SZip, []uint32{141, 8, 32, 0}, "lines of 0"},
		{h5file.SZip, []uint32{141, 8, 32, 5000}, "lines of 5000"},
		{h5file.Deflate, nil, ""},
	} {
		f := h5file.Filter{ID: x.id, Values: x.values}
		err := f.Sound(4, 40)
		_, also := f.Needs(nil, 4, 40)
		require.Equal(t, err, also)
		if x.want == "" {
			require.NoError(t, err, x.values)
			continue
		}
		require.ErrorIs(t, err, format.ErrCorrupt, x.values)
		require.ErrorContains(t, err, x.want, x.values)
	}
	f := h5file.Filter{ID: h5file.ScaleOffset, Values: scale()}
	_, err := f.Needs([]byte{33, 0, 0, 0}, 4, 40)
	require.ErrorContains(t, err, "numbers of 33 bits")
	n, err := f.Needs([]byte{7, 0, 0, 0}, 4, 40)
	require.NoError(t, err)
	require.EqualValues(t, 21+9, n, "70 bits behind the head")
}

// TestStepsMutants changes the filter parameters and chunk lengths of libhdf5's files one by one.
// libhdf5 must not crash on any file that Check accepts.
func TestStepsMutants(t *testing.T) {
	dir := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/h5repack/testfiles")
	refused, passed := 0, 0
	try := func(b []byte) {
		b = repaired(b)
		if err := mustOpen(t, b).Check(everything()); err != nil {
			refused++
			return
		}
		passed++
		requireSurvived(t, writeTemp(t, b))
	}
	for _, name := range []string{"h5repack_nbit.h5", "h5repack_soffset.h5", "h5repack_szip.h5"} {
		whole := load(t, filepath.Join(dir, name))
		before := refused
		for _, f := range fields(describe(whole), "object header", "client data") {
			if f.Length < 16 {
				continue
			}
			for at := f.Offset; at < f.Offset+min(f.Length, 80); at += 4 {
				v := binary.LittleEndian.Uint32(whole[at:])
				for _, to := range []uint32{0, v + 1, 1 << 31, 1<<32 - 1} {
					b := bytes.Clone(whole)
					binary.LittleEndian.PutUint32(b[at:], to)
					try(b)
				}
			}
			break // one dataset is enough, the others are similar
		}
		for _, f := range fields(describe(whole), "v1 B-tree node", "size of chunk") {
			b := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(b[f.Offset:], 3)
			try(b)
			break
		}
		require.Greater(t, refused, before, name)
	}
	t.Logf("%d refused, %d passed", refused, passed)
}

// TestChecksum_LongBlocks checks the minimum length of chunks with a checksum. The check must apply
// only if the filter mask of the chunk includes the checksum. It must decode the filters after the
// checksum, and stop at a filter that it cannot decode.
func TestChecksum_LongBlocks(t *testing.T) {
	var zipped bytes.Buffer
	z := zlib.NewWriter(&zipped)
	_, err := z.Write([]byte{1, 2, 3})
	require.NoError(t, err)
	require.NoError(t, z.Close())
	sum, zip, turn, other := h5file.Filter{ID: h5file.Fletcher32}, h5file.Filter{ID: h5file.Deflate}, h5file.Filter{ID: h5file.Shuffle, Values: []uint32{4}}, h5file.Filter{ID: 32015}
	failure := errors.New("no such filter")
	for _, x := range []struct {
		filters []h5file.Filter
		mask    uint32
		stored  []byte
		undone  []byte
		err     error
		want    string
	}{
		{filters: []h5file.Filter{sum, zip}, stored: zipped.Bytes(), want: "a chunk of 3 bytes, want at least 4"},
		{filters: []h5file.Filter{sum, zip}, mask: 1, stored: zipped.Bytes()},
		{filters: []h5file.Filter{sum, zip}, mask: 2, stored: zipped.Bytes()},
		{filters: []h5file.Filter{sum, zip}, mask: 2, stored: []byte{1, 2, 3}, want: "a chunk of 3 bytes"},
		{filters: []h5file.Filter{sum, sum}, stored: make([]byte, 8)},
		{filters: []h5file.Filter{sum, sum}, stored: make([]byte, 7), want: "a chunk of 3 bytes"},
		{filters: []h5file.Filter{sum, sum}, mask: 2, stored: make([]byte, 7)},
		// libhdf5 checks the deflate data.
		{filters: []h5file.Filter{zip, sum}, stored: make([]byte, 4)},
		{filters: []h5file.Filter{sum, turn}, stored: nil, want: "a chunk of 0 bytes"},
		{filters: []h5file.Filter{sum, other}, stored: []byte{1}},
		{filters: []h5file.Filter{sum, other}, stored: []byte{1}, undone: []byte{1, 2}, want: "a chunk of 2 bytes"},
		{filters: []h5file.Filter{sum, other}, stored: []byte{1}, undone: []byte{}, want: "a chunk of 0 bytes"},
		{filters: []h5file.Filter{sum, other}, stored: []byte{1}, undone: make([]byte, 5)},
		{filters: []h5file.Filter{sum, other}, stored: []byte{1}, err: failure, want: "no such filter"},
		{filters: []h5file.Filter{sum, other, sum}, stored: []byte{1}, err: failure, want: "a chunk of 1 bytes"},
	} {
		l := h5file.Pipeline{Filters: x.filters}
		err := l.LongForSums(x.mask, x.stored, 100, func(f *h5file.Filter, b []byte, most uint64) ([]byte, error) {
			require.Equal(t, other.ID, f.ID)
			require.EqualValues(t, 100, most)
			return x.undone, x.err
		})
		switch {
		case x.want == "":
			require.NoError(t, err, x)
		case x.err == nil || x.want != failure.Error():
			require.ErrorIs(t, err, format.ErrCorrupt, x)
			require.ErrorContains(t, err, x.want, x)
		default:
			require.ErrorIs(t, err, failure)
		}
	}
}
