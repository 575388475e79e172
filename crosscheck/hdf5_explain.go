// Explanation of a wrong result for an HDF5 dataset: the chunk and filter, and the misread rule
// that gives exactly this result.

package crosscheck

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// hdf5Misread selects a mistake of a reader of HDF5. The zero value selects no mistake.
type hdf5Misread struct {
	swapped       bool // the bytes of each number are reversed
	maskIgnored   bool // every filter is undone for every chunk
	edgesFiltered bool // filters are undone for chunks at the edges, too
	skip          int  // this filter is not undone
	fillZero      bool // unallocated elements are zero
	edgeCut       bool // chunks at the edges are cut to the shape of the dataset
	packed        bool // stored chunks are placed one after another, without gaps for missing ones
	columnMajor   bool // the first dimension of a chunk changes fastest
	currentExtent bool // the chunks of an index are numbered over the current extent
	fillAlways    bool // unallocated elements have the fill value although it is never written
	unrotated     bool // the chunks of an extensible array are numbered in the order of the dimensions
}

var hdf5Rules = []rule[hdf5Misread]{
	{"the bytes of each number are reversed", "byte order", "IV.A.2.d Datatype, class bit field: bit 0 is the byte order, 0 little-endian, 1 big-endian", hdf5Misread{swapped: true}},
	{"the filter mask of a chunk is ignored", "filter mask", "III.A.1 chunk key: a set bit of the filter mask means that the filter was skipped for this chunk", hdf5Misread{maskIgnored: true}},
	{"filters are undone for unfiltered edge chunks", "edge chunk", "IV.A.2.i layout version 4, flags bit 0: do not apply filters to a partial edge chunk", hdf5Misread{edgesFiltered: true}},
	{"the shuffle is not undone", "filter 2 (shuffle)", "IV.A.2.l: filters are undone from the last to the first", hdf5Misread{skip: h5.FilterShuffle}},
	{"elements that are not stored are read as zero", "fill value", "IV.A.2.f: elements of space that is not allocated have the fill value", hdf5Misread{fillZero: true}},
	{"edge chunks are read as if they were cut to the shape of the dataset", "edge chunk", "III.A.1: all chunks have the size of the layout message, also those that extend beyond the edge", hdf5Misread{edgeCut: true}},
	{"stored chunks are placed one after another, without gaps for missing chunks", "missing chunk", "III.A.1: the offset in the key determines the position of a chunk; chunks may be missing", hdf5Misread{packed: true}},
	{"the first dimension of a chunk is read as the one that varies fastest", "axis order", "IV.A.2.b: the last dimension varies fastest", hdf5Misread{columnMajor: true}},
	{"elements that are not stored have a fill value that is never written", "fill value", "IV.A.2.f: with write time 1 the fill value is never written; libhdf5 reads zero", hdf5Misread{fillAlways: true}},
	{"the chunks of the index are numbered over the current extent", "chunk index", "VII.B to VII.D: an implicit index and the arrays number the chunks of the maximum extent", hdf5Misread{currentExtent: true}},
	{"the chunks of an extensible array are numbered in the order of the dimensions", "chunk index", "libhdf5, extensible array: the unlimited dimension is the slowest one, whatever its position is", hdf5Misread{unrotated: true}},
}

// hdf5Stored is a dataset of fixed-size elements as it is stored.
type hdf5Stored struct {
	info   h5.DatasetInfo
	item   int
	chunks []hdf5Chunk
	whole  []byte // elements, for other layouts
	stored int64  // bytes
}

type hdf5Chunk struct {
	h5.Chunk
	data []byte
}

// loadStored reads the stored chunks of a dataset. It returns nil if the rules do not apply to the
// object.
func loadStored(path, object string) (s *hdf5Stored, err error) {
	f, err := openHDF5File(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if strings.Contains(object, "@") {
		return nil, nil // an attribute
	}
	if kind, err := f.Root().Kind(object); err != nil || kind != h5.DatasetObject {
		return nil, err
	}
	o, err := openHDF5(f, object)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	d := o.(*h5.Dataset)
	s = &hdf5Stored{}
	if s.info, err = d.Info(); err != nil {
		return nil, err
	}
	if s.stored, _, err = d.Stored(); err != nil {
		return nil, err
	}
	if !s.info.Datatype.Plain() || s.info.Space.NumElems() == 0 {
		return nil, nil
	}
	s.item = s.info.Datatype.Size
	if s.info.Layout != h5.Chunked {
		s.whole = make([]byte, s.info.Space.NumElems()*int64(s.item))
		return s, d.ReadRegion(s.whole, s.info.Datatype, s.info.Space.All())
	}
	for c, err := range d.StoredChunks() {
		if err != nil {
			return nil, err
		}
		b := make([]byte, c.Bytes)
		if len(c.Offset) < h5.MaxRank {
			_, _, err = d.ReadChunk(b, c.Offset...)
		} else { // ReadChunk does not support 32 dimensions, see docs/defects.md
			err = readAt(path, b, int64(c.Address))
		}
		if err != nil {
			return nil, err
		}
		s.chunks = append(s.chunks, hdf5Chunk{c, b})
	}
	return s, nil
}

// readAt fills b with the bytes at an offset of a file.
func readAt(path string, b []byte, offset int64) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.ReadAt(b, offset)
	return err
}

// partial reports whether a chunk extends beyond the edge of the dataset.
func (s *hdf5Stored) partial(c *hdf5Chunk) bool {
	for i, at := range c.Offset {
		if at+s.info.ChunkShape[i] > s.info.Space.Dims[i] {
			return true
		}
	}
	return false
}

// chunk undoes the filters of a chunk.
func (s *hdf5Stored) chunk(c *hdf5Chunk, m hdf5Misread) ([]byte, error) {
	n := s.item * int(s.chunkElems())
	if s.info.PlainEdges && s.partial(c) && !m.edgesFiltered {
		return c.data, nil
	}
	mask := c.FilterMask
	if m.maskIgnored {
		mask = 0
	}
	for i, f := range s.info.Filters {
		if f.ID == m.skip {
			mask |= 1 << i
		}
	}
	p, err := filter.New(s.info.Filters, filter.Options{})
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	return out, p.Decode(out, c.data, mask)
}

// read assembles the dataset.
func (s *hdf5Stored) read(m hdf5Misread) ([]byte, error) {
	dims := s.info.Space.Dims
	var out []byte
	if s.info.Layout != h5.Chunked {
		out = bytes.Clone(s.whole)
		if m.fillZero && s.stored == 0 && !s.elsewhere() {
			clear(out)
		}
	} else {
		fill := s.info.Fill
		if len(fill) != s.item || m.fillZero || s.info.FillTime == h5.FillNever && !m.fillAlways {
			fill = make([]byte, s.item)
		}
		out = bytes.Repeat(fill, int(s.info.Space.NumElems()))
		counts := make([]int64, len(dims))
		for i := range dims {
			counts[i] = grid.DivUp(dims[i], s.info.ChunkShape[i])
		}
		for k := range s.chunks {
			c := &s.chunks[k]
			b, err := s.chunk(c, m)
			if err != nil {
				return nil, fmt.Errorf("chunk at %v: %w", c.Offset, err)
			}
			offset := c.Offset
			if m.packed {
				offset = make([]int64, len(dims))
				for i, rest := len(dims)-1, int64(k); i >= 0; i-- {
					offset[i] = rest % counts[i] * s.info.ChunkShape[i]
					rest /= counts[i]
				}
			}
			if m.currentExtent || m.unrotated {
				if offset = s.renumbered(offset, m); offset == nil {
					continue // outside the dataset
				}
			}
			s.put(out, b, offset, m)
		}
	}
	if m.swapped && (s.info.Datatype.Class == h5.Integer || s.info.Datatype.Class == h5.Float) {
		for i := 0; i < len(out); i += s.item {
			reverse(out[i : i+s.item])
		}
	}
	return out, nil
}

// renumbered returns the offset at which a reader that misreads the order of an index places a
// chunk, or nil for an offset outside the dataset.
func (s *hdf5Stored) renumbered(offset []int64, m hdf5Misread) []int64 {
	dims, most := s.info.Space.Dims, s.info.Space.MaxDims
	if most == nil {
		most = dims
	}
	extensible := s.info.Index == h5.ExtensibleArray
	if !extensible && (m.unrotated || s.info.Index != h5.FixedArray && s.info.Index != h5.Implicit) {
		return offset
	}
	order, counts, current := make([]int, 0, len(dims)), make([]int64, len(dims)), make([]int64, len(dims))
	for i := range dims {
		current[i] = grid.DivUp(dims[i], s.info.ChunkShape[i])
		counts[i] = grid.DivUp(max(most[i], dims[i]), s.info.ChunkShape[i])
		if most[i] == h5.Unlimited { // the slowest dimension, whose count does not matter
			order = append([]int{i}, order...)
			counts[i] = current[i]
		} else {
			order = append(order, i)
		}
	}
	number := int64(0)
	for _, i := range order {
		number = number*counts[i] + offset[i]/s.info.ChunkShape[i]
	}
	if m.unrotated {
		slices.Sort(order)
	}
	if m.currentExtent {
		counts = current
	}
	placed := make([]int64, len(dims))
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		placed[i] = number % counts[i] * s.info.ChunkShape[i]
		number /= counts[i]
		if placed[i] >= dims[i] {
			return nil
		}
	}
	if number > 0 {
		return nil
	}
	return placed
}

// elsewhere reports whether the elements are outside the file.
func (s *hdf5Stored) elsewhere() bool {
	return s.info.Layout == h5.Virtual || len(s.info.External) > 0
}

// put copies the elements of a chunk to their positions in the dataset.
func (s *hdf5Stored) put(out, b []byte, offset []int64, m hdf5Misread) {
	dims, chunks := s.info.Space.Dims, s.info.ChunkShape
	shape := make([]int64, len(dims)) // of the part inside the dataset
	n := int64(1)
	for i := range dims {
		shape[i] = min(chunks[i], dims[i]-offset[i])
		n *= shape[i]
	}
	in, at := make([]int64, len(dims)), make([]int64, len(dims))
	for k := range n {
		rest := k
		for i := len(dims) - 1; i >= 0; i-- {
			in[i] = rest % shape[i]
			at[i] = offset[i] + in[i]
			rest /= shape[i]
		}
		from := rowMajor(in, chunks)
		switch {
		case m.edgeCut:
			from = rowMajor(in, shape)
		case m.columnMajor:
			from = 0
			for i := len(dims) - 1; i >= 0; i-- {
				from = from*chunks[i] + in[i]
			}
		}
		if to := rowMajor(at, dims) * int64(s.item); (from+1)*int64(s.item) <= int64(len(b)) {
			copy(out[to:to+int64(s.item)], b[from*int64(s.item):])
		}
	}
}

const (
	elementsSentence = "IV.A.2.b and IV.A.2.d: elements are stored in row-major order, each in the form of its datatype; an element of variable length is stored in the global heap"
	chunkSentence    = "III.A.1, VII: the index contains the address of each chunk, whose elements are in row-major order; filters are undone from the last to the first, except those in the filter mask"
)

func explainHDF5(path string, c Case, got []byte) (*Explanation, error) {
	want, err := decodeHDF5(path, c.Object)
	if err != nil {
		return nil, err
	}
	x := difference(got, want.data, want.item)
	if x.Offset < 0 {
		return x, nil
	}
	if want.starts != nil { // elements of different lengths
		x.Element = int64(max(sort.SearchInts(want.starts, int(x.Offset)+1)-1, 0))
	}
	x.Stage, x.Sentence = "elements", elementsSentence
	dims, elements := want.shape, int64(1)
	for _, n := range dims {
		elements *= n
	}
	if element := x.Element; len(dims) > 0 && element < elements {
		x.Index = make([]int64, len(dims))
		for k := len(dims) - 1; k >= 0; k-- {
			x.Index[k] = element % dims[k]
			element /= dims[k]
		}
	}
	s, err := loadStored(path, c.Object)
	if err != nil {
		return nil, err
	}
	if s == nil {
		for _, name := range slices.Sorted(maps.Keys(want.metadata)) {
			x.Header = append(x.Header, fmt.Sprintf("%s = %v", name, want.metadata[name]))
		}
		return x, nil
	}
	i := &s.info
	x.Header = []string{
		fmt.Sprintf("%v, %v, %v", i.Datatype, i.Space, i.Layout),
		fmt.Sprintf("fill value %x, %d bytes stored", i.Fill, s.stored),
	}
	if i.Layout == h5.Chunked {
		s.explainChunk(x, got)
	}
	explainedBy(x, hdf5Rules, got, s.read)
	return x, nil
}

// stages returns the bytes of a chunk as stored, and after each filter that is undone. The list
// ends early if the length between two filters is unknown, or if only libhdf5 has a filter.
func (s *hdf5Stored) stages(c *hdf5Chunk) []stage {
	out := []stage{{name: "stored", slot: -1, data: c.data}}
	if s.info.PlainEdges && s.partial(c) {
		return out
	}
	for i := len(s.info.Filters) - 1; i >= 0; i-- {
		if c.FilterMask>>i&1 != 0 {
			continue
		}
		f, src := s.info.Filters[i], out[len(out)-1].data
		n := len(src)
		switch f.ID {
		case h5.FilterShuffle:
		case h5.FilterFletcher32:
			n -= 4
		default: // a codec: its output has the length after the filters before it
			n = s.item * int(s.chunkElems())
			for k, before := range s.info.Filters[:i] {
				if before.ID == h5.FilterFletcher32 && c.FilterMask>>k&1 == 0 {
					n += 4
				}
			}
		}
		p, err := filter.New(s.info.Filters[i:i+1], filter.Options{})
		if err != nil || n < 0 {
			return out
		}
		dst := make([]byte, n)
		if p.Decode(dst, src, 0) != nil {
			return out
		}
		out = append(out, stage{name: fmt.Sprintf("filter %d (%s)", f.ID, f.Name), slot: i, data: dst})
	}
	return out
}

// inside returns a buffer of the size of the dataset with the bytes b at the positions of the
// chunk's elements, and zeros elsewhere.
func (s *hdf5Stored) inside(c *hdf5Chunk, b []byte) []byte {
	out := make([]byte, s.info.Space.NumElems()*int64(s.item))
	whole := make([]byte, int64(s.item)*s.chunkElems())
	copy(whole, b)
	s.put(out, whole, c.Offset, hdf5Misread{})
	return out
}

// only returns a copy of a result with zeros outside a chunk.
func (s *hdf5Stored) only(c *hdf5Chunk, got []byte) []byte {
	out := bytes.Clone(got)
	for i, m := range s.inside(c, bytes.Repeat([]byte{0xFF}, s.item*int(s.chunkElems()))) {
		out[i] &= m
	}
	return out
}

// partsAt returns the decoding step of a chunk from which a result differs from the reference.
func (s *hdf5Stored) partsAt(c *hdf5Chunk, got []byte) string {
	steps := s.stages(c)
	theirs := s.only(c, got)
	for i := len(steps) - 2; i >= 0; i-- {
		if bytes.Equal(s.inside(c, steps[i].data), theirs) {
			return steps[i+1].name + ": not done, the result equals the data before this step"
		}
	}
	if len(steps) == 1 {
		return "chunks"
	}
	return steps[len(steps)-1].name + ", or an earlier step"
}

func (s *hdf5Stored) chunkElems() int64 {
	n := int64(1)
	for _, k := range s.info.ChunkShape {
		n *= k
	}
	return n
}

// explainChunk reports the chunk that contains the first difference, and the step.
func (s *hdf5Stored) explainChunk(x *Explanation, got []byte) {
	x.Stage, x.Sentence = "chunks", chunkSentence
	if x.Index == nil {
		return
	}
	i := &s.info
	x.Header = append(x.Header, fmt.Sprintf("chunks %v, index %v, %d stored", i.ChunkShape, i.Index, len(s.chunks)))
	for k, f := range i.Filters {
		x.Header = append(x.Header, fmt.Sprintf("filter %d = %d (%s), values %v", k, f.ID, f.Name, f.Values))
	}
	offset, at, counts := make([]int64, len(x.Index)), make([]int64, len(x.Index)), make([]int64, len(x.Index))
	for k, n := range x.Index {
		at[k] = n / i.ChunkShape[k]
		offset[k] = at[k] * i.ChunkShape[k]
		counts[k] = grid.DivUp(i.Space.Dims[k], i.ChunkShape[k])
	}
	x.Chunk = rowMajor(at, counts)
	for k := range s.chunks {
		c := &s.chunks[k]
		if rowMajor(c.Offset, i.Space.Dims) == rowMajor(offset, i.Space.Dims) {
			x.Header = append(x.Header, fmt.Sprintf("chunk at %v: %d bytes at address %d, filter mask 0x%x", c.Offset, c.Bytes, c.Address, c.FilterMask))
			if x.GotSize == x.WantSize {
				x.Stage = s.partsAt(c, got)
			}
			return
		}
	}
	x.Header = append(x.Header, fmt.Sprintf("chunk at %v: not stored", offset))
	x.Stage, x.Sentence = "missing chunk", "IV.A.2.f: elements of space that is not allocated have the fill value"
}
