package h5_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// maskedFile creates a file with one dataset of 8 elements in two chunks. Its only filter is
// shuffle, so a chunk has the same length with and without the filter.
func maskedFile(t *testing.T, low h5.LibVer, space h5.Dataspace, dt h5.Datatype) (path string, f *h5.File, d *h5.Dataset) {
	t.Helper()
	o := h5.CreateOptions{}
	o.Low = low
	path = filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	chunk := make([]int64, len(space.Dims))
	for i, n := range space.Dims {
		chunk[i] = (n + 1) / 2
	}
	d, err = f.Root().CreateDataset("d", dt, space, &h5.DatasetOptions{ChunkShape: chunk, Shuffle: true})
	require.NoError(t, err)
	return path, f, d
}

func again(t *testing.T, f *h5.File, path string) (*h5.File, *h5.Dataset) {
	t.Helper()
	require.NoError(t, f.Close())
	f, err := h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	return f, d
}

// TestDataset_Write_maskedChunk checks that a write to a chunk stored with a skipped filter is
// refused and changes no element if the chunk would keep its length.
func TestDataset_Write_maskedChunk(t *testing.T) {
	i4 := h5.Int(4, h5.LittleEndian)
	for _, low := range []h5.LibVer{h5.Earliest, h5.V110} {
		spaces := []h5.Dataspace{
			h5.SimpleSpace(8), h5.SimpleSpace(8, 1),
			{Kind: h5.Simple, Dims: []int64{8}, MaxDims: []int64{h5.Unlimited}},
			{Kind: h5.Simple, Dims: []int64{8, 1}, MaxDims: []int64{h5.Unlimited, h5.Unlimited}},
		}
		for _, space := range spaces {
			rank := len(space.Dims)
			at := func(first, n int64) h5.Region {
				return region([]int64{first, 0}[:rank], []int64{n, 1}[:rank])
			}
			for way, write := range map[string]func(d *h5.Dataset) error{
				"whole chunk": func(d *h5.Dataset) error { return h5value.Write(d, []int32{5, 6, 7, 8}, at(4, 4)) },
				"part":        func(d *h5.Dataset) error { return h5value.Write(d, []int32{6, 7, 8}, at(5, 3)) },
				"points": func(d *h5.Dataset) error {
					p := h5.Points{[]int64{7, 0}[:rank], []int64{5, 0}[:rank], []int64{6, 0}[:rank]}
					return d.WriteSelection(append(plainChunk(8)[:4], plainChunk(6)[:8]...), i4, p)
				},
				"values": func(d *h5.Dataset) error {
					v, err := d.ReadValues(i4, at(0, 4), 4)
					if err != nil {
						return err
					}
					return d.WriteValues(v, at(4, 4))
				},
			} {
				name := fmt.Sprintf("%d %v %s", low, space, way)
				for _, reopen := range []bool{false, true} {
					path, f, d := maskedFile(t, low, space, i4)
					require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4}, at(0, 4)), name)
					require.NoError(t, d.WriteChunk(plainChunk(5), 1, []int64{4, 0}[:rank]...), name)
					if reopen { // as if another program had written the file
						f, d = again(t, f, path)
					}
					require.ErrorIs(t, write(d), errors.ErrUnsupported, name)
					got, err := h5value.ReadAll[int32](d)
					require.NoError(t, err, name)
					require.Equal(t, []int32{1, 2, 3, 4, 5, 6, 7, 8}, got, name)
					require.NoError(t, h5value.Write(d, []int32{9}, at(0, 1)), name) // another chunk
					f, d = again(t, f, path)
					got, err = h5value.ReadAll[int32](d)
					require.NoError(t, err, name)
					require.Equal(t, []int32{9, 2, 3, 4, 5, 6, 7, 8}, got, name)
					require.NoError(t, f.Close())
				}
			}
		}
	}
}

// TestDataset_WriteStrings_maskedChunk checks that writes of strings are refused in the same cases
// as writes of numbers. In some releases shuffle skips every chunk of variable-length strings, and
// libhdf5 then stores the chunk with the same mask again.
func TestDataset_WriteStrings_maskedChunk(t *testing.T) {
	for name, dt := range map[string]h5.Datatype{"fixed": h5.FixedString(4, h5.NullPad, h5.ASCII), "variable": h5.VariableString(h5.UTF8)} {
		path, f, d := maskedFile(t, h5.V110, h5.SimpleSpace(4), dt)
		all := region([]int64{0}, []int64{4})
		require.NoError(t, h5value.Write(d, []string{"a", "b", "cc", "dddd"}, all), name)
		info, err := d.Info()
		require.NoError(t, err)
		masked := false
		for _, c := range allChunks(t, d) { // store the chunk without the filter
			if c.FilterMask != 0 {
				require.Empty(t, info.Filters[0].Values) // shuffle skipped the chunk because it has no element size
				continue
			}
			raw := make([]byte, c.Bytes)
			_, _, err := d.ReadChunk(raw, c.Offset...)
			require.NoError(t, err)
			masked = true
			require.NoError(t, inTwoSteps(d, unshuffled(raw, int(info.Filters[0].Values[0])), 1, c.Offset...), name)
		}
		f, d = again(t, f, path)
		want := []string{"a", "x", "cc", "dddd"}
		err = h5value.Write(d, []string{"x"}, region([]int64{1}, []int64{1}))
		if masked {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			want[1] = "b"
		} else {
			require.NoError(t, err)
		}
		require.True(t, masked || name == "variable")
		f, d = again(t, f, path)
		got, err := readStrings(d, all)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.NoError(t, f.Close())
	}
}

// inTwoSteps stores a chunk, first with another length if libhdf5 would keep the old mask.
func inTwoSteps(d *h5.Dataset, b []byte, mask uint32, offset ...int64) error {
	err := d.WriteChunk(b, mask, offset...)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := d.WriteChunk(append(slices.Clone(b), 0), mask, offset...); err != nil {
		return err
	}
	return d.WriteChunk(b, mask, offset...)
}

// unshuffled reverses the filter shuffle.
func unshuffled(b []byte, size int) []byte {
	out, n := make([]byte, len(b)), len(b)/size
	for i := range b {
		out[i%n*size+i/n] = b[i]
	}
	return out
}

// TestDataset_Resize_maskedChunk checks that Resize refuses to truncate a chunk with a skipped
// filter, because libhdf5 rewrites the chunks it truncates.
func TestDataset_Resize_maskedChunk(t *testing.T) {
	for _, low := range []h5.LibVer{h5.Earliest, h5.V110} {
		space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{8}, MaxDims: []int64{h5.Unlimited}}
		path, f, d := maskedFile(t, low, space, h5.Int(4, h5.LittleEndian))
		require.NoError(t, d.WriteChunk(plainChunk(1), 1, 0))
		require.NoError(t, d.WriteChunk(plainChunk(5), 1, 4))
		f, d = again(t, f, path)
		require.ErrorIs(t, d.Resize(6, 1), h5.ErrSize)
		require.ErrorIs(t, d.Resize(6), errors.ErrUnsupported)
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 3, 4, 5, 6, 7, 8}, got)
		require.NoError(t, d.Resize(4)) // removes the chunk
		f, d = again(t, f, path)
		require.NoError(t, d.Resize(8))
		got, err = h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 3, 4, 0, 0, 0, 0}, got)
		require.NoError(t, f.Close())
	}
}

// TestDataset_Settled checks that a dataset without chunks at risk is not checked again until
// WriteChunk stores a chunk with a mask.
func TestDataset_Settled(t *testing.T) {
	f := newFile(t)
	d, other := newChunked(t, f.Root(), "d", 40), newChunked(t, f.Root(), "e", 40)
	writes := func(d *h5.Dataset, n int64) {
		for i := range n {
			require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4}, region([]int64{4 * i}, []int64{4})))
		}
	}
	writes(d, 8)
	writes(other, 8)
	require.True(t, d.Settled())
	require.True(t, other.Settled())
	require.NoError(t, d.WriteChunk(deflated(t, plainChunk(1)), 0, 0))
	require.True(t, d.Settled())
	require.NoError(t, d.WriteChunk(plainChunk(1), 1, 36))
	require.False(t, d.Settled())
	require.False(t, other.Settled()) // other could be a handle on the same dataset
	writes(other, 8)
	require.True(t, other.Settled())
	writes(d, 9)
	writes(d, 9)
	require.False(t, d.Settled())
	require.NoError(t, d.WriteChunk(deflated(t, plainChunk(1)), 0, 36)) // overwrites the chunk with a mask
	writes(d, 10)
	writes(d, 10)
	require.True(t, d.Settled())
}

// TestMasks_growOverEdge checks a chunk at the edge of a dataset with PlainEdges. No filter runs on
// it, whatever its mask is, until the dataset grows past it.
func TestMasks_growOverEdge(t *testing.T) {
	o := h5.CreateOptions{}
	o.Low = h5.V110
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{6}, MaxDims: []int64{h5.Unlimited}}
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), space, &h5.DatasetOptions{ChunkShape: []int64{4}, Shuffle: true, PlainEdges: true})
	require.NoError(t, err)
	require.NoError(t, d.WriteChunk(plainChunk(5), 1, 4))
	require.NoError(t, d.Resize(8))
	f, d = again(t, f, path)
	defer f.Close()
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 0, 0, 0, 5, 6, 7, 8}, got)
}

// TestDataset_WriteChunk_anyOrder checks every pipeline with random sequences of raw chunks with
// skipped filters, writes and changes of the shape. Each operation must either have its effect or
// return errors.ErrUnsupported without one.
func TestDataset_WriteChunk_anyOrder(t *testing.T) {
	ways := map[string][]h5.Filter{
		"shuffle":             {h5.Shuffle()},
		"shuffle, fletcher32": {h5.Shuffle(), h5.Fletcher32()},
		"shuffle, deflate 0":  {h5.Shuffle(), h5.Deflate(0)},
		"deflate, shuffle":    {h5.Deflate(1), h5.Shuffle(), h5.Fletcher32()},
		"szip":                {h5.Szip(h5.SzipNearest, 8)},
		"szip, fletcher32":    {h5.Szip(h5.SzipNearest, 8), h5.Fletcher32()},
		"not there":           {{ID: 40322, Optional: true}, h5.Shuffle()},
	}
	names := slices.Sorted(maps.Keys(ways))
	const chunk = 8
	u2 := h5.Uint(2, h5.LittleEndian)
	dir, n, masked := t.TempDir(), 0, 0
	var did, refused int
	done := func(r *rapid.T, err error) bool {
		if errors.Is(err, errors.ErrUnsupported) {
			refused++
			return false
		}
		require.NoError(r, err)
		did++
		return true
	}
	rapid.Check(t, func(r *rapid.T) {
		n++
		name := rapid.SampledFrom(names).Draw(r, "filters")
		filters := ways[name]
		o := h5.CreateOptions{}
		o.Low = rapid.SampledFrom([]h5.LibVer{h5.Earliest, h5.V110}).Draw(r, "low")
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", n))
		defer func() { require.NoError(r, os.Remove(path)) }()
		f, err := h5.Create(path, &o)
		require.NoError(r, err)
		defer func() { _ = f.Close() }()
		const most = 5 * chunk
		model := make([]uint16, rapid.IntRange(1, most).Draw(r, "extent"))
		grow := rapid.SampledFrom([]int64{most, h5.Unlimited}).Draw(r, "most")
		space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{int64(len(model))}, MaxDims: []int64{grow}}
		d, err := f.Root().CreateDataset("d", u2, space, &h5.DatasetOptions{ChunkShape: []int64{chunk}, Filters: filters})
		require.NoError(r, err)
		values := func(n int) []uint16 {
			v, noise := make([]uint16, n), rapid.Bool().Draw(r, "noise")
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
			for i := range v {
				if v[i] = uint16(i) << 8; noise {
					v[i] = uint16(rng.Uint32())
				}
			}
			return v
		}
		check := func() {
			t.Helper()
			got, err := h5value.ReadAll[uint16](d)
			require.NoError(r, err)
			require.Equal(r, model, got)
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			first := rapid.IntRange(0, len(model)-1).Draw(r, "first")
			switch rapid.IntRange(0, 6).Draw(r, "what") {
			case 0, 1: // a region
				v := values(rapid.IntRange(1, len(model)-first).Draw(r, "count"))
				if done(r, h5value.Write(d, v, region([]int64{int64(first)}, []int64{int64(len(v))}))) {
					copy(model[first:], v)
				}
			case 2: // two points, which may be far apart
				second := rapid.IntRange(0, len(model)-1).Draw(r, "second")
				v := values(2)
				if first == second {
					v[1] = v[0]
				}
				if done(r, h5value.Write(d, v, h5.Points{{int64(first)}, {int64(second)}})) {
					model[first], model[second] = v[0], v[1]
				}
			case 3, 4: // a chunk with filters left out
				mask := rapid.Uint32Range(0, 1<<len(filters)-1).Draw(r, "mask")
				first -= first % chunk
				v := values(chunk)
				for i := range v { // outside the shape the chunk contains only fill values
					if first+i >= len(model) {
						v[i] = 0
					}
				}
				raw, made := encodedWithout(r, f, filters, mask, v)
				if made != 0 {
					masked++
				}
				store := d.WriteChunk
				if rapid.Bool().Draw(r, "two steps") {
					store = func(b []byte, mask uint32, offset ...int64) error { return inTwoSteps(d, b, mask, offset...) }
				}
				if done(r, store(raw, made, int64(first))) {
					copy(model[first:], v)
				}
			case 5:
				size := rapid.IntRange(1, most).Draw(r, "size")
				if done(r, d.Resize(int64(size))) {
					was := model
					model = make([]uint16, size)
					copy(model, was)
				}
			case 6:
				require.NoError(r, f.Close())
				f, err = h5.Open(path, h5.ReadWrite)
				require.NoError(r, err)
				d, err = f.Root().OpenDataset("d")
				require.NoError(r, err)
				check()
			}
			if rapid.Bool().Draw(r, "look") {
				check()
			}
		}
		require.NoError(r, f.Close())
		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(r, err)
		d, err = f.Root().OpenDataset("d")
		require.NoError(r, err)
		check()
	})
	for _, count := range []int{masked, refused, did} {
		testenv.Occurred(t, count, n)
	}
}

// encodedWithout returns a chunk encoded without the filters of mask, and the resulting mask.
func encodedWithout(r *rapid.T, f *h5.File, filters []h5.Filter, mask uint32, v []uint16) (raw []byte, made uint32) {
	var rest []h5.Filter
	var places []int
	for i, filter := range filters {
		if mask>>i&1 == 0 {
			rest, places = append(rest, filter), append(places, i)
		}
	}
	n := int64(len(v))
	d, err := f.Root().CreateDataset("some", h5.Uint(2, h5.LittleEndian), h5.SimpleSpace(n), &h5.DatasetOptions{ChunkShape: []int64{n}, Filters: rest})
	require.NoError(r, err)
	require.NoError(r, h5value.Write(d, v, region([]int64{0}, []int64{n})))
	require.NoError(r, d.Flush())
	size, err := d.ChunkBytes(0)
	require.NoError(r, err)
	raw = make([]byte, size)
	_, skipped, err := d.ReadChunk(raw, 0)
	require.NoError(r, err)
	for i, place := range places {
		mask |= (skipped >> i & 1) << place
	}
	require.NoError(r, d.Close())
	require.NoError(r, f.Root().Unlink("some"))
	return raw, mask
}

func flipped(b []byte) []byte {
	out := make([]byte, len(b))
	for i, x := range b {
		out[i] = ^x
	}
	return out
}

// TestDataset_Write_equalLengths checks optional filters that skip chunks by content and whose
// output can have the same length in both cases. Each write must either have its effect or return
// errors.ErrUnsupported without one, and the first write of a chunk must succeed.
func TestDataset_Write_equalLengths(t *testing.T) {
	const id = 40331
	for i, longer := range []int{0, 1, 8} {
		require.NoError(t, h5.RegisterFilter(h5.GoFilter{ID: id + i, Name: fmt.Sprint("longer by ", longer),
			Encode: func(src []byte, _ []uint32) ([]byte, error) {
				if src[0]>>i&1 != 0 {
					return nil, h5.ErrParam
				}
				return append(flipped(src), make([]byte, longer)...), nil
			},
			Decode: func(src []byte, _ []uint32) ([]byte, error) { return flipped(src[:len(src)-longer]), nil },
		}))
		defer func() { require.NoError(t, h5.UnregisterFilter(id+i)) }()
	}
	optional := func(i ...int) (f []h5.Filter) {
		for _, i := range i {
			f = append(f, h5.Filter{ID: id + i, Optional: true})
		}
		return f
	}
	u1, dir, n := h5.Uint(1, h5.LittleEndian), t.TempDir(), 0
	did, refused := 0, 0
	defer func() {
		require.Positive(t, did)
		require.Positive(t, refused)
	}()
	rapid.Check(t, func(r *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", n%4))
		o := h5.CreateOptions{}
		o.Truncate = true
		o.Low = rapid.SampledFrom([]h5.LibVer{h5.Earliest, h5.V110}).Draw(r, "low")
		f, err := h5.Create(path, &o)
		require.NoError(r, err)
		defer func() { _ = f.Close() }()
		filters := rapid.SampledFrom([][]h5.Filter{
			optional(0), optional(1), optional(2), optional(0, 1), optional(2, 0), append(optional(2), h5.Fletcher32()), append(optional(1), h5.Fletcher32()), optional(0, 1, 2),
		}).Draw(r, "filters")
		const side = 8
		d, err := f.Root().CreateDataset("d", u1, h5.SimpleSpace(side, side), &h5.DatasetOptions{ChunkShape: []int64{4, 4}, Filters: filters})
		require.NoError(r, err)
		model, before := make([]byte, side*side), []byte(nil)
		written := false
		for range rapid.IntRange(1, 12).Draw(r, "writes") {
			lead := byte(rapid.IntRange(0, 7).Draw(r, "lead"))
			i, j := rapid.Int64Range(0, side-1).Draw(r, "row"), rapid.Int64Range(0, side-1).Draw(r, "column")
			reg := h5.Region{Start: []int64{i, j}, Count: []int64{rapid.Int64Range(1, side-i).Draw(r, "rows"), rapid.Int64Range(1, side-j).Draw(r, "columns")}}
			if rapid.Bool().Draw(r, "chunks") {
				i, j = i/4*4, j/4*4
				reg = h5.Region{Start: []int64{i, j}, Count: []int64{4, 4}}
			}
			src := make([]byte, reg.NumElems())
			var at h5.Points
			before = append(before[:0], model...)
			for k := range src {
				p := []int64{i + int64(k)/reg.Count[1], j + int64(k)%reg.Count[1]}
				at = append(at, p)
				src[k] = lead | byte(k)<<3
				model[p[0]*side+p[1]] = src[k]
			}
			switch rapid.IntRange(0, 3).Draw(r, "way") {
			case 0:
				err = d.WriteRegion(src, u1, reg)
			case 1:
				err = d.WriteSelection(src, u1, at)
			case 2:
				wide := make([]byte, 2*len(src))
				for k, v := range src {
					wide[2*k+1] = v
				}
				err = d.WriteWindow(wide, u1, h5.Window{Shape: []int64{int64(len(src)), 2}, Selection: h5.Region{Start: []int64{0, 1}, Count: []int64{int64(len(src)), 1}}}, reg)
			case 3:
				err = h5value.Write(d, src, reg)
			}
			if errors.Is(err, errors.ErrUnsupported) {
				require.True(r, written, "the first write")
				refused++
				copy(model, before)
			} else {
				require.NoError(r, err)
				did++
				written = true
			}
			if rapid.IntRange(0, 2).Draw(r, "anew") == 0 {
				require.NoError(r, f.Close())
				f, err = h5.Open(path, h5.ReadWrite)
				require.NoError(r, err)
				d, err = f.Root().OpenDataset("d")
				require.NoError(r, err)
			}
			got := make([]byte, len(model))
			require.NoError(r, d.ReadRegion(got, u1, h5.Region{Start: []int64{0, 0}, Count: []int64{side, side}}))
			require.Equal(r, model, got)
		}
	})
}
