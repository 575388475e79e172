// Encoders: streams of the elements of an array in one format.

package encode

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Formats of the output.
const (
	JSON  = "json"   // nested lists
	Lines = "ndjson" // a line of JSON for each index of the first axis
	CSV   = "csv"
	NPY   = "npy"
	Raw   = "raw" // the elements in this machine's byte order
)

// Options select the form of the output.
type Options struct {
	Format   string
	Form     jsonform.Form     // of the elements in JSON
	Depth    int               // JSON: number of JSON values around the lists, which have line breaks; 0: no white space
	Limit    int64             // bytes of elements that are read at a time; 0: Block
	Progress func(bytes int64) // called with the bytes of the elements that are encoded; nil: not called
	Table    Table             // CSV
	Stored   bool              // .npy: null elements as they are stored, without an error
}

// chunkBytes is about the number of bytes that an encoder encodes at a time.
const chunkBytes = 64 << 10

// form appends the parts of an output.
type form interface {
	// head appends a part of everything before the first element. done is set after the last part.
	head(out []byte) (_ []byte, done bool)
	// block is called before the elements of each block.
	block(ctx context.Context, r ndarray.Region) error
	// element appends element i of a batch and the characters around it.
	element(out []byte, e *Batch, i int) ([]byte, error)
}

// Encoder is the output of an array as a stream. It needs no Close.
type Encoder struct {
	ctx     context.Context
	path    string
	form    form
	bytes   bool    // a batch is encoded as its bytes
	reading Reading // without an array: the batch is the only one
	batch   *Batch
	i       int // the next element of the batch
	done    int64
	region  ndarray.Region
	begun   bool
	out     []byte // encoded and not returned by Read yet
	buf     []byte
	err     error // of all further calls
}

// New returns the output of an array. ctx applies to all reads of the Encoder. It returns
// ndarray.ErrClosed for a closed array without elements, which is not read, errors.ErrUnsupported
// if the format cannot represent the array, and a *NullError for null elements in .npy.
func New(ctx context.Context, arr *ndarray.Array, o *Options) (*Encoder, error) {
	m := arr.Meta()
	if m.NumElems() == 0 { // also a null array
		if _, err := arr.Storage(ctx); errors.Is(err, ndarray.ErrClosed) {
			return nil, ndarray.Wrap("encode", m.Path, ndarray.ErrClosed)
		}
	}
	e := &Encoder{ctx: ctx, path: m.Path, reading: Reading{Arr: arr, Limit: o.Limit, Progress: o.Progress}}
	if o.Limit == 0 {
		e.reading.Limit = Block
	}
	switch o.Format {
	case JSON, Lines:
		e.form = newLists(m, o)
	case CSV:
		c := newTable(m, o)
		e.form, e.reading.Limit = c, c.limit(e.reading.Limit)
	case NPY, Raw:
		b, err := newBinary(ctx, arr, o)
		if err != nil {
			return nil, err
		}
		e.form, e.bytes = b, true
	default:
		return nil, fmt.Errorf("%w: format of elements: got %q, want %s, %s, %s, %s or %s", ndarray.ErrParam, o.Format, JSON, Lines, CSV, NPY, Raw)
	}
	e.reading.formatted = !e.bytes && Formatted(arr)
	return e, nil
}

// Of returns the output of elements in memory as JSON or CSV, as an array of that shape.
func Of(ctx context.Context, shape []int64, b *Batch, o *Options) *Encoder {
	e := &Encoder{ctx: ctx, batch: b}
	m := ndarray.Meta{Shape: shape, DType: b.Dtype}
	if o.Format == CSV {
		e.form = newTable(m, o)
	} else {
		e.form = newLists(m, o)
	}
	return e
}

// WriteTo implements io.WriterTo. It returns the error of a read, of the context or of w.
func (e *Encoder) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := e.more(); errors.Is(err, io.EOF) {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(e.out)
		written += int64(n)
		if err == nil && n < len(e.out) {
			err = io.ErrShortWrite
		}
		if e.out = e.out[n:]; err != nil {
			return written, err
		}
	}
}

// Read implements io.Reader.
func (e *Encoder) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := e.more(); err != nil {
		return 0, err
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

// more encodes at least one byte, unless some are encoded already.
func (e *Encoder) more() error {
	for len(e.out) == 0 && e.err == nil {
		e.err = e.step()
	}
	if len(e.out) > 0 {
		return nil
	}
	return e.err
}

// step encodes about chunkBytes bytes, or reads the next block.
func (e *Encoder) step() (err error) {
	if err := e.ctx.Err(); err != nil {
		return ndarray.Wrap("encode", e.path, err)
	}
	if e.buf == nil {
		e.buf = make([]byte, 0, chunkBytes+chunkBytes/4)
	}
	out := e.buf[:0]
	switch {
	case !e.begun:
		out, e.begun = e.form.head(out)
	case e.batch != nil && e.i < e.batch.N && e.bytes:
		out, e.i = e.batch.Data, e.batch.N
	case e.batch != nil && e.i < e.batch.N:
		for ; e.i < e.batch.N && len(out) < chunkBytes; e.i++ {
			if out, err = e.form.element(out, e.batch, e.i); err != nil {
				return ndarray.Wrap("encode", e.path, err)
			}
		}
		e.buf = out
	default:
		return e.next()
	}
	e.out = out
	return nil
}

// next reads the next block. It returns io.EOF after the last one.
func (e *Encoder) next() (err error) {
	x := &e.reading
	if e.batch != nil && x.Progress != nil {
		e.done += e.region.NumElems() * x.size
		x.Progress(e.done)
	}
	if x.Arr == nil {
		return io.EOF
	}
	e.i = 0
	if e.region, e.batch, err = x.next(e.ctx); err != nil {
		return err
	}
	if e.batch == nil {
		return io.EOF
	}
	return e.form.block(e.ctx, e.region)
}

// binary is the form of .npy and raw bytes.
type binary struct{ header []byte }

func newBinary(ctx context.Context, arr *ndarray.Array, o *Options) (*binary, error) {
	m := arr.Meta()
	head, err := NPYHeader(m)
	if o.Format == Raw {
		if head, err = nil, nil; m.DType.Size == 0 || m.Null {
			return nil, ndarray.Wrap("encode", m.Path, fmt.Errorf("%w: %s as raw bytes", errors.ErrUnsupported, m.DType.Kind))
		}
	}
	if err != nil {
		return nil, ndarray.Wrap("encode", m.Path, err)
	}
	if from := WithNulls(arr); from.Meta().Nullable && o.Format == NPY && !o.Stored {
		n, err := ndarray.CountNulls(ctx, from)
		if err == nil && n > 0 {
			err = &NullError{N: n}
		}
		if err != nil {
			return nil, ndarray.Wrap("encode", m.Path, err)
		}
	}
	return &binary{head}, nil
}

func (b *binary) head(out []byte) ([]byte, bool)                    { return append(out, b.header...), true }
func (*binary) block(context.Context, ndarray.Region) error         { return nil }
func (*binary) element(out []byte, _ *Batch, _ int) ([]byte, error) { return out, nil }

// NullError is the error of null elements in .npy. It matches errors.ErrUnsupported.
type NullError struct{ N int64 }

// Error implements error.
func (e *NullError) Error() string {
	return fmt.Sprintf("%v: null elements in .npy: got %d, want none; JSON and CSV have null elements", errors.ErrUnsupported, e.N)
}

// Unwrap returns errors.ErrUnsupported.
func (*NullError) Unwrap() error { return errors.ErrUnsupported }

// NPYHeader returns everything before the elements of a .npy file of an array.
func NPYHeader(m ndarray.Meta) ([]byte, error) {
	if m.DType.Size == 0 || m.Null {
		what := "elements of variable size"
		if m.Null {
			what = "an array without a shape"
		}
		return nil, fmt.Errorf("%w: .npy cannot store %s", errors.ErrUnsupported, what)
	}
	return npy.Header(m.DType.Native(), m.Shape)
}

// WithNulls returns the array whose null elements are printed as null. Those that the CF
// conventions add are NaN.
func WithNulls(arr *ndarray.Array) *ndarray.Array {
	if v := cf.Of(arr); v != nil {
		return v.Array
	}
	return arr
}
