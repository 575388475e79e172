// Pipeline: the filters of a dataset, applied in sequence.

package filter

// #include "shim.h"
// #cgo noescape goh5z_pipeline_decode
// #cgo nocallback goh5z_pipeline_decode
// #cgo noescape goh5z_pipeline_encode
// #cgo nocallback goh5z_pipeline_encode
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/cmem"
)

// maxSteps is the maximum number of filters in a pipeline (H5Z_MAX_NFILTERS).
const maxSteps = 32

// Options are the options of a Pipeline. The zero value contains the defaults.
type Options struct {
	Exact        bool // deflate writes the same bytes as zlib, which takes two to four times as long; Blosc the same as its plug-in, one chunk at a time
	SkipChecksum bool // do not verify checksums when decoding (H5Pset_edc_check)
}

func (o Options) exact() C.int32_t {
	if o.Exact {
		return 1
	}
	return 0
}

// Pipeline contains the filters of a dataset, in the order of writing. It is safe for concurrent
// use.
type Pipeline struct {
	filters  []h5.Filter
	segments []segment
	o        Options
}

// A segment is a sequence of consecutive filters that one call executes. All adjacent filters in C
// form a segment. Each filter in Go is a segment.
type segment struct {
	first, count int
	packed       []uint32 // for C: number, optional, number of values, and values of each filter; nil for Go
}

// New makes the pipeline of filters, which are in the order of DatasetInfo. It returns an
// *h5.FilterError for a filter that this package does not have, or ErrParam for more than maxSteps
// filters.
func New(filters []h5.Filter, o Options) (*Pipeline, error) {
	const op = "make pipeline"
	if len(filters) > maxSteps {
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: %d filters, at most %d", h5.ErrParam, len(filters), maxSteps)}
	}
	p := &Pipeline{filters: slices.Clone(filters), o: o}
	for i, f := range filters {
		if !Known(f.ID) {
			return nil, &Error{Op: op, Filter: f.ID, Step: i, Err: &h5.FilterError{ID: f.ID, Name: f.Name}}
		}
		if inGo(f.ID) {
			p.segments = append(p.segments, segment{first: i, count: 1})
			continue
		}
		if n := len(p.segments); n == 0 || p.segments[n-1].packed == nil {
			p.segments = append(p.segments, segment{first: i})
		}
		s := &p.segments[len(p.segments)-1]
		s.count++
		optional := uint32(0)
		if f.Optional {
			optional = 1
		}
		s.packed = append(append(s.packed, uint32(f.ID), optional, uint32(len(f.Values))), f.Values...)
	}
	return p, nil
}

// Len returns the number of filters.
func (p *Pipeline) Len() int { return len(p.filters) }

// Bound returns the maximum encoded size of a chunk of n bytes.
func (p *Pipeline) Bound(n int) int {
	for _, f := range p.filters {
		n = max(n, bound(f.ID, f.Values, n))
	}
	return n
}

// active reports whether at least one filter of s is applied.
func (s *segment) active(mask uint32) bool { return s.mask(mask) != 1<<s.count-1 }

// mask returns the segment's bits of a chunk's mask.
func (s *segment) mask(mask uint32) uint64 { return uint64(mask) >> s.first & (1<<s.count - 1) }

// Decode reverses the filters on the stored bytes src of a chunk, except those in mask, and writes
// the result to dst. src and dst must not overlap.
//
// A result whose length differs from that of dst is ErrCorrupt. libhdf5 accepts a longer result and
// reads beyond the end of a shorter one.
func (p *Pipeline) Decode(dst, src []byte, mask uint32) error {
	w := take()
	defer put(w)
	return p.decode(w, dst, src, mask)
}

func (p *Pipeline) decode(w *worker, dst, src []byte, mask uint32) error {
	last := len(p.segments) // the segment that outputs the chunk
	for i, s := range p.segments {
		if s.active(mask) {
			last = i
			break
		}
	}
	turn := 0
	for i := len(p.segments) - 1; i >= last; i-- {
		s := &p.segments[i]
		if !s.active(mask) {
			continue
		}
		to := dst
		if i > last {
			// The output of other encoders may be a little longer than that of this package.
			n := len(dst)
			for _, f := range p.filters[:s.first] {
				n = max(n, bound(f.ID, f.Values, n))
			}
			to = sized(&w.stages[turn], n+n/8+64)
			turn = 1 - turn
		}
		n, err := p.decodeSegment(w, s, to, src, mask)
		if err != nil {
			return err
		}
		src = to[:n]
	}
	if len(src) != len(dst) {
		return &Error{Op: "decode", Err: fmt.Errorf("%w: %d bytes, the chunk has %d", h5.ErrCorrupt, len(src), len(dst))}
	}
	if last == len(p.segments) {
		copy(dst, src)
	}
	return nil
}

func (p *Pipeline) decodeSegment(w *worker, s *segment, dst, src []byte, mask uint32) (int, error) {
	if s.packed == nil {
		f := &p.filters[s.first]
		n, err := w.decode(f.ID, f.Values, dst, src)
		if err != nil {
			return 0, &Error{Op: "decode", Filter: f.ID, Step: s.first, Err: inFile(err)}
		}
		return n, nil
	}
	if w.c == nil {
		return 0, &Error{Op: "decode", Err: cmem.ErrOutOfMemory}
	}
	check := C.int32_t(1)
	if p.o.SkipChecksum {
		check = 0
	}
	var out C.size_t
	var failed C.int32_t
	rc := C.goh5z_pipeline_decode(w.c, cValues(s.packed), C.size_t(len(s.packed)), C.uint32_t(s.mask(mask)), check,
		cBytes(src), C.size_t(len(src)), cBytes(dst), C.size_t(len(dst)), &out, &failed)
	if rc < 0 {
		return 0, p.failed("decode", s, rc, failed, len(dst), int(out))
	}
	return int(out), nil
}

// inFile returns ErrCorrupt for data that do not fit into a chunk, and for invalid parameters: when
// a chunk is decoded, the parameters are those of the file.
func inFile(err error) error {
	if errors.Is(err, h5.ErrSize) || errors.Is(err, h5.ErrParam) {
		return fmt.Errorf("%w: %w", h5.ErrCorrupt, err)
	}
	return err
}

func (p *Pipeline) failed(op string, s *segment, rc C.int, step C.int32_t, have, want int) error {
	e := &Error{Op: op}
	var values []uint32
	if step >= 0 {
		e.Step = s.first + int(step)
		e.Filter, values = p.filters[e.Step].ID, p.filters[e.Step].Values
	}
	e.Err = failure(rc, e.Filter, values, have, want)
	if op == "decode" {
		e.Err = inFile(e.Err)
	}
	return e
}

// Encode applies the filters to the chunk src. It returns the encoded bytes, in dst if its capacity
// is sufficient (Bound bytes are), and the mask of optional filters that failed and were skipped.
func (p *Pipeline) Encode(dst, src []byte) (out []byte, mask uint32, err error) {
	w := take()
	defer put(w)
	turn := 0
	for i := range p.segments {
		s := &p.segments[i]
		n := len(src)
		for _, f := range p.filters[s.first : s.first+s.count] {
			n = max(n, bound(f.ID, f.Values, n))
		}
		var to []byte
		if i == len(p.segments)-1 {
			if dst = dst[:cap(dst)]; len(dst) < n {
				dst = make([]byte, n)
			}
			to = dst
		} else {
			to = sized(&w.stages[turn], n)
			turn = 1 - turn
		}
		n, left, err := p.encodeSegment(w, s, to, src)
		if err != nil {
			return nil, 0, err
		}
		mask |= left << s.first
		if left == 1<<s.count-1 {
			continue // no filter was applied
		}
		src = to[:n]
		if i == len(p.segments)-1 {
			return src, mask, nil
		}
	}
	return append(dst[:0], src...), mask, nil
}

func (p *Pipeline) encodeSegment(w *worker, s *segment, dst, src []byte) (n int, mask uint32, err error) {
	if s.packed == nil {
		f := &p.filters[s.first]
		n, err := w.encode(f.ID, f.Values, p.o, dst, src)
		if err != nil && f.Optional {
			return 0, 1, nil
		}
		if err != nil {
			return 0, 0, &Error{Op: "encode", Filter: f.ID, Step: s.first, Err: err}
		}
		return n, 0, nil
	}
	if w.c == nil {
		return 0, 0, &Error{Op: "encode", Err: cmem.ErrOutOfMemory}
	}
	var out C.size_t
	var cmask C.uint32_t
	var failed C.int32_t
	rc := C.goh5z_pipeline_encode(w.c, cValues(s.packed), C.size_t(len(s.packed)), p.o.exact(), cBytes(src), C.size_t(len(src)),
		cBytes(dst), C.size_t(len(dst)), &out, &cmask, &failed)
	if rc < 0 {
		return 0, 0, p.failed("encode", s, rc, failed, len(dst), int(out))
	}
	return int(out), uint32(cmask), nil
}
