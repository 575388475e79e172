package opened_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// site serves a directory over HTTP and counts requests.
type site struct {
	*httptest.Server
	requests atomic.Int64
	running  atomic.Int64
	together atomic.Int64 // maximum number of requests at the same time
	delay    atomic.Int64 // of each response
	gather   atomic.Pointer[gathering]
}

// gathering makes requests wait for each other, which proves on a machine of any speed that they
// are sent in parallel: those that of selects wait until want requests run, or 20 seconds.
type gathering struct {
	want int64
	of   func(r *http.Request) bool
}

func (g *gathering) wait(s *site, r *http.Request) {
	if g == nil || !g.of(r) {
		return
	}
	for end := time.Now().Add(20 * time.Second); s.together.Load() < g.want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// rangeOf returns the number of bytes that a request asks for, 0 for all.
func rangeOf(r *http.Request) int64 {
	var first, last int64
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
		return 0
	}
	return last - first + 1
}

func serveDir(t testing.TB, dir string) *site {
	s := &site{}
	files := http.FileServer(http.Dir(dir))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		for n := s.running.Add(1); ; {
			most := s.together.Load()
			if n <= most || s.together.CompareAndSwap(most, n) {
				break
			}
		}
		defer s.running.Add(-1)
		time.Sleep(time.Duration(s.delay.Load()))
		s.gather.Load().wait(s, r)
		files.ServeHTTP(w, r)
	}))
	before := remote.DefaultClient
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	t.Cleanup(func() {
		remote.DefaultClient.CloseIdle()
		remote.DefaultClient = before
		s.Close()
	})
	return s
}

// fillArray writes an array at a location.
func fillArray(t testing.TB, location string, spec ndarray.Spec, o *hyperslab.CreateOptions) {
	t.Helper()
	fillValues(t, location, spec, o, func(i int) int64 { return int64(i) * 7919 % 10007 })
}

// fillValues writes an array with the values of a function of the element's number.
func fillValues(t testing.TB, location string, spec ndarray.Spec, o *hyperslab.CreateOptions, value func(i int) int64) {
	t.Helper()
	d, err := hyperslab.Create(bg, location, spec, o)
	require.NoError(t, err)
	n, _ := grid.Product(spec.Shape)
	values := make([]int64, n)
	for i := range values {
		values[i] = value(i)
	}
	require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(spec.Shape)))
	require.NoError(t, d.Commit(bg))
}

// remoteFiles writes one array in each format, and returns their locations below the directory.
func remoteFiles(t testing.TB, dir string) []string {
	shape := []int64{90, 70}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{20, 30}, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}}
	plain := spec
	plain.ChunkShape, plain.Compression = nil, &ndarray.Compression{Codec: "none"}
	line := spec
	line.Shape, line.ChunkShape = []int64{6300}, []int64{1000}
	fillArray(t, dir+"/a.b2nd", spec, nil)
	fillArray(t, dir+"/sparse.b2nd", spec, &hyperslab.CreateOptions{Sparse: true})
	fillArray(t, dir+"/a.caterva", ndarray.Spec{Shape: shape, DType: spec.DType, ChunkShape: spec.ChunkShape}, nil)
	fillArray(t, dir+"/a.h5:/g/chunked", spec, nil)
	fillArray(t, dir+"/a.h5:/g/plain", plain, nil)
	fillArray(t, dir+"/a.bcolz", line, nil)
	_, err := filetest.CopyTree(bg, dir+"/a.b2z", dir+"/a.h5", nil)
	require.NoError(t, err)
	return []string{"/a.b2nd", "/sparse.b2nd", "/a.caterva", "/a.h5:/g/chunked", "/a.h5:/g/plain", "/a.bcolz", "/a.b2z:/g/chunked"}
}

func readBytes(t testing.TB, location string, o *hyperslab.OpenOptions) (b []byte, attrs ndarray.Attrs, m ndarray.Meta) {
	t.Helper()
	a, err := hyperslab.Open(bg, location, o)
	require.NoError(t, err, location)
	defer func() { require.NoError(t, a.Close()) }()
	m = a.Meta()
	part := ndarray.Whole(m.Shape)
	part.Start[0], part.Shape[0] = 3, m.Shape[0]-5
	for _, r := range []ndarray.Region{ndarray.Whole(m.Shape), part} {
		p := make([]byte, r.NumElems()*int64(m.DType.Size))
		require.NoError(t, a.Read(bg, p, r), location)
		b = append(b, p...)
	}
	attrs, err = a.Attrs(bg)
	require.NoError(t, err)
	return b, attrs, m
}

func TestOpen_url(t *testing.T) {
	dir := t.TempDir()
	names := remoteFiles(t, dir)
	s := serveDir(t, dir)
	for _, name := range names {
		t.Run(name[1:], func(t *testing.T) {
			want, attrs, meta := readBytes(t, dir+name, nil)
			got, gotAttrs, gotMeta := readBytes(t, s.URL+name, nil)
			require.True(t, bytes.Equal(want, got))
			require.Equal(t, attrs, gotAttrs)
			require.Equal(t, meta.Shape, gotMeta.Shape)
			require.Equal(t, meta.ChunkShape, gotMeta.ChunkShape)
			require.Equal(t, meta.DType, gotMeta.DType)
			require.True(t, gotMeta.ReadOnly)

			location, err := locate.Parse(dir + name)
			require.NoError(t, err)
			there, err := locate.Parse(s.URL + name)
			require.NoError(t, err)
			require.Equal(t, location.Object, there.Object)
			local, err := hyperslab.Sniff(location.File)
			require.NoError(t, err)
			far, err := hyperslab.Sniff(there.File)
			require.NoError(t, err)
			require.Equal(t, local, far)
			require.Equal(t, listing(t, location.File), listing(t, there.File))
		})
	}
	t.Run("untrusted", func(t *testing.T) {
		want, _, _ := readBytes(t, dir+"/a.h5:/g/chunked", nil)
		o := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{}}
		got, _, _ := readBytes(t, s.URL+"/a.h5:/g/chunked", o)
		require.True(t, bytes.Equal(want, got))
		o.Untrusted.MaxCopy = 1000
		_, err := hyperslab.Open(bg, s.URL+"/a.h5:/g/chunked", o)
		require.ErrorIs(t, err, hyperslab.ErrLimit)
	})
	t.Run("copy of a tree", func(t *testing.T) {
		copied := t.TempDir() + "/copy.h5"
		_, err := filetest.CopyTree(bg, copied, s.URL+"/a.h5", nil)
		require.NoError(t, err)
		want, _, _ := readBytes(t, dir+"/a.h5:/g/chunked", nil)
		got, _, _ := readBytes(t, copied+":/g/chunked", nil)
		require.True(t, bytes.Equal(want, got))
	})
	t.Run("errors", func(t *testing.T) {
		require.NoError(t, os.WriteFile(dir+"/text", []byte("no array"), 0o600))
		for location, want := range map[string]error{
			s.URL + "/none.h5:/x":      ndarray.ErrNotFound,
			s.URL + "/a.h5:/none":      ndarray.ErrNotFound,
			s.URL + "/a.h5":            ndarray.ErrParam,
			s.URL + "/text":            ndarray.ErrFormat,
			"http://u:secret@h/a.b2nd": remote.ErrRefused,
		} {
			_, err := hyperslab.Open(bg, location, nil)
			require.ErrorIs(t, err, want, location)
			require.NotContains(t, err.Error(), "secret")
		}
		_, err := hyperslab.Open(bg, s.URL+"/a.b2nd", &hyperslab.OpenOptions{Write: true})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		_, err = hyperslab.Create(bg, s.URL+"/new.b2nd", ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int64]()}, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err = hyperslab.Open(ctx, s.URL+"/a.b2nd", nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// listing lists a file without its own path.
func listing(t testing.TB, file string) (list []string) {
	t.Helper()
	for e, err := range hyperslab.Walk(bg, file, nil) {
		require.NoError(t, err)
		require.NoError(t, e.Err)
		list = append(list, fmt.Sprint(e.Path, e.Kind, e.Type, e.Attrs, e.Meta.Shape, e.Storage))
	}
	require.NotEmpty(t, list)
	return list
}

func TestOpen_url_requests(t *testing.T) {
	dir := t.TempDir()
	// The chunks of 128 KiB are not compressible, and the chunk index lies between them.
	spec := ndarray.Spec{Shape: []int64{64, 128, 128}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 128, 128}, Compression: &ndarray.Compression{Codec: "none"}}
	for _, name := range []string{"/x.h5:/x", "/x.b2nd"} {
		fillArray(t, dir+name, spec, nil)
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := serveDir(t, dir)
			a, err := hyperslab.Open(bg, s.URL+name, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			require.LessOrEqual(t, s.requests.Load(), int64(3))
			before := s.requests.Load()
			values := make([]int64, 64*128*16)
			require.NoError(t, ndarray.Read(bg, a, values, ndarray.Region{Start: []int64{0, 16, 0}, Shape: []int64{64, 16, 128}}))
			for i, v := range values {
				at := int64(i/(16*128))*128*128 + 16*128 + int64(i%(16*128))
				require.Equal(t, at*7919%10007, v)
			}
			// 8 MiB are read in requests of at most 4 MiB, plus requests for the index.
			require.LessOrEqual(t, s.requests.Load()-before, int64(6))
		})
	}
}

// TestRead_url_requests compares the number of requests of a region with the minimum, which follows
// from the locations of its chunks: one request for each 4 MiB of neighbouring chunks.
func TestRead_url_requests(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{12, 2, 1 << 16}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 1, 1 << 16}, Compression: &ndarray.Compression{Codec: "none"}}
	for _, name := range []string{"/x.h5:/x", "/x.b2nd"} {
		fillArray(t, dir+name, spec, nil)
		for region, r := range map[string]ndarray.Region{
			"all chunks":        ndarray.Whole(shape),
			"every other chunk": {Start: []int64{0, 1, 10}, Shape: []int64{12, 1, 100}},
			"row of chunks":     {Start: []int64{7, 0, 0}, Shape: []int64{1, 2, 1 << 16}},
			"one element":       {Start: []int64{11, 1, 5}, Shape: []int64{1, 1, 1}},
		} {
			t.Run(filepath.Base(name)+" "+region, func(t *testing.T) {
				least := leastRequests(t, dir+name, r)
				s := serveDir(t, dir)
				a, err := hyperslab.Open(bg, s.URL+name, nil)
				require.NoError(t, err)
				defer func() { require.NoError(t, a.Close()) }()
				opening := s.requests.Load()
				require.LessOrEqual(t, opening, int64(2))
				values := make([]int64, r.NumElems())
				require.NoError(t, ndarray.Read(bg, a, values, r))
				got := s.requests.Load() - opening
				require.LessOrEqual(t, 2*got, 3*least+2, "%d requests, minimum %d and one for the chunk index", got, least)
			})
		}
	}
}

// TestRead_url_requestsOfLargeIndex compares the number of requests of a region with the minimum
// for a dataset of 4,096 chunks: one request for each chunk and for each leaf of its chunk index
// that has a chunk of the region. Both are further apart than the gap that one request also reads.
func TestRead_url_requestsOfLargeIndex(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{64, 64, 1024}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 1, 1024}, Compression: &ndarray.Compression{Codec: "none"}}
	fillArray(t, dir+"/x.h5:/x", spec, nil)
	file, err := os.ReadFile(dir + "/x.h5")
	require.NoError(t, err)
	for name, r := range map[string]ndarray.Region{
		"a chunk of each plane":            {Start: []int64{0, 10, 10}, Shape: []int64{64, 1, 100}},
		"a chunk of some planes":           {Start: []int64{30, 63, 0}, Shape: []int64{20, 1, 1024}},
		"neighbouring chunks of one plane": {Start: []int64{50, 8, 0}, Shape: []int64{1, 8, 1024}},
	} {
		t.Run(name, func(t *testing.T) {
			least := int64(leavesWith(file, spec.ChunkShape, r)) + leastRequests(t, dir+"/x.h5:/x", r)
			s := serveDir(t, dir)
			a, err := hyperslab.Open(bg, s.URL+"/x.h5:/x", nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			opening, before := s.requests.Load(), remote.DefaultClient.Stats()
			values, want := make([]int64, r.NumElems()), make([]int64, r.NumElems())
			require.NoError(t, ndarray.Read(bg, a, values, r))
			got := s.requests.Load() - opening
			t.Logf("%d requests, minimum %d, %d bytes", got, least, remote.DefaultClient.Stats().Bytes-before.Bytes)
			require.LessOrEqual(t, 2*got, 3*least+2, "%d requests, minimum %d", got, least)
			local, err := hyperslab.Open(bg, dir+"/x.h5:/x", nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, local.Close()) }()
			require.NoError(t, ndarray.Read(bg, local, want, r))
			require.Equal(t, want, values)
		})
	}
}

// leavesWith returns the number of leaves in the version 1 B-trees of a file of one dataset whose
// chunks include one of the region. An entry is the size and the filter mask of a chunk, its offset
// with one more dimension, and its address.
func leavesWith(file []byte, chunk []int64, r ndarray.Region) (n int) {
	entry := 8 + 8*(len(chunk)+1) + 8
	for _, leaf := range bytes.Split(file, []byte("TREE\x01\x00"))[1:] { // node type 1, level 0
		entries := leaf[2+8+8:] // after their number and the addresses of both neighbours
		for e := range slices.Chunk(entries[:entry*int(binary.LittleEndian.Uint16(leaf))], entry) {
			inside := true
			for axis, length := range chunk {
				at := int64(binary.LittleEndian.Uint64(e[8+8*axis:]))
				inside = inside && at < r.Start[axis]+r.Shape[axis] && at+length > r.Start[axis]
			}
			if inside {
				n++
				break
			}
		}
	}
	return n
}

// leastRequests returns the minimum number of requests for the chunks of a region of a local array
// that are not in the first 512 KiB of the file.
func leastRequests(t testing.TB, location string, r ndarray.Region) (least int64) {
	t.Helper()
	var ranges [][2]int64 // begin and end of each chunk of the region
	add := func(chunk ndarray.Region, at, n int64) {
		for i := range r.Start {
			if chunk.Start[i] >= r.Start[i]+r.Shape[i] || r.Start[i] >= chunk.Start[i]+chunk.Shape[i] {
				return
			}
		}
		ranges = append(ranges, [2]int64{at, at + n})
	}
	a, err := hyperslab.Open(bg, location, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	if file, object, ok := strings.Cut(location, ":"); ok {
		f, err := h5.Open(file, h5.ReadOnly)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		d, err := f.Root().OpenDataset(object)
		require.NoError(t, err)
		for c, err := range d.StoredChunks() {
			require.NoError(t, err)
			add(ndarray.Region{Start: c.Offset, Shape: a.Meta().ChunkShape}, int64(c.Address), c.Bytes)
		}
		require.NoError(t, d.Close())
	} else {
		f, err := os.Open(location)
		require.NoError(t, err)
		defer f.Close()
		info, err := f.Stat()
		require.NoError(t, err)
		frame, err := cframe.Read(f, info.Size())
		require.NoError(t, err)
		offsets, err := frame.Offsets(nil)
		require.NoError(t, err)
		n := 0
		for region := range a.ChunkRegions() {
			h, err := frame.ReadChunkHeader(offsets[n])
			require.NoError(t, err)
			add(region, int64(offsets[n])+int64(frame.HeaderSize), int64(h.CBytes))
			n++
		}
	}
	slices.SortFunc(ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	const longest = 4 << 20
	for i := 0; i < len(ranges); {
		begin, end := ranges[i][0], ranges[i][1]
		for i++; i < len(ranges) && ranges[i][0] <= end; i++ {
			end = ranges[i][1]
		}
		if begin = max(begin, 512<<10); begin < end {
			least += (end - begin + longest - 1) / longest
		}
	}
	return least
}

// BenchmarkRead_url reports the requests of a region of 16 of 512 chunks, and of the whole array.
func BenchmarkRead_url(b *testing.B) {
	dir := b.TempDir()
	shape := []int64{64, 2, 1 << 16}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 1, 1 << 16}, Compression: &ndarray.Compression{Codec: "none"}}
	for _, name := range []string{"/x.h5:/x", "/x.b2nd"} {
		fillArray(b, dir+name, spec, nil)
		for _, c := range []struct {
			name string
			r    ndarray.Region
		}{
			{"region", ndarray.Region{Start: []int64{0, 1, 10}, Shape: []int64{16, 1, 100}}},
			{"all", ndarray.Whole(shape)},
		} {
			least := leastRequests(b, dir+name, c.r)
			b.Run(filepath.Base(name)+"/"+c.name, func(b *testing.B) {
				s := serveDir(b, dir)
				s.delay.Store(int64(30 * time.Millisecond))
				values := make([]int64, c.r.NumElems())
				for b.Loop() {
					remote.DefaultClient.CloseIdle()
					remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
					a, err := hyperslab.Open(bg, s.URL+name, nil)
					require.NoError(b, err)
					require.NoError(b, ndarray.Read(bg, a, values, c.r))
					require.NoError(b, a.Close())
				}
				b.ReportMetric(float64(s.requests.Load())/float64(b.N), "requests/op")
				b.ReportMetric(float64(least), "minimum")
			})
		}
	}
}

func TestWalk_url(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(dir+"/many.h5", nil)
	require.NoError(t, err)
	values := make([]byte, 64<<10)
	for i := range 200 {
		d, err := f.Root().CreateDataset(fmt.Sprintf("d%03d", i), h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(64<<10), nil)
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(values, h5.Uint(1, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{64 << 10}}))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	s := serveDir(t, dir)
	want := listing(t, dir+"/many.h5")
	s.gather.Store(&gathering{want: 3, of: func(*http.Request) bool { return s.requests.Load() > 10 }})
	require.Equal(t, want, listing(t, s.URL+"/many.h5"))
	require.Greater(t, s.requests.Load(), int64(20))
	require.GreaterOrEqual(t, s.together.Load(), int64(3), "requests must run in parallel")
}

// TestWalk_url_requests compares the number of requests of a listing with the minimum: one for the
// first 512 KiB, and one for each group of structures that are at most 256 KiB apart. More than 16
// of them are sent at the same time.
func TestWalk_url_requests(t *testing.T) {
	const size = 96 << 10
	dir := t.TempDir()
	f, err := h5.Create(dir+"/many.h5", nil)
	require.NoError(t, err)
	values := make([]byte, size)
	for i := range 1000 {
		d, err := f.Root().CreateDataset(fmt.Sprintf("d%03d", i), h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(size), nil)
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(values, h5.Uint(1, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{size}}))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	least := leastMetadata(t, dir+"/many.h5")
	require.Greater(t, least, int64(100))
	s := serveDir(t, dir)
	want := listing(t, dir+"/many.h5")
	const together = 24
	s.gather.Store(&gathering{want: together, of: func(*http.Request) bool { return s.requests.Load() > 30 }})
	require.Equal(t, want, listing(t, s.URL+"/many.h5"))
	t.Logf("%d requests, minimum %d, %d together", s.requests.Load(), least, s.together.Load())
	require.LessOrEqual(t, s.requests.Load(), 2*least)
	require.GreaterOrEqual(t, s.together.Load(), int64(together))
}

// leastMetadata returns the minimum number of requests for the metadata of an HDF5 file.
func leastMetadata(t *testing.T, name string) int64 {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	var spans [][2]int64
	require.NoError(t, h5file.Structures(f, info.Size(), func(s format.Field) {
		spans = append(spans, [2]int64{s.Offset, s.Offset + s.Length})
	}))
	slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	n, end := int64(1), int64(512<<10)
	for _, s := range spans {
		if s[1] > end && s[0]-end > 256<<10 {
			n++
		}
		end = max(end, s[1])
	}
	return n
}

func TestOpen_url_paged(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(dir+"/paged.h5", &h5.CreateOptions{Creation: &h5.FileCreation{Space: h5.FileSpace{Strategy: h5.Paged, PageSize: 1 << 20}}})
	require.NoError(t, err)
	for i := range 1000 {
		d, err := f.Root().CreateDataset(fmt.Sprintf("d%03d", i), h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(8<<10), nil)
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(make([]byte, 8<<10), h5.Uint(1, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{8 << 10}}))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	s := serveDir(t, dir)
	a, err := hyperslab.Open(bg, s.URL+"/paged.h5:/d777", nil)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.LessOrEqual(t, s.requests.Load(), int64(3))
	require.Len(t, listing(t, s.URL+"/paged.h5"), 1001)
}

// TestSummarize_url checks that a pass through an array sends long requests in parallel, although
// each unit of the pass is small.
func TestSummarize_url(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{512, 8, 1024}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 8, 1024}, Compression: &ndarray.Compression{Codec: "none"}}
	plain := spec
	plain.ChunkShape = nil
	fillArray(t, dir+"/x.h5:/chunked", spec, nil)
	fillArray(t, dir+"/x.h5:/plain", plain, nil)
	fillArray(t, dir+"/x.b2nd", spec, nil)
	// 28 MiB in requests of 4 MiB, the beginning of the file, and the nodes of the chunk index.
	for name, most := range map[string]int64{"/x.h5:/chunked": 18, "/x.h5:/plain": 10, "/x.b2nd": 10} {
		t.Run(name[1:], func(t *testing.T) {
			s := serveDir(t, dir)
			a, err := hyperslab.Open(bg, s.URL+name, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			part, err := ndarray.View(a, ndarray.Select(ndarray.Span(64, 512)))
			require.NoError(t, err)
			s.together.Store(0)
			s.gather.Store(&gathering{want: 5, of: func(r *http.Request) bool { return rangeOf(r) > 1<<20 }})
			_, err = ndarray.Summarize(bg, part, &ndarray.WorkOptions{Workers: 1})
			require.NoError(t, err)
			require.LessOrEqual(t, s.requests.Load(), most)
			require.GreaterOrEqual(t, s.together.Load(), int64(5))
		})
	}
}

// TestOpen_url_changed replaces a file by one of the same size while it is read.
func TestOpen_url_changed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	spec := ndarray.Spec{Shape: []int64{600, 700}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{50, 700}, Compression: &ndarray.Compression{Codec: "none"}}
	plain := spec
	plain.ChunkShape = nil
	for d, add := range map[string]int64{dir: 0, other: 1} {
		value := func(i int) int64 { // incompressible
			x := uint64(i+1) * 0x9e3779b97f4a7c15
			x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
			return int64((x^x>>27)*0x94d049bb133111eb>>1) + add
		}
		fillValues(t, d+"/a.b2nd", spec, nil, value)
		fillValues(t, d+"/a.h5:/g/chunked", spec, nil, value)
		fillValues(t, d+"/a.h5:/g/plain", plain, nil, value)
		_, err := filetest.CopyTree(bg, d+"/a.b2z", d+"/a.h5", nil)
		require.NoError(t, err)
	}
	trees := map[string]string{"/a.h5:/g/chunked": "g/chunked", "/a.h5:/g/plain": "g/plain", "/a.b2z:/g/chunked": "g/chunked"}
	old, recent := time.Unix(1e9, 0).UTC().Format(http.TimeFormat), time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, x := range map[string][2][2]string{ // ETag and Last-Modified, before and after
		"weak ETag":                 {{`W/"1"`, ""}, {`W/"2"`, ""}},
		"weak ETag unchanged, time": {{`W/"1"`, old}, {`W/"1"`, recent}},
		"validators dropped":        {{`"1"`, old}, {"", ""}},
		"time":                      {{"", old}, {"", recent}},
		"size":                      {{"", ""}, {"", ""}},
	} {
		for _, location := range []string{"/a.b2nd", "/a.h5:/g/chunked", "/a.h5:/g/plain", "/a.b2z:/g/chunked"} {
			read := func(t *testing.T, open func(base string) (*ndarray.Array, func() error)) {
				s := newReplaced(t, dir, other, x)
				a, done := open(s.URL)
				defer func() { require.NoError(t, done()) }()
				row := make([]int64, 700)
				require.NoError(t, ndarray.Read(bg, a, row, ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1, 700}}))
				s.replaced.Store(true)
				all := make([]int64, 600*700)
				require.ErrorIs(t, ndarray.Read(bg, a, all, ndarray.Whole(spec.Shape)), remote.ErrChanged)
			}
			t.Run(name+location, func(t *testing.T) {
				read(t, func(base string) (*ndarray.Array, func() error) {
					a, err := hyperslab.Open(bg, base+location, nil)
					require.NoError(t, err)
					return a, a.Close
				})
			})
			if path := trees[location]; path != "" {
				t.Run(name+location+" in a tree", func(t *testing.T) {
					file, _, _ := strings.Cut(location, ":")
					read(t, func(base string) (*ndarray.Array, func() error) {
						tree, err := hyperslab.OpenTree(bg, base+file, nil)
						require.NoError(t, err)
						a, err := tree.Open(bg, "/"+path)
						require.NoError(t, err)
						return a, func() error { return errors.Join(a.Close(), tree.Close()) }
					})
				})
			}
		}
	}
}

// replaced is a server that ignores preconditions, of files that are replaced.
type replaced struct {
	*httptest.Server
	replaced atomic.Bool
}

// newReplaced returns a server of the files in before and later in after. If no validator differs,
// the later files are one byte longer.
func newReplaced(t *testing.T, before, after string, validators [2][2]string) *replaced {
	s := &replaced{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dir, x := before, validators[0]
		if s.replaced.Load() {
			dir, x = after, validators[1]
		}
		b, err := os.ReadFile(dir + r.URL.Path)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if s.replaced.Load() && validators[0] == validators[1] {
			b = append(b, 0)
		}
		if x[0] != "" {
			w.Header().Set("ETag", x[0])
		}
		modified, _ := http.ParseTime(x[1]) // zero for ""
		r.Header.Del("If-Match")
		http.ServeContent(w, r, "", modified, bytes.NewReader(b))
	}))
	client := remote.DefaultClient
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	t.Cleanup(func() {
		remote.DefaultClient.CloseIdle()
		remote.DefaultClient = client
		s.Close()
	})
	return s
}

// scattered writes an HDF5 file with a dataset /x of 640 chunks of 64 KiB, whose index lies between
// the chunks, and returns the number of blocks of the file.
func scattered(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(640<<16), &h5.DatasetOptions{ChunkShape: []int64{1 << 16}})
	require.NoError(t, err)
	for i := range int64(640) {
		require.NoError(t, d.WriteRegion(make([]byte, 1<<16), h5.Uint(1, h5.LittleEndian), h5.Region{Start: []int64{i << 16}, Count: []int64{1 << 16}}))
	}
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
}

// TestWalk_url_index counts the requests of a walk at a dataset: the nodes of its chunk index are
// fetched in parallel, and not at all if sizes are not measured.
func TestWalk_url_index(t *testing.T) {
	dir := t.TempDir()
	scattered(t, dir+"/x.h5")
	entry := func(location string, o *hyperslab.WalkOptions) hyperslab.Entry {
		for e, err := range hyperslab.Walk(bg, location, o) {
			require.NoError(t, err)
			return e
		}
		return hyperslab.Entry{}
	}
	for _, at := range []string{"/x.h5:/x", "/x.h5"} {
		t.Run(at, func(t *testing.T) {
			s := serveDir(t, dir)
			s.gather.Store(&gathering{want: 3, of: func(*http.Request) bool { return s.requests.Load() > 3 }})
			require.Equal(t, len(listing(t, dir+at)), len(listing(t, s.URL+at)))
			require.Greater(t, s.requests.Load(), int64(3))
			require.GreaterOrEqual(t, s.together.Load(), int64(3), "requests must run in parallel")
		})
		t.Run(at+" without sizes", func(t *testing.T) {
			s := serveDir(t, dir)
			for e, err := range hyperslab.Walk(bg, s.URL+at, &hyperslab.WalkOptions{NoSizes: true}) {
				require.NoError(t, err)
				if e.Kind == hyperslab.Array {
					require.EqualValues(t, -1, e.Storage.StoredBytes)
					require.Equal(t, []int64{640 << 16}, e.Meta.Shape)
					require.EqualValues(t, 640, e.Storage.NumChunks)
				}
			}
			require.LessOrEqual(t, s.requests.Load(), int64(3), "no node of the index may be read")
		})
	}
	t.Run("every kind of tree", func(t *testing.T) {
		for _, o := range []*hyperslab.Untrusted{nil, {}, {InProcess: true}} {
			require.EqualValues(t, 640<<16, entry(dir+"/x.h5:/x", &hyperslab.WalkOptions{Untrusted: o}).Storage.StoredBytes)
			require.EqualValues(t, -1, entry(dir+"/x.h5:/x", &hyperslab.WalkOptions{Untrusted: o, NoSizes: true}).Storage.StoredBytes)
			tree, err := hyperslab.OpenTree(bg, dir+"/x.h5:/x", &hyperslab.OpenOptions{Untrusted: o})
			require.NoError(t, err)
			for e, err := range tree.Walk(bg, &hyperslab.WalkOptions{NoSizes: true}) {
				require.NoError(t, err)
				require.EqualValues(t, -1, e.Storage.StoredBytes)
			}
			require.NoError(t, tree.Close())
		}
	})
}
