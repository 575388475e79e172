package chunkio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func create(t testing.TB, path string) *h5.File {
	t.Helper()
	o := h5.CreateOptions{}
	o.Truncate = true
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	return f
}

func open(t testing.TB, path string, mode h5.Mode, name string) (*h5.File, *h5.Dataset) {
	t.Helper()
	f, err := h5.Open(path, mode)
	require.NoError(t, err)
	d, err := f.Root().OpenDataset(name)
	require.NoError(t, err)
	return f, d
}

func all(shape ...int64) h5.Region {
	return h5.Region{Start: make([]int64, len(shape)), Count: shape}
}

// bytesLike returns n pseudo-random bytes that compress slightly because they contain a few runs.
func bytesLike(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(4))
		if i%16 == 7 {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

// types are stored types whose native form differs at most in byte order.
var types = []h5.Datatype{
	h5.Int(1, h5.LittleEndian), h5.Int(2, h5.BigEndian), h5.Uint(4, h5.LittleEndian), h5.IEEEFloat(4, h5.BigEndian),
	h5.IEEEFloat(8, h5.LittleEndian), h5.Int(8, h5.BigEndian), h5.FixedString(5, h5.NullPad, h5.ASCII),
	{Class: h5.Array, Size: 12, Dims: []int64{3}, Base: new(h5.Int(4, h5.BigEndian))},
	{Class: h5.Compound, Size: 6, Members: []h5.Member{{Name: "a", Type: new(h5.Int(2, h5.LittleEndian))}, {Name: "b", Offset: 2, Type: new(h5.IEEEFloat(4, h5.LittleEndian))}}},
}

// pipelines returns filter pipelines as a caller passes them to CreateDataset.
func pipelines(size int) map[string][]h5.Filter {
	p := map[string][]h5.Filter{
		"none":              nil,
		"deflate":           {h5.Deflate(6)},
		"shuffle deflate":   {h5.Shuffle(), h5.Deflate(1)},
		"all three":         {h5.Shuffle(), h5.Deflate(4), h5.Fletcher32()},
		"checksum first":    {h5.Fletcher32(), h5.Shuffle(), h5.Deflate(1)},
		"lzf":               {h5.Shuffle(), {ID: filter.IDLZF, Optional: true}},
		"lz4":               {{ID: filter.IDLZ4}},
		"bitshuffle lz4":    {{ID: filter.IDBitShuffle, Values: []uint32{0, 2}}},
		"zstd":              {h5.Shuffle(), {ID: filter.IDZstd}, h5.Fletcher32()},
		"bzip2":             {{ID: filter.IDBZip2, Values: []uint32{1}}},
		"blosc":             {{ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}},
		"blosc2":            {{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}},
		"blosc2 zstd small": {{ID: filter.IDBlosc2, Values: []uint32{0, 64, 0, 0, 1, 2, 5}}},
		"blosc2 checksum":   {{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}, h5.Fletcher32()},
		"library's own":     {h5.Nbit()},
	}
	if size != 1 && size != 2 && size != 4 && size != 8 {
		delete(p, "library's own")
	}
	return p
}

// drawn holds the random parameters of a dataset.
type drawn struct {
	dt      h5.Datatype
	shape   []int64
	chunks  []int64
	filters []h5.Filter
	options h5.DatasetOptions
}

func draw(r *rapid.T) drawn {
	var c drawn
	c.dt = rapid.SampledFrom(types).Draw(r, "type")
	rank := rapid.IntRange(1, 4).Draw(r, "rank")
	for range rank {
		n := rapid.Int64Range(1, []int64{200, 30, 12, 7}[rank-1]).Draw(r, "extent")
		c.shape = append(c.shape, n)
		c.chunks = append(c.chunks, rapid.Int64Range(1, n).Draw(r, "chunk"))
	}
	ways := pipelines(c.dt.Size)
	names := make([]string, 0, len(ways))
	for _, n := range []string{"none", "deflate", "shuffle deflate", "all three", "checksum first", "lzf", "lz4", "bitshuffle lz4", "zstd", "bzip2",
		"blosc", "blosc2", "blosc2 zstd small", "blosc2 checksum", "library's own"} {
		if _, ok := ways[n]; ok {
			names = append(names, n)
		}
	}
	c.filters = ways[rapid.SampledFrom(names).Draw(r, "filters")]
	c.options = h5.DatasetOptions{ChunkShape: c.chunks, Filters: c.filters, PlainEdges: rapid.IntRange(0, 3).Draw(r, "edges") == 0}
	if c.dt.Class != h5.Compound {
		switch rapid.IntRange(0, 3).Draw(r, "fill") {
		case 1:
			c.options.Fill = bytesLike(c.dt.Size, 9)
		case 2:
			c.options.NoFill = true
		}
	}
	c.options.FillTime = rapid.SampledFrom([]h5.FillTime{h5.FillIfSet, h5.FillIfSet, h5.FillOnAlloc, h5.FillNever}).Draw(r, "fill time")
	if c.options.NoFill && c.options.FillTime == h5.FillOnAlloc {
		c.options.FillTime = h5.FillIfSet
	}
	return c
}

func (c *drawn) region(r *rapid.T) h5.Region {
	reg := h5.Region{}
	steps := rapid.IntRange(0, 2).Draw(r, "steps") == 0
	if steps {
		reg.Stride = make([]int64, len(c.shape))
		if rapid.Bool().Draw(r, "blocks") {
			reg.Block = make([]int64, len(c.shape))
		}
	}
	for i, n := range c.shape {
		from := rapid.Int64Range(0, n-1).Draw(r, "from")
		to := rapid.Int64Range(from+1, n).Draw(r, "to")
		if rapid.IntRange(0, 2).Draw(r, "all") == 0 {
			from, to = 0, n
		}
		count := to - from
		if steps {
			block := int64(1)
			if reg.Block != nil {
				block = rapid.Int64Range(1, min(count, 2*c.chunks[i])).Draw(r, "block")
				reg.Block[i] = block
			}
			reg.Stride[i] = rapid.Int64Range(block, max(block, min(count, 3*c.chunks[i]))).Draw(r, "stride")
			count = (count-block)/reg.Stride[i] + 1
		}
		reg.Start, reg.Count = append(reg.Start, from), append(reg.Count, count)
	}
	return reg
}

func (c *drawn) mem(r *rapid.T) h5.Datatype {
	if c.dt.Class != h5.Compound && c.dt.Class != h5.String && rapid.Bool().Draw(r, "native") {
		return c.dt.Native()
	}
	return c.dt
}

func (c *drawn) opts(r *rapid.T) *chunkio.Options {
	return &chunkio.Options{
		Workers: rapid.IntRange(1, 4).Draw(r, "workers"),
		Memory:  rapid.SampledFrom([]int64{0, 0, 0, 1 << 15}).Draw(r, "memory"),
		Exact:   rapid.Bool().Draw(r, "exact"),
	}
}

// TestAgainstLibrary checks that Read returns the same bytes as libhdf5 for random datasets and
// regions, and that libhdf5 and Read return what Write stored.
func TestAgainstLibrary(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	fast, masked := 0, 0
	n, refused, written := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		c := draw(r)
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", n%8))
		f := create(t, path)
		defer func() { _ = f.Close() }()
		ours, err := f.Root().CreateDataset("ours", c.dt, h5.SimpleSpace(c.shape...), &c.options)
		require.NoError(r, err)
		theirs, err := f.Root().CreateDataset("theirs", c.dt, h5.SimpleSpace(c.shape...), &c.options)
		require.NoError(r, err)
		whole := all(c.shape...)
		size := whole.NumElems() * int64(c.dt.Size)
		compare := func(o *chunkio.Options) {
			t.Helper()
			reg, mem := c.region(r), c.mem(r)
			// Elements without a stored chunk and without a fill value must not change in the
			// buffer.
			want := bytesLike(int(reg.NumElems())*c.dt.Size, 5)
			for _, d := range []*h5.Dataset{ours, theirs} {
				got := bytesLike(len(want), 5)
				refused := theirs.ReadRegion(want, mem, reg)
				s, err := chunkio.Read(ctx, d, got, mem, reg, o)
				if refused != nil { // nothing stored, no fill value
					require.Error(r, err)
					require.NotEmpty(r, s.Fallback)
					continue
				}
				require.NoError(r, err)
				if s.Fallback == "" {
					fast++
				}
				require.Equal(r, want, got, "%s: %+v", d.Path(), s)
			}
		}
		for i := range rapid.IntRange(0, 4).Draw(r, "writes") {
			for range rapid.IntRange(0, 2).Draw(r, "raw") {
				masked += c.raw(r, ours, theirs)
			}
			reg, mem := c.region(r), c.mem(r)
			src := bytesLike(int(reg.NumElems())*c.dt.Size, uint64(i))
			if c.options.FillTime == h5.FillNever || c.options.NoFill {
				reg, src = whole, bytesLike(int(size), uint64(i)) // the padding of a chunk around a region is undefined
			}
			_, err := chunkio.Write(ctx, ours, src, mem, reg, c.opts(r))
			require.NoError(r, err)
			if err := theirs.WriteRegion(src, mem, reg); errors.Is(err, errors.ErrUnsupported) && masked > 0 {
				refused++ // libhdf5 would lose the filter mask of a chunk
				_, err = chunkio.Write(ctx, theirs, src, mem, reg, nil)
				require.NoError(r, err)
			} else {
				require.NoError(r, err)
				written++
			}
			if rapid.Bool().Draw(r, "look") {
				compare(c.opts(r))
			}
		}
		for range rapid.IntRange(0, 2).Draw(r, "last raw") {
			masked += c.raw(r, ours, theirs)
		}
		compare(c.opts(r))
		if c.options.FillTime != h5.FillNever && !c.options.NoFill && rapid.Bool().Draw(r, "over") {
			// Write must leave no chunk with a filter mask.
			reg := c.region(r)
			src := bytesLike(int(reg.NumElems())*c.dt.Size, 11)
			s, err := chunkio.Write(ctx, ours, src, c.dt, reg, nil)
			require.NoError(r, err)
			got := make([]byte, len(src))
			if s.Fallback == "" {
				require.NoError(r, ours.ReadRegion(got, c.dt, reg))
				require.Equal(r, src, got)
			}
			_, err = chunkio.Write(ctx, theirs, src, c.dt, reg, nil)
			require.NoError(r, err)
		}
		require.NoError(r, f.Close())
		f, ours = open(t, path, h5.ReadOnly, "ours")
		theirs, err = f.Root().OpenDataset("theirs")
		require.NoError(r, err)
		for range 3 {
			compare(c.opts(r))
		}
	})
	for _, count := range []int{fast, masked, written} {
		testenv.Occurred(t, count, n)
	}
	t.Logf("%d writes by libhdf5, %d refused", written, refused)
}

// raw stores one chunk in each of the datasets and skips the filters of a random mask, as other
// programs do. It returns the number of skipped filters.
func (c *drawn) raw(r *rapid.T, to ...*h5.Dataset) (out int) {
	info, err := to[0].Info()
	require.NoError(r, err)
	whole, err := filter.New(info.Filters, filter.Options{})
	if err != nil || len(info.Filters) == 0 {
		return 0 // not supported by filter.New: libhdf5 encodes the chunk
	}
	n, offset := c.dt.Size, make([]int64, len(c.shape))
	for i, chunk := range c.chunks {
		n *= int(chunk)
		offset[i] = chunk * rapid.Int64Range(0, (c.shape[i]-1)/chunk).Draw(r, "chunk")
		if c.options.PlainEdges && offset[i]+chunk > c.shape[i] {
			return 0 // not encoded, whatever the mask is
		}
	}
	mask := rapid.Uint32Range(0, 1<<whole.Len()-1).Draw(r, "mask")
	var rest []h5.Filter
	for i, f := range info.Filters {
		if mask>>i&1 == 0 {
			f.Optional = false
			rest = append(rest, f)
		} else {
			out++
		}
	}
	part, err := filter.New(rest, filter.Options{})
	require.NoError(r, err)
	b, _, err := part.Encode(nil, bytesLike(n, uint64(mask)+7))
	if errors.Is(err, filter.ErrGrows) {
		return 0
	}
	require.NoError(r, err)
	for _, d := range to {
		require.NoError(r, chunkio.Store(d, b, mask, offset...))
	}
	return out
}

// TestReader_Tools checks that h5dump and h5diff read the written values.
func TestReader_Tools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i4 := h5.Int(4, h5.BigEndian)
	src := bytesLike(4*300*200, 1)
	o := &h5.DatasetOptions{ChunkShape: []int64{64, 64}, Filters: []h5.Filter{h5.Shuffle(), h5.Deflate(6), h5.Fletcher32()}}
	for _, name := range []string{"ours", "theirs"} {
		d, err := f.Root().CreateDataset(name, i4, h5.SimpleSpace(300, 200), o)
		require.NoError(t, err)
		if name == "theirs" {
			require.NoError(t, d.WriteRegion(src, i4, all(300, 200)))
			continue
		}
		s, err := chunkio.Write(context.Background(), d, src, i4, all(300, 200), nil)
		require.NoError(t, err)
		require.Empty(t, s.Fallback)
		require.EqualValues(t, 20, s.Chunks)
	}
	require.NoError(t, f.Close())
	out, err := exec.Command(testenv.Tool(t, "h5diff"), "-v", path, path, "/ours", "/theirs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "0 differences found")
	dump := func(name string) string {
		out, err := exec.Command(testenv.Tool(t, "h5dump"), "-y", "-w", "200", "-d", "/"+name, path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		_, data, found := strings.Cut(string(out), "DATASPACE")
		require.True(t, found)
		return data
	}
	require.True(t, dump("theirs") == dump("ours"))
}

// TestWrite_reproducible checks that the file has the same bytes for every number of workers.
func TestWrite_reproducible(t *testing.T) {
	var want []byte
	src := bytesLike(8*5000, 2)
	f8 := h5.IEEEFloat(8, h5.LittleEndian)
	for workers := 1; workers <= 5; workers++ {
		path := filepath.Join(t.TempDir(), "x.h5")
		f := create(t, path)
		d, err := f.Root().CreateDataset("d", f8, h5.SimpleSpace(5000), &h5.DatasetOptions{ChunkShape: []int64{77}, Filters: []h5.Filter{h5.Shuffle(), h5.Deflate(3)}})
		require.NoError(t, err)
		_, err = chunkio.Write(context.Background(), d, src, f8, all(5000), &chunkio.Options{Workers: workers})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "%d workers", workers)
	}
}

func TestReader_Unsupported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	defer f.Close()
	i4 := h5.Int(4, h5.LittleEndian)
	deflate := &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{h5.Deflate(6)}}
	dataset := func(name string, dt h5.Datatype, o *h5.DatasetOptions) *h5.Dataset {
		d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(100), o)
		require.NoError(t, err)
		return d
	}
	chunked := dataset("chunked", i4, deflate)
	src := bytesLike(400, 1)
	ctx := context.Background()
	for _, tt := range []struct {
		name string
		d    *h5.Dataset
		mem  h5.Datatype
		r    h5.Region
		o    *chunkio.Options
		n    int
		why  string
	}{
		{"fast", chunked, i4, all(100), nil, 400, ""},
		{"asked", chunked, i4, all(100), &chunkio.Options{Library: true}, 400, "asked for"},
		{"contiguous", dataset("contiguous", i4, nil), i4, all(100), nil, 400, "the dataset is contiguous"},
		{"steps", chunked, i4, h5.Region{Start: []int64{0}, Count: []int64{50}, Stride: []int64{2}}, nil, 200, ""},
		{"floats of 16 bits, in another order", dataset("half", h5.IEEEFloat(2, h5.BigEndian), deflate), h5.IEEEFloat(2, h5.LittleEndian), all(100), nil, 200, ""},
		{"memory", chunked, i4, all(100), &chunkio.Options{Memory: 100}, 400, "of memory, 100 are allowed"},
		{"library's filter", dataset("nbit", i4, &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{h5.Nbit()}}), i4, all(100), nil, 400, "filter 5"},
		{"library's other filter", dataset("scaleoffset", i4, &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}}), i4, all(100), nil, 400, "filter 6"},
		{"no elements", chunked, i4, all(0), nil, 0, "no elements"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := src[:tt.n]
			s, err := chunkio.Write(ctx, tt.d, values, tt.mem, tt.r, tt.o)
			require.NoError(t, err)
			require.Contains(t, s.Fallback, tt.why)
			require.Equal(t, tt.why == "", s.Fallback == "")
			got := make([]byte, tt.n)
			s, err = chunkio.Read(ctx, tt.d, got, tt.mem, tt.r, tt.o)
			require.NoError(t, err)
			require.Contains(t, s.Fallback, tt.why)
			require.Equal(t, values, got)
		})
	}
	s, err := chunkio.Write(ctx, dataset("plain", i4, &h5.DatasetOptions{ChunkShape: []int64{10}}), src, i4, all(100), nil)
	require.NoError(t, err)
	require.Contains(t, s.Fallback, "no filters")

	f8 := h5.IEEEFloat(8, h5.NativeOrder)
	got := make([]byte, 800)
	s, err = chunkio.Read(ctx, chunked, got, f8, all(100), nil)
	require.NoError(t, err)
	require.Contains(t, s.Fallback, "a conversion between")
	want, err := h5value.ReadAll[float64](chunked)
	require.NoError(t, err)
	for i, v := range want {
		require.Equal(t, math.Float64bits(v), binary.NativeEndian.Uint64(got[8*i:]))
	}
	s, err = chunkio.Write(ctx, chunked, got, f8, all(100), nil)
	require.ErrorIs(t, err, h5.ErrType, "not every float is an integer of 4 bytes")
	require.Contains(t, s.Fallback, "a conversion between")
}

// TestRead_withoutLock checks that chunks are read without the lock only if the addresses are
// offsets in one file. A user block adds a constant to them, and some drivers use several files or
// none.
func TestRead_withoutLock(t *testing.T) {
	src, i4, ctx := bytesLike(4000, 1), h5.Int(4, h5.LittleEndian), context.Background()
	for _, tt := range []struct {
		name   string
		block  int64
		driver h5.Driver
		mode   h5.Mode
		direct int64 // of 40 chunks
	}{
		{"plain", 0, nil, h5.ReadOnly, 40},
		{"user block", 2048, nil, h5.ReadOnly, 40},
		{"writable", 0, nil, h5.ReadWrite, 0},
		{"family", 0, h5.Family{MemberSize: 2048}, h5.ReadOnly, 0},
		{"core", 0, h5.Core{Backing: true}, h5.ReadOnly, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x%d.h5") // the format of member names, too
			c := h5.CreateOptions{}
			creation := h5.DefaultFileCreation()
			creation.UserBlock = tt.block
			access := h5.DefaultFileAccess()
			access.Driver = tt.driver
			c.Creation, c.Access = &creation, &access
			f, err := h5.Create(path, &c)
			require.NoError(t, err)
			d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{25}, Filters: []h5.Filter{h5.Shuffle(), h5.Deflate(4)}})
			require.NoError(t, err)
			_, err = chunkio.Write(ctx, d, src, i4, all(1000), nil)
			require.NoError(t, err)
			require.NoError(t, f.Close())

			o := h5.OpenOptions{}
			o.Mode, o.Access = tt.mode, &access
			f, err = h5.OpenWith(path, &o)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			d, err = f.Root().OpenDataset("d")
			require.NoError(t, err)
			got := make([]byte, len(src))
			stats, err := chunkio.Read(ctx, d, got, i4, all(1000), nil)
			require.NoError(t, err)
			require.Equal(t, src, got)
			require.Empty(t, stats.Fallback)
			require.Equal(t, tt.direct, stats.Direct)
			require.EqualValues(t, 40, stats.Chunks)
		})
	}
}

// TestRead_movedChunks checks the chunk addresses of a file with other bytes before it. The
// superblock still contains the original base address, and libhdf5 replaces it by the offset at
// which it found the superblock.
func TestRead_movedChunks(t *testing.T) {
	dir := t.TempDir()
	src, i4, ctx := bytesLike(4000, 1), h5.Int(4, h5.LittleEndian), context.Background()
	for _, block := range []int64{0, 2048} { // size of the user block
		path := filepath.Join(dir, fmt.Sprint(block))
		c := h5.CreateOptions{}
		creation := h5.DefaultFileCreation()
		creation.UserBlock = block
		c.Creation = &creation
		f, err := h5.Create(path, &c)
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{25}, Filters: []h5.Filter{h5.Deflate(4)}})
		require.NoError(t, err)
		_, err = chunkio.Write(ctx, d, src, i4, all(1000), nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, moved := range [][]byte{append(bytesLike(512, 9), b[block:]...), append(bytesLike(8192, 9), b[block:]...), b[block:]} {
			require.NoError(t, os.WriteFile(path, moved, 0o600))
			f, d := open(t, path, h5.ReadOnly, "d")
			want, got := make([]byte, len(src)), make([]byte, len(src))
			require.NoError(t, d.ReadRegion(want, i4, all(1000)))
			require.Equal(t, src, want)
			stats, err := chunkio.Read(ctx, d, got, i4, all(1000), nil)
			require.NoError(t, err)
			require.Equal(t, src, got)
			require.EqualValues(t, 40, stats.Direct)
			require.NoError(t, f.Close())
		}
	}
}

// TestMemory checks that the memory limit determines the number of workers. If the limit is less
// than one chunk needs, libhdf5 must do the transfer in slabs, and the context must be able to
// cancel it between slabs.
func TestMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	defer f.Close()
	i4, ctx := h5.Int(4, h5.LittleEndian), context.Background()
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(64, 1024), &h5.DatasetOptions{ChunkShape: []int64{1, 1024}, Filters: []h5.Filter{h5.Deflate(4)}})
	require.NoError(t, err)
	src, got := bytesLike(4*64*1024, 1), make([]byte, 4*64*1024)
	last := 0
	for _, tt := range []struct {
		memory      int64
		least, most int
	}{{4096, 0, 0}, {20 << 10, 1, 1}, {40 << 10, 2, 2}, {100 << 10, 4, 6}, {1 << 20, 8, 8}} {
		o := &chunkio.Options{Workers: 8, Memory: tt.memory}
		for _, move := range []func() (chunkio.Stats, error){
			func() (chunkio.Stats, error) { return chunkio.Write(ctx, d, src, i4, all(64, 1024), o) },
			func() (chunkio.Stats, error) { return chunkio.Read(ctx, d, got, i4, all(64, 1024), o) },
		} {
			s, err := move()
			require.NoError(t, err)
			require.GreaterOrEqual(t, s.Workers, tt.least, "%d bytes", tt.memory)
			require.LessOrEqual(t, s.Workers, tt.most, "%d bytes", tt.memory)
			require.Equal(t, tt.least == 0, s.Fallback != "")
			last = s.Workers
		}
		require.Equal(t, src, got)
		clear(got)
	}
	require.Equal(t, 8, last)

	stopped, stop := context.WithCancel(ctx)
	defer stop()
	calls := 0
	_, err = chunkio.Read(stopped, d, got, i4, all(64, 1024), &chunkio.Options{Library: true, Memory: 4 * 4096, Progress: func(done, total int64) {
		calls++
		require.EqualValues(t, calls*4*4096, done)
		require.EqualValues(t, len(got), total)
		if calls == 3 {
			stop()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, calls)
	require.Equal(t, src[:3*4*4096], got[:3*4*4096])
	require.Equal(t, make([]byte, 4096), got[3*4*4096:][:4096])
}

// TestWriter_Slabs checks that writes through libhdf5 are split into slabs and can be cancelled
// between them, also with strides, and that a region outside the dataset writes nothing.
func TestWriter_Slabs(t *testing.T) {
	f := create(t, filepath.Join(t.TempDir(), "x.h5"))
	defer f.Close()
	stored, other := h5.Int(2, h5.BigEndian), h5.Int(2, h5.LittleEndian)
	enum := h5.EnumOf(stored, h5.Member{Name: "a"}, h5.Member{Name: "b", Value: 256})
	every := h5.Region{Start: []int64{1, 0}, Count: []int64{30, 8}, Stride: []int64{2, 1}}
	for name, tt := range map[string]struct {
		stored, mem h5.Datatype
		r           h5.Region
		slabs       int
	}{
		"enumeration":        {enum, enum, all(64, 8), 8},
		"enumeration, steps": {enum, enum, every, 8},
		"byte order":         {stored, other, all(64, 8), 8},
		"byte order, steps":  {stored, other, every, 8},
	} {
		t.Run(name, func(t *testing.T) {
			row := int64(8 * tt.mem.Size)
			var n, left int
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			o := &chunkio.Options{Library: true, Memory: row*8 + row/2, Progress: func(done, total int64) {
				n++
				require.Positive(t, done)
				require.Equal(t, tt.r.NumElems()*int64(tt.mem.Size), total)
				if left--; left == 0 {
					stop()
				}
			}}
			if tt.r.Stride != nil {
				o.Memory = row * 4
			}
			d, err := f.Root().CreateDataset(name, tt.stored, h5.SimpleSpace(64, 8), &h5.DatasetOptions{ChunkShape: []int64{8, 8}, Filters: []h5.Filter{h5.Deflate(1)}})
			require.NoError(t, err)
			defer d.Close()
			src := make([]byte, tt.r.NumElems()*int64(tt.mem.Size))
			for i := range tt.r.NumElems() {
				src[2*i] = byte(i % 2)
			}
			s, err := chunkio.Write(ctx, d, src, tt.mem, tt.r, o)
			require.NoError(t, err)
			require.Equal(t, "asked for", s.Fallback)
			require.Equal(t, tt.slabs, n)
			got := make([]byte, len(src))
			require.NoError(t, d.ReadRegion(got, tt.mem, tt.r))
			require.Equal(t, src, got)

			outside := h5.Region{Start: []int64{1 + tt.r.Start[0], 0}, Count: tt.r.Count, Stride: tt.r.Stride}
			if tt.r.Stride != nil {
				outside.Start[0] += 10
			}
			_, err = chunkio.Write(ctx, d, make([]byte, len(src)), tt.mem, outside, o)
			require.ErrorIs(t, err, h5.ErrRegion)
			require.NoError(t, d.ReadRegion(got, tt.mem, tt.r))
			require.Equal(t, src, got, "no byte was written")
			left = 2
			_, err = chunkio.Write(ctx, d, make([]byte, len(src)), tt.mem, tt.r, o)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// TestReader_OtherFiles checks datasets reached through an external link or a mount. Their chunk
// addresses refer to another file than the one of the handle.
func TestReader_OtherFiles(t *testing.T) {
	dir := t.TempDir()
	src, i4, ctx := bytesLike(4000, 1), h5.Int(4, h5.LittleEndian), context.Background()
	for _, name := range []string{"x.h5", "far.h5"} { // the same dataset at another address, with other values
		f := create(t, filepath.Join(dir, name))
		if name == "x.h5" {
			_, err := f.Root().CreateGroup("here")
			require.NoError(t, err)
			require.NoError(t, f.Root().LinkExternal("link", "far.h5", "/d"))
		}
		d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{100}, Filters: []h5.Filter{h5.Deflate(6)}})
		require.NoError(t, err)
		values := make([]byte, 4000)
		if name == "far.h5" {
			values = src
		}
		_, err = chunkio.Write(ctx, d, values, i4, all(1000), nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} {
		f, err := h5.Open(filepath.Join(dir, "x.h5"), mode)
		require.NoError(t, err)
		far, err := h5.Open(filepath.Join(dir, "far.h5"), mode)
		require.NoError(t, err)
		require.NoError(t, f.Root().Mount("here", far))
		for _, name := range []string{"link", "here/d"} {
			d, err := f.Root().OpenDataset(name)
			require.NoError(t, err)
			got := make([]byte, 4000)
			s, err := chunkio.Read(ctx, d, got, i4, all(1000), nil)
			require.NoError(t, err, name)
			require.Contains(t, s.Fallback, "in another file")
			require.Equal(t, src, got, name)
			if mode == h5.ReadWrite {
				_, err = chunkio.Write(ctx, d, got, i4, all(1000), nil)
				require.NoError(t, err, name)
			}
		}
		require.NoError(t, f.Close())
		require.NoError(t, far.Close())
	}
}

// TestManyGoroutines reads and writes with 64 goroutines on each of two handles, partly through
// libhdf5.
func TestManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i8 := h5.Int(8, h5.BigEndian)
	src := bytesLike(8*64*64, 4)
	for i, filters := range [][]h5.Filter{{h5.Shuffle(), h5.Deflate(2)}, {{ID: filter.IDBlosc2, Values: []uint32{0, 512, 0, 0, 5, 1, 1}}}} {
		d, err := f.Root().CreateDataset(fmt.Sprint(i), i8, h5.SimpleSpace(64, 64), &h5.DatasetOptions{ChunkShape: []int64{16, 16}, Filters: filters})
		require.NoError(t, err)
		// The writers use different chunks.
		var g sync.WaitGroup
		for k := range int64(16) {
			g.Go(func() {
				r := h5.Region{Start: []int64{k / 4 * 16, k % 4 * 16}, Count: []int64{16, 16}}
				b := make([]byte, 16*16*8)
				for row := range int64(16) {
					copy(b[row*128:][:128], src[((r.Start[0]+row)*64+r.Start[1])*8:])
				}
				if _, err := chunkio.Write(context.Background(), d, b, i8, r, nil); err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
	}
	require.NoError(t, f.Close())
	f, d := open(t, path, h5.ReadOnly, "0")
	defer f.Close()
	d1, err := f.Root().OpenDataset("1")
	require.NoError(t, err)
	var g sync.WaitGroup
	for k := range 128 {
		g.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			for range 8 {
				from := []int64{r.Int64N(64), r.Int64N(64)}
				reg := h5.Region{Start: from, Count: []int64{1 + r.Int64N(64-from[0]), 1 + r.Int64N(64-from[1])}}
				got := make([]byte, reg.NumElems()*8)
				_, err := chunkio.Read(context.Background(), []*h5.Dataset{d, d1}[k%2], got, i8, reg, &chunkio.Options{Library: k%8 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				for row := range reg.Count[0] {
					n := reg.Count[1] * 8
					if string(got[row*n:][:n]) != string(src[((from[0]+row)*64+from[1])*8:][:n]) {
						t.Errorf("other values in row %d of %v", row, reg)
						return
					}
				}
			}
		})
	}
	g.Wait()
}
