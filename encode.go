// Encode writes elements as text or .npy, and WriteFile writes whole files to a stream.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Formats of Encode, which also writes NPY.
const (
	JSON   Format = "json"   // nested lists without white space; a scalar is its value
	NDJSON Format = "ndjson" // a line of JSON for each index of the first dimension
	CSV    Format = "csv"    // comma-separated values (RFC 4180)
)

// EncodeOptions are the options of Encode, all of which are for CSV. Nil means the zero value.
type EncodeOptions struct {
	NoHeader bool   // no line with the names of the columns
	Index    bool   // columns with the index of the first value of the line, without the last dimension if a line is a row
	Safe     bool   // an apostrophe before each string that a spreadsheet would read as a formula
	Column   string // name of the column of an array of at most one dimension that is no structure; default "value"
}

// Encode writes the elements of an array to w in the format JSON, NDJSON, CSV or NPY. For a part of
// an array, use a View of it. By default CSV has a header line, and one line for each structure,
// with a cell for each field, or for each row of the last dimension. Without elements there are no
// such lines, for example for the shape (3, 0). The memory does not depend on the length of any
// dimension: at most 16 MiB of elements are decoded at a time, in addition to the buffers of a
// read.
//
// Elements in JSON have the form of docs/json.md: integers beyond ±2^53 and floats without a finite
// value are strings, structures are objects, bytes that are not UTF-8 are {"base64": …}, and null
// elements are null. A cell of CSV is the same without quotes, and empty for a null element and for
// NaT. The values of package cf are written with dates in the calendar of the variable. NPY has
// native byte order.
//
// It returns errors.ErrUnsupported before it writes if the format cannot represent the array:
// elements of variable size, null elements and null arrays in NPY. It returns ErrParam for another
// format, ErrClosed, the errors of Read, the context's error or that of w. w then has the beginning
// of the output.
func Encode(ctx context.Context, w io.Writer, a *ndarray.Array, f Format, o *EncodeOptions) error {
	e, err := NewEncoder(ctx, a, f, o)
	if err == nil {
		_, err = e.WriteTo(w)
	}
	return err
}

// Encoder is the output of Encode as a stream, for example for io.Copy or the body of a request. It
// implements io.Reader and io.WriterTo. It holds no resources and needs no Close. The array must
// stay open while it is used. It is not for concurrent use.
type Encoder struct{ e *encode.Encoder }

// NewEncoder returns the output of Encode as a stream. ctx applies to all reads of the stream. It
// returns the errors of Encode that are found before the first byte, so that an HTTP handler can
// still send a status.
func NewEncoder(ctx context.Context, a *ndarray.Array, f Format, o *EncodeOptions) (*Encoder, error) {
	x := orZero(o)
	switch f {
	case JSON, NDJSON, CSV, NPY:
	default:
		err := fmt.Errorf("%w: format of elements: got %q, want %q, %q, %q or %q", ndarray.ErrParam, f, JSON, NDJSON, CSV, NPY)
		return nil, ndarray.Wrap("encode", a.Meta().Path, err)
	}
	e, err := encode.New(ctx, a, &encode.Options{
		Format: string(f), Table: encode.Table{NoHeader: x.NoHeader, Index: x.Index, Safe: x.Safe, Name: cmp.Or(x.Column, "value")},
	})
	if err != nil {
		return nil, err
	}
	return &Encoder{e}, nil
}

// Read implements io.Reader. At the end it returns io.EOF.
func (e *Encoder) Read(p []byte) (int, error) { return e.e.Read(p) }

// WriteTo implements io.WriterTo. It writes everything that Read has not returned.
func (e *Encoder) WriteTo(w io.Writer) (int64, error) { return e.e.WriteTo(w) }

// WriteFile writes a new file of any format that is one file to w. It calls write with the location
// of a file called name in a new temporary directory (os.TempDir), which write creates, for example
// with Create or CopyTree. Then WriteFile copies the file to w and removes it, because HDF5 and
// Blosc2 write the beginning of a file last.
//
// It returns ErrParam for a name with a separator, the error of write, errors.ErrUnsupported if
// write created a directory, ErrNotFound if it created nothing, the context's error, or that of w.
// After an error of write, w stays empty.
func WriteFile(ctx context.Context, w io.Writer, name string, write func(location string) error) error {
	if name == "" || name == "." || name == ".." || name != filepath.Base(name) {
		return ndarray.Wrap("write", name, fmt.Errorf("%w: name: got %q, want a name without a directory", ndarray.ErrParam, name))
	}
	return ndarray.Wrap("write", name, atomicfile.Scratch(ctx, name, func(path string) error {
		if err := write(path); err != nil {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("%w: the new array is a directory, want a format with one file", errors.ErrUnsupported)
		}
		f, _, err := regularfile.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, &cancelledReader{ctx, f})
		return errors.Join(err, f.Close())
	}))
}

// cancelledReader is a reader that fails when its context ends.
type cancelledReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (c *cancelledReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
