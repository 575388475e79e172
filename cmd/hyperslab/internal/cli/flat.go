// Sequences of elements in a file or a pipe: .npy, and raw bytes that flags describe.

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/boxes"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Formats of such files. They are not array formats of the library.
const (
	npyFormat = "npy"
	rawFormat = "raw"
)

// stdio is the name of standard input and standard output.
const stdio = "-"

// flatFlags describe raw bytes.
type flatFlags struct {
	shape  string
	offset int64
}

// flatSource is a source that contains only elements, after an optional header.
type flatSource struct {
	meta    ndarray.Meta
	fortran bool
	at      int64 // offset of the first element
}

// isNPY reports whether a file is .npy, by its content.
func isNPY(file string) (is bool, err error) {
	f, _, err := regular.Open(file)
	if err != nil {
		return false, nil // the opening of the file as an array reports the error
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, len(npyMagic))
	_, readErr := io.ReadFull(f, head)
	return readErr == nil && string(head) == npyMagic, nil
}

// rawSource returns the source that --shape, --dtype and --offset describe. size is the number of
// bytes, or -1 if it is unknown.
func (o *flatFlags) rawSource(dtype string, size int64) (*flatSource, error) {
	if dtype == "" {
		return nil, usagef("--shape %s: raw bytes also need --dtype, for example --dtype '<f4'", o.shape)
	}
	d, err := ndarray.ParseDType(dtype)
	if err != nil {
		return nil, usagef("--dtype %s: %w", dtype, err)
	}
	if d.Size == 0 {
		return nil, usagef("--dtype %s: elements of raw bytes have a size", dtype)
	}
	if o.offset < 0 {
		return nil, usagef("--offset %d: want 0 or more bytes", o.offset)
	}
	shape, open, err := parseRawShape(o.shape)
	if err != nil {
		return nil, err
	}
	if open >= 0 {
		if size < 0 {
			return nil, usagef("--shape %s: the size of a pipe is unknown; give every dimension", o.shape)
		}
		shape[open] = 1
		step, ok := ndarray.Product(shape)
		if step *= int64(d.Size); !ok || step <= 0 || (size-o.offset)%step != 0 || size < o.offset {
			return nil, usagef("--shape %s: %d bytes after --offset %d are not a multiple of %d bytes", o.shape, size-o.offset, o.offset, step)
		}
		shape[open] = (size - o.offset) / step
	}
	s := &flatSource{meta: ndarray.Meta{Format: rawFormat, Shape: shape, DType: d}, at: o.offset}
	return s, ndarray.CheckShape(shape, d.Size)
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
			return nil, 0, usagef("--shape %q is not a shape; write lengths, one of which may be -1, for example -1,100, or scalar", text)
		}
		if n == -1 {
			open = i
		}
		shape = append(shape, n)
	}
	return shape, open, nil
}

// openFlatFile opens a .npy file, or raw bytes if raw describes them.
func openFlatFile(file, dtype string, raw *flatFlags) (_ *ndarray.Array, err error) {
	f, info, err := regular.Open(file)
	if errors.Is(err, regular.ErrNot) {
		return nil, usagef("%w; give - and send its bytes to standard input", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	s := &flatSource{}
	if raw.shape != "" {
		s, err = raw.rawSource(dtype, info.Size())
	} else {
		s.meta, s.fortran, s.at, err = readNPYHeader(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.meta.Path, s.meta.ReadOnly = file, true
	n := s.meta.NumElems() * int64(s.meta.DType.Size)
	switch have := info.Size() - s.at; {
	case have < n:
		return nil, fmt.Errorf("%w: %s holds %d bytes of elements, %s of %v are %d", ndarray.ErrCorrupt, file, max(have, 0), shapeText(s.meta.Shape), s.meta.DType, n)
	case have > n && raw.shape != "":
		return nil, usagef("%s has %d bytes after --offset %d, %s of %v are %d", file, have, raw.offset, shapeText(s.meta.Shape), s.meta.DType, n)
	}
	return ndarray.New(&flatFile{*s, f})
}

// flatFile is the backend of such a file.
type flatFile struct {
	flatSource
	f *os.File
}

// Meta implements ndarray.Backend.
func (b *flatFile) Meta() ndarray.Meta { return b.meta }

// Close implements ndarray.Backend.
func (b *flatFile) Close() error { return b.f.Close() }

// ReadRegion implements ndarray.Backend.
func (b *flatFile) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	size := b.meta.DType.Size
	n, src, into := slices.Clone(r.Shape), boxes.Strides(b.meta.Shape, size), boxes.Strides(r.Shape, size)
	if b.fortran {
		shape := slices.Clone(b.meta.Shape)
		slices.Reverse(shape)
		src = boxes.Strides(shape, size)
		slices.Reverse(src)
	}
	at := b.at
	for i, start := range r.Start {
		at += start * src[i]
	}
	if b.fortran { // the axes in the order of the file
		slices.Reverse(n)
		slices.Reverse(src)
		slices.Reverse(into)
	}
	if err := b.box(ctx, dst, at, n, src, into); err != nil {
		return err
	}
	b.meta.DType.ToNative(dst)
	return nil
}

// spanBytes is the maximum number of bytes in one read from which elements are picked.
const spanBytes = 1 << 20

// box reads a box whose first element is at an offset of the file. It uses one read if the box
// contains enough of the bytes in its range, otherwise it reads index by index of the first axis.
func (b *flatFile) box(ctx context.Context, dst []byte, at int64, n, src, into []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	size := b.meta.DType.Size
	span, useful := int64(size), int64(size)
	for i := range n {
		span += (n[i] - 1) * src[i]
		useful *= n[i]
	}
	box := boxes.New(n, into, src, size)
	if box.Dense() {
		_, err := b.f.ReadAt(dst[:useful], at)
		return err
	}
	if span <= spanBytes && useful >= span/8 || len(n) == 1 && span <= spanBytes {
		buf := make([]byte, span)
		if _, err := b.f.ReadAt(buf, at); err != nil {
			return err
		}
		box.Copy(dst, buf)
		return nil
	}
	if len(n) == 1 { // a long run with other strides in memory
		step := max(spanBytes/src[0], 1)
		for i := int64(0); i < n[0]; i += step {
			if err := b.box(ctx, dst[i*into[0]:], at+i*src[0], []int64{min(step, n[0]-i)}, src, into); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n[0] {
		if err := b.box(ctx, dst[i*into[0]:], at+i*src[0], n[1:], src[1:], into[1:]); err != nil {
			return err
		}
	}
	return nil
}

// openPipe opens the content of a pipe: .npy, or raw bytes if raw describes them. Its elements can
// be read once, in their order.
func openPipe(stdin io.Reader, dtype string, raw *flatFlags) (*ndarray.Array, error) {
	r := bufio.NewReaderSize(stdin, 1<<20)
	s := &flatSource{}
	var err error
	if raw.shape != "" {
		if s, err = raw.rawSource(dtype, -1); err == nil {
			_, err = io.CopyN(io.Discard, r, raw.offset)
		}
	} else {
		if head, _ := r.Peek(len(npyMagic)); string(head) != npyMagic {
			switch more, _ := r.Peek(16); {
			case len(head) == 0:
				return nil, usagef("standard input is empty: want .npy, or raw bytes with --shape and --dtype")
			case strings.HasPrefix(string(more), h5file.Signature):
				return nil, usagef("standard input is an HDF5 file, which is not read from its beginning to its end; save it first, and name the file")
			case beginsFrame(more):
				return nil, usagef("standard input is a Blosc2 frame, which is not read from its beginning to its end; save it first, and name the file")
			}
			return nil, usagef("standard input is not .npy (begins with % x); for raw bytes give --shape and --dtype", head)
		}
		s.meta, s.fortran, _, err = readNPYHeader(r)
	}
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if s.fortran && len(s.meta.Shape) > 1 {
		return nil, fmt.Errorf("%w: standard input is .npy in Fortran's order, which takes a file", errors.ErrUnsupported)
	}
	s.meta.Path, s.meta.ReadOnly = stdio, true
	return ndarray.New(&pipe{flatSource: *s, r: r})
}

// pipe is the backend of an array from a pipe.
type pipe struct {
	flatSource
	r    *bufio.Reader
	next int64 // the next element
}

// Meta implements ndarray.Backend.
func (b *pipe) Meta() ndarray.Meta { return b.meta }

// Close implements ndarray.Backend.
func (b *pipe) Close() error { return nil }

// ReadRegion implements ndarray.Backend. Regions must follow each other as in sequential.
func (b *pipe) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
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
			b.next*size+int64(n), shapeText(b.meta.Shape), b.meta.DType, b.meta.NumElems()*size)
	}
	b.next += r.NumElems()
	b.meta.DType.ToNative(dst)
	if b.next == b.meta.NumElems() {
		if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: standard input continues after %s of %v", ndarray.ErrSize, shapeText(b.meta.Shape), b.meta.DType)
		}
	}
	return nil
}

// writeFlat writes the elements of arr in this machine's byte order, for .npy after a header.
func writeFlat(ctx context.Context, w io.Writer, arr *ndarray.Array, format string, memory int64, progress func(bytes int64)) error {
	m := arr.Meta()
	out := bufio.NewWriterSize(w, 64<<10)
	if format == npyFormat {
		head, err := npyHeader(m)
		if err != nil {
			return err
		}
		if _, err := out.Write(head); err != nil {
			return err
		}
	} else if m.DType.Kind == ndarray.String || m.Null {
		return fmt.Errorf("%w: %s as raw bytes", errors.ErrUnsupported, m.DType.Kind)
	}
	err := eachBlock(ctx, arr, min(memory, outputBlock), progress, func(_ ndarray.Region, e *batch) error {
		_, err := out.Write(e.data)
		return err
	})
	return errors.Join(err, out.Flush())
}

// flatBytes returns the number of bytes that writeFlat writes.
func flatBytes(m ndarray.Meta, format string) int64 {
	n := m.NumElems() * int64(m.DType.Size)
	if format == npyFormat {
		if head, err := npyHeader(m); err == nil {
			n += int64(len(head))
		}
	}
	return n
}
