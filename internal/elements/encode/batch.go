// Iteration over the elements of an array in bounded memory, and the forms of one element.

package encode

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Block is the maximum number of bytes of elements that are read at a time for output.
const Block = 16 << 20

// TextBytes is the number of bytes that count for an element of variable size, as in ndarray.Copy.
const TextBytes = 64

// stretch is the number of bytes of elements that are read at a time if the chunks are small. It
// keeps all workers busy and lets the progress move often.
const stretch = 4 << 20

// Batch contains some elements of an array of any type.
type Batch struct {
	Dtype   ndarray.DType
	Data    []byte
	Strings []string // elements of variable size
	JSON    bool     // strings are JSON values: Python objects
	N       int
	Nulls   []bool             // marks of ndarray.Array.ReadNulls; nil without null elements
	printed func(i int) string // text of an element that is not printed by its type, or ""; nil: by type
}

// Bytes returns element i in native byte order.
func (e *Batch) Bytes(i int) []byte {
	if e.Strings != nil {
		return []byte(e.Strings[i])
	}
	return e.Data[i*e.Dtype.Size:][:e.Dtype.Size]
}

// Null reports whether element i is null.
func (e *Batch) Null(i int) bool {
	return e.Nulls != nil && e.Dtype.Kind != ndarray.Struct && e.Nulls[i]
}

// Fields returns the marks of the fields of structure i, or nil.
func (e *Batch) Fields(i int) []bool {
	if e.Nulls == nil {
		return nil
	}
	n := len(e.Dtype.Fields)
	return e.Nulls[i*n : (i+1)*n]
}

// Text formats element i for users.
func (e *Batch) Text(i int) string {
	if e.Null(i) {
		return "null"
	}
	if e.JSON {
		return string(jsonform.Escape([]byte(e.Strings[i])))
	}
	if text := e.special(i); text != "" {
		return text
	}
	return ndarray.FormatElement(e.Dtype, e.Bytes(i))
}

// special returns the text of an element that is not printed by its type, or "".
func (e *Batch) special(i int) string {
	if e.printed == nil {
		return ""
	}
	return e.printed(i)
}

// Plain formats element i for programs: strings without quotes, NaN and the infinities with their
// names in JSON, and "" for null.
func (e *Batch) Plain(i int) string {
	if e.Null(i) {
		return ""
	}
	if text := e.special(i); text != "" {
		return text
	}
	return jsonform.Plain(e.Dtype, e.Bytes(i))
}

// AppendJSON appends element i as JSON. In a Document, characters that a terminal could interpret
// are escaped.
func (e *Batch) AppendJSON(dst []byte, form jsonform.Form, i int) []byte {
	if e.Null(i) {
		return append(dst, "null"...)
	}
	if e.JSON {
		return append(dst, jsonform.Escape([]byte(e.Strings[i]))...)
	}
	if text := e.special(i); text != "" {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return form.AppendInt(dst, text)
		}
		return jsonform.AppendString(dst, text)
	}
	start := len(dst)
	if e.Dtype.Kind == ndarray.Struct {
		dst = form.AppendRecord(dst, e.Dtype, e.Bytes(i), e.Fields(i))
	} else {
		dst = form.Append(dst, e.Dtype, e.Bytes(i))
	}
	if form != jsonform.Document {
		return dst
	}
	return append(dst[:start], jsonform.Escape(dst[start:])...)
}

// EachBlock reads all elements and calls f for one block after the other in row-major order. f must
// not keep e after it returns. progress is called after each block with the number of bytes of
// processed elements.
func EachBlock(ctx context.Context, arr *ndarray.Array, limit int64, progress func(bytes int64),
	f func(r ndarray.Region, e *Batch) error) error {
	return (&Reading{Arr: arr, Limit: limit, Progress: progress}).Each(ctx, f)
}

// EachText is EachBlock for elements that are printed: dates of any calendar, missing integers.
func EachText(ctx context.Context, arr *ndarray.Array, limit int64, progress func(bytes int64),
	f func(r ndarray.Region, e *Batch) error) error {
	return (&Reading{Arr: arr, formatted: Formatted(arr), Limit: limit, Progress: progress}).Each(ctx, f)
}

// Reading describes a pass over all elements of an array.
type Reading struct {
	Arr       *ndarray.Array
	formatted bool  // the elements are printed with Variable.Formatter
	Limit     int64 // bytes of a block
	Progress  func(bytes int64)

	// Uniform reports whether all elements of a region are known to be equal. Only one of them is
	// read then. nil reads all elements.
	Uniform func(r ndarray.Region) bool

	pieces *grid.Pieces // the blocks that are not read yet
	size   int64        // bytes that count for an element
	batch  *Batch
}

// Each calls f for one block after the other. A batch contains one element of a uniform block.
func (x *Reading) Each(ctx context.Context, f func(r ndarray.Region, e *Batch) error) error {
	done := int64(0)
	for {
		r, e, err := x.next(ctx)
		if e == nil || err != nil {
			return err
		}
		if err := f(r, e); err != nil {
			return err
		}
		done += r.NumElems() * x.size
		x.Progress(done)
	}
}

// next reads the next block. The batch is valid until the next call, and nil after the last block.
func (x *Reading) next(ctx context.Context) (ndarray.Region, *Batch, error) {
	if x.pieces == nil {
		x.begin()
	}
	box, ok := x.pieces.Next()
	if !ok {
		return ndarray.Region{}, nil, nil
	}
	r := ndarray.Region(box)
	from := r
	if x.Uniform != nil && x.Uniform(r) {
		from.Shape = slices.Repeat([]int64{1}, len(r.Shape))
	}
	x.batch.N = int(from.NumElems())
	return r, x.batch, x.batch.Read(ctx, x.Arr, x.formatted, from)
}

// begin divides the array into blocks.
func (x *Reading) begin() {
	m := x.Arr.Meta()
	x.size = int64(m.DType.Size)
	if x.size == 0 {
		x.size = TextBytes
	}
	x.batch = &Batch{Dtype: m.DType, JSON: m.Format == detect.Objects}
	if m.NumElems() == 0 { // also a null array
		x.pieces = &grid.Pieces{}
		return
	}
	most := progressPiece(m.Shape, m.ChunkShape, x.Limit/x.size, stretch/x.size, int64(runtime.GOMAXPROCS(0)))
	x.pieces = grid.NewPieces(grid.Whole(m.Shape), m.ChunkShape, most)
}

// progressPiece returns the maximum number of elements of a piece for frequent progress: at least
// some, with a chunk for each worker, in whole layers of chunks. It returns most if not even one
// layer of chunks fits.
func progressPiece(shape, chunk []int64, most, some, workers int64) int64 {
	if len(chunk) == 0 {
		return min(most, max(some, 1))
	}
	axis, inChunk := 0, int64(1)
	for i := range chunk {
		inChunk *= min(chunk[i], shape[i])
		if axis == i && chunk[i] == 1 && i < len(chunk)-1 {
			axis++
		}
	}
	layer := min(chunk[axis], shape[axis])
	for _, n := range shape[axis+1:] {
		layer *= n
	}
	least := max(some, 1)
	if inChunk > least/workers {
		least = min(inChunk, most/workers+1) * workers
	}
	if layer > most || least > most {
		return most
	}
	return min(most, grid.RoundUp(least, layer, math.MaxInt64))
}

// Formatted reports whether the elements of an array are not all printed by their type: dates,
// and integers that can be missing or out of the range of the type.
func Formatted(arr *ndarray.Array) bool {
	if cf.Of(arr) == nil {
		return false
	}
	switch arr.DType().Kind {
	case ndarray.DateTime, ndarray.Int, ndarray.Uint:
		return true
	}
	return false
}

// Read reads the elements of a region, or prepares to print them with Variable.Formatter, and reads
// their null marks.
func (e *Batch) Read(ctx context.Context, arr *ndarray.Array, formatted bool, r ndarray.Region) (err error) {
	if from := WithNulls(arr); from.Meta().Nullable {
		e.Nulls = make([]bool, e.N*e.Dtype.NumMarks())
		if err := from.ReadNulls(ctx, e.Nulls, r); err != nil {
			return err
		}
	}
	if formatted {
		e.printed, err = cf.Of(arr).Formatter(ctx, r)
		return err
	}
	if e.Dtype.Size == 0 {
		e.Strings = make([]string, e.N)
		return arr.ReadStrings(ctx, e.Strings, r)
	}
	if need := e.N * e.Dtype.Size; cap(e.Data) < need {
		e.Data = make([]byte, need)
	} else {
		e.Data = e.Data[:need]
	}
	return arr.Read(ctx, e.Data, r)
}

// Place iterates over the indexes of an array in row-major order.
type Place struct {
	Shape, Index []int64
}

// NewPlace returns the place of the first element of an array.
func NewPlace(shape []int64) *Place { return &Place{Shape: shape, Index: make([]int64, len(shape))} }

// Begins returns the number of axes, counted from the last one, along which the element is the
// first. As many brackets open before it.
func (p *Place) Begins() int {
	n := 0
	for n < len(p.Index) && p.Index[len(p.Index)-1-n] == 0 {
		n++
	}
	return n
}

// Ends returns the number of axes along which the element is the last. As many brackets close after
// it.
func (p *Place) Ends() int {
	n := 0
	for n < len(p.Index) && p.Index[len(p.Index)-1-n] == p.Shape[len(p.Index)-1-n]-1 {
		n++
	}
	return n
}

// Next advances to the next element.
func (p *Place) Next() {
	for i := len(p.Index) - 1; i >= 0; i-- {
		if p.Index[i]++; p.Index[i] < p.Shape[i] {
			return
		}
		p.Index[i] = 0
	}
}
