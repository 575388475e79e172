// The elements of an array one after the other, in bounded memory, for everything
// that writes them out.

package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// outputBlock is the bytes of elements that are read at a time to be written out, at most.
const outputBlock = 16 << 20

// stretch is the bytes of elements that are read at a time where their chunks are small:
// enough that all workers are busy, and few enough that progress moves.
const stretch = 4 << 20

// batch is some elements of an array, of whatever type.
type batch struct {
	dtype ndarray.DType
	data  []byte
	texts []string // of Kind String
	n     int
}

// bytes is element i in native byte order.
func (e *batch) bytes(i int) []byte { return e.data[i*e.dtype.Size:][:e.dtype.Size] }

// text is element i as a person reads it.
func (e *batch) text(i int) string {
	if e.texts != nil {
		return strconv.Quote(e.texts[i])
	}
	return ndarray.FormatElement(e.dtype, e.bytes(i))
}

// plain is element i for a program: text without quotes, NaN and the infinities by
// the words they have in JSON.
func (e *batch) plain(i int) string {
	if e.texts != nil {
		return e.texts[i]
	}
	return plainText(e.dtype, e.bytes(i))
}

func plainText(d ndarray.DType, b []byte) string {
	switch v := elementJSON(d, b).(type) {
	case string:
		return v
	case jsonInt:
		return strconv.FormatInt(int64(v), 10)
	case json.Number:
		return v.String()
	default:
		return string(compactJSON(v))
	}
}

// appendJSON appends element i as it stands in a document.
func (e *batch) appendJSON(dst []byte, i int) []byte {
	var v any
	if e.texts != nil {
		v = e.texts[i]
	} else {
		v = elementJSON(e.dtype, e.bytes(i))
	}
	if n, ok := v.(json.Number); ok {
		return append(dst, n...)
	}
	return append(dst, compactJSON(v)...)
}

// compactJSON is v on one line. Nothing that stands for an element fails.
func compactJSON(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("cli: " + err.Error())
	}
	return escapeJSON([]byte(strings.TrimSuffix(b.String(), "\n")))
}

// eachBlock reads all elements and calls f for block after block in row-major
// order. What f is given is its until it returns.
func eachBlock(ctx context.Context, arr *ndarray.Array, limit int64, f func(r ndarray.Region, e *batch) error) error {
	m := arr.Meta()
	if m.NumElems() == 0 {
		return nil
	}
	size := int64(m.DType.Size)
	if m.DType.Kind == ndarray.String {
		size = textBytes
	}
	e, told, done := &batch{dtype: m.DType}, tellOf(ctx), int64(0)
	for r := range pieces(m.Shape, m.ChunkShape, lively(m.Shape, m.ChunkShape, limit/size, stretch/size, int64(ndarray.Workers(ctx)))) {
		e.n = int(r.NumElems())
		if m.DType.Kind == ndarray.String {
			e.texts = make([]string, e.n)
			if err := arr.ReadStrings(ctx, e.texts, r); err != nil {
				return err
			}
		} else {
			if need := e.n * m.DType.Size; cap(e.data) < need {
				e.data = make([]byte, need)
			} else {
				e.data = e.data[:need]
			}
			if err := arr.Read(ctx, e.data, r); err != nil {
				return err
			}
		}
		if err := f(r, e); err != nil {
			return err
		}
		done += int64(e.n) * size
		told(done)
	}
	return nil
}

type tellKey struct{}

// telling makes eachBlock tell how many bytes of elements are through.
func telling(ctx context.Context, tell func(bytes int64)) context.Context {
	return context.WithValue(ctx, tellKey{}, tell)
}

func tellOf(ctx context.Context) func(bytes int64) {
	if tell, ok := ctx.Value(tellKey{}).(func(int64)); ok {
		return tell
	}
	return func(int64) {}
}

// place counts through the elements of an array in row-major order.
type place struct {
	shape, index []int64
}

func newPlace(shape []int64) *place { return &place{shape: shape, index: make([]int64, len(shape))} }

// begins is the number of axes, from the last on, along which the element is the
// first: so many brackets open before it.
func (p *place) begins() int {
	n := 0
	for n < len(p.index) && p.index[len(p.index)-1-n] == 0 {
		n++
	}
	return n
}

// ends is the same for the last, and brackets that close behind it.
func (p *place) ends() int {
	n := 0
	for n < len(p.index) && p.index[len(p.index)-1-n] == p.shape[len(p.index)-1-n]-1 {
		n++
	}
	return n
}

// next goes on to the next element.
func (p *place) next() {
	for i := len(p.index) - 1; i >= 0; i-- {
		if p.index[i]++; p.index[i] < p.shape[i] {
			return
		}
		p.index[i] = 0
	}
}
