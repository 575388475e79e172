// Transfer of dataset elements, as bytes with a datatype.

package h5

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
)

// ReadRegion fills dst with the elements of r, converted to mem, in row-major order (H5Dread).
//
// len(dst) must be r.NumElems() * mem.Size bytes. Numbers are converted from the stored type to mem
// if mem can represent every number of the stored type. Package h5value converts other numbers. For
// any other class, mem must be the stored type, apart from the byte order, or its Native form. An
// enumeration, also inside another type, must be the stored type or become a number.
//
// It returns ErrSize for a buffer of another length, ErrRegion for a region outside the dataset,
// and ErrType if mem and the stored type are incompatible or not Plain, or if the conversion may
// change a number. It returns a *FilterError if a filter is missing, ErrCorrupt for filter
// parameters that would make libhdf5 read or write out of bounds (see docs/defects.md), or
// ErrClosed.
//
// A read defines every byte of dst. An element that is not stored is the fill value, or zero if the
// dataset has no fill value or FillNever (see DatasetInfo.Unwritten): H5Dread would leave its bytes
// in dst unchanged. If no element is stored and there is no fill value, libhdf5 returns an error,
// except with FillNever. The padding between the members of a compound is as stored, or zero if mem
// has another form than the stored type. After an error the content of dst is undefined.
//
// If a corrupt chunk decodes to too few bytes, libhdf5 takes the missing elements from the memory
// after the decoded bytes, without an error. chunkio.Read returns ErrCorrupt for such a chunk.
func (d *Dataset) ReadRegion(dst []byte, mem Datatype, r Region) error {
	return d.read(dst, &mem, &r, 0)
}

// ReadRegionLossy is like ReadRegion, but libhdf5 clamps values that are out of range and rounds or
// truncates values that mem cannot represent exactly. It does not always round to nearest (see
// docs/defects.md); h5value.ReadLossy does.
func (d *Dataset) ReadRegionLossy(dst []byte, mem Datatype, r Region) error {
	return d.read(dst, &mem, &r, 1)
}

// WriteRegion replaces the elements of r with the elements in src, which have type mem and
// row-major order (H5Dwrite).
//
// The rules for length and types and the errors are those of ReadRegion; it can also return
// ErrReadOnly.
func (d *Dataset) WriteRegion(src []byte, mem Datatype, r Region) error {
	return d.write(src, &mem, &r, 0)
}

// WriteRegionLossy is like WriteRegion, but libhdf5 clamps values that are out of range and rounds
// or truncates values that the stored type cannot represent exactly. It does not always round to
// nearest (see docs/defects.md); h5value.WriteLossy does.
func (d *Dataset) WriteRegionLossy(src []byte, mem Datatype, r Region) error {
	return d.write(src, &mem, &r, 1)
}

// Array lengths for the encodings of a region of rank 4 and of a datatype without members.
const (
	shortRegion = 1 + 4*4
	shortType   = 24 * wordSize
)

func (d *Dataset) read(dst []byte, mem *Datatype, r *Region, lossy C.int32_t) error {
	const op = "read"
	lock()
	defer unlock()
	id, idErr := d.h.idLocked(op, d.path)
	if errors.Is(idErr, ErrReentrant) {
		return idErr // lib's arrays are in use by the outer operation
	}
	words, err := checkTransfer(lib.words[:0], len(dst), mem, r)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	if idErr != nil {
		return idErr
	}
	if err := d.withinLocked(op, id, words, len(r.Start)); err != nil {
		return err
	}
	t := mem.append(lib.typ[:0])
	known := C.int32_t(0)
	if bytes.Equal(t, d.exact) {
		known = 1
	}
	cerr := errorLocked()
	rc := C.goh5_dread(cerr, id, cBytes(t), C.size_t(len(t)), cInts(words), C.size_t(len(words)), C.size_t(len(r.Start)), lossy, known,
		&d.gaps, cBytes(dst), C.size_t(len(dst)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, *r, rc, cerr)
	}
	if known == 0 && lossy == 0 {
		d.exact = append(d.exact[:0], t...)
	}
	return outsideLocked(op, d.path)
}

func (d *Dataset) write(src []byte, mem *Datatype, r *Region, lossy C.int32_t) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	lock()
	defer unlock()
	id, idErr := d.h.idLocked(op, d.path)
	if errors.Is(idErr, ErrReentrant) {
		return idErr // lib's arrays are in use by the outer operation
	}
	words, err := checkTransfer(lib.words[:0], len(src), mem, r)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	if idErr != nil {
		return idErr
	}
	if err := d.masksLocked(op, id, words, len(r.Start)); err != nil {
		return err
	}
	t := mem.append(lib.typ[:0])
	cerr := errorLocked()
	rc := C.goh5_dwrite(cerr, id, cBytes(t), C.size_t(len(t)), cInts(words), C.size_t(len(words)), C.size_t(len(r.Start)), lossy,
		cBytes(src), C.size_t(len(src)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, *r, rc, cerr)
	}
	return nil
}

// checkTransfer makes all checks that do not need the dataset.
func checkTransfer(buf []int64, length int, mem *Datatype, r *Region) ([]int64, error) {
	words, n, err := r.words(append(buf, selBlocks))
	if err != nil {
		return nil, err
	}
	if err := checkPlain(mem); err != nil {
		return nil, err
	}
	if want := mul(n, int64(mem.Size)); want != int64(length) {
		return nil, fmt.Errorf("%w: buffer has %d bytes, %d elements of %d bytes selected", ErrSize, length, n, mem.Size)
	}
	return words, nil
}

func checkPlain(mem *Datatype) error {
	if err := mem.check(); err != nil {
		return err
	}
	if !mem.Plain() {
		return fmt.Errorf("%w: %v is more than its bytes", ErrType, mem.String())
	}
	return nil
}

// Window is a part of a buffer. The buffer contains elements in row-major order with the given
// Shape, and Selection selects the elements of the part.
type Window struct {
	Shape     []int64
	Selection Selection
}

// ReadWindow is like ReadRegion for any selection, and reads into a part of dst: the elements of s
// are stored, in their order, at the elements that w selects. Every byte of these elements is
// defined, and the rest of dst is unchanged (H5Dread).
//
// len(dst) must be the product of w.Shape times mem.Size bytes, and w must select as many elements
// as s; otherwise the error is ErrSize. A window outside its shape returns ErrRegion.
func (d *Dataset) ReadWindow(dst []byte, mem Datatype, w Window, s Selection) error {
	return d.readWindow(dst, &mem, w, s)
}

// ReadSelection fills dst with the elements of s, converted to mem, in their order (H5Dread). It is
// like ReadRegion for any selection, but it needs the dataset to check the length of dst.
func (d *Dataset) ReadSelection(dst []byte, mem Datatype, s Selection) error {
	if r, ok := s.(Region); ok && fills(len(dst), &mem, &r) {
		return d.read(dst, &mem, &r, 0)
	}
	return d.ReadWindow(dst, mem, Window{}, s)
}

// fills reports whether the elements of r have this length, so that the dataset is not needed to
// check it.
func fills(length int, mem *Datatype, r *Region) bool {
	return mul(r.NumElems(), int64(mem.Size)) == int64(length)
}

// WriteWindow is like WriteRegion for any selection, and writes from a part of src. See ReadWindow.
func (d *Dataset) WriteWindow(src []byte, mem Datatype, w Window, s Selection) error {
	return d.writeWindow(src, &mem, w, s)
}

// WriteSelection replaces the elements of s with src (H5Dwrite). If s lists an element twice, the
// element gets one of the two values.
func (d *Dataset) WriteSelection(src []byte, mem Datatype, s Selection) error {
	if r, ok := s.(Region); ok && fills(len(src), &mem, &r) {
		return d.write(src, &mem, &r, 0)
	}
	return d.WriteWindow(src, mem, Window{}, s)
}

// checkWindow is like checkTransfer, for any selection and a part of a buffer.
func checkWindow(length int, mem *Datatype, w Window, s Selection) (encoded, error) {
	e, err := encodeSelection(s)
	if err != nil {
		return e, err
	}
	if err := checkPlain(mem); err != nil {
		return e, err
	}
	if w.Selection == nil && w.Shape == nil {
		return e, nil
	}
	space := Dataspace{Kind: Simple, Dims: w.Shape}
	if len(w.Shape) == 0 {
		space.Kind = Scalar
	}
	if err := space.check(); err != nil {
		return e, err
	}
	if want := mul(product(w.Shape), int64(mem.Size)); want != int64(length) {
		return e, fmt.Errorf("%w: buffer has %d bytes, a window of shape %d with elements of %d bytes", ErrSize, length, w.Shape, mem.Size)
	}
	in, err := encodeSelection(w.Selection)
	if err != nil {
		return e, err
	}
	if n := w.Selection.axes(); n >= 0 && n != len(w.Shape) {
		return e, fmt.Errorf("%w: selection of %d dimensions in a window of shape %d", ErrRegion, n, w.Shape)
	}
	e.words = append(append(append(e.words, int64(len(w.Shape))), w.Shape...), in.words...)
	return e, nil
}

func (d *Dataset) readWindow(dst []byte, mem *Datatype, w Window, s Selection) error {
	const op = "read"
	e, err := checkWindow(len(dst), mem, w, s)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	t := mem.append(nil)
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	if err := d.withinLocked(op, id, e.words, e.rank); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dread(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(e.words), C.size_t(len(e.words)), C.size_t(e.rank), 0, 0,
		&d.gaps, cBytes(dst), C.size_t(len(dst)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, s, rc, &cerr)
	}
	return outsideLocked(op, d.path)
}

func (d *Dataset) writeWindow(src []byte, mem *Datatype, w Window, s Selection) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	e, err := checkWindow(len(src), mem, w, s)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	t := mem.append(nil)
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	if err := d.masksLocked(op, id, e.words, e.rank); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dwrite(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(e.words), C.size_t(len(e.words)), C.size_t(e.rank), 0,
		cBytes(src), C.size_t(len(src)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, s, rc, &cerr)
	}
	return nil
}

// transferError converts an error of the shim. For a selection outside the dataset or the buffer,
// the error contains the selection, the actual shape and the first dimension that is too short.
func transferError(op, path string, s Selection, rc C.int, cerr *C.goh5_err_t) error {
	e := newError(op, path, rc, cerr)
	if rc != C.GOH5_EREGION && rc != C.GOH5_EWINDOW {
		return e
	}
	what := "dataset"
	if rc == C.GOH5_EWINDOW {
		what = "window"
	}
	var why string
	switch {
	case cerr.rank < 0:
		why = "the dataspace is null and holds no element"
	default:
		dims := make([]uint64, cerr.rank)
		for i := range dims {
			dims[i] = uint64(cerr.dims[i])
		}
		why = fmt.Sprintf("the %s has the shape %d", what, dims)
		if axis := int(cerr.index); axis >= 0 && axis < len(dims) {
			why += fmt.Sprintf(": along axis %d %d elements are needed, %d are there", axis, cerr.have, cerr.want)
		}
	}
	if r, ok := s.(Region); ok && rc == C.GOH5_EREGION {
		e.Err = r.outside(why)
	} else {
		e.Err = fmt.Errorf("%w: %s", ErrRegion, why)
	}
	return e
}

func (r *reader) stringList() []string {
	s := make([]string, r.word())
	for i := range s {
		s[i] = r.text()
	}
	return s
}
