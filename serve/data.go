// Elements of an array of ndarray, as JSON, bytes, .npy, CSV or TIFF.

package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"

	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// part is a selection of a shape: start, count and step along each dimension.
type part struct {
	selection          ndarray.Selection
	start, count, step []int64
	shape              []int64 // of the result, without the dimensions that a number dropped
}

// parsePart parses a selection in NumPy's notation: numbers and slices.
func parsePart(selection string, shape []int64) (part, error) {
	p := part{}
	var err error
	if p.selection, err = ndarray.ParseSelection(selection); err == nil {
		p.start, p.count, p.step, err = p.selection.Steps(shape)
	}
	if err == nil {
		p.shape, err = p.selection.Shape(shape)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = fail(http.StatusUnprocessableEntity, "selection %q: only numbers and slices are possible", selection)
	}
	if err != nil {
		return p, &problem{Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf("selection %q of shape %v: %v", selection, shape, bareMessage(err)), err: err}
	}
	return p, nil
}

// bareMessage returns the message of an error without the names of an operation and a path.
func bareMessage(err error) string {
	if e, ok := errors.AsType[*ndarray.Error](err); ok && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// elems returns the number of selected elements.
func (p *part) elems() int64 { return ndarray.Region{Start: p.start, Shape: p.count}.NumElems() }

// fits returns an error if the selected elements of size bytes exceed the limit.
func (p *part) fits(size int, limit int64) error {
	if n := p.elems(); n > limit/int64(max(size, 1)) {
		return fail(http.StatusRequestEntityTooLarge, "the selection has %d elements of %d bytes, the limit is %d bytes: select a smaller part", n, max(size, 1), limit)
	}
	return nil
}

// dense reports whether the selected elements are a region.
func (p *part) dense() bool {
	for i, step := range p.step {
		if step != 1 && p.count[i] > 1 {
			return false
		}
	}
	return true
}

// elements are selected elements in row-major order and native byte order.
type elements struct {
	dtype ndarray.DType
	shape []int64
	data  []byte
	strs  []string // elements of variable size
	nulls []bool   // marks of ndarray.Array.ReadNulls; nil without null elements
}

// readPart reads a part of an array. Regions that are much smaller than their chunks are read from
// a cache of whole chunks.
func readPart(ctx context.Context, arr *ndarray.Array, name string, p *part, cache *blocks) (*elements, error) {
	e := &elements{dtype: arr.DType(), shape: p.shape}
	n := p.elems()
	region := ndarray.Region{Start: p.start, Shape: p.count}
	if e.dtype.Size == 0 {
		return e, readTexts(ctx, arr, p, e)
	}
	e.data = make([]byte, n*int64(e.dtype.Size))
	if n == 0 {
		return e, nil
	}
	if p.dense() {
		return e, cache.read(ctx, arr, name, region, e.data)
	}
	return e, arr.Take(ctx, e.data, p.selection)
}

func readTexts(ctx context.Context, arr *ndarray.Array, p *part, e *elements) error {
	if p.elems() == 0 {
		return nil
	}
	view := arr
	region := ndarray.Region{Start: p.start, Shape: p.count}
	if !p.dense() {
		var err error
		if view, err = ndarray.View(arr, p.selection); err != nil {
			return err
		}
		region = ndarray.Whole(view.Shape())
	}
	e.strs = make([]string, p.elems())
	err := view.ReadStrings(ctx, e.strs, region)
	if view != arr {
		err = errors.Join(err, view.Close())
	}
	return err
}

// numpyShape returns the shape and the element type as NumPy has them: the dimensions of a
// sub-array are additional dimensions.
func (e *elements) numpyShape() ([]int64, ndarray.DType) {
	shape, d := slices.Clone(e.shape), e.dtype
	for d.Kind == ndarray.SubArray && d.Size > 0 {
		shape = append(shape, d.Dims...)
		d = *d.Base
	}
	return shape, d
}

// arrayData answers a request for elements.
func arrayData(ctx context.Context, arr *ndarray.Array, q *request, cache *blocks) (response, error) {
	m := arr.Meta()
	if m.Null {
		return nullData(q)
	}
	p, err := parsePart(q.Selection, m.Shape)
	if err != nil {
		return response{}, err
	}
	if err := p.fits(m.DType.Size, q.Limit); err != nil {
		return response{}, err
	}
	if q.Format != "json" && m.DType.Size == 0 || q.Safe && !numericArray(m.DType) {
		return response{}, notNumeric(q)
	}
	e, err := readPart(ctx, arr, q.Path, &p, cache)
	if err == nil && m.Nullable && !q.Stored {
		err = e.readNulls(ctx, arr, &p)
	}
	if err != nil {
		return response{}, err
	}
	return e.encode(ctx, q)
}

// readNulls reads the marks of null elements.
func (e *elements) readNulls(ctx context.Context, arr *ndarray.Array, p *part) (err error) {
	view, err := ndarray.View(arr, p.selection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	nulls := make([]bool, p.elems()*int64(e.dtype.NumMarks()))
	if err := view.ReadNulls(ctx, nulls, ndarray.Whole(view.Shape())); err != nil {
		return err
	}
	if slices.Contains(nulls, true) {
		e.nulls = nulls
	}
	return nil
}

// fillNulls sets null floats to NaN. It returns an error if null elements are of another type,
// which the format cannot represent.
func (e *elements) fillNulls(format string, d ndarray.DType) error {
	if e.nulls == nil {
		return nil
	}
	if d.Kind != ndarray.Float || d.Size != 4 && d.Size != 8 {
		return fail(http.StatusUnprocessableEntity, "Unsupported encoding %s for null elements of type %v: use json or csv", format, d)
	}
	nan := make([]byte, d.Size)
	one := ndarray.Scalar(math.NaN())
	if err := ndarray.Convert(nan, d, one.Data, one.DType, true); err != nil {
		return err
	}
	for i, null := range e.nulls {
		if null {
			copy(e.data[i*d.Size:], nan)
		}
	}
	return nil
}

// nullData answers a request for the elements of a dataset without elements and shape.
func nullData(q *request) (response, error) {
	if q.Format == "json" {
		return response{Type: "application/json", Body: []byte("null")}, nil
	}
	return response{}, fail(http.StatusUnprocessableEntity, "Unsupported encoding %s for an empty dataset", q.Format)
}

func notNumeric(q *request) error {
	if q.Safe {
		return fail(http.StatusUnprocessableEntity, "Unsupported dtype safe for non-numeric data")
	}
	return fail(http.StatusUnprocessableEntity, "Unsupported encoding %s for non-numeric content", q.Format)
}

// encode returns the elements in the format of the request.
func (e *elements) encode(ctx context.Context, q *request) (response, error) {
	shape, d := e.numpyShape()
	if q.Flatten && len(shape) > 0 {
		n, _ := grid.Product(shape)
		shape = []int64{n}
	}
	if q.Format != "json" && q.Format != "csv" {
		if err := e.fillNulls(q.Format, d); err != nil {
			return response{}, err
		}
	}
	if q.Safe && d.Size > 0 {
		if err := e.makeSafe(&d); err != nil {
			return response{}, err
		}
	}
	var out response
	switch q.Format {
	case "json":
		body, err := e.text(ctx, shape, d, q)
		return response{Type: "application/json", Body: body}, err
	case "bin":
		out = response{Type: "application/octet-stream", Body: e.data}
		if q.Safe {
			d.Order = ndarray.Little
		}
		d.ToNative(e.data) // its own inverse: to the order in storage
	case "npy":
		head, err := npy.Header(d.Native(), shape)
		if err != nil {
			return out, fail(http.StatusUnprocessableEntity, "Unsupported encoding npy: %v", err)
		}
		out = response{Type: "application/octet-stream", File: "data.npy", Body: append(head, e.data...)}
	case "csv":
		if len(shape) == 0 {
			return out, fail(http.StatusUnprocessableEntity, "Unsupported encoding csv for empty and scalar datasets")
		}
		body, err := e.text(ctx, shape, d, q)
		return response{Type: "text/csv; charset=utf-8", File: "data.csv", Body: body}, err
	case "tiff":
		body, err := tiff(e.data, shape, d)
		return response{Type: "image/tiff", File: "data.tiff", Body: body}, err
	default:
		return out, fail(http.StatusUnprocessableEntity, "Unsupported encoding %s", q.Format)
	}
	if int64(len(out.Body)) > q.Limit {
		return response{}, tooLarge(q.Limit)
	}
	return out, nil
}

// makeSafe converts elements to a type that has a typed array in JavaScript: floats of 2 bytes to 4
// bytes, and floats of more than 8 bytes to 8 bytes.
func (e *elements) makeSafe(d *ndarray.DType) error {
	to := *d
	switch {
	case d.Kind == ndarray.BFloat || d.Kind == ndarray.Float && d.Size < 4:
		to = ndarray.DTypeOf[float32]()
	case d.Kind == ndarray.Float && d.Size > 8:
		to = ndarray.DTypeOf[float64]()
	default:
		return nil
	}
	out := make([]byte, len(e.data)/d.Size*to.Size)
	if err := convert(out, to, e.data, d.Native()); err != nil {
		return err
	}
	e.data, *d = out, to
	return nil
}

// convert converts numbers to floats. Floats of more than 8 bytes are rounded to 8 bytes.
func convert(dst []byte, to ndarray.DType, src []byte, from ndarray.DType) error {
	if from.Kind != ndarray.Float || from.Size <= 8 {
		return ndarray.Convert(dst, to, src, from, true)
	}
	for i := range len(src) / from.Size {
		f, err := strconv.ParseFloat(ndarray.FormatElement(from, src[i*from.Size:][:from.Size]), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // the digits of a NaN
			f = math.NaN()
		}
		binary.NativeEndian.PutUint64(dst[8*i:], math.Float64bits(f))
	}
	return nil
}

// text returns the elements as JSON, a scalar as one element, or as CSV, with a line for each row
// of the last dimension.
func (e *elements) text(ctx context.Context, shape []int64, d ndarray.DType, q *request) ([]byte, error) {
	n := len(e.strs)
	if d.Size > 0 {
		n = len(e.data) / d.Size
	}
	batch := &encode.Batch{Dtype: d, Data: e.data, Strings: e.strs, Nulls: e.nulls, N: n}
	out := limited{limit: q.Limit}
	_, err := encode.Of(ctx, shape, batch, &encode.Options{Format: q.Format, Form: jsonform.H5grove, Table: encode.Table{Quoted: true}}).WriteTo(&out)
	return out.b, err
}

// limited collects a response. A write beyond the limit fails.
type limited struct {
	b     []byte
	limit int64
}

// Write implements io.Writer.
func (w *limited) Write(b []byte) (int, error) {
	if int64(len(w.b)+len(b)) > w.limit {
		return 0, tooLarge(w.limit)
	}
	w.b = append(w.b, b...)
	return len(b), nil
}

// tiff returns an image of one sample per pixel, without compression, in this machine's byte order.
func tiff(data []byte, shape []int64, d ndarray.DType) ([]byte, error) {
	format := map[ndarray.Kind]uint16{ndarray.Uint: 1, ndarray.Bool: 1, ndarray.Int: 2, ndarray.Float: 3}[d.Kind]
	if format == 0 || len(shape) != 2 || d.Size > 8 || shape[0] > math.MaxInt32 || shape[1] > math.MaxInt32 || len(data) > math.MaxInt32 {
		return nil, fail(http.StatusUnprocessableEntity, "Unsupported encoding tiff for shape %v of %v: want two dimensions of numbers", shape, d)
	}
	order := binary.NativeEndian
	head := []byte("II")
	if ndarray.NativeOrder == ndarray.Big {
		head = []byte("MM")
	}
	out := order.AppendUint16(head, 42)
	out = order.AppendUint32(out, uint32(8+len(data)+len(data)%2)) // of the directory
	out = append(out, data...)
	out = append(out, make([]byte, len(data)%2)...)
	tags := []struct {
		tag, kind uint16
		value     uint32
	}{
		{256, 4, uint32(shape[1])}, {257, 4, uint32(shape[0])}, {258, 4, uint32(8 * d.Size)}, {259, 4, 1}, {262, 4, 1},
		{273, 4, 8}, {277, 4, 1}, {278, 4, uint32(shape[0])}, {279, 4, uint32(len(data))}, {339, 4, uint32(format)},
	}
	out = order.AppendUint16(out, uint16(len(tags)))
	for _, t := range tags {
		out = order.AppendUint16(out, t.tag)
		out = order.AppendUint16(out, t.kind)
		out = order.AppendUint32(out, 1)
		out = order.AppendUint32(out, t.value)
	}
	return order.AppendUint32(out, 0), nil
}

// blocks is a cache of decoded chunks. A viewer that moves through an array reads one plane after
// the other, and many planes share their chunks. A cache has its bytes from the memory of the
// process, and releases them when a read waits.
type blocks struct {
	limit int64

	mu     sync.Mutex
	used   int64
	list   []*block // the last used one at the end
	remove func()   // ends the registration in the memory of the process; nil without one
}

type block struct {
	array  string
	region ndarray.Region
	data   []byte
	grant  memory.Grant
}

// read fills dst with a region, from whole chunks if they are cached or worth caching.
func (c *blocks) read(ctx context.Context, arr *ndarray.Array, name string, r ndarray.Region, dst []byte) error {
	wide, worth := c.widen(arr, r)
	if !worth {
		return arr.Read(ctx, dst, r)
	}
	b := c.find(name, wide)
	if b == nil {
		size := wide.NumElems() * int64(arr.DType().Size)
		grant, ok := memory.Keep(size)
		if !ok {
			return arr.Read(ctx, dst, r)
		}
		b = &block{name, wide, make([]byte, size), grant}
		if err := arr.Read(ctx, b.data, wide); err != nil {
			grant.Release()
			return err
		}
		c.add(b)
	}
	grid.Copy(dst, grid.Box(r), b.data, grid.Box(wide), grid.Box(r), arr.DType().Size)
	return nil
}

// widen extends a region to whole chunks. It reports false if the region already consists of whole
// chunks, or if the chunks exceed a quarter of the cache.
func (c *blocks) widen(arr *ndarray.Array, r ndarray.Region) (ndarray.Region, bool) {
	m := arr.Meta()
	if m.ChunkShape == nil || len(r.Start) == 0 {
		return r, false
	}
	wide := ndarray.Region(grid.Box(r).Clone())
	for i, chunk := range m.ChunkShape {
		wide.Start[i] = r.Start[i] / chunk * chunk
		end := grid.RoundUp(r.Start[i]+r.Shape[i], chunk, m.Shape[i])
		wide.Shape[i] = end - wide.Start[i]
	}
	return wide, !grid.Box(wide).Equal(grid.Box(r)) && wide.NumElems() <= c.limit/4/int64(m.DType.Size)
}

func (c *blocks) find(array string, r ndarray.Region) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range c.list {
		if b.array == array && grid.Box(b.region).Equal(grid.Box(r)) {
			c.list = append(slices.Delete(c.list, i, i+1), b)
			return b
		}
	}
	return nil
}

func (c *blocks) add(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remove == nil {
		c.remove = memory.OnWait(c.free)
	}
	c.list = append(c.list, b)
	c.used += int64(len(b.data))
	c.shrink(c.limit)
}

// shrink removes the blocks that were not used for the longest time.
func (c *blocks) shrink(most int64) {
	for c.used > most {
		c.used -= int64(len(c.list[0].data))
		c.list[0].grant.Release()
		c.list = slices.Delete(c.list, 0, 1)
	}
}

// free removes blocks of n bytes.
func (c *blocks) free(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink(max(c.used-n, 0))
}

// close returns all memory.
func (c *blocks) close() {
	if c.remove != nil {
		c.remove()
	}
	c.free(math.MaxInt64)
}
