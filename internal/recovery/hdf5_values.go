// Recovery of elements that refer to other parts of the file: strings and sequences of variable
// length, and references. They are rebuilt value by value.

package recovery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// refers reports whether values of a type refer to objects of the file. These objects must be
// written first.
func refers(t *h5file.Datatype) bool {
	if t == nil {
		return false
	}
	for _, m := range t.Members {
		if refers(m.Type) {
			return true
		}
	}
	return t.Class == h5file.ReferenceClass || refers(t.Base)
}

// later is Later of the Writer for a step that depends on s.guessed.
func (s *source) later(path string, step func(made h5.Object) error) {
	guessed := s.guessed
	s.out.Later(path, func(_ context.Context, made h5.Object) error {
		defer func(now bool) { s.guessed = now }(s.guessed)
		s.guessed = guessed
		return step(made)
	})
}

// pointing returns a put for elements that refer to other parts of the file.
func (s *source) pointing(at string, d *h5.Dataset, t h5.Datatype, stored *h5file.Datatype) put {
	return func(b []byte, n int64, part h5.Region) error {
		e, err := s.build(t, stored, b, n)
		if err != nil {
			return err
		}
		if err := d.WriteValues(e.b.Values(), part); err != nil {
			return err
		}
		switch {
		case e.lost > 0:
			s.corrupt = true
			s.r.Lost++
			s.r.note(Lost, at, fmt.Sprintf("elements from %v", part.Start), -1, "%d values of %d elements: %v", e.lost, n, e.err)
		case e.guessed && !s.guessed:
			s.r.note(Guessed, at, fmt.Sprintf("elements from %v", part.Start), -1, "%v", e.err)
			s.guessed = true
			s.count(s.guessed)
			s.guessed = false
		default:
			s.count(s.guessed)
		}
		return nil
	}
}

// elements are values that are being built.
type elements struct {
	s       *source
	b       *h5elem.Builder
	lost    int64 // values whose target is missing, which are now null
	guessed bool  // the target of some values is corrupt
	err     error // first reason for lost or guessed
}

// build builds n elements of type t from their stored bytes b.
func (s *source) build(t h5.Datatype, stored *h5file.Datatype, b []byte, n int64) (*elements, error) {
	size := int64(stored.Size)
	if n > 0 && (size < 1 || int64(len(b))/size < n) {
		return nil, fmt.Errorf("%w: %d bytes for %d elements of %d", format.ErrCorrupt, len(b), n, size)
	}
	builder, err := h5elem.NewBuilder(t, int(n))
	if err != nil {
		return nil, err
	}
	if s.values == nil {
		s.values = s.file.Values()
	}
	e := &elements{s: s, b: builder}
	for i := range n {
		if err := e.put(int(i)*builder.Stride(), t, stored, b[i*size:][:size]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// missing counts a null value and keeps the first reason.
func (e *elements) missing(err error) {
	e.lost++
	if e.err == nil {
		e.err = err
	}
}

// maxSequence is the maximum size of a sequence in bytes. It is limited because any number of
// values can refer to the same heap object.
const maxSequence = 64 << 20

// put builds the value of type t at an offset of the builder from its stored bytes b. It returns
// errors of the new value and records errors of the old one.
func (e *elements) put(at int, t h5.Datatype, stored *h5file.Datatype, b []byte) error {
	if t.Plain() {
		return e.b.Bytes(at, b)
	}
	switch stored.Class {
	case h5file.CompoundClass:
		for i, m := range stored.Members {
			if uint64(m.Offset)+uint64(m.Type.Size) > uint64(len(b)) {
				e.missing(fmt.Errorf("%w: member %q outside the compound", format.ErrCorrupt, m.Name))
				continue
			}
			to := t.Members[i]
			if err := e.put(at+to.Offset, *to.Type, m.Type, b[m.Offset:][:m.Type.Size]); err != nil {
				return err
			}
		}
		return nil
	case h5file.ArrayClass:
		size, stride := int(stored.Base.Size), t.Base.InMemory()
		for i := 0; (i+1)*size <= len(b); i++ {
			if err := e.put(at+i*stride, *t.Base, stored.Base, b[i*size:][:size]); err != nil {
				return err
			}
		}
		return nil
	case h5file.VLenClass:
		return e.sequence(at, t, stored, b)
	case h5file.ReferenceClass:
		return e.reference(at, t, stored, b)
	}
	return fmt.Errorf("%w: elements of %v", errors.ErrUnsupported, stored)
}

// sequence builds a string or a sequence of variable length.
func (e *elements) sequence(at int, t h5.Datatype, stored *h5file.Datatype, b []byte) error {
	data, n, err := e.s.values.Sequence(b)
	size := 1
	if !stored.VariableString() {
		size = int(stored.Base.Size)
	}
	switch {
	case data == nil && err == nil:
		return nil // null
	case data == nil:
		e.missing(err)
		return nil
	case uint64(n)*uint64(size) > uint64(len(data)), len(data) > maxSequence:
		e.missing(fmt.Errorf("%w: %d elements of %d bytes in an object of %d", format.ErrCorrupt, n, size, len(data)))
		return nil
	case err != nil:
		e.guessed = true
		if e.err == nil {
			e.err = err
		}
	}
	if stored.VariableString() {
		text, _, _ := strings.Cut(string(data[:n]), "\x00")
		return e.b.Text(at, text)
	}
	first, stride, err := e.b.Sequence(at, int(n), *t.Base)
	if err != nil {
		return err
	}
	for i := range int(n) {
		if err := e.put(first+i*stride, *t.Base, stored.Base, data[i*size:][:size]); err != nil {
			return err
		}
	}
	return nil
}

// reference builds a reference to the recovered object.
func (e *elements) reference(at int, t h5.Datatype, stored *h5file.Datatype, b []byte) error {
	r, err := e.s.values.Reference(stored, b)
	var region h5.Selection
	switch {
	case err != nil:
	case !r.Object.Defined():
		return nil // null
	case r.File != "":
		err = fmt.Errorf("%w: a reference into the file %q", errors.ErrUnsupported, r.File)
	case e.s.out.Placed[uint64(r.Object)] == "":
		err = fmt.Errorf("%w: a reference to the object at %s, which was not recovered", format.ErrCorrupt, r.Object)
	case r.Kind == h5file.AttributeRef && r.Attribute == "":
		err = fmt.Errorf("%w: a reference to an attribute without a name", format.ErrCorrupt)
	case r.Region != nil:
		region, err = selection(*r.Region)
	}
	var to h5.Ref
	if err == nil {
		to, err = e.s.out.Reference(uint64(r.Object), t.Ref, region, r.Attribute)
	}
	if err != nil {
		e.missing(err)
		return nil
	}
	return e.b.Ref(at, to)
}

// selection converts a selection to package h5.
func selection(s h5file.Selection) (h5.Selection, error) {
	switch {
	case s.Kind == h5file.SelectAll:
		return h5.All, nil
	case s.Kind == h5file.SelectNone:
		return h5.Nothing, nil
	case s.Kind == h5file.SelectPoints:
		var p h5.Points
		for _, x := range s.Points {
			p = append(p, ints(x))
		}
		return p, nil
	case s.Blocks != nil:
		var b h5.Boxes
		for _, x := range s.Blocks {
			b = append(b, h5.Box{First: ints(x.Start), Last: ints(x.End)})
		}
		return b, nil
	case s.Start != nil:
		return h5.Region{Start: ints(s.Start), Count: ints(s.Count), Stride: ints(s.Stride), Block: ints(s.Block)}, nil
	}
	return nil, fmt.Errorf("%w: a selection without elements", errors.ErrUnsupported)
}

// unlimited returns a size, or -1 if it is the number that means no limit.
func unlimited(n uint64) int64 {
	if n == math.MaxUint64 {
		return -1
	}
	return format.Size(n)
}

func ints(v []uint64) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = unlimited(x)
	}
	return out
}

// mappings returns the sources of a virtual dataset that package h5 can represent. The others are
// lost.
func (s *source) mappings(at string, o *h5file.Object) ([]h5.Mapping, error) {
	all, err := o.Mappings()
	if err != nil {
		return nil, err
	}
	dims := h5types.Dataspace(o.Dataspace()).Dims
	list := []h5.Mapping{} // not nil: a virtual dataset
	for i, m := range all {
		to, err := mapping(m, dims)
		if err != nil {
			s.r.Lost++
			s.corrupt = true
			s.r.note(Lost, at, fmt.Sprintf("source %d", i), -1, "%q in %q: %v", m.Dataset, m.File, err)
			continue
		}
		list = append(list, to)
		if m.File != "." {
			s.r.note(Guessed, at, fmt.Sprintf("source %d", i), -1, "%q in the file %q, which is not examined", m.Dataset, m.File)
		}
	}
	return list, nil
}

// mapping converts a source of a virtual dataset with these dimensions. The file does not contain
// the shape of the source, so mapping uses the smallest shape that contains the selection.
func mapping(m h5file.Mapping, dims []int64) (h5.Mapping, error) {
	to := h5.Mapping{File: m.File, Dataset: m.Dataset}
	whole := h5.Region{Start: make([]int64, len(dims)), Count: dims}
	var err error
	if to.Region, err = region(m.Virtual, whole); err != nil {
		return to, err
	}
	// SelectAll of a source has as many elements as the region.
	box := h5.Region{Start: make([]int64, len(to.Region.Count)), Count: make([]int64, len(to.Region.Count))}
	for i, n := range to.Region.Count {
		box.Count[i] = n
		if to.Region.Block != nil && n >= 0 {
			box.Count[i] = n * to.Region.Block[i]
		}
	}
	if to.SourceRegion, err = region(m.Source, box); err != nil {
		return to, err
	}
	r := to.SourceRegion
	to.Source = h5.Dataspace{Kind: h5.Simple, Dims: make([]int64, len(r.Start))}
	for i := range r.Start {
		stride, block := int64(1), int64(1)
		if r.Stride != nil {
			stride = r.Stride[i]
		}
		if r.Block != nil {
			block = r.Block[i]
		}
		if r.Count[i] < 0 {
			to.Source.MaxDims = make([]int64, len(r.Start)) // filled below
			to.Source.Dims[i] = r.Start[i] + block
			continue
		}
		to.Source.Dims[i] = r.Start[i] + max(r.Count[i]-1, 0)*stride + block
	}
	for i := range to.Source.MaxDims {
		to.Source.MaxDims[i] = to.Source.Dims[i]
		if r.Count[i] < 0 {
			to.Source.MaxDims[i] = h5.Unlimited
		}
	}
	return to, nil
}

// region converts a selection to a region. It returns all for SelectAll.
func region(s h5file.Selection, all h5.Region) (h5.Region, error) {
	sel, err := selection(s)
	if err != nil {
		return h5.Region{}, err
	}
	if s.Kind == h5file.SelectAll {
		return all, nil
	}
	if r, ok := sel.(h5.Region); ok {
		return r, nil
	}
	if b, ok := sel.(h5.Boxes); ok && len(b) == 1 {
		return b[0].Region(), nil
	}
	return h5.Region{}, fmt.Errorf("%w: a selection that is not a hyperslab", errors.ErrUnsupported)
}
