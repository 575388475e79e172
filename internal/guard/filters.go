// Filter parameters and lengths of stored chunks before libhdf5 runs a filter. Its code for szip,
// n-bit, scale-offset and checksums uses them without bounds checks.

package guard

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Filter is one filter of a dataset: its id in HDF5, and its parameters.
type Filter struct {
	ID     int
	Values []uint32
}

func (f *Filter) parsed() h5file.Filter {
	return h5file.Filter{ID: h5file.FilterID(f.ID), Values: f.Values}
}

// Parameters returns an error for parameters with which libhdf5's decoder of n-bit, scale-offset or
// szip would access memory outside its buffers, divide by zero, or produce a chunk of another size.
// element and chunk are the sizes in bytes of an element and of an unfiltered chunk.
func (f *Filter) Parameters(element, chunk uint64) error {
	x := f.parsed()
	return x.Sound(element, chunk)
}

// ChunkLengths checks the lengths of the stored chunks of a dataset. It describes the last filter
// that is not a checksum, if it is one without bounds checks (szip, n-bit, scale-offset), and the
// checksums after it.
type ChunkLengths struct {
	// Enough is the size in bytes of a stored chunk that is long enough, whatever its content.
	Enough uint64

	step           int           // index of the last filter that is not a checksum, of any kind; -1 if there is no such filter
	sums           int           // number of checksums after it
	filter         h5file.Filter // the zero Filter if it has bounds checks
	element, chunk uint64        // sizes in bytes
	plain          bool          // only shuffles come before the checksums

	// early contains all filters if a checksum comes before a filter that is not one. Then the
	// filters after that checksum are reversed to check each chunk, and Enough is the largest
	// uint64.
	early *h5file.Pipeline
}

// NewChunkLengths returns nil if there is no checksum and the last filter has bounds checks. The
// size of a chunk before another filter is only known after reversing that filter, which is done
// only for checksums.
func NewChunkLengths(filters []Filter, element, chunk uint64) *ChunkLengths {
	is := func(id h5file.FilterID) func(Filter) bool {
		return func(f Filter) bool { return f.ID == int(id) }
	}
	t := &ChunkLengths{step: len(filters) - 1, element: element, chunk: chunk}
	for t.step >= 0 && is(h5file.Fletcher32)(filters[t.step]) {
		t.step--
		t.sums++
	}
	t.Enough = 4 * uint64(t.sums)
	if t.step >= 0 {
		last := filters[t.step].parsed()
		if need, err := last.Needs(nil, element, chunk); err == nil && need > 0 { // otherwise it has bounds checks or has no effect
			t.filter = last
			t.Enough += need
		}
	}
	if t.filter.ID == h5file.ScaleOffset {
		t.Enough += chunk // an upper bound, because the chunk itself contains the number of bits of its values
	}
	before := filters[:t.step+1]
	if slices.ContainsFunc(before, is(h5file.Fletcher32)) {
		t.early, t.Enough = &h5file.Pipeline{}, math.MaxUint64
		for _, f := range filters {
			t.early.Filters = append(t.early.Filters, f.parsed())
		}
	}
	if t.Enough == 0 {
		return nil
	}
	if t.plain = !slices.ContainsFunc(before, func(f Filter) bool { return f.ID != int(h5file.Shuffle) }); t.plain {
		t.Enough += chunk
	}
	return t
}

// Check returns an error if a chunk of this stored size, with this filter mask and these first
// bytes, is too short for its decoder.
func (t *ChunkLengths) Check(bytes uint64, mask uint32, head []byte) error {
	if bytes >= t.Enough {
		return nil
	}
	sums := uint64(4 * (t.sums - bits.OnesCount32(mask>>(t.step+1))))
	have := bytes - min(bytes, sums)
	switch {
	case bytes < sums:
		return fmt.Errorf("%d bytes for %v, which reads %d", bytes, h5file.Fletcher32, sums)
	case t.plain && have < t.chunk:
		return fmt.Errorf("%d bytes before the checksum, want %d", have, t.chunk)
	case t.filter.ID != 0 && mask>>t.step&1 == 0:
		need, err := t.filter.Needs(head[:min(4, have)], t.element, t.chunk)
		if err == nil && have < need {
			err = fmt.Errorf("%d bytes for %v, which reads %d", have, t.filter.ID, need)
		}
		return err
	}
	return nil
}

// EarlySums reports whether CheckSums must check each chunk.
func (t *ChunkLengths) EarlySums() bool { return t.early != nil }

// mostChunk is larger than any chunk of libhdf5.
const mostChunk = 1 << 32

// CheckSums reverses the filters of a stored chunk down to the first checksum. It returns an error
// if a checksum gets less than its 4 bytes. undo reverses a filter that package h5file does not
// contain, to at most most bytes. It returns nil without an error for a filter that it cannot
// reverse; the remaining filters are then not checked.
func (t *ChunkLengths) CheckSums(mask uint32, stored []byte, undo func(f Filter, src []byte, most uint64) ([]byte, error)) error {
	most := t.chunk + t.chunk/8 + 4096
	if t.chunk == 0 { // elements with pointers, whose stored size libhdf5 does not return
		most = mostChunk
	}
	return t.early.LongForSums(mask, stored, most, func(f *h5file.Filter, b []byte, most uint64) ([]byte, error) {
		return undo(Filter{int(f.ID), f.Values}, b, most)
	})
}

// LongEnough checks a stored chunk with n-bit or scale-offset, whose decoders in libhdf5 read out
// of bounds if the chunk is too short. It reverses the filters after n-bit or scale-offset with
// decode, except those whose bit is set in mask. known reports whether decode supports a filter.
// element and chunk are the sizes in bytes of an element and of an unfiltered chunk.
//
// It returns format.ErrCorrupt for a chunk that is too short, for invalid parameters, and for a
// chunk of the wrong size on which such a filter has no effect. It returns errors.ErrUnsupported
// for two such filters of one chunk, and the errors of decode.
func LongEnough(filters []Filter, mask uint32, stored []byte, element, chunk int, known func(id int) bool, decode func(f Filter, dst, src []byte) (int, error)) error {
	inside := false // stored is the output of n-bit or scale-offset
	for i := len(filters) - 1; i >= 0; i-- {
		f := filters[i]
		if mask>>i&1 != 0 {
			continue
		}
		if known(f.ID) {
			if inside {
				continue
			}
			dst := make([]byte, chunk+chunk/8+64) // for output that is longer than the chunk
			n, err := decode(f, dst, stored)
			if err != nil {
				return err
			}
			stored = dst[:n]
			continue
		}
		step := f.parsed()
		need, err := step.Needs(stored, uint64(element), uint64(chunk))
		switch {
		case err != nil:
			return err
		case inside && need > 0:
			return fmt.Errorf("%w: %s after another filter that only libhdf5 has", errors.ErrUnsupported, step.ID)
		case uint64(len(stored)) < need:
			return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes for %s", len(stored), step.ID), Want: fmt.Sprintf("at least %d", need), Err: format.ErrCorrupt}
		}
		inside = inside || need > 0
	}
	if !inside && len(stored) != chunk { // all filters are reversed, and libhdf5 uses the result as the chunk
		return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes without its filters", len(stored)), Want: fmt.Sprint(chunk), Err: format.ErrCorrupt}
	}
	return nil
}
