// Fields that repeat a size of the datatype or of the chunk: the element size of the layout and
// parameters of filters. Stronger evidence replaces them if they contradict it.

package recovery

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// samples is the number of chunks of a dataset that decide about its redundant fields.
const samples = 16

// contradictory reports whether the header of a dataset with chunks contradicts itself, so that
// fields can change it.
func contradictory(o *h5file.Object) bool {
	l := o.Layout()
	return l.Class == h5file.Chunked && len(l.Dims) >= 2 && (derivedPipeline(o) != nil || resized(o))
}

// fields corrects the redundant fields of a dataset.
func (p *planner) fields(s *source, e h5file.Entry) error {
	o := e.Object
	l, stored := o.Layout(), o.Pipeline()
	if derived := derivedPipeline(o); derived != nil && s.prefers(o, derived) {
		s.trial = derived
		defer func() { s.trial = nil }()
		for i, f := range derived.Filters {
			if err := p.parameters(e.Path, stored.Filters[i], f.Values); err != nil {
				return err
			}
		}
	}
	if !resized(o) || l.ElementAt < 0 {
		return nil
	}
	size := uint64(o.Datatype().Size)
	c := Change{
		Offset: l.ElementAt, New: littleEndian(size, l.ElementLength), Structure: "data layout message", Object: e.Path, Certainty: Guessed,
		Reason: fmt.Sprintf("elements: got %d bytes, want %d, those of the datatype", l.Dims[len(l.Dims)-1], size),
	}
	if s.sizeProved(o) {
		c.Certainty = Certain
		c.Reason += ", which the chunks confirm"
	}
	if c.Certainty == Guessed && !p.guess {
		return nil
	}
	return p.change(c)
}

// parameters replaces the parameters of a filter by others of the same number.
func (p *planner) parameters(path string, f h5file.Filter, values []uint32) error {
	for i, v := range values {
		if v == f.Values[i] {
			continue
		}
		err := p.change(Change{
			Offset: f.ValuesAt + 4*int64(i), New: littleEndian(uint64(v), 4), Structure: "filter pipeline message", Object: path, Certainty: Certain,
			Reason: fmt.Sprintf("parameter %d of %v: got %d, want %d, which follows from the datatype and the chunk shape and is confirmed by the chunks or the checksum of the object header", i, f.ID, f.Values[i], v),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// littleEndian returns v in n bytes.
func littleEndian(v uint64, n int) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, v), make([]byte, max(n-8, 0))...)[:n]
}

// resized reports whether the element size of a chunked layout differs from that of the datatype.
func resized(o *h5file.Object) bool {
	d := o.Layout().Dims
	return d[len(d)-1] != uint64(o.Datatype().Size)
}

// sizeProved reports whether the chunks of a dataset confirm the element size of the datatype: a
// checksum covers one of them, or most have the length that follows from this size.
func (s *source) sizeProved(o *h5file.Object) bool {
	n, good := 0, 0
	for c, err := range o.Chunks() {
		if n++; n > samples {
			break
		}
		raw, _, cerr := s.chunk(o, c)
		if err != nil || cerr != nil {
			continue
		}
		if good++; s.hasValueChecksum(o, c, raw) {
			return true
		}
	}
	return n == 0 || 2*good > min(n, samples)
}

// derivedPipeline returns the pipeline of a dataset with the parameters that libhdf5 derives from
// the datatype and the chunk shape. It returns nil if they equal the stored ones or cannot be
// derived.
func derivedPipeline(o *h5file.Object) *h5file.Pipeline {
	stored := o.Pipeline()
	if stored == nil {
		return nil
	}
	out := &h5file.Pipeline{Version: stored.Version, Filters: slices.Clone(stored.Filters)}
	differs := false
	for i := range out.Filters {
		f := &out.Filters[i]
		if v := derivedValues(o, f); len(v) == len(f.Values) && !slices.Equal(v, f.Values) && f.ValuesAt >= 0 {
			f.Values, differs = v, true
		}
	}
	if !differs {
		return nil
	}
	return out
}

// derivedValues returns the parameters of one filter, or nil if they cannot be derived.
func derivedValues(o *h5file.Object, f *h5file.Filter) []uint32 {
	size := o.Datatype().Size
	v := slices.Clone(f.Values)
	switch int(f.ID) {
	case h5.FilterShuffle:
		return []uint32{size}
	case filter.IDBitShuffle:
		if len(v) < 3 {
			return nil
		}
		v[2] = size
		return v
	case h5.FilterNbit, h5.FilterScaleOffset, h5.FilterSzip:
		made := libraryValues(o, f)
		if int(f.ID) != h5.FilterScaleOffset {
			return made
		}
		if len(made) != len(v) || len(v) < 7 {
			return nil
		}
		copy(v[2:5], made[2:5])       // number of elements, class, size
		if v[3] != scaleOffsetFloat { // libhdf5 does not read the sign of floats
			v[5] = made[5]
		}
		v[6] = made[6] // byte order; the rest belongs to the fill value
		return v
	}
	return nil
}

// libraryValues returns the parameters that libhdf5 stores for a filter of chunks like those of o,
// or nil if it does not create such a dataset.
func libraryValues(o *h5file.Object, f *h5file.Filter) []uint32 {
	t, err := h5types.Datatype(o.Datatype())
	if err != nil {
		return nil
	}
	one := h5.Filter{ID: int(f.ID), Optional: f.Optional, Values: f.Values}
	p, err := createSample(t, chunkShape(o.Layout()), []h5.Filter{one}, fillOf(o, t))
	if err != nil {
		return nil
	}
	defer func() { _ = p.close() }() // it is in memory
	if len(p.info.Filters) != 1 {
		return nil
	}
	return p.info.Filters[0].Values
}

// prefers reports whether the evidence confirms derived parameters rather than the stored ones. In
// descending order of strength:
//
//   - a checksum of values that a replaced filter outputs when it decodes
//   - chunks that decode with only one of the two
//   - the checksum of the object header
//
// Otherwise the stored parameters remain, because libhdf5 uses them.
func (s *source) prefers(o *h5file.Object, derived *h5file.Pipeline) bool {
	stored := o.Pipeline()
	defer func() { s.trial = nil }()
	var good, proved [2]int
	n := 0
	for c, err := range o.Chunks() {
		if err != nil {
			continue
		}
		if n++; n > samples {
			break
		}
		for i, l := range []*h5file.Pipeline{stored, derived} {
			s.trial = l
			raw, _, err := s.chunk(o, c)
			if err != nil {
				continue
			}
			good[i]++
			if provesParameters(l, stored, derived, c.Mask, raw) {
				proved[i]++
			}
		}
	}
	switch {
	case proved[0] != proved[1]:
		return proved[1] > proved[0]
	case good[0] != good[1]:
		return good[1] > good[0]
	case good[1] == 0:
		return false
	}
	return o.Version == 2 && s.headerProves(o, derived)
}

// provesParameters reports whether a chunk that decoded with l has a checksum before the first
// filter in which stored and derived differ: the checksum covers the output of this filter's
// decoder.
func provesParameters(l, stored, derived *h5file.Pipeline, mask uint32, raw []byte) bool {
	first := 0
	for slices.Equal(stored.Filters[first].Values, derived.Filters[first].Values) || mask>>first&1 != 0 {
		if first++; first == len(stored.Filters) {
			return false
		}
	}
	return summed(h5types.Filters(&h5file.Pipeline{Filters: l.Filters[:first]}), mask, nil) && !zeros(raw)
}

// headerProves reports whether the checksum of an object header is wrong with the stored parameters
// and right with the derived ones.
func (s *source) headerProves(o *h5file.Object, derived *h5file.Pipeline) bool {
	m := o.Message(h5file.PipelineType)
	if m == nil || m.Ref != nil || m.Chunk >= len(o.Pieces) {
		return false
	}
	piece := o.Pieces[m.Chunk]
	b, err := s.file.Read(piece.Addr, piece.Size)
	if err != nil || len(b) < 4 {
		return false
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if h5file.Lookup3(body) == sum {
		return false
	}
	for _, f := range derived.Filters {
		at := f.ValuesAt - s.file.Position(piece.Addr)
		if at < 0 || int(at)+4*len(f.Values) > len(body) {
			return false
		}
		for k, v := range f.Values {
			binary.LittleEndian.PutUint32(body[int(at)+4*k:], v)
		}
	}
	return h5file.Lookup3(body) == sum
}

// doubtful reports whether the parameters of a filter contradict the datatype in an object header
// without a checksum. The elements of such chunks are not certain, although their checksums are
// right.
func (s *source) doubtful(o *h5file.Object) bool {
	if o.Version != 1 {
		return false
	}
	d, ok := s.doubts[o.Addr]
	if l := o.Layout(); !ok && l != nil && l.Class == h5file.Chunked && len(l.Dims) > 1 && o.Datatype() != nil && o.Dataspace() != nil {
		if s.doubts == nil {
			s.doubts = map[h5file.Addr]bool{}
		}
		d = derivedPipeline(o) != nil
		s.doubts[o.Addr] = d
	}
	return d
}

// doubt adds the finding about filters of a doubtful dataset.
func (r *Report) doubt(at string, o *h5file.Object) {
	derived := derivedPipeline(o)
	for i, f := range o.Pipeline().Filters {
		if want := derived.Filters[i].Values; !slices.Equal(f.Values, want) {
			r.note(Unverified, at, "filter pipeline message", f.ValuesAt, "parameters of %v: got %v, want %v, which follow from the datatype and the chunk shape; no checksum decides, and the stored ones remain", f.ID, f.Values, want)
		}
	}
}

// errStoredLength is the reason for rewriting a file with chunks of another length.
var errStoredLength = fmt.Errorf("%w: a chunk that HDF5 2.2 refuses because of its length", format.ErrCorrupt)

// sizeConfirmed returns an error if the chunks of a dataset without filters do not confirm the
// element size of the datatype against that of the layout. In a B-tree of version 1 each chunk has
// its size. In the other indexes the chunks must not overlap.
func (s *source) sizeConfirmed(o *h5file.Object, c h5file.Chunk, full uint64) error {
	contradiction := fmt.Errorf("%w: chunks of elements of another size than the datatype's", format.ErrCorrupt)
	if c.Size == full {
		return nil
	}
	if l := o.Layout(); l.Index == h5file.BTree1Index || l.Index == h5file.ImplicitIndex {
		return contradiction
	}
	var at []uint64
	for k, err := range o.Chunks() {
		if err != nil {
			return contradiction
		}
		at = append(at, uint64(k.Addr))
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < full {
			return contradiction
		}
	}
	return nil
}
