package opened_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// requireSame compares an untrusted array with the same array opened without Untrusted.
func requireSame(t *testing.T, location string, u hyperslab.Untrusted) {
	t.Helper()
	g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &u})
	require.NoError(t, err)
	a, err := hyperslab.Open(bg, location, nil)
	require.NoError(t, err)
	want := a.Meta()
	want.Path = location
	require.Equal(t, want, g.Meta())
	if want.DType.Kind == ndarray.String {
		x, y := make([]string, a.NumElems()), make([]string, a.NumElems())
		require.NoError(t, a.ReadStrings(bg, x, ndarray.Whole(a.Shape())))
		require.NoError(t, g.ReadStrings(bg, y, ndarray.Whole(a.Shape())))
		require.Equal(t, x, y)
	} else {
		x, y := make([]byte, a.NBytes()), make([]byte, a.NBytes())
		require.NoError(t, a.Read(bg, x, ndarray.Whole(a.Shape())))
		require.NoError(t, g.Read(bg, y, ndarray.Whole(a.Shape())))
		require.True(t, bytes.Equal(x, y))
	}
	require.Equal(t, chunkMap(t, a), chunkMap(t, g))
	x, err := a.Attrs(bg)
	require.NoError(t, err)
	y, err := g.Attrs(bg)
	require.NoError(t, err)
	require.Equal(t, x, y)
	storage, err := g.Storage(bg)
	require.NoError(t, err)
	require.Equal(t, !u.InProcess, storage.Isolation != "")
	require.ErrorIs(t, g.Write(bg, nil, ndarray.Whole(a.Shape())), ndarray.ErrReadOnly)
	require.ErrorIs(t, g.SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Scalar(1.0)}), ndarray.ErrReadOnly)
	require.NoError(t, a.Close())
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Close(), ndarray.ErrClosed)
}

func chunkMap(t *testing.T, a *ndarray.Array) (chunks []ndarray.StoredChunk) {
	t.Helper()
	for c, err := range a.StoredChunks(bg) {
		require.NoError(t, err)
		chunks = append(chunks, c)
	}
	return chunks
}

// TestStoredChunks checks that StoredChunks reports which chunks are stored, and one chunk for an
// array without chunks.
func TestStoredChunks(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{6, 4}, ChunkShape: []int64{4, 4}, DType: ndarray.DTypeOf[int32]()}
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		d, err := hyperslab.Create(bg, filetest.In(dir, name), spec, nil)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(bg, d.Array, filetest.Count(8), ndarray.Region{Start: []int64{4, 0}, Shape: []int64{2, 4}}))
		require.NoError(t, d.Commit(bg))
		a, err := hyperslab.Open(bg, filetest.In(dir, name), nil)
		require.NoError(t, err)
		got := chunkMap(t, a)
		require.Len(t, got, 2)
		require.Equal(t, ndarray.StoredChunk{Region: ndarray.Region{Start: []int64{0, 0}, Shape: []int64{4, 4}}}, got[0], name)
		require.Equal(t, ndarray.Region{Start: []int64{4, 0}, Shape: []int64{2, 4}}, got[1].Region)
		require.Positive(t, got[1].StoredBytes, name)
		require.NoError(t, a.Close())
	}
	spec.ChunkShape = nil
	f, err := h5.Create(filetest.In(dir, "c.h5"), nil)
	require.NoError(t, err)
	x, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(6, 4), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(x.Close(), f.Close()))
	a, err := hyperslab.Open(bg, filetest.In(dir, "c.h5:/x"), &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, a, filetest.Count(24), ndarray.Whole(spec.Shape)))
	require.Equal(t, []ndarray.StoredChunk{{Region: ndarray.Whole(spec.Shape), StoredBytes: 96}}, chunkMap(t, a))
	s, err := a.Storage(bg)
	require.NoError(t, err)
	require.Equal(t, []any{int64(96), int64(0), int64(96)}, []any{s.StoredBytes, s.NumChunks, a.NBytes()})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for _, err := range a.StoredChunks(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, a.Close())
}

func TestUntrusted_Formats(t *testing.T) {
	dir := t.TempDir()
	attrs := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}
	spec := ndarray.Spec{Shape: []int64{30, 20}, ChunkShape: []int64{7, 20}, DType: ndarray.DTypeOf[int32](), Attrs: attrs}
	filetest.Save(t, filetest.In(dir, "a.b2nd"), spec, nil)
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), spec, &hyperslab.CreateOptions{Sparse: true})
	filetest.Save(t, filetest.In(dir, "a.bcolz"), spec, nil)
	filetest.Save(t, filetest.In(dir, "a.h5:/g/x"), spec, nil)
	filetest.Save(t, filetest.In(dir, "a.cat"), ndarray.Spec{Shape: spec.Shape, ChunkShape: spec.ChunkShape, DType: spec.DType}, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	strs, err := hyperslab.Create(bg, filetest.In(dir, "s.h5:/x"), ndarray.Spec{Shape: []int64{3}, DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8}}, nil)
	require.NoError(t, err)
	require.NoError(t, strs.WriteStrings(bg, []string{"", "b", "größer"}, ndarray.Whole([]int64{3})))
	require.NoError(t, strs.Commit(bg))
	table := testenv.Module(t, "internal/format/bcolztree/testdata")
	require.NoError(t, os.Mkdir(filetest.In(dir, "tree"), 0o755))
	filetest.Save(t, filetest.In(dir, "tree/x.b2nd"), spec, nil)
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for _, l := range []string{"a.b2nd", "sparse.b2nd", "a.cat", "a.bcolz", "a.h5:/g/x", "s.h5:/x", "tree:/x"} {
			requireSame(t, filetest.In(dir, l), u)
		}
		trees, err := os.ReadDir(table)
		require.NoError(t, err)
		columns := 0
		for _, e := range trees {
			location := filepath.Join(table, e.Name())
			for x, err := range hyperslab.Walk(bg, location, nil) {
				if err != nil || x.Kind != hyperslab.Array || x.Err != nil || x.Path == "/" {
					continue
				}
				requireSame(t, location+":"+x.Path, u)
				columns++
			}
		}
		require.Positive(t, columns, "columns of a ctable")
	})
}

// TestUntrusted_NestedFrames checks that plain frames, nested ctables and their columns have the
// same elements with and without Untrusted, and that MaxArray applies to them.
func TestUntrusted_NestedFrames(t *testing.T) {
	dir := t.TempDir()
	locations := []string{"file", "sparse", "nested", "nested:/a", "nested:/sub/b", "table", "table:/a"}
	for name, contiguous := range map[string]bool{"file": true, "sparse": false} {
		p := cblosc.DefaultCParams()
		p.TypeSize = 4
		s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filetest.In(dir, name), Contiguous: contiguous, CParams: p})
		require.NoError(t, err)
		for _, x := range []byte{1, 2} {
			require.NoError(t, s.AppendBuffer(bytes.Repeat([]byte{x, 0, 0, 0}, 10)))
		}
		require.NoError(t, s.Close())
	}
	for name, text := range map[string]string{"nested": "[('a', '<i4'), ('sub', [('b', '<f8'), ('c', '|S3')])]", "table": "[('a', '<i4'), ('b', '|S3', (2,))]"} {
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err)
		b, err := bcolz.CreateRecords(filetest.In(dir, name), ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{9}, DType: d}, &bcolz.CreateOptions{Nested: name == "nested"})
		require.NoError(t, err)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, filetest.Noise(d, 100), ndarray.Whole([]int64{100}), 0))
		require.NoError(t, b.Close())
	}
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for _, l := range locations {
			requireSame(t, filetest.In(dir, l), u)
			small := u
			small.MaxArray = 79
			_, err := hyperslab.Open(bg, filetest.In(dir, l), &hyperslab.OpenOptions{Untrusted: &small})
			require.ErrorIs(t, err, format.ErrLimit, l)
		}
		g, err := hyperslab.Open(bg, filetest.In(dir, "file"), &hyperslab.OpenOptions{Untrusted: &u, DType: new(ndarray.DTypeOf[int32]())})
		require.NoError(t, err)
		values, err := ndarray.ReadAll[int32](bg, g)
		require.NoError(t, err)
		require.Equal(t, append(slices.Repeat([]int32{1}, 10), slices.Repeat([]int32{2}, 10)...), values)
		require.NoError(t, g.Close())
	})
	// A truncated frame must return ErrCorrupt.
	b, err := os.ReadFile(filetest.In(dir, "file"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filetest.In(dir, "cut"), b[:len(b)-9], 0o666))
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		_, err := hyperslab.Open(bg, filetest.In(dir, "cut"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
	})
}

// TestUntrustedRefuses checks that invalid calls and invalid files return the same errors with and
// without a worker.
func TestUntrustedRefuses(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(30, 20), nil)
	filetest.Save(t, filetest.In(dir, "a.h5:/x"), filetest.Int32s(30, 20), nil)
	write := func(name string, b []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	frame, err := os.ReadFile(filetest.In(dir, "a.b2nd"))
	require.NoError(t, err)
	write("cut.b2nd", frame[:len(frame)-10])
	plugin := bytes.Clone(frame)
	h, err := cframe.ParseHeader(plugin)
	require.NoError(t, err)
	first := plugin[h.HeaderSize:] // the first chunk
	first[2] |= 6 << 5
	first[0x16] = byte(chunk.Grok)
	write("plugin.b2nd", plugin)
	file, err := os.ReadFile(filetest.In(dir, "a.h5"))
	require.NoError(t, err)
	write("cut.h5", file[:len(file)-1])
	write("text", []byte("neither"))
	write("wide.h5", pipelined(t, h5.FilterScaleOffset))

	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for _, c := range []struct {
			location string
			edit     func(u *hyperslab.Untrusted)
			want     error
		}{
			{"none.b2nd", nil, ndarray.ErrNotFound},
			{"a.h5:/y", nil, ndarray.ErrNotFound},
			{"a.h5", nil, ndarray.ErrParam},
			{"a.b2nd:/y", nil, ndarray.ErrParam},
			{"text", nil, ndarray.ErrFormat},
			{"cut.b2nd", nil, ndarray.ErrCorrupt},
			{"cut.b2nd", nil, format.ErrTruncated},
			{"plugin.b2nd", nil, errors.ErrUnsupported},
			{"cut.h5:/x", nil, format.ErrTruncated},
			{"a.b2nd", func(u *hyperslab.Untrusted) { u.MaxArray = 2399 }, format.ErrLimit},
			{"a.h5:/x", func(u *hyperslab.Untrusted) { u.MaxArray = 2399 }, format.ErrLimit},
			{"a.b2nd", func(u *hyperslab.Untrusted) { u.MaxChunk = 1 }, format.ErrLimit},
			{"a.h5:/x", func(u *hyperslab.Untrusted) { u.MaxChunk = 1 }, format.ErrLimit},
			{"a.h5:/x", func(u *hyperslab.Untrusted) { u.MaxChunk = -1 }, ndarray.ErrParam},
			{"a.h5:/x", func(u *hyperslab.Untrusted) { u.InProcess, u.FullIsolation = true, true }, ndarray.ErrParam},
			{"a.h5:/x", func(u *hyperslab.Untrusted) { u.HDF5Filters = []int{-1} }, ndarray.ErrParam},
		} {
			u := u
			if c.edit != nil {
				c.edit(&u)
			}
			_, err := hyperslab.Open(bg, filetest.In(dir, c.location), &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, c.want, c.location)
			var e *ndarray.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, filetest.In(dir, c.location), e.Path)
			require.NotContains(t, err.Error(), "/proc/self/fd", "a path of this machine is not useful in a report")
		}
		_, err := hyperslab.Open(bg, filetest.In(dir, "a.h5:/x"), &hyperslab.OpenOptions{Untrusted: &u, DType: new(ndarray.DTypeOf[float32]())})
		require.ErrorIs(t, err, ndarray.ErrParam)
		_, err = hyperslab.Open(bg, filetest.In(dir, "a.b2nd"), &hyperslab.OpenOptions{Untrusted: &u, Write: true})
		require.ErrorIs(t, err, ndarray.ErrParam)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err = hyperslab.Open(ctx, filetest.In(dir, "a.b2nd"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, context.Canceled)

		// In the process, a filter without bounds checks must be listed in HDF5Filters.
		g, err := hyperslab.Open(bg, filetest.In(dir, "wide.h5:/x"), &hyperslab.OpenOptions{Untrusted: &u})
		if u.InProcess {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			u.HDF5Filters = []int{h5.FilterScaleOffset}
			g, err = hyperslab.Open(bg, filetest.In(dir, "wide.h5:/x"), &hyperslab.OpenOptions{Untrusted: &u})
		}
		require.NoError(t, err)
		require.NoError(t, g.Close())
	})
}

// TestUntrusted_TruncatedChecksums checks that chunks shorter than their fletcher32 checksum
// are refused with and without a worker, at any position of the filter, and also as the source of a
// virtual dataset. Otherwise libhdf5 would compute the checksum over memory after the chunk.
func TestUntrusted_TruncatedChecksums(t *testing.T) {
	var deflated bytes.Buffer
	z := zlib.NewWriter(&deflated)
	_, err := z.Write([]byte{1, 2, 3})
	require.NoError(t, err)
	require.NoError(t, z.Close())
	i4, four := h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4)
	for name, tt := range map[string]struct {
		filters []h5.Filter
		stored  []byte
	}{
		"last":   {[]h5.Filter{h5.Deflate(1), h5.Fletcher32()}, []byte{1, 2, 3}},
		"first":  {[]h5.Filter{h5.Fletcher32(), h5.Deflate(1)}, deflated.Bytes()},
		"middle": {[]h5.Filter{h5.Shuffle(), h5.Fletcher32(), h5.Deflate(1)}, deflated.Bytes()},
		"twice":  {[]h5.Filter{h5.Fletcher32(), h5.Fletcher32()}, []byte{0, 0, 0, 0}},
	} {
		path := filetest.In(t.TempDir(), "a.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("x", i4, four, &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: tt.filters})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4}, four.All()))
		v, err := f.Root().CreateDataset("v", i4, four, &h5.DatasetOptions{Mappings: []h5.Mapping{{Region: four.All(), File: ".", Dataset: "x", Source: four, SourceRegion: four.All()}}})
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk(tt.stored, 0, 0))
		require.NoError(t, errors.Join(v.Close(), d.Close(), f.Close()))
		filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
			for _, l := range []string{":/x", ":/v"} {
				_, err := hyperslab.Open(bg, path+l, &hyperslab.OpenOptions{Untrusted: &u})
				require.ErrorIs(t, err, ndarray.ErrCorrupt, name)
				require.ErrorContains(t, err, "fletcher32 with a chunk of", name)
			}
		})
		a, err := hyperslab.Open(bg, path+":/x", nil)
		require.NoError(t, err)
		require.ErrorIs(t, a.Read(bg, make([]byte, 16), ndarray.Whole(a.Shape())), ndarray.ErrCorrupt)
		_, err = ndarray.ReadAll[int32](bg, a)
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		require.NoError(t, a.Close())
	}
}

// TestUntrusted_ChunkRank checks that a chunk shape of another rank than its dataset, or
// of rank 0, is refused before libhdf5 opens the file. Otherwise libhdf5 would read out of bounds
// or divide by 0. Open without Untrusted must return an error too.
func TestUntrusted_ChunkRank(t *testing.T) {
	for _, low := range []h5.LibVer{h5.Earliest, h5.V110} {
		for _, rank := range []byte{0, 1, 3, 4} {
			path := filetest.In(t.TempDir(), "a.h5")
			space := h5.SimpleSpace(6, 8)
			space.MaxDims = []int64{9, 8}
			chunked(t, path, low, space, 3, 4)
			hdf5test.Edit(t, path, "/x", h5file.DataspaceType, func(m []byte) { m[1], m[2] = rank, 0 })
			filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
				_, err := hyperslab.Open(bg, path+":/x", &hyperslab.OpenOptions{Untrusted: &u})
				require.ErrorIs(t, err, ndarray.ErrCorrupt)
				require.ErrorContains(t, err, fmt.Sprintf("got chunks of 2 dimensions, want %d, those of the dataset", rank))
			})
			_, err := hyperslab.Open(bg, path+":/x", nil)
			require.Error(t, err, "rank %d", rank)
		}
	}
	path := filetest.In(t.TempDir(), "none.h5")
	chunked(t, path, h5.V110, h5.SimpleSpace(6), 3)
	hdf5test.Edit(t, path, "/x", h5file.LayoutType, func(m []byte) {
		require.Equal(t, []byte{4, 2, 0, 2, 1, 3, 4}, m[:7], "version, class, flags, dimensions, bytes of each, and they")
		m[3] = 0
		copy(m[5:], m[7:])
	})
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		_, err := hyperslab.Open(bg, path+":/x", &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		require.ErrorContains(t, err, "got 0 dimensions, want 2 to 33")
	})
}

// chunked creates a file with a chunked dataset /x.
func chunked(t *testing.T, path string, low h5.LibVer, space h5.Dataspace, chunks ...int64) {
	t.Helper()
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), space, &h5.DatasetOptions{ChunkShape: chunks})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, space.NumElems()), space.All()))
	require.NoError(t, f.Close())
}

// TestShortChunk checks that a chunk that decodes to fewer bytes than its shape returns ErrCorrupt.
// Otherwise uninitialized memory of libhdf5 would be returned as values.
func TestShortChunk(t *testing.T) {
	var deflated bytes.Buffer
	z := zlib.NewWriter(&deflated)
	_, err := z.Write(make([]byte, 36))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	path := filetest.In(t.TempDir(), "a.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	for name, filters := range map[string][]h5.Filter{"deflate": {h5.Deflate(1)}, "shuffle": {h5.Shuffle(), h5.Deflate(1)}} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(20), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: filters})
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk(deflated.Bytes(), 0, 10))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	for _, name := range []string{"deflate", "shuffle"} {
		short := func(t *testing.T, a *ndarray.Array) {
			require.NoError(t, a.Read(bg, make([]byte, 40), ndarray.Region{Start: []int64{0}, Shape: []int64{10}}))
			_, err := ndarray.ReadAll[int32](bg, a)
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			require.ErrorContains(t, err, "36 bytes, the chunk has 40")
			require.NoError(t, a.Close())
		}
		a, err := hyperslab.Open(bg, path+":/"+name, nil)
		require.NoError(t, err)
		short(t, a)
		filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
			g, err := hyperslab.Open(bg, path+":/"+name, &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err)
			short(t, g)
		})
	}
}

// pipelined returns an HDF5 file with a dataset /x with one filter.
func pipelined(t *testing.T, id int) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(name, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(16), &h5.DatasetOptions{
		ChunkShape: []int64{8}, Filters: []h5.Filter{{ID: id, Values: []uint32{2, 0}}},
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}

// TestUntrusted_FileUnchanged checks that reads use the file that was opened, even if another file
// has replaced it under its name.
func TestUntrusted_FileUnchanged(t *testing.T) {
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for _, name := range []string{"a.b2nd", "a.h5:/x"} {
			dir := t.TempDir()
			filetest.Save(t, filetest.In(dir, name), filetest.Int32s(500, 7), nil)
			g, err := hyperslab.Open(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err)
			entry := filetest.Entries(t, dir)
			require.NoError(t, os.Remove(filetest.In(dir, entry[0])))
			require.NoError(t, os.WriteFile(filetest.In(dir, entry[0]), []byte("something else"), 0o644))
			got, err := ndarray.ReadAll[int32](bg, g)
			require.NoError(t, err)
			require.Equal(t, filetest.Count(3500), got)
			require.NoError(t, g.Close())
		}
	})
}

func TestUntrusted_ReaderAt(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(500, 7), nil)
	filetest.Save(t, filetest.In(dir, "a.h5:/x"), filetest.Int32s(500, 7), nil)
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for name, object := range map[string]string{"a.b2nd": "", "a.h5": "/x"} {
			b, err := os.ReadFile(filetest.In(dir, name))
			require.NoError(t, err)
			f, err := os.Open(filetest.In(dir, name))
			require.NoError(t, err)
			for _, r := range []io.ReaderAt{bytes.NewReader(b), f} {
				g, err := hyperslab.OpenReaderAt(bg, r, int64(len(b)), "upload", object, &hyperslab.OpenOptions{Untrusted: &u})
				require.NoError(t, err)
				if r == io.ReaderAt(f) {
					require.NoError(t, f.Close(), "it is ours no longer")
				}
				got, err := ndarray.ReadAll[int32](bg, g)
				require.NoError(t, err)
				require.Equal(t, filetest.Count(3500), got)
				require.Equal(t, locate.Location{File: "upload", Object: object}.String(), g.Meta().Path)
				require.NoError(t, g.Close())
			}
			small := u
			small.MaxCopy = 10
			_, err = hyperslab.OpenReaderAt(bg, bytes.NewReader(b), int64(len(b)), "upload", object, &hyperslab.OpenOptions{Untrusted: &small})
			require.ErrorIs(t, err, format.ErrLimit)
			_, err = hyperslab.OpenReaderAt(bg, bytes.NewReader(b), int64(len(b))+1, "upload", object, &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			_, err = hyperslab.OpenReaderAt(bg, bytes.NewReader(b[:50]), 50, "upload", object, &hyperslab.OpenOptions{Untrusted: &u})
			require.Error(t, err)
			_, err = hyperslab.OpenReaderAt(bg, nil, 0, "upload", object, &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, ndarray.ErrParam)
		}
	})
}

// TestUntrusted_OtherFiles checks that a dataset with elements in other files is refused unless the
// policy allows those files. If they are allowed, reads in the process return the elements and a
// worker returns an error. Fill values must never be returned instead.
func TestUntrusted_OtherFiles(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "source.h5:/d"), filetest.Int32s(4, 5), nil)
	require.NoError(t, os.WriteFile(filetest.In(dir, "raw"), make([]byte, 80), 0o644))
	f, err := h5.Create(filetest.In(dir, "a.h5"), nil)
	require.NoError(t, err)
	space, i4 := h5.SimpleSpace(4, 5), h5.Int(4, h5.LittleEndian)
	_, err = f.Root().CreateDataset("virtual", i4, space, &h5.DatasetOptions{
		Mappings: []h5.Mapping{{Region: space.All(), File: "source.h5", Dataset: "d", Source: space, SourceRegion: space.All()}},
	})
	require.NoError(t, err)
	_, err = f.Root().CreateDataset("external", i4, space, &h5.DatasetOptions{External: []h5.ExternalFile{{Name: filetest.In(dir, "raw"), Size: 80}}})
	require.NoError(t, err)
	require.NoError(t, f.Root().LinkExternal("link", "source.h5", "/d"))
	require.NoError(t, f.Close())
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		want := map[string][]int32{"virtual": filetest.Count(20), "external": make([]int32, 20), "link": filetest.Count(20)}
		for name := range want {
			_, err := hyperslab.Open(bg, filetest.In(dir, "a.h5:/"+name), &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
		}
		u.VirtualSources, u.ExternalFiles, u.ExternalLinks = true, true, true
		for name, values := range want {
			var got []int32
			g, err := hyperslab.Open(bg, filetest.In(dir, "a.h5:/"+name), &hyperslab.OpenOptions{Untrusted: &u})
			if err == nil {
				got, err = ndarray.ReadAll[int32](bg, g)
				require.NoError(t, g.Close())
			}
			if u.InProcess {
				require.NoError(t, err, name)
				require.Equal(t, values, got, name)
				continue
			}
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			require.ErrorContains(t, err, "because a reader is one file", name)
		}
	})
}

// TestUntrustedCodecs checks that codecs and filters without bounds checks are refused unless they
// are listed in Codecs or Filters, and that reads are correct if they are listed.
func TestUntrustedCodecs(t *testing.T) {
	dir := t.TempDir()
	shuffled := func(f cblosc.Filter) func(p *cblosc.CParams) {
		return func(p *cblosc.CParams) { p.Filters[4], p.Filters[5] = f, cblosc.Filter{ID: cblosc.Shuffle} }
	}
	for name, x := range map[string]struct {
		set     func(p *cblosc.CParams)
		codecs  []cblosc.Codec
		filters []cblosc.FilterID
	}{
		"zfp":    {func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPPrecision, 30 }, []cblosc.Codec{cblosc.ZFPPrecision}, nil},
		"ndcell": {shuffled(cblosc.Filter{ID: cblosc.NDCell, Meta: 4}), nil, []cblosc.FilterID{cblosc.NDCell}},
	} {
		cp := cblosc.DefaultCParams()
		cp.TypeSize, cp.Filters = 8, [cblosc.MaxFilters]cblosc.Filter{}
		x.set(cp)
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{
			Shape: []int64{32, 64}, ChunkShape: []int32{16, 32}, Blocks: []int32{8, 16}, DType: "<f8",
			Storage: cblosc.Storage{Path: filetest.In(dir, name), Contiguous: true, CParams: cp},
		})
		require.NoError(t, err)
		require.NoError(t, a.WriteRegion(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, 32*64), []int64{0, 0}, []int64{32, 64}))
		require.NoError(t, a.Close())
		filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
			_, err := hyperslab.Open(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			u.Codecs, u.Filters = x.codecs, x.filters
			g, err := hyperslab.Open(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err, name)
			got, err := ndarray.ReadAll[float64](bg, g)
			require.NoError(t, err, name)
			require.Equal(t, slices.Repeat([]float64{1}, 32*64), got, name)
			require.NoError(t, g.Close())
		})
	}
}

// TestUntrustedMetadata checks that MaxMetadata applies to every format and that user-defined links
// are refused, because only a plugin can follow them.
func TestUntrustedMetadata(t *testing.T) {
	dir := t.TempDir()
	spec := filetest.Int32s(500, 7)
	for i := range 40 {
		spec.Attrs = append(spec.Attrs, ndarray.Attr{Name: fmt.Sprintf("attribute %d", i), Value: ndarray.Text(strings.Repeat("x", 50))})
	}
	for _, name := range []string{"a.b2nd", "a.bcolz", "a.h5:/x"} {
		filetest.Save(t, filetest.In(dir, name), spec, nil)
		filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
			g, err := hyperslab.Open(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err, name)
			require.NoError(t, g.Close())
			u.MaxMetadata = 100
			g, err = hyperslab.Open(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			if err == nil {
				_, err = g.Attrs(bg)
				require.NoError(t, g.Close())
			}
			require.ErrorIs(t, err, format.ErrLimit, name)
		})
	}
	file := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/h5dump/testfiles/tudlink.h5")
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		_, err := hyperslab.Open(bg, file+":/x", &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "user-defined link")
	})
}

// TestUntrustedLinks checks that symbolic links cannot lead out of a directory.
func TestUntrustedLinks(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "outside.b2nd"), filetest.Int32s(500, 7), nil)
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), filetest.Int32s(500, 7), &hyperslab.CreateOptions{Sparse: true})
	require.NoError(t, os.Mkdir(filetest.In(dir, "tree"), 0o755))
	require.NoError(t, os.Symlink(filetest.In(dir, "outside.b2nd"), filetest.In(dir, "tree/x.b2nd")))
	chunks := filetest.Entries(t, filetest.In(dir, "sparse.b2nd"))
	name := filetest.In(dir, "sparse.b2nd/"+chunks[0])
	require.NoError(t, os.Rename(name, filetest.In(dir, "moved")))
	require.NoError(t, os.Symlink(filetest.In(dir, "moved"), name))
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		_, err := hyperslab.Open(bg, filetest.In(dir, "tree:/x"), &hyperslab.OpenOptions{Untrusted: &u})
		require.Error(t, err)
		_, err = hyperslab.Open(bg, filetest.In(dir, "sparse.b2nd"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
	})
}

// TestUntrustedRequired checks that a worker with FullIsolation uses rlimits, landlock and seccomp,
// or that Open returns worker.ErrUnavailable.
func TestUntrustedRequired(t *testing.T) {
	location := filetest.In(t.TempDir(), "a.b2nd")
	filetest.Save(t, location, filetest.Int32s(500, 7), nil)
	g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{FullIsolation: true}})
	if errors.Is(err, worker.ErrUnavailable) {
		t.Log("this system does not isolate in full: ", err)
		return
	}
	require.NoError(t, err)
	level := filetest.RequireSandbox(t, g)
	for _, part := range []string{"rlimits", "landlock", "seccomp"} {
		require.Contains(t, level, part)
	}
	require.NoError(t, g.Close())
}
