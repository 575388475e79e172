package filter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	datadog "github.com/DataDog/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// chunksOf decodes every stored chunk of a dataset with a Pipeline and compares the chunk with the
// elements that libhdf5 reads. It returns the number of chunks.
func chunksOf(t testing.TB, d *h5.Dataset, o filter.Options) int {
	t.Helper()
	info, err := d.Info()
	require.NoError(t, err)
	p, err := filter.New(info.Filters, o)
	require.NoError(t, err)
	size := info.Datatype.Size
	for _, c := range info.ChunkShape {
		size *= int(c)
	}
	seen := 0
	for c, err := range d.StoredChunks() {
		require.NoError(t, err)
		seen++
		raw := make([]byte, c.Bytes)
		_, _, err := d.ReadChunk(raw, c.Offset...)
		require.NoError(t, err)
		got := make([]byte, size)
		require.NoError(t, p.Decode(got, raw, c.FilterMask), "chunk %v", c.Offset)
		count := make([]int64, len(c.Offset))
		whole := true
		for i := range count {
			count[i] = min(info.ChunkShape[i], info.Space.Dims[i]-c.Offset[i])
			whole = whole && count[i] == info.ChunkShape[i]
		}
		if !whole {
			continue // the tests of chunkio cover partial chunks
		}
		want := make([]byte, size)
		require.NoError(t, d.ReadRegion(want, info.Datatype, h5.Region{Start: c.Offset, Count: count}))
		require.Equal(t, want, got, "chunk %v", c.Offset)
	}
	return seen
}

// TestRegistered checks every filter through libhdf5, which must write with this package's encoders
// and read the values again. A Pipeline must decode each raw chunk.
func TestRegistered(t *testing.T) {
	f, _ := newFile(t)
	defer f.Close()
	src := data(4*50*40, 1)
	kind := h5.IEEEFloat(4, h5.LittleEndian)
	names := map[string]bool{}
	for i, s := range settings() {
		for rank, shape := range [][]int64{{2000}, {50, 40}, {10, 20, 10}} {
			chunks := [][]int64{{300}, {16, 15}, {4, 7, 10}}[rank]
			name := fmt.Sprintf("%d_%d", i, rank)
			d, err := f.Root().CreateDataset(name, kind, h5.SimpleSpace(shape...), &h5.DatasetOptions{
				ChunkShape: chunks, Filters: []h5.Filter{{ID: s.id, Optional: s.id == filter.IDLZF, Values: s.given}},
			})
			require.NoError(t, err, s.name)
			require.NoError(t, d.WriteRegion(src, kind, region(shape...)), s.name)
			require.NoError(t, f.Flush())
			require.Positive(t, chunksOf(t, d, filter.Options{}), s.name)
			info, err := d.Info()
			require.NoError(t, err)
			names[info.Filters[0].Name] = true
			require.NoError(t, d.Close())
			d, err = f.Root().OpenDataset(name) // nothing is cached
			require.NoError(t, err)
			got := make([]byte, len(src))
			require.NoError(t, d.ReadRegion(got, kind, region(shape...)), s.name)
			require.Equal(t, src, got, s.name)
		}
	}
	require.Len(t, names, 10, "%v", names)
	require.NoError(t, f.Close())
}

// TestCodec_LibraryReads checks that libhdf5's filters read the chunks that this package encodes.
func TestCodec_LibraryReads(t *testing.T) {
	f, _ := newFile(t)
	defer f.Close()
	kind := h5.IEEEFloat(4, h5.LittleEndian)
	for i, s := range settings() {
		shape, chunks := []int64{50, 40}, []int64{25, 10}
		name := fmt.Sprint(i)
		d, err := f.Root().CreateDataset(name, kind, h5.SimpleSpace(shape...), &h5.DatasetOptions{
			ChunkShape: chunks, Filters: []h5.Filter{{ID: s.id, Optional: true, Values: s.given}},
		})
		require.NoError(t, err, s.name)
		info, err := d.Info()
		require.NoError(t, err)
		require.True(t, slices.Equal(s.stored(4, 25, 10), info.Filters[0].Values), s.name)
		p, err := filter.New(info.Filters, filter.Options{})
		require.NoError(t, err)
		for at := range 8 {
			src := data(1000, uint64(at))
			enc, mask, err := p.Encode(nil, src)
			require.NoError(t, err)
			start := []int64{int64(at) / 4 * 25, int64(at) % 4 * 10}
			require.NoError(t, d.WriteChunk(enc, mask, start...))
			got := make([]byte, len(src))
			require.NoError(t, d.ReadRegion(got, kind, h5.Region{Start: start, Count: chunks}), s.name)
			require.Equal(t, src, got, s.name)
		}
		require.NoError(t, d.Close())
	}
}

// TestBlosc_Contexts checks Blosc chunks that a Pipeline encodes with contexts, which allow
// concurrent calls. libhdf5 must read them, and with Exact they must have the bytes of the Blosc
// plug-in.
func TestBlosc_Contexts(t *testing.T) {
	f, _ := newFile(t)
	defer f.Close()
	kind := h5.IEEEFloat(4, h5.LittleEndian)
	for i, src := range [][]byte{data(4000, 1), testutil.Noise(4000, 1), make([]byte, 4000), bytes.Repeat(data(400, 2), 10)} {
		for codec := range uint32(6) {
			if codec == 3 {
				continue // Snappy
			}
			for shuffle := range uint32(3) {
				at := fmt.Sprintf("data %d, codec %d, shuffle %d", i, codec, shuffle)
				d, err := f.Root().CreateDataset(fmt.Sprintf("%d-%d-%d", i, codec, shuffle), kind, h5.SimpleSpace(1000), &h5.DatasetOptions{
					ChunkShape: []int64{1000}, Filters: []h5.Filter{{ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, shuffle, codec}}}})
				require.NoError(t, err, at)
				require.NoError(t, d.WriteRegion(src, kind, region(1000)), at)
				plugin := make([]byte, 10000)
				n, _, err := d.ReadChunk(plugin, 0)
				require.NoError(t, err, at)
				info, err := d.Info()
				require.NoError(t, err, at)
				for _, exact := range []bool{true, false} {
					p, err := filter.New(info.Filters, filter.Options{Exact: exact})
					require.NoError(t, err, at)
					ours, mask, err := p.Encode(nil, src)
					require.NoError(t, err, at)
					require.Zero(t, mask, at)
					if exact {
						require.Equal(t, plugin[:n], ours, at)
					}
					require.Equal(t, plugin[3], ours[3], "%s: the size of an element", at)
					require.NoError(t, d.WriteChunk(ours, 0, 0), at)
					got := make([]byte, len(src))
					require.NoError(t, d.ReadRegion(got, kind, region(1000)), at)
					require.Equal(t, src, got, at)
				}
			}
		}
	}
}

// TestExactDeflate checks that Exact deflate returns the same bytes as zlib, which libhdf5 uses.
func TestExactDeflate(t *testing.T) {
	f, _ := newFile(t)
	defer f.Close()
	kind := h5.IEEEFloat(4, h5.LittleEndian)
	src := data(4000, 1)
	for level := range 10 {
		d, err := f.Root().CreateDataset(fmt.Sprint(level), kind, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{1000}, Shuffle: true, Deflate: &level, Fletcher32: true})
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(src, kind, region(1000)))
		want := make([]byte, 10000)
		n, mask, err := d.ReadChunk(want, 0)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		p, err := filter.New(info.Filters, filter.Options{Exact: true})
		require.NoError(t, err)
		got, gotMask, err := p.Encode(nil, src)
		require.NoError(t, err)
		require.Equal(t, mask, gotMask)
		require.Equal(t, want[:n], got, "level %d", level)
		// Without Exact the chunk must be readable and at most about 5% longer.
		p, err = filter.New(info.Filters, filter.Options{})
		require.NoError(t, err)
		ours, _, err := p.Encode(nil, src)
		require.NoError(t, err)
		require.LessOrEqual(t, len(ours), n+n/20+20, "level %d", level)
		require.NoError(t, d.WriteChunk(ours, 0, 0))
		got = make([]byte, len(src))
		require.NoError(t, d.ReadRegion(got, kind, region(1000)))
		require.Equal(t, src, got)
	}
}

// TestSzip checks that this package decodes szip chunks that libhdf5 wrote, and that libhdf5 reads
// those of this package.
func TestSzip(t *testing.T) {
	if !filter.Known(h5.FilterSzip) {
		testenv.Missing(t, "built without szip")
	}
	f, _ := newFile(t)
	defer f.Close()
	for i, kind := range []h5.Datatype{h5.Uint(1, h5.LittleEndian), h5.Int(2, h5.BigEndian), h5.Int(4, h5.LittleEndian), h5.IEEEFloat(4, h5.BigEndian), h5.IEEEFloat(8, h5.LittleEndian)} {
		for mask, pixels := range map[uint32]uint32{4: 16, 32: 8} { // entropy coding, nearest neighbour
			d, err := f.Root().CreateDataset(fmt.Sprintf("%d_%d", i, mask), kind, h5.SimpleSpace(60, 64), &h5.DatasetOptions{
				ChunkShape: []int64{30, 64}, Filters: []h5.Filter{{ID: h5.FilterSzip, Optional: true, Values: []uint32{mask, pixels}}},
			})
			require.NoError(t, err)
			src := make([]byte, 60*64*kind.Size)
			for at := range src {
				if at%kind.Size == kind.Size-1 {
					src[at] = byte(at / 64 % 7)
				}
			}
			require.NoError(t, d.WriteRegion(src, kind, region(60, 64)))
			require.Equal(t, 2, chunksOf(t, d, filter.Options{}))
			info, err := d.Info()
			require.NoError(t, err)
			p, err := filter.New(info.Filters, filter.Options{})
			require.NoError(t, err)
			want := make([]byte, len(src))
			n, left, err := d.ReadChunk(want, 0, 0)
			require.NoError(t, err)
			got, gotLeft, err := p.Encode(nil, src[:len(src)/2])
			require.NoError(t, err)
			require.Equal(t, left, gotLeft)
			require.Equal(t, want[:n], got)
		}
	}
}

// TestInterop_PeersWrite checks that this package reads files written with the plug-ins of
// hdf5plugin and with h5py's LZF.
func TestInterop_PeersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs.h5")
	python(t, `
import sys, h5py, hdf5plugin, numpy as np
rng = np.random.default_rng(1)
with h5py.File(sys.argv[1], "w") as f:
    for dt in ["<i2", ">f4", "<f8", "u1", "<c16"][::int(sys.argv[2])]:
        a = np.round(np.sin(np.arange(50 * 44).reshape(50, 44) / 50) * 20).astype(dt)
        b = np.round(np.sin(np.arange(3000) / 50) * 20).astype(dt)
        c = np.round(np.sin(np.arange(12 * 13 * 14).reshape(12, 13, 14) / 50) * 20).astype(dt)
        noise = rng.integers(0, 256, a.nbytes, dtype="u1").view(dt).reshape(a.shape)
        i = 0
        for o in [dict(compression="lzf"), dict(compression="gzip", shuffle=True, fletcher32=True), dict(compression="lzf", shuffle=True),
                  hdf5plugin.LZ4(), hdf5plugin.LZ4(nbytes=512), hdf5plugin.BZip2(), hdf5plugin.BZip2(1), hdf5plugin.Zstd(), hdf5plugin.Zstd(15),
                  hdf5plugin.Bitshuffle(cname="none"), hdf5plugin.Bitshuffle(cname="lz4"), hdf5plugin.Bitshuffle(cname="zstd"), hdf5plugin.Bitshuffle(nelems=64, cname="lz4"),
                  *[hdf5plugin.Blosc(cname=c, shuffle=s) for c in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] for s in range(3)],
                  *[hdf5plugin.Blosc2(cname=c, filters=s) for c in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] for s in range(4)]]:
            for k, (v, chunks) in enumerate([(a, (16, 22)), (b, (400,)), (c, (5, 6, 7)), (noise, (16, 22)), (a * 0, (50, 44))]):
                f.create_dataset(f"{dt[-2:]}_{i}_{k}", data=v, chunks=chunks, **o)
            i += 1
`, path, sampled("3"))
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	datasets, chunks := 0, 0
	for l, err := range f.Root().Links() {
		require.NoError(t, err)
		d, err := f.Root().OpenDataset(l.Name)
		require.NoError(t, err)
		func() {
			defer func() {
				if t.Failed() {
					t.Log(l.Name)
				}
			}()
			chunks += chunksOf(t, d, filter.Options{})
		}()
		datasets++
	}
	types := 2
	if testenv.All() {
		types = 5
	}
	require.Equal(t, types*48*5, datasets)
	require.Greater(t, chunks, datasets)
	// Python and this package must compute the same checksum of the values of each dataset.
	sums := python(t, `
import sys, json, h5py, hdf5plugin, numpy as np, zlib
with h5py.File(sys.argv[1]) as f:
    print(json.dumps({k: zlib.crc32(f[k][()].tobytes()) for k in f}))
`, path)
	compareSums(t, f, sums)
}

// TestInterop_PeersRead checks that hdf5plugin reads files written by this package through libhdf5
// and as raw chunks.
func TestInterop_PeersRead(t *testing.T) {
	f, path := newFile(t)
	defer f.Close()
	for i, s := range settings() {
		for j, kind := range []h5.Datatype{h5.Int(2, h5.BigEndian), h5.IEEEFloat(8, h5.LittleEndian), h5.Uint(1, h5.LittleEndian)} {
			for k, shape := range [][]int64{{1000}, {30, 44}, {9, 10, 11}} {
				chunks := [][]int64{{256}, {10, 44}, {4, 5, 6}}[k]
				d, err := f.Root().CreateDataset(fmt.Sprintf("d%d_%d_%d", i, j, k), kind, h5.SimpleSpace(shape...), &h5.DatasetOptions{
					ChunkShape: chunks, Filters: []h5.Filter{{ID: s.id, Optional: true, Values: s.given}},
				})
				require.NoError(t, err, s.name)
				n := int(region(shape...).NumElems()) * kind.Size
				src := data(n, uint64(i))
				switch j {
				case 1:
					src = testutil.Noise(n, uint64(i))
				case 2:
					src = make([]byte, n)
				}
				require.NoError(t, d.WriteRegion(src, kind, region(shape...)), s.name)
			}
		}
	}
	require.NoError(t, f.Close())
	sums := python(t, `
import sys, json, h5py, hdf5plugin, zlib
with h5py.File(sys.argv[1]) as f:
    sums, bad = {}, []
    for k in f:
        try: sums[k] = zlib.crc32(f[k][()].tobytes())
        except OSError as e: bad.append((k, dict(f[k]._filters)))
    assert not bad, bad
    print(json.dumps(sums))
`, path)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, len(settings())*9, compareSums(t, f, sums))
}

// compareSums compares the stored values of every dataset with the checksums computed by NumPy. It
// returns the number of datasets.
func compareSums(t *testing.T, f *h5.File, sums string) int {
	t.Helper()
	want := map[string]uint32{}
	require.NoError(t, json.Unmarshal([]byte(sums), &want))
	for name, sum := range want {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		b := make([]byte, info.Space.NumElems()*int64(info.Datatype.Size))
		require.NoError(t, d.ReadRegion(b, info.Datatype, info.Space.All()), name)
		require.Equal(t, sum, crc32.ChecksumIEEE(b), name)
	}
	return len(want)
}

// TestCorpus reads files of other programs from the corpus.
func TestCorpus(t *testing.T) {
	for _, path := range testenv.Files(t, testenv.Corpus, "hdf5-filters/*.h5") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".h5"), func(t *testing.T) {
			f, err := h5.Open(path, h5.ReadOnly)
			require.NoError(t, err)
			defer f.Close()
			chunks := 0
			var walk func(g *h5.Group)
			walk = func(g *h5.Group) {
				for l, err := range g.Links() {
					require.NoError(t, err)
					kind, err := g.Kind(l.Name)
					require.NoError(t, err)
					if kind == h5.GroupObject {
						sub, err := g.OpenGroup(l.Name)
						require.NoError(t, err)
						walk(sub)
						continue
					}
					d, err := g.OpenDataset(l.Name)
					require.NoError(t, err)
					info, err := d.Info()
					require.NoError(t, err)
					if info.Layout == h5.Chunked && info.Datatype.Plain() {
						chunks += chunksOf(t, d, filter.Options{})
					}
				}
			}
			walk(f.Root())
			require.Positive(t, chunks)
		})
	}
}

// TestDamagedChunk checks that reading a corrupt chunk through libhdf5 returns ErrCorrupt.
func TestDamagedChunk(t *testing.T) {
	f, _ := newFile(t)
	defer f.Close()
	for _, id := range []int{filter.IDBlosc, filter.IDBlosc2, filter.IDLZF, filter.IDZstd, filter.IDLZ4, filter.IDBZip2} {
		d, err := f.Root().CreateDataset(fmt.Sprint(id), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(100), &h5.DatasetOptions{ChunkShape: []int64{50}, Filters: []h5.Filter{{ID: id}}})
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk([]byte("this is no chunk of any kind"), 0, 0))
		err = d.ReadRegion(make([]byte, 400), h5.Int(4, h5.LittleEndian), region(100))
		require.ErrorIs(t, err, h5.ErrCorrupt, "filter %d", id)
	}
}

// TestBlosc2_library checks Blosc2 through libhdf5. Incompressible data must be written although
// the filter is not optional. After an error of a corrupt chunk, libhdf5 and contexts created
// before must still work.
func TestBlosc2_library(t *testing.T) {
	c, err := cblosc.NewCompressor(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	f, _ := newFile(t)
	defer f.Close()
	kind := h5.Int(4, h5.LittleEndian)
	for name, src := range map[string][]byte{"noise": testutil.Noise(40000, 1), "zeros": make([]byte, 40000), "data": data(40000, 1)} {
		d, err := f.Root().CreateDataset(name, kind, h5.SimpleSpace(100, 100), &h5.DatasetOptions{
			ChunkShape: []int64{30, 40}, Filters: []h5.Filter{{ID: filter.IDBlosc2}}})
		require.NoError(t, err, name)
		for range 2 { // create the chunks, then overwrite them
			require.NoError(t, d.WriteRegion(src, kind, region(100, 100)), name)
		}
		got := make([]byte, len(src))
		require.NoError(t, d.ReadRegion(got, kind, region(100, 100)), name)
		require.Equal(t, src, got, name)
		for at, err := range d.StoredChunks() {
			require.NoError(t, err)
			require.Zero(t, at.FilterMask, "%s: nothing was left out", name)
		}
		require.NoError(t, d.WriteChunk([]byte("no chunk"), 0, 0, 0))
		require.NoError(t, d.Close())
		d, err = f.Root().OpenDataset(name)
		require.NoError(t, err)
		require.ErrorIs(t, d.ReadRegion(got, kind, region(100, 100)), h5.ErrCorrupt)
		rest := h5.Region{Start: []int64{30, 40}, Count: []int64{70, 60}}
		got = got[:4*70*60]
		require.NoError(t, d.ReadRegion(got, kind, rest), "the other chunks of %s", name)
		require.Equal(t, src[4*(30*100+40):][:4*60], got[:4*60], name)
		_, err = c.Compress(make([]byte, cblosc.MaxCompressedSize(len(src))), src)
		require.NoError(t, err)
	}
}

// TestBlosc_ContextReuse checks that the filter called by libhdf5 reuses its contexts, because a
// new context for each chunk would allocate two blocks of memory.
func TestBlosc_ContextReuse(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // garbage collection empties pools
	f, _ := newFile(t)
	defer f.Close()
	kind := h5.Int(4, h5.LittleEndian)
	const chunks = 300
	src := data(4*chunks*20, 1)
	d, err := f.Root().CreateDataset("d", kind, h5.SimpleSpace(chunks*20), &h5.DatasetOptions{ChunkShape: []int64{20}, Filters: []h5.Filter{{ID: filter.IDBlosc2}}})
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion(src[:80], kind, region(20)))
	before, _ := cmem.Live()
	require.NoError(t, d.WriteRegion(src, kind, region(chunks*20)))
	require.NoError(t, d.Close())
	d, err = f.Root().OpenDataset("d") // nothing is cached
	require.NoError(t, err)
	got := make([]byte, len(src))
	require.NoError(t, d.ReadRegion(got, kind, region(chunks*20)))
	require.Equal(t, src, got)
	after, _ := cmem.Live()
	require.Less(t, after-before, int64(2*chunks), "the race detector throws a quarter of what is idle away")
}

// TestBlosc_afterBlosc2 reads a dataset with the filter Blosc after one with Blosc2, whose chunk
// has a filter with a parameter. Both use the same contexts.
func TestBlosc_afterBlosc2(t *testing.T) {
	f, _ := newFile(t)
	defer func() { require.NoError(t, f.Close()) }()
	src := data(40000, 1)
	kind, space := h5.Int(8, h5.LittleEndian), h5.SimpleSpace(5000)
	create := func(name string, of h5.Filter) *h5.Dataset {
		d, err := f.Root().CreateDataset(name, kind, space, &h5.DatasetOptions{ChunkShape: []int64{5000}, Filters: []h5.Filter{of}})
		require.NoError(t, err)
		return d
	}
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{4: {ID: cblosc.Shuffle}, 5: {ID: cblosc.ByteDelta, Meta: 4}}
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true, CParams: p})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(src))
	frame, err := s.Bytes()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	newer, older := create("blosc2", filter.Blosc2(cblosc.LZ4, 5, cblosc.Shuffle)), create("blosc", filter.Blosc(cblosc.LZ4, 5, cblosc.Shuffle))
	require.NoError(t, newer.WriteChunk(frame, 0, 0))
	require.NoError(t, older.WriteRegion(src, kind, region(5000)))
	require.NoError(t, f.Flush())

	chunks := make([][]byte, 2)
	var pipelines [2]*filter.Pipeline
	for i, d := range []*h5.Dataset{newer, older} {
		info, err := d.Info()
		require.NoError(t, err)
		pipelines[i], err = filter.New(info.Filters, filter.Options{})
		require.NoError(t, err)
		chunks[i] = make([]byte, len(src))
		n, _, err := d.ReadChunk(chunks[i], 0)
		require.NoError(t, err)
		chunks[i] = chunks[i][:n]
		require.NoError(t, d.Close())
	}
	for range 3 {
		for i, p := range pipelines {
			got := make([]byte, len(src))
			require.NoError(t, p.Decode(got, chunks[i], 0))
			require.True(t, bytes.Equal(src, got), "pipeline %d", i)
		}
	}
	for _, name := range []string{"blosc2", "blosc"} { // through libhdf5, with nothing cached
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		got := make([]byte, len(src))
		require.NoError(t, d.ReadRegion(got, kind, region(5000)))
		require.True(t, bytes.Equal(src, got), name)
		require.NoError(t, d.Close())
	}
}

// TestZstd_otherLibrary exchanges chunks with another copy of Zstandard in both directions.
func TestZstd_otherLibrary(t *testing.T) {
	for _, level := range []int{1, 3, 9, 22} {
		p, err := filter.New([]h5.Filter{filter.Zstd(level)}, filter.Options{})
		require.NoError(t, err)
		for _, n := range []int{1000, 1 << 20} {
			src := testutil.Ramp(n, 1)
			b := make([]byte, p.Bound(n))
			raw, mask, err := p.Encode(b, src)
			require.NoError(t, err)
			require.Zero(t, mask)
			got, err := datadog.Decompress(nil, raw)
			require.NoError(t, err)
			require.Equal(t, src, got)

			other, err := datadog.CompressLevel(nil, src, level)
			require.NoError(t, err)
			got = make([]byte, n)
			require.NoError(t, p.Decode(got, other, 0))
			require.Equal(t, src, got)
		}
	}
}
