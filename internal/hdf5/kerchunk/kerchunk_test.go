package kerchunk_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/hdf5/kerchunk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// add writes an array of numbers to a file.
func add[T ndarray.Element](t *testing.T, location string, spec ndarray.Spec, values []T) {
	t.Helper()
	spec.DType = ndarray.DTypeOf[T]()
	addAs(t, location, spec, values)
}

// addAs writes an array to a file.
func addAs[T any](t *testing.T, location string, spec ndarray.Spec, values []T) {
	t.Helper()
	ctx := t.Context()
	draft, err := hyperslab.Create(ctx, location, spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, draft.Array, values, ndarray.Whole(spec.Shape)))
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())
}

var plain = &ndarray.Compression{Codec: "none"}

// example writes a file with the array /g/x, of two chunks without compression.
func example(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.h5")
	add(t, file+":/g/x", ndarray.Spec{
		Shape: []int64{4}, ChunkShape: []int64{2}, Compression: plain, Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}},
	}, []int32{1, 2, 3, 4})
	return file
}

// document is a set of references in JSON.
type document struct {
	Version int                        `json:"version"`
	Refs    map[string]json.RawMessage `json:"refs"`
}

// text returns a document of the references.
func (d *document) text(t *testing.T, key string) map[string]any {
	t.Helper()
	var text string
	require.NoError(t, json.Unmarshal(d.Refs[key], &text), key)
	out := make(map[string]any)
	require.NoError(t, json.Unmarshal([]byte(text), &out), key)
	return out
}

// bytes returns the bytes of a chunk: those of the file, or of the references.
func (d *document) bytes(t *testing.T, key string) []byte {
	t.Helper()
	var inline string
	if json.Unmarshal(d.Refs[key], &inline) == nil {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(inline, "base64:"))
		require.NoError(t, err)
		return b
	}
	var place []any
	require.NoError(t, json.Unmarshal(d.Refs[key], &place), key)
	stored, err := os.ReadFile(place[0].(string))
	require.NoError(t, err)
	return stored[int(place[1].(float64)):][:int(place[2].(float64))]
}

// refer writes references in JSON and reads them.
func refer(t *testing.T, o kerchunk.Options, files ...string) (document, kerchunk.Stats) {
	t.Helper()
	return referAt(t, "", o, files...)
}

// referAt is refer with FileOptions.URL.
func referAt(t *testing.T, at string, o kerchunk.Options, files ...string) (document, kerchunk.Stats) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.json")
	o.Format = kerchunk.JSON
	stats, err := kerchunk.WriteFiles(t.Context(), name, files, kerchunk.FileOptions{Options: o, URL: at})
	require.NoError(t, err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var doc document
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc, stats
}

func TestWriteFiles_json(t *testing.T) {
	file := example(t)
	doc, stats := refer(t, kerchunk.Options{}, file)
	require.Equal(t, kerchunk.Stats{Groups: 2, Arrays: 1, Chunks: 2}, stats)
	require.Equal(t, 1, doc.Version)
	require.Contains(t, string(doc.Refs["g/x/.zattrs"]), `\"units\":\"m\"`)
	require.Contains(t, string(doc.Refs["g/x/.zarray"]), `\"chunks\":[2]`)
	require.Contains(t, string(doc.Refs[".zmetadata"]), "g/.zgroup")
	for chunk, first := range map[string]uint32{"g/x/0": 1, "g/x/1": 3} {
		b := doc.bytes(t, chunk)
		require.Len(t, b, 8)
		require.Equal(t, first, binary.LittleEndian.Uint32(b))
	}
}

func TestWriteFiles_parquet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.parq")
	_, err := kerchunk.WriteFiles(t.Context(), name, []string{example(t)}, kerchunk.FileOptions{Options: kerchunk.Options{Format: kerchunk.Parquet}})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(name, "g/x/refs.0.parq"))
	text, err := os.ReadFile(filepath.Join(name, ".zmetadata"))
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.Contains(t, string(text), `"record_size":10000`)
}

// mixed writes a file with arrays that Zarr can represent and one that it cannot.
func mixed(t *testing.T) string {
	file := example(t)
	add(t, file+":/g/lzf", ndarray.Spec{Shape: []int64{4}, Compression: &ndarray.Compression{Codec: "lzf"}}, make([]int32, 4))
	return file
}

func TestWriteFiles_leftOut(t *testing.T) {
	file := mixed(t)
	t.Run("error", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "x.json")
		_, err := kerchunk.WriteFiles(t.Context(), out, []string{file}, kerchunk.FileOptions{Options: kerchunk.Options{Format: kerchunk.JSON}})
		require.ErrorIs(t, err, kerchunk.ErrNotZarr)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, file+":/g/lzf: ")
		require.ErrorContains(t, err, "no codec for the filter lzf (32000)")
		require.NoFileExists(t, out)
	})
	t.Run("skip", func(t *testing.T) {
		var left []string
		doc, stats := refer(t, kerchunk.Options{Skip: func(_, path string, err error) {
			filter, ok := errors.AsType[*kerchunk.NoCodec](err)
			require.True(t, ok)
			left = append(left, path, filter.Filter)
		}}, file)
		require.Equal(t, []string{"/g/lzf", "lzf (32000)"}, left)
		require.Equal(t, 1, stats.Arrays)
		require.NotContains(t, doc.Refs, "g/lzf/.zarray")
	})
	t.Run("exclude", func(t *testing.T) {
		doc, _ := refer(t, kerchunk.Options{Exclude: func(path string) bool { return path == "/g/lzf" }}, file)
		require.Contains(t, doc.Refs, "g/x/.zarray")
		doc, stats := refer(t, kerchunk.Options{Exclude: func(path string) bool { return path == "/g" }}, file)
		require.Equal(t, kerchunk.Stats{Groups: 1}, stats)
		require.NotContains(t, doc.Refs, "g/x/.zarray")
	})
}

func TestWriteFiles_errors(t *testing.T) {
	file := example(t)
	write := func(o kerchunk.Options, files ...string) error {
		_, err := kerchunk.WriteFiles(t.Context(), filepath.Join(t.TempDir(), "x"), files, kerchunk.FileOptions{Options: o})
		return err
	}
	require.ErrorContains(t, write(kerchunk.Options{Format: "zarr"}, file), `got "zarr", want "json" or "parquet"`)
	require.ErrorIs(t, write(kerchunk.Options{Format: kerchunk.JSON}, file, mixed(t)), ndarray.ErrParam)
	require.ErrorIs(t, write(kerchunk.Options{Format: kerchunk.JSON}, file, file), ndarray.ErrParam)
	require.ErrorIs(t, write(kerchunk.Options{Format: kerchunk.JSON, Combine: "time"}, file), errs.ErrNotFound)
	require.ErrorIs(t, write(kerchunk.Options{Format: kerchunk.JSON}, "https://example.org/x.h5?signature=1"), ndarray.ErrParam)
}

// TestWriteFiles_pieces compares the pieces of contiguous arrays with the elements.
func TestWriteFiles_pieces(t *testing.T) {
	for name, x := range map[string]struct {
		shape  []int64
		after  int   // elements of an array that follows in the file
		chunks []any // of Zarr
	}{
		"small":                  {[]int64{10, 3}, 0, []any{10.0, 3.0}},
		"divisible":              {[]int64{8 << 20}, 0, []any{float64(1 << 20)}},
		"rows":                   {[]int64{60, 100, 1000}, 0, []any{10.0, 100.0, 1000.0}},
		"long rows":              {[]int64{2, 4 << 20}, 0, []any{1.0, float64(1 << 20)}},
		"prime length":           {[]int64{5_000_011}, 2 << 20, []any{float64(1 << 20)}},
		"prime length at an end": {[]int64{5_000_011}, 0, []any{5_000_011.0}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.h5")
			n := int64(1)
			for _, d := range x.shape {
				n *= d
			}
			values := make([]int32, n)
			for i := range values {
				values[i] = int32(i * 7)
			}
			add(t, file+":/x", ndarray.Spec{Shape: x.shape, Compression: plain}, values)
			if x.after > 0 {
				add(t, file+":/y", ndarray.Spec{Shape: []int64{int64(x.after)}, Compression: plain}, make([]int32, x.after))
			}
			doc, _ := refer(t, kerchunk.Options{}, file)
			z := doc.text(t, "x/.zarray")
			require.Equal(t, x.chunks, z["chunks"])
			require.Nil(t, z["compressor"])
			require.Nil(t, z["filters"])
			require.Nil(t, z["fill_value"])
			got := make([]int32, n)
			seen := 0
			for key := range doc.Refs {
				if !strings.HasPrefix(key, "x/") || strings.HasPrefix(key, "x/.z") {
					continue
				}
				seen += place(t, got, x.shape, x.chunks, strings.Split(key[2:], "."), doc.bytes(t, key))
			}
			require.Equal(t, values, got)
			require.EqualValues(t, n, seen)
		})
	}
}

// place copies the elements of a chunk of Zarr that are inside the array, and returns their number.
func place(t *testing.T, dst []int32, shape []int64, chunks []any, key []string, b []byte) (n int) {
	t.Helper()
	lengths, start, elements := make([]int, len(shape)), make([]int, len(shape)), 1
	for i := range shape {
		lengths[i] = int(chunks[i].(float64))
		var number int
		require.NoError(t, json.Unmarshal([]byte(key[i]), &number))
		start[i] = number * lengths[i]
		elements *= lengths[i]
	}
	require.Len(t, b, 4*elements)
	for e := range elements {
		at, rest, inside := 0, e, true
		index := make([]int, len(shape))
		for i := len(shape) - 1; i >= 0; i-- {
			index[i] = start[i] + rest%lengths[i]
			rest /= lengths[i]
			inside = inside && index[i] < int(shape[i])
		}
		if !inside {
			continue
		}
		for i := range shape {
			at = at*int(shape[i]) + index[i]
		}
		dst[at] = int32(binary.LittleEndian.Uint32(b[4*e:]))
		n++
	}
	return n
}

func TestWriteFiles_embedded(t *testing.T) {
	type record struct {
		A int8
		B float64
	}
	file := filepath.Join(t.TempDir(), "x.h5")
	addAs(t, file+":/text", ndarray.Spec{Shape: []int64{3}, DType: ndarray.Text("").DType}, []string{"a", "", "ü"})
	addAs(t, file+":/gaps", ndarray.Spec{Shape: []int64{2}, Compression: plain, DType: ndarray.StructOf(true,
		ndarray.Field{Name: "A", Type: ndarray.DTypeOf[int8]()}, ndarray.Field{Name: "B", Type: ndarray.DTypeOf[float64]()})},
		[]record{{1, 2.5}, {3, -1}})
	addAs(t, file+":/packed", ndarray.Spec{Shape: []int64{2}, Compression: plain, DType: ndarray.StructOf(false,
		ndarray.Field{Name: "A", Type: ndarray.DTypeOf[int8]()}, ndarray.Field{Name: "B", Type: ndarray.DTypeOf[float64]()})},
		[]record{{1, 2.5}, {3, -1}})
	doc, stats := refer(t, kerchunk.Options{}, file)
	require.Positive(t, stats.Embedded)
	text := doc.text(t, "text/.zarray")
	require.Equal(t, "|O", text["dtype"])
	require.Equal(t, []any{map[string]any{"id": "vlen-utf8"}}, text["filters"])
	require.Equal(t, "\x03\x00\x00\x00\x01\x00\x00\x00a\x00\x00\x00\x00\x02\x00\x00\x00ü", string(doc.bytes(t, "text/0")))
	fields := []any{[]any{"A", "|i1"}, []any{"B", "<f8"}}
	want := binary.LittleEndian.AppendUint64([]byte{1}, math.Float64bits(2.5))
	want = binary.LittleEndian.AppendUint64(append(want, 3), math.Float64bits(-1))
	for _, name := range []string{"gaps", "packed"} {
		require.Equal(t, fields, doc.text(t, name+"/.zarray")["dtype"])
		require.Equal(t, want, doc.bytes(t, name+"/0"))
	}
}

// TestWriteFiles_subArrays writes the references of sub-arrays: those that Zarr cannot represent
// are left out with an error.
func TestWriteFiles_subArrays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	text, number := h5.VariableString(h5.UTF8), h5.Int(2, h5.LittleEndian)
	packed := h5.CompoundOf(h5.Member{Name: "a", Type: &number}, h5.Member{Name: "b", Type: &number})
	gaps := packed
	gaps.Members, gaps.Size = slices.Clone(packed.Members), 8
	gaps.Members[1].Offset = 4
	for name, d := range map[string]h5.Datatype{
		"numbers": h5.ArrayOf(number, 2, 3), "packed": h5.ArrayOf(packed, 2),
		"strings": h5.ArrayOf(text, 2), "nested": h5.ArrayOf(h5.ArrayOf(number, 3), 2), "gaps": h5.ArrayOf(gaps, 2),
	} {
		for layout, o := range map[string]*h5.DatasetOptions{
			"contiguous": {}, "chunked": {ChunkShape: []int64{2}},
		} {
			set, err := f.Root().CreateDataset(name+"_"+layout, d, h5.SimpleSpace(4), o)
			require.NoError(t, err)
			if d.Plain() {
				require.NoError(t, set.WriteRegion(make([]byte, 4*d.Size), d, h5.SimpleSpace(4).All()))
			}
			require.NoError(t, set.Close())
		}
	}
	require.NoError(t, f.Close())
	left := make(map[string]string)
	doc, _ := refer(t, kerchunk.Options{Skip: func(_, path string, err error) {
		require.ErrorIs(t, err, kerchunk.ErrNotZarr)
		left[path] = err.Error()
	}}, file)
	require.Len(t, left, 6)
	for _, layout := range []string{"contiguous", "chunked"} {
		for _, name := range []string{"strings", "nested", "gaps"} {
			require.Contains(t, left["/"+name+"_"+layout], "elements of ")
		}
		z := doc.text(t, "numbers_"+layout+"/.zarray")
		require.Equal(t, []any{4.0, 2.0, 3.0}, z["shape"])
		require.Equal(t, "<i2", z["dtype"])
		z = doc.text(t, "packed_"+layout+"/.zarray")
		require.Equal(t, []any{4.0, 2.0}, z["shape"])
		require.Equal(t, []any{[]any{"a", "<i2"}, []any{"b", "<i2"}}, z["dtype"])
	}
}

// year writes a file of a series: 2 or 3 steps of the dimension time.
func year(t *testing.T, dir, name string, times []float64, change func(file string)) string {
	t.Helper()
	file := filepath.Join(dir, name)
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	n := int64(len(times))
	values := make([]int32, n*4)
	for i := range values {
		values[i] = int32(times[i/4]*100) + int32(i%4)
	}
	deflate := &ndarray.Compression{Codec: "deflate", Level: 1}
	add(t, file+":/v", ndarray.Spec{Shape: []int64{n, 4}, ChunkShape: []int64{1, 4}, Compression: deflate, AxisNames: []string{"time", "x"}}, values)
	add(t, file+":/time", ndarray.Spec{Shape: []int64{n}, ChunkShape: []int64{512}, MaxShape: []int64{ndarray.Unlimited}, Compression: plain,
		AxisNames: []string{"time"}, Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("days since 2000-01-01")}}}, times)
	if change == nil {
		add(t, file+":/x", ndarray.Spec{Shape: []int64{4}, Compression: plain, AxisNames: []string{"x"}}, []int16{1, 2, 3, 4})
	} else {
		change(file)
	}
	return file
}

// TestWriteFiles_url checks the locations for readers of fsspec, which escape names only in HTTP.
func TestWriteFiles_url(t *testing.T) {
	dir := t.TempDir()
	first, second := year(t, dir, "a b.nc", []float64{0, 1, 2}, nil), year(t, dir, "c%20d.nc", []float64{3, 4}, nil)
	for at, want := range map[string][2]string{
		"https://example.com/x%20y/": {"https://example.com/x%20y/a%20b.nc", "https://example.com/x%20y/c%2520d.nc"},
		"S3://bucket/x%20y":          {"s3://bucket/x y/a b.nc", "s3://bucket/x y/c%20d.nc"},
		"gs://bucket/x%20y/":         {"gs://bucket/x%20y/a b.nc", "gs://bucket/x%20y/c%20d.nc"},
		"/x%20y/Z":                   {"/x%20y/Z/a b.nc", "/x%20y/Z/c%20d.nc"},
	} {
		doc, _ := referAt(t, at, kerchunk.Options{Combine: "time"}, first, second)
		require.Contains(t, string(doc.Refs["v/2.0"]), `"`+want[0]+`"`)
		require.Contains(t, string(doc.Refs["v/3.0"]), `"`+want[1]+`"`)
	}
	for at, want := range map[string]string{
		"https://example.com/x%20y.nc": "https://example.com/x%20y.nc",
		"s3://bucket/x%20y.nc":         "s3://bucket/x y.nc",
		"/X/y.nc":                      "/X/y.nc",
	} {
		for _, combine := range []string{"", "time"} {
			doc, _ := referAt(t, at, kerchunk.Options{Combine: combine}, first)
			require.Contains(t, string(doc.Refs["v/2.0"]), `"`+want+`"`)
		}
	}
}

func TestWriteFiles_combine(t *testing.T) {
	dir := t.TempDir()
	first, second := year(t, dir, "a.nc", []float64{0, 1, 2}, nil), year(t, dir, "b.nc", []float64{3, 4}, nil)
	doc, stats := refer(t, kerchunk.Options{Combine: "time"}, first, second)
	require.Equal(t, 3, stats.Arrays)
	require.Equal(t, []any{5.0, 4.0}, doc.text(t, "v/.zarray")["shape"])
	require.Equal(t, []any{5.0}, doc.text(t, "time/.zarray")["shape"])
	require.Equal(t, []any{4.0}, doc.text(t, "x/.zarray")["shape"])
	var times []byte
	for _, v := range []float64{0, 1, 2, 3, 4} {
		times = binary.LittleEndian.AppendUint64(times, math.Float64bits(v))
	}
	require.Equal(t, times, doc.bytes(t, "time/0"))
	for key, file := range map[string]string{"v/2.0": first, "v/3.0": second, "x/0": first} {
		require.Contains(t, string(doc.Refs[key]), file)
	}

	differ := func(name string, times []float64, change func(file string), want ...string) {
		t.Run(name, func(t *testing.T) {
			other := year(t, dir, strings.ReplaceAll(name, " ", "-")+".nc", times, change)
			_, err := kerchunk.WriteFiles(t.Context(), filepath.Join(t.TempDir(), "x"), []string{first, other},
				kerchunk.FileOptions{Options: kerchunk.Options{Format: kerchunk.JSON, Combine: "time"}})
			require.ErrorIs(t, err, kerchunk.ErrDiffer)
			require.ErrorIs(t, err, ndarray.ErrParam)
			for _, text := range append(want, filepath.Base(first), filepath.Base(other)) {
				require.ErrorContains(t, err, text)
			}
		})
	}
	x := ndarray.Spec{Shape: []int64{4}, Compression: plain, AxisNames: []string{"x"}}
	differ("other coordinates", []float64{3, 4}, func(file string) { add(t, file+":/x", x, []int16{1, 2, 3, 5}) }, "/x", "1 elements")
	differ("another type", []float64{3, 4}, func(file string) { add(t, file+":/x", x, []int32{1, 2, 3, 4}) }, "element type of /x")
	differ("missing array", []float64{3, 4}, func(string) {}, "/x")
	differ("overlap", []float64{2, 3}, nil, "/time", "ends with 2", "begins with 2")
	differ("other units", []float64{3, 4}, func(file string) {
		arr, err := hyperslab.Open(t.Context(), file+":/time", &hyperslab.OpenOptions{Write: true})
		require.NoError(t, err)
		require.NoError(t, arr.SetAttr(t.Context(), ndarray.Attr{Name: "units", Value: ndarray.Text("days since 2001-01-01")}))
		require.NoError(t, arr.Close())
		add(t, file+":/x", x, []int16{1, 2, 3, 4})
	}, "attribute units of /time")
}
