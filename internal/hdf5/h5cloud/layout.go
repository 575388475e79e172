package h5cloud

import (
	"cmp"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Sizes that suit reads over a network, in bytes, and the number of requests for all metadata of a
// good layout.
const (
	LeastChunk   = 2 << 20
	MostChunk    = 16 << 20
	MostRequests = 3

	leastPage    = 64 << 10
	mostPage     = 16 << 20
	firstRequest = 512 << 10 // of the request that opens a file
	requestBytes = 4 << 20   // of another request
	requestGap   = 256 << 10 // between two structures that one request reads
	newIndex     = 256       // metadata of a new chunk index
	newHeader    = 512       // of a link and an object header in the older format
)

// Metadata are the bytes of the metadata of a file, and the requests that read them.
type Metadata struct {
	Bytes    int64
	Index    int64 // of chunk indexes, and of the B-trees of groups
	Requests int
}

// span is the range of a structure.
type span struct{ from, end int64 }

// chunkIndexes are the beginnings of the names of their structures in internal/format/h5file.
var chunkIndexes = []string{"v1 B-tree", "v2 B-tree", "fixed array", "extensible array"}

// ReadMetadata examines all structures of a file except elements. Global heaps contain elements.
func ReadMetadata(r io.ReaderAt, size int64) (Metadata, error) {
	return readMetadata(r, size, &costs{open: newBlocks(size), all: newBlocks(size)})
}

// readMetadata is ReadMetadata, and adds the structures to the costs. xarray reads attributes in
// global heaps when it opens a file, but no chunk indexes.
func readMetadata(r io.ReaderAt, size int64, c *costs) (l Metadata, err error) {
	var spans []span
	err = h5file.Structures(r, size, func(s format.Field) {
		if !chunkIndex(r, s) {
			c.open.add(s.Offset, s.Offset+s.Length)
		}
		c.all.add(s.Offset, s.Offset+s.Length)
		if kind := h5file.AllocationType(s.Name); kind != "gheap" && s.Length > 0 && s.Offset >= 0 {
			spans = append(spans, span{s.Offset, s.Offset + s.Length})
			if slices.ContainsFunc(chunkIndexes, func(name string) bool { return strings.HasPrefix(s.Name, name) }) {
				l.Index += s.Length
			}
		}
	})
	if err != nil {
		return l, err
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	start, end, counted := int64(0), min(firstRequest, size), int64(0)
	l.Requests = 1
	for _, s := range spans {
		if s.end > counted {
			l.Bytes += s.end - max(s.from, counted)
			counted = s.end
		}
		if s.end <= end {
			continue
		}
		if s.from-end > requestGap || s.end-start > requestBytes {
			start = max(s.from, end)
			l.Requests += int(grid.DivUp(s.end-start, requestBytes))
		}
		end = s.end
	}
	return l, nil
}

// chunkIndex reports whether a structure is a part of a chunk index. B-trees have other contents
// too; a byte of each node contains the type of the tree.
func chunkIndex(r io.ReaderAt, s format.Field) bool {
	kind := func(at int64) byte {
		var b [1]byte
		if _, err := r.ReadAt(b[:], s.Offset+at); err != nil {
			return 0
		}
		return b[0]
	}
	switch {
	case strings.HasPrefix(s.Name, "v1 B-tree"):
		return kind(4) == 1
	case strings.HasPrefix(s.Name, "v2 B-tree"):
		return kind(5) == 10 || kind(5) == 11
	}
	return strings.HasPrefix(s.Name, "fixed array") || strings.HasPrefix(s.Name, "extensible array")
}

// ChunkShape returns the shape of the chunks of an array: the shape of a typical read, or the
// chunks so far, enlarged or divided to between 2 MiB and 16 MiB. A length of 0 in access is the
// whole dimension; an access with another number of dimensions has no effect. ChunkShape returns
// nil for a small array that is not chunked.
func ChunkShape(m ndarray.Meta, access []int64) []int64 {
	size := float64(m.DType.Size)
	bytes := func(shape []int64) float64 {
		n := size
		for _, d := range shape {
			n *= float64(d)
		}
		return n
	}
	chunk := slices.Clone(m.Shape)
	switch {
	case m.ChunkShape == nil && bytes(m.Shape) < LeastChunk:
		return nil
	case len(access) == len(chunk):
		for i, n := range access {
			if n > 0 {
				chunk[i] = min(chunk[i], n)
			}
		}
	case m.ChunkShape != nil:
		for i, n := range m.ChunkShape {
			chunk[i] = min(chunk[i], n)
		}
	}
	for bytes(chunk) > MostChunk { // divide the longest dimension
		at := 0
		for i, n := range chunk {
			if n > chunk[at] {
				at = i
			}
		}
		if chunk[at] == 1 {
			break
		}
		chunk[at] = grid.DivUp(chunk[at], 2)
	}
	for bytes(chunk) < LeastChunk { // enlarge the dimension with the most chunks
		at, most := 0, int64(1)
		for i, n := range chunk {
			if count := grid.DivUp(m.Shape[i], n); count > most {
				at, most = i, count
			}
		}
		if most == 1 {
			break
		}
		chunk[at] = min(2*chunk[at], m.Shape[at])
	}
	return chunk
}

// Plan describes the datasets of a new file.
type Plan struct {
	Kept, Rewritten int // datasets that keep their chunk indexes, and that get new ones

	// Compatible uses the oldest formats of objects: version-1 B-trees and layout 3. Index is then
	// the size of all chunk indexes; see TreeBytes.
	Compatible bool
	Index      int64
}

// Create creates a file with paged file space, which otherwise has the creation properties of src.
// A page has space for all metadata, because the first page of a file contains metadata alone. m is
// the metadata of src.
func Create(path string, src *h5.File, m Metadata, plan Plan) (*h5.File, error) {
	creation, err := src.Creation()
	if err != nil {
		return nil, err
	}
	all := int64(plan.Kept + plan.Rewritten)
	need := max(m.Bytes-m.Index, 0)
	o := &h5.CreateOptions{Low: h5.V110, Creation: &creation}
	switch {
	case plan.Compatible:
		need += plan.Index + all*newHeader
		o.Low, o.High = h5.Earliest, h5.V110 // paged file space needs V110
	case all > 0: // the rewritten ones get new indexes
		need += m.Index/all*int64(plan.Kept) + int64(plan.Rewritten)*newIndex
	}
	need += need / 4
	// A page can be longer than 64 KiB.
	creation.OffsetSize, creation.LengthSize = max(creation.OffsetSize, 8), max(creation.LengthSize, 8)
	creation.Space = h5.FileSpace{Strategy: h5.Paged, PageSize: pageSize(need)}
	if creation.UserBlock > 0 { // pages begin after it, at multiples of their size
		creation.UserBlock = max(creation.UserBlock, creation.Space.PageSize)
	}
	return h5.Create(path, o)
}

// TreeBytes returns the size of a version-1 B-tree of the chunks of a dataset, if its nodes are
// half full.
func TreeBytes(rank int, chunks int64) (n int64) {
	const half = 32 // children of a node that is half full
	node := int64(24 + (2*half+1)*(8+8*(rank+1)) + 2*half*8)
	for chunks > 0 {
		nodes := grid.DivUp(chunks, half)
		n += nodes * node
		if chunks = nodes; nodes == 1 {
			break
		}
	}
	return n
}

// pageSize returns the size of a page for n bytes of metadata: a power of two.
func pageSize(n int64) int64 {
	return min(max(int64(1)<<bits.Len64(uint64(max(n, 1)-1)), leastPage), mostPage)
}
