// Layout of HDF5 files in object stores: verify --cloud reports it, and repack --cloud writes it.

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Sizes that suit reads over a network, in bytes.
const (
	LeastCloudChunk  = 2 << 20
	MostCloudChunk   = 16 << 20
	leastCloudPage   = 64 << 10
	mostCloudPage    = 16 << 20
	cloudFirst       = 512 << 10 // of the request that opens a file
	cloudRequest     = 4 << 20   // of another request
	cloudGap         = 256 << 10 // between two structures that one request reads
	MostCloudOpening = 3         // requests for all metadata of a good layout
	cloudPerDataset  = 256       // metadata of a new chunk index
)

// metadataLayout are the bytes of the metadata of a file, and the requests that read them.
type metadataLayout struct {
	Bytes    int64
	index    int64 // of chunk indexes, and of the B-trees of groups
	Requests int
}

// chunkIndexes are the beginnings of the names of their structures in internal/format/h5file.
var chunkIndexes = []string{"v1 B-tree", "v2 B-tree", "fixed array", "extensible array"}

// MetadataOf examines all structures of a file except elements. Global heaps contain elements.
func MetadataOf(r shell.SourceFile, size int64) (l metadataLayout, err error) {
	var spans []inspect.Span
	err = h5file.Structures(r, size, func(s format.Field) {
		if kind := inspect.KindOf(s.Name); kind != "gheap" && s.Length > 0 && s.Offset >= 0 {
			spans = append(spans, inspect.Span{From: s.Offset, End: s.Offset + s.Length, Kind: kind})
			if slices.ContainsFunc(chunkIndexes, func(name string) bool { return strings.HasPrefix(s.Name, name) }) {
				l.index += s.Length
			}
		}
	})
	if err != nil {
		return l, err
	}
	slices.SortFunc(spans, func(a, b inspect.Span) int { return cmp.Compare(a.From, b.From) })
	start, end, counted := int64(0), min(cloudFirst, size), int64(0)
	l.Requests = 1
	for _, s := range spans {
		if s.End > counted {
			l.Bytes += s.End - max(s.From, counted)
			counted = s.End
		}
		if s.End <= end {
			continue
		}
		if s.From-end > cloudGap || s.End-start > cloudRequest {
			start = max(s.From, end)
			l.Requests += int(grid.DivUp(s.End-start, cloudRequest))
		}
		end = s.End
	}
	return l, nil
}

// cloudFlags are the options of repack for object stores.
type cloudFlags struct {
	cloud  bool
	access string
}

func (o *cloudFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.cloud, "cloud", false, "layout of HDF5 for object stores: paged file space, metadata first, chunks of 2 MiB to 16 MiB")
	f.StringVar(&o.access, "access", "", "with --cloud: `SHAPE` of a typical read in elements, for example 1,*,* (* is the whole "+
		"dimension); for arrays with as many dimensions")
}

// check checks the flags.
func (o *cloudFlags) check(chunks string) error {
	_, err := parseAccess(o.access)
	switch {
	case o.access != "" && !o.cloud:
		return shell.Usagef("--access %s: it chooses the chunks of --cloud", o.access)
	case o.access != "" && chunks != "":
		return shell.Usagef("--access and --chunks: both choose the shape of chunks")
	case err != nil:
		return shell.Usagef("--access: %w", err)
	}
	return nil
}

// parseAccess parses the shape of a read. An asterisk is 0, the whole dimension.
func parseAccess(s string) ([]int64, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	shape := make([]int64, len(parts))
	for i, part := range parts {
		if strings.TrimSpace(part) == "*" {
			continue
		}
		n, err := term.ParseShape(part)
		if err != nil || len(n) != 1 {
			return nil, fmt.Errorf("%q is not a shape of a read; write elements or * along each dimension, for example 1,*,*", s)
		}
		shape[i] = n[0]
	}
	return shape, nil
}

// chunks returns the shape of the chunks of an array: the access pattern, or the chunks so far,
// enlarged or divided to between 2 MiB and 16 MiB. It returns nil for a small array that is not
// chunked.
func (o *cloudFlags) chunks(m ndarray.Meta) []int64 {
	access, _ := parseAccess(o.access) // checked
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
	case m.ChunkShape == nil && bytes(m.Shape) < LeastCloudChunk:
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
	for bytes(chunk) > MostCloudChunk { // divide the longest dimension
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
	for bytes(chunk) < LeastCloudChunk { // enlarge the dimension with the most chunks
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

// createCloud creates the file of repack --cloud. A page has space for all metadata, because the
// first page of a file contains metadata alone.
func (r *repacker) createCloud(file string) (*h5.File, error) {
	creation, err := r.src.Creation()
	if err != nil {
		return nil, err
	}
	src, err := os.Open(r.file)
	if err != nil {
		return nil, err
	}
	info, err := src.Stat()
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	l, err := MetadataOf(src, info.Size())
	if err := errors.Join(err, src.Close()); err != nil {
		return nil, err
	}
	need := max(l.Bytes-l.index, 0)
	if all := int64(r.kept + r.rewritten); all > 0 { // the others get new indexes
		need += l.index / all * int64(r.kept)
	}
	need += need/4 + int64(r.rewritten)*cloudPerDataset
	creation.OffsetSize, creation.LengthSize = max(creation.OffsetSize, 8), max(creation.LengthSize, 8) // a page can be longer than 64 KiB
	creation.Space = h5.FileSpace{Strategy: h5.Paged, PageSize: cloudPage(need)}
	if creation.UserBlock > 0 { // pages begin after it, at multiples of their size
		creation.UserBlock = max(creation.UserBlock, creation.Space.PageSize)
	}
	dst, err := h5.Create(file, &h5.CreateOptions{Low: h5.V110, Creation: &creation})
	return dst, err
}

// cloudPage returns the size of a page for n bytes of metadata: a power of two.
func cloudPage(n int64) int64 {
	return min(max(int64(1)<<bits.Len64(uint64(max(n, 1)-1)), leastCloudPage), mostCloudPage)
}
