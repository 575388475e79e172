// Sequences of elements in a file or a pipe: .npy, and raw bytes that flags describe.

package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Formats of such files. Raw bytes are not an array format of the library.
const (
	NPYFormat = "npy"
	RawFormat = "raw"
)

// Stdio is the name of standard input and standard output.
const Stdio = "-"

// FlatFlags describe raw bytes.
type FlatFlags struct {
	Shape  string
	Offset int64
}

// rawSource returns the source that --shape, --dtype and --offset describe. size is the number of
// bytes, or -1 if it is unknown.
func (o *FlatFlags) rawSource(dtype string, size int64) (*npy.Array, error) {
	if dtype == "" {
		return nil, Usagef("--shape %s: raw bytes also need --dtype, for example --dtype '<f4'", o.Shape)
	}
	d, err := ParseDType(dtype)
	if err != nil {
		return nil, err
	}
	if d.Size == 0 {
		return nil, Usagef("--dtype %s: elements of raw bytes have a fixed size", dtype)
	}
	if o.Offset < 0 {
		return nil, Usagef("--offset %d: want 0 or more bytes", o.Offset)
	}
	shape, open, err := parseRawShape(o.Shape)
	if err != nil {
		return nil, err
	}
	if open >= 0 {
		if size < 0 {
			return nil, Usagef("--shape %s: the size of a pipe is unknown; give every dimension", o.Shape)
		}
		shape[open] = 1
		step, ok := grid.Product(shape)
		if step *= int64(d.Size); !ok || step <= 0 || (size-o.Offset)%step != 0 || size < o.Offset {
			return nil, Usagef("--shape %s: %d bytes after --offset %d are not a multiple of %d bytes", o.Shape, size-o.Offset, o.Offset,
				step)
		}
		shape[open] = (size - o.Offset) / step
	}
	return &npy.Array{Shape: shape, DType: d, Offset: o.Offset}, grid.Check(shape, d.Size)
}

// parseRawShape parses a shape such as "100,20", or "scalar". The length of one axis may be -1;
// open is that axis, or -1 without one.
func parseRawShape(text string) (shape []int64, open int, err error) {
	open = -1
	shape = []int64{}
	if text == "scalar" {
		return shape, open, nil
	}
	for i, part := range strings.Split(strings.ReplaceAll(text, "x", ","), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < -1 || n == -1 && open >= 0 {
			return nil, 0, Usagef("--shape %q is not a shape; write lengths, one of which may be -1, for example -1,100, or scalar", text)
		}
		if n == -1 {
			open = i
		}
		shape = append(shape, n)
	}
	return shape, open, nil
}

// OpenRawFile opens the raw bytes that raw describes.
func OpenRawFile(file, dtype string, raw *FlatFlags) (_ *ndarray.Array, err error) {
	f, info, err := regularfile.Open(file)
	if errors.Is(err, regularfile.ErrNot) {
		return nil, Usagef("%w; give - and send its bytes to standard input", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	s, err := raw.rawSource(dtype, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.CheckSize(info.Size()) != nil {
		return nil, Usagef("%s: --shape %s: got %d bytes after --offset %d, want %d for %s elements of %v",
			file, raw.Shape, max(info.Size()-raw.Offset, 0), raw.Offset, s.NumBytes(), term.FormatShape(s.Shape), s.DType)
	}
	m := ndarray.Meta{Format: RawFormat, Path: file, Shape: s.Shape, DType: s.DType, ReadOnly: true}
	if have, n := info.Size()-s.Offset, m.NumElems()*int64(m.DType.Size); have > n {
		return nil, Usagef("%s has %d bytes after --offset %d, %s of %v are %d", file, have, raw.Offset, term.FormatShape(m.Shape), m.DType,
			n)
	}
	return ndarray.New(&rawFile{s, m, f})
}

// rawFile is the backend of raw bytes.
type rawFile struct {
	array *npy.Array
	meta  ndarray.Meta
	f     *os.File
}

// Meta implements ndarray.Backend.
func (b *rawFile) Meta() ndarray.Meta { return b.meta }

// Close implements ndarray.Backend.
func (b *rawFile) Close() error { return b.f.Close() }

// ReadRegion implements ndarray.Backend.
func (b *rawFile) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return b.array.ReadRegion(ctx, dst, b.f, r)
}

// OpenPipe opens the content of a pipe: .npy, or raw bytes if raw describes them. Its elements can
// be read once, in their order.
func OpenPipe(stdin io.Reader, dtype string, raw *FlatFlags) (*ndarray.Array, error) {
	r := bufio.NewReaderSize(stdin, 1<<20)
	var s *npy.Array
	var err error
	format := RawFormat
	if raw.Shape != "" {
		if s, err = raw.rawSource(dtype, -1); err == nil {
			_, err = io.CopyN(io.Discard, r, raw.Offset)
		}
	} else {
		if head, _ := r.Peek(len(npy.Magic)); string(head) != npy.Magic {
			switch more, _ := r.Peek(16); {
			case len(head) == 0:
				return nil, Usagef("standard input is empty: want .npy, or raw bytes with --shape and --dtype")
			case strings.HasPrefix(string(more), h5file.Signature):
				return nil, Usagef("standard input is an HDF5 file, which is not read from its beginning to its end; save it first, and " +
					"name the file")
			case beginsFrame(more):
				return nil, Usagef("standard input is a Blosc2 frame, which is not read from its beginning to its end; save it first, " +
					"and name the file")
			}
			return nil, Usagef("standard input is not .npy (begins with % x); for raw bytes give --shape and --dtype", head)
		}
		var a npy.Array
		a, err = npy.Read(r)
		s, format = &a, NPYFormat
	}
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if s.Fortran && len(s.Shape) > 1 {
		return nil, fmt.Errorf("%w: standard input is .npy in Fortran order, which needs a file", errors.ErrUnsupported)
	}
	m := ndarray.Meta{Format: format, Path: Stdio, Shape: s.Shape, DType: s.DType, ReadOnly: true}
	return ndarray.New(&pipe{meta: m, r: r})
}

// pipe is the backend of an array from a pipe.
type pipe struct {
	meta ndarray.Meta
	r    *bufio.Reader
	next int64 // the next element
}

// Meta implements ndarray.Backend.
func (b *pipe) Meta() ndarray.Meta { return b.meta }

// Close implements ndarray.Backend.
func (b *pipe) Close() error { return nil }

// ReadRegion implements ndarray.Backend. Regions must follow each other as in sequential.
func (b *pipe) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	first := int64(0)
	for i, n := range b.meta.Shape {
		first = first*n + r.Start[i]
	}
	if first != b.next {
		return fmt.Errorf("%w: element %d of a pipe that has come to %d", errors.ErrUnsupported, first, b.next)
	}
	if n, err := io.ReadFull(b.r, dst); err != nil {
		size := int64(b.meta.DType.Size)
		return fmt.Errorf("%w: standard input ends after %d bytes of elements, %s of %v are %d", ndarray.ErrCorrupt,
			b.next*size+int64(n), term.FormatShape(b.meta.Shape), b.meta.DType, b.meta.NumElems()*size)
	}
	b.next += r.NumElems()
	b.meta.DType.ToNative(dst)
	if b.next == b.meta.NumElems() {
		if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: standard input continues after %s of %v", ndarray.ErrSize, term.FormatShape(b.meta.Shape), b.meta.DType)
		}
	}
	return nil
}

// FlatOutput describes an output of elements only.
type FlatOutput struct {
	Format   string // NPYFormat or RawFormat
	Memory   int64  // maximum bytes of a block
	Progress func(bytes int64)
}

// Write writes the elements of arr in this machine's byte order, for .npy after a header.
func (o FlatOutput) Write(ctx context.Context, w io.Writer, arr *ndarray.Array) error {
	format := encode.Raw
	if o.Format == NPYFormat {
		format = encode.NPY
	}
	return Encode(ctx, w, arr, &encode.Options{Format: format, Limit: min(o.Memory, encode.Block), Progress: o.Progress, Stored: true})
}

// FlatBytes returns the number of bytes that FlatOutput.Write writes.
func FlatBytes(m ndarray.Meta, format string) int64 {
	n := m.NumElems() * int64(m.DType.Size)
	if format == NPYFormat {
		if head, err := NPYHeader(m); err == nil {
			n += int64(len(head))
		}
	}
	return n
}
