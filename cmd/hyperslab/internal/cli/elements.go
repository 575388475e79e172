// Iteration over the elements of an array in bounded memory, for everything that writes elements.

package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// outputBlock is the maximum number of bytes of elements that are read at a time for output.
const outputBlock = 16 << 20

// stretch is the number of bytes of elements that are read at a time if the chunks are small. It
// keeps all workers busy and lets the progress move often.
const stretch = 4 << 20

// batch contains some elements of an array of any type.
type batch struct {
	dtype   ndarray.DType
	data    []byte
	strings []string // elements of variable size
	json    bool     // strings are JSON values: Python objects
	n       int
	nulls   []bool             // marks of ndarray.Array.ReadNulls; nil without null elements
	printed func(i int) string // text of an element that is not printed by its type, or ""; nil: by type
}

// bytes returns element i in native byte order.
func (e *batch) bytes(i int) []byte {
	if e.strings != nil {
		return []byte(e.strings[i])
	}
	return e.data[i*e.dtype.Size:][:e.dtype.Size]
}

// null reports whether element i is null.
func (e *batch) null(i int) bool {
	return e.nulls != nil && e.dtype.Kind != ndarray.Struct && e.nulls[i]
}

// fields returns the marks of the fields of structure i, or nil.
func (e *batch) fields(i int) []bool {
	if e.nulls == nil {
		return nil
	}
	n := len(e.dtype.Fields)
	return e.nulls[i*n : (i+1)*n]
}

// text formats element i for users.
func (e *batch) text(i int) string {
	if e.null(i) {
		return "null"
	}
	if e.json {
		return string(term.EscapeJSON([]byte(e.strings[i])))
	}
	if text := e.special(i); text != "" {
		return text
	}
	return ndarray.FormatElement(e.dtype, e.bytes(i))
}

// special returns the text of an element that is not printed by its type, or "".
func (e *batch) special(i int) string {
	if e.printed == nil {
		return ""
	}
	return e.printed(i)
}

// plain formats element i for programs: strings without quotes, NaN and the infinities with their
// names in JSON, and "" for null.
func (e *batch) plain(i int) string {
	if e.null(i) {
		return ""
	}
	if text := e.special(i); text != "" {
		return text
	}
	return jsonform.Plain(e.dtype, e.bytes(i))
}

// appendJSON appends element i as JSON.
func (e *batch) appendJSON(dst []byte, i int) []byte {
	if e.null(i) {
		return append(dst, "null"...)
	}
	if e.json {
		return append(dst, term.EscapeJSON([]byte(e.strings[i]))...)
	}
	if text := e.special(i); text != "" {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return jsonform.Document.AppendInt(dst, text)
		}
		return jsonform.AppendString(dst, text)
	}
	start := len(dst)
	if e.dtype.Kind == ndarray.Struct {
		dst = jsonform.Document.AppendRecord(dst, e.dtype, e.bytes(i), e.fields(i))
	} else {
		dst = jsonform.Document.Append(dst, e.dtype, e.bytes(i))
	}
	return append(dst[:start], term.EscapeJSON(dst[start:])...)
}

// eachBlock reads all elements and calls f for one block after the other in row-major order. f must
// not keep e after it returns. progress is called after each block with the number of bytes of
// processed elements.
func eachBlock(ctx context.Context, arr *ndarray.Array, limit int64, progress func(bytes int64), f func(r ndarray.Region, e *batch) error) error {
	return (&reading{arr: arr, limit: limit, progress: progress}).each(ctx, f)
}

// eachText is eachBlock for elements that are printed: dates of any calendar, missing integers.
func eachText(ctx context.Context, arr *ndarray.Array, limit int64, progress func(bytes int64), f func(r ndarray.Region, e *batch) error) error {
	p, _ := ndarray.As[cf.Printer](arr.Backend())
	return (&reading{arr: arr, printer: p, limit: limit, progress: progress}).each(ctx, f)
}

// reading describes a pass over all elements of an array.
type reading struct {
	arr      *ndarray.Array
	printer  cf.Printer // of the elements, or nil
	limit    int64      // bytes of a block
	progress func(bytes int64)

	// uniform reports whether all elements of a region are known to be equal. Only one of them is
	// read then. nil reads all elements.
	uniform func(r ndarray.Region) bool
}

// each calls f for one block after the other. A batch contains one element of a uniform block.
func (x *reading) each(ctx context.Context, f func(r ndarray.Region, e *batch) error) error {
	m := x.arr.Meta()
	if m.NumElems() == 0 {
		return nil
	}
	size := int64(m.DType.Size)
	if size == 0 {
		size = textBytes
	}
	e, done := &batch{dtype: m.DType, json: m.Format == detect.Objects}, int64(0)
	most := progressPiece(m.Shape, m.ChunkShape, x.limit/size, stretch/size, int64(runtime.GOMAXPROCS(0)))
	for box := range grid.Consecutive(grid.Whole(m.Shape), m.ChunkShape, most) {
		r := ndarray.Region(box)
		from := r
		if x.uniform != nil && x.uniform(r) {
			from.Shape = slices.Repeat([]int64{1}, len(r.Shape))
		}
		e.n = int(from.NumElems())
		if err := e.read(ctx, x.arr, x.printer, from); err != nil {
			return err
		}
		if err := f(r, e); err != nil {
			return err
		}
		done += r.NumElems() * size
		x.progress(done)
	}
	return nil
}

// read reads the elements of a region and their null marks, by p if it is not nil.
func (e *batch) read(ctx context.Context, arr *ndarray.Array, p cf.Printer, r ndarray.Region) (err error) {
	if arr.Meta().Nullable {
		e.nulls = make([]bool, e.n*e.dtype.NumMarks())
		if err := arr.ReadNulls(ctx, e.nulls, r); err != nil {
			return err
		}
	}
	if e.dtype.Size == 0 {
		e.strings = make([]string, e.n)
		return arr.ReadStrings(ctx, e.strings, r)
	}
	if need := e.n * e.dtype.Size; cap(e.data) < need {
		e.data = make([]byte, need)
	} else {
		e.data = e.data[:need]
	}
	if p == nil {
		return arr.Read(ctx, e.data, r)
	}
	e.printed, err = p.ReadTexts(ctx, e.data, r)
	return err
}

// noNulls returns errors.ErrUnsupported if elements are null, for a form that has no null elements.
func noNulls(ctx context.Context, arr *ndarray.Array, form string) error {
	n, err := ndarray.CountNulls(ctx, arr)
	if err == nil && n > 0 {
		err = &ndarray.Error{Op: "dump", Path: arr.Meta().Path, Err: fmt.Errorf("%w: %s in %s; --json and --csv have null elements", errors.ErrUnsupported, term.Plural(n, "null element"), form)}
	}
	return err
}

// place iterates over the indexes of an array in row-major order.
type place struct {
	shape, index []int64
}

func newPlace(shape []int64) *place { return &place{shape: shape, index: make([]int64, len(shape))} }

// begins returns the number of axes, counted from the last one, along which the element is the
// first. As many brackets open before it.
func (p *place) begins() int {
	n := 0
	for n < len(p.index) && p.index[len(p.index)-1-n] == 0 {
		n++
	}
	return n
}

// ends returns the number of axes along which the element is the last. As many brackets close after
// it.
func (p *place) ends() int {
	n := 0
	for n < len(p.index) && p.index[len(p.index)-1-n] == p.shape[len(p.index)-1-n]-1 {
		n++
	}
	return n
}

// next advances to the next element.
func (p *place) next() {
	for i := len(p.index) - 1; i >= 0; i-- {
		if p.index[i]++; p.index[i] < p.shape[i] {
			return
		}
		p.index[i] = 0
	}
}
