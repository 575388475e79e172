package b2nd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

var summed = &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle", "crc32c"}}

// requireSummed reads an array with current checksums, which are compared.
func requireSummed(t require.TestingT, path string, want *ndarray.Array) {
	b, err := b2nd.Open(path, &b2nd.OpenOptions{Checksums: true})
	require.NoError(t, err)
	require.Equal(t, want.Shape(), b.Meta().Shape)
	require.Equal(t, summed, b.Meta().Compression)
	bg := context.Background()
	values, got := make([]byte, want.NBytes()), make([]byte, want.NBytes())
	for i := range got {
		got[i] = 0xAA
	}
	require.NoError(t, want.Read(bg, values, ndarray.Whole(want.Shape())))
	require.NoError(t, b.ReadRegion(bg, got, ndarray.Whole(want.Shape()), 2))
	require.Equal(t, values, got)
	require.NoError(t, b.Close())
}

// TestChecksums_model applies random writes, appends and changes of shape and attributes to an
// array with checksums and to one in memory.
func TestChecksums_model(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dt, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">i4", "<f8", "|u1"}).Draw(r, "type"))
		require.NoError(r, err)
		spec := ndarray.Spec{DType: dt, Compression: summed}
		for range rapid.IntRange(1, 3).Draw(r, "rank") {
			spec.Shape = append(spec.Shape, rapid.Int64Range(0, 9).Draw(r, "shape"))
			spec.ChunkShape = append(spec.ChunkShape, rapid.Int64Range(1, 5).Draw(r, "chunk"))
		}
		if rapid.Bool().Draw(r, "fill") {
			spec.Fill = draw(r, int64(dt.Size))
		}
		path := filepath.Join(t.TempDir(), "a.b2nd")
		b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: rapid.Bool().Draw(r, "sparse")})
		require.NoError(r, err)
		require.Equal(r, summed, b.Meta().Compression)
		a, err := ndarray.New(b)
		require.NoError(r, err)
		m, err := mem.New(spec)
		require.NoError(r, err)
		twin, err := ndarray.New(m)
		require.NoError(r, err)
		for range rapid.IntRange(0, 6).Draw(r, "changes") {
			if rapid.Bool().Draw(r, "reopen") {
				require.NoError(r, a.Close())
				requireSummed(r, path, twin)
				b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true, Durable: rapid.Bool().Draw(r, "durable")})
				require.NoError(r, err)
				a, err = ndarray.New(b)
				require.NoError(r, err)
			}
			change(r, a, twin)
		}
		require.NoError(r, errors.Join(a.Close()))
		requireSummed(r, path, twin)
		require.NoError(r, twin.Close())
	})
}

// change makes the same random change of both arrays. What a durable array refuses is not changed.
func change(r *rapid.T, a, twin *ndarray.Array) {
	shape := a.Shape()
	both := func(f func(a *ndarray.Array) error) {
		err := f(a)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		require.NoError(r, err)
		require.NoError(r, f(twin))
	}
	switch rapid.IntRange(0, 3).Draw(r, "change") {
	case 0:
		row := int64(a.DType().Size)
		for _, n := range shape[1:] {
			row *= n
		}
		if row == 0 {
			return
		}
		src := draw(r, row*rapid.Int64Range(1, 7).Draw(r, "rows"))
		both(func(a *ndarray.Array) error { return a.Append(context.Background(), 0, src) })
	case 1:
		region := ndarray.Region{}
		for _, n := range shape {
			start := rapid.Int64Range(0, max(n-1, 0)).Draw(r, "start")
			region.Start = append(region.Start, start)
			region.Shape = append(region.Shape, rapid.Int64Range(0, n-start).Draw(r, "n"))
		}
		src := draw(r, region.NumElems()*int64(a.DType().Size))
		both(func(a *ndarray.Array) error { return a.Write(context.Background(), src, region) })
	case 2:
		for i := range shape {
			shape[i] = rapid.Int64Range(0, 9).Draw(r, "length")
		}
		both(func(a *ndarray.Array) error { return a.Resize(context.Background(), shape) })
	case 3:
		name := rapid.SampledFrom([]string{"x", "hyperslab", "hyperslab_checksums"}).Draw(r, "name")
		value := ndarray.Scalar(rapid.Int32().Draw(r, "value"))
		both(func(a *ndarray.Array) error {
			return a.SetAttr(context.Background(), ndarray.Attr{Name: name, Value: value})
		})
		got, err := a.Attrs(context.Background())
		require.NoError(r, err)
		want, err := twin.Attrs(context.Background())
		require.NoError(r, err)
		require.Equal(r, len(want.List), len(got.List))
	}
}

// flip changes a bit of the last byte of chunk i.
func flip(t *testing.T, path string, i int64) {
	t.Helper()
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	at := int64(f.Header().HeaderSize)
	for k := range i + 1 {
		n, err := f.StoredBytes(k)
		require.NoError(t, err)
		at += n
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[at-1] ^= 4
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// TestChecksums_corrupt checks that no operation gives a corrupt chunk a new checksum.
func TestChecksums_corrupt(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{40, 30}, ChunkShape: []int64{20, 30}, DType: ndarray.DTypeOf[int32](), Compression: summed}
	values := testutil.Noise(40*30*4, 1)
	for name, op := range map[string]struct {
		options b2nd.OpenOptions
		run     func(a *ndarray.Array) error
	}{
		"read": {b2nd.OpenOptions{Checksums: true}, func(a *ndarray.Array) error {
			return a.Read(t.Context(), make([]byte, 4), ndarray.Region{Start: []int64{20, 0}, Shape: []int64{1, 1}})
		}},
		"write a part": {b2nd.OpenOptions{Write: true}, func(a *ndarray.Array) error {
			return a.Write(t.Context(), make([]byte, 4), ndarray.Region{Start: []int64{25, 3}, Shape: []int64{1, 1}})
		}},
		"durable write": {b2nd.OpenOptions{Durable: true}, func(a *ndarray.Array) error {
			return a.Write(t.Context(), make([]byte, 4), ndarray.Region{Start: []int64{25, 3}, Shape: []int64{1, 1}})
		}},
		"resize": {b2nd.OpenOptions{Write: true}, func(a *ndarray.Array) error { return a.Resize(t.Context(), []int64{30, 60}) }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			b, err := b2nd.Create(path, spec, nil)
			require.NoError(t, err)
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(t.Context(), values, ndarray.Whole(spec.Shape), 1))
			require.NoError(t, b.Close())
			flip(t, path, 1)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			b, err = b2nd.Open(path, &op.options)
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			err = op.run(a)
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			require.ErrorContains(t, err, "chunk 1")
			require.ErrorContains(t, err, "checksum")
			require.NoError(t, a.Close())
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

// TestChecksums_python appends and changes elements with python-blosc2, which knows no checksums.
func TestChecksums_python(t *testing.T) {
	for name, code := range map[string]string{
		"append":    "a.resize((50, 30)); a[40:] = 7",
		"write":     "a[3:5] = 7",
		"attribute": "a.schunk.vlmeta['x'] = 1",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			spec := ndarray.Spec{Shape: []int64{40, 30}, ChunkShape: []int64{20, 30}, DType: ndarray.DTypeOf[int32](), Compression: summed}
			b, err := b2nd.Create(path, spec, nil)
			require.NoError(t, err)
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(t.Context(), testutil.Ramp(40*30*4, 1), ndarray.Whole(spec.Shape), 1))
			require.NoError(t, b.Close())
			out := testutil.Python(t, []string{"blosc2"}, "-c",
				"import blosc2, sys; a = blosc2.open(sys.argv[1], mode='a'); "+code+"; print(a[:].astype('int64').sum(), a.schunk.vlmeta['hyperslab_checksums']['kind'])", path)
			sum, kind, _ := strings.Cut(strings.TrimSpace(out), " ")
			require.Equal(t, "crc32c", kind)
			b, err = b2nd.Open(path, &b2nd.OpenOptions{Checksums: true})
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			got, err := ndarray.ReadAll[int32](t.Context(), a)
			require.NoError(t, err)
			total := int64(0)
			for _, v := range got {
				total += int64(v)
			}
			require.Equal(t, sum, fmt.Sprint(total))
			if name == "attribute" {
				require.Equal(t, summed, b.Meta().Compression)
			} else {
				require.Equal(t, []string{"shuffle"}, b.Meta().Compression.Filters, "the checksums are stale")
			}
			require.NoError(t, a.Close())
		})
	}
}

func TestCreate_checksums(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32](), Compression: summed}
	for name, o := range map[string]*b2nd.CreateOptions{"caterva": {Caterva: true}, "plain": {Plain: true}, "library": {Library: true}} {
		t.Run(name, func(t *testing.T) {
			_, err := b2nd.Create(filepath.Join(t.TempDir(), "a"), spec, o)
			require.ErrorIs(t, err, errors.ErrUnsupported)
		})
	}
	spec.Compression = &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"crc32c", "shuffle"}}
	require.ErrorIs(t, b2nd.Check(spec), errors.ErrUnsupported)
	_, err := b2nd.Open("a", &b2nd.OpenOptions{Checksums: true, Library: true})
	require.ErrorIs(t, err, ndarray.ErrParam)
}
