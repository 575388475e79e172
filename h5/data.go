// The elements of a dataset: as bytes with a datatype, and as strings.

package h5

/*
#include "shim.h"
#cgo noescape goh5_dread
#cgo nocallback goh5_dread
#cgo noescape goh5_dwrite
#cgo nocallback goh5_dwrite
#cgo noescape goh5_dread_strings
#cgo nocallback goh5_dread_strings
#cgo noescape goh5_dwrite_strings
#cgo nocallback goh5_dwrite_strings
*/
import "C"

import (
	"fmt"
	"runtime"
)

// ReadRegion fills dst with the elements of r as mem, in row-major order (H5Dread).
//
// len(dst) must be r.NumElems() * mem.Size bytes. Numbers are converted from
// what is stored to mem; anything else must be the stored type but for the order
// of bytes, or its Native form.
//
// It returns ErrSize for a buffer of another length, ErrRegion for a region
// outside the dataset, ErrType if mem and the stored type have nothing in common
// or are not Plain, ErrOverflow or ErrPrecision if a value would change (dst then
// holds nothing of use), a *FilterError if a filter is missing, or ErrClosed.
func (d *Dataset) ReadRegion(dst []byte, mem Datatype, r Region) error {
	return d.read(dst, &mem, &r, 0)
}

// ReadRegionLossy is ReadRegion that lets the library clamp what is out of range
// and round or cut what is too precise.
func (d *Dataset) ReadRegionLossy(dst []byte, mem Datatype, r Region) error {
	return d.read(dst, &mem, &r, 1)
}

// WriteRegion replaces the elements of r with src, which holds them as mem in
// row-major order (H5Dwrite).
//
// Length, types and errors are those of ReadRegion, and ErrReadOnly. Nothing is
// written if a value would change.
func (d *Dataset) WriteRegion(src []byte, mem Datatype, r Region) error {
	return d.write(src, &mem, &r, 0)
}

// WriteRegionLossy is WriteRegion that lets the library clamp what is out of
// range and round or cut what is too precise.
func (d *Dataset) WriteRegionLossy(src []byte, mem Datatype, r Region) error {
	return d.write(src, &mem, &r, 1)
}

// The encodings of a region of rank 4 and of a datatype without members fit in
// arrays of these lengths, which stay on the stack.
const (
	shortRegion = 4 * 4
	shortType   = 24 * wordSize
)

func (d *Dataset) read(dst []byte, mem *Datatype, r *Region, lossy C.int32_t) error {
	const op = "read"
	var wordBuf [shortRegion]int64
	var typeBuf [shortType]byte
	words, err := checkTransfer(wordBuf[:0], len(dst), mem, r)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	t := mem.append(typeBuf[:0])
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dread(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(words), C.size_t(len(r.Start)), lossy,
		cBytes(dst), C.size_t(len(dst)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return d.transferError(op, r, rc, &cerr)
	}
	return nil
}

func (d *Dataset) write(src []byte, mem *Datatype, r *Region, lossy C.int32_t) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	var wordBuf [shortRegion]int64
	var typeBuf [shortType]byte
	words, err := checkTransfer(wordBuf[:0], len(src), mem, r)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	t := mem.append(typeBuf[:0])
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dwrite(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(words), C.size_t(len(r.Start)), lossy,
		cBytes(src), C.size_t(len(src)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return d.transferError(op, r, rc, &cerr)
	}
	return nil
}

// checkTransfer finds everything that is wrong without a look at the dataset.
func checkTransfer(buf []int64, length int, mem *Datatype, r *Region) ([]int64, error) {
	words, n, err := r.words(buf)
	if err != nil {
		return nil, err
	}
	if err := mem.check(); err != nil {
		return nil, err
	}
	if !mem.Plain() {
		return nil, fmt.Errorf("%w: %v is more than its bytes", ErrType, mem.String())
	}
	if want := mul(n, int64(mem.Size)); want != int64(length) {
		return nil, fmt.Errorf("%w: buffer has %d bytes, %d elements of %d bytes selected", ErrSize, length, n, mem.Size)
	}
	return words, nil
}

// transferError says for a region outside the dataset both what was asked for
// and what is there.
func (d *Dataset) transferError(op string, r *Region, rc C.int, cerr *C.goh5_err_t) error {
	e := newError(op, d.path, rc, cerr)
	switch {
	case rc != C.GOH5_EREGION:
	case cerr.rank < 0:
		e.Err = r.outside("the dataspace is null and holds no element")
	default:
		dims := make([]uint64, cerr.rank)
		for i := range dims {
			dims[i] = uint64(cerr.dims[i])
		}
		e.Err = r.outside(fmt.Sprintf("the dataset has the shape %d", dims))
	}
	return e
}

// ReadStrings returns the elements of r as strings, in row-major order (H5Dread,
// H5Treclaim). Stored strings of fixed length lose their padding; a null pointer
// stored as a string of variable length is "".
//
// It returns ErrType if the dataset holds no strings, and the errors of
// ReadRegion.
func (d *Dataset) ReadStrings(r Region) ([]string, error) {
	const op = "read"
	words, _, err := r.words(nil)
	if err != nil {
		return nil, &Error{Op: op, Path: d.path, Err: err}
	}
	in, err := d.readStrings(&r, words)
	if err != nil {
		return nil, err
	}
	return in.texts(), nil
}

func (r *reader) texts() []string {
	s := make([]string, r.word())
	for i := range s {
		s[i] = r.text()
	}
	return s
}

func (d *Dataset) readStrings(r *Region, words []int64) (*reader, error) {
	const op = "read"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_dread_strings(&cerr, id, cInts(words), C.size_t(len(r.Start)), &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return nil, d.transferError(op, r, rc, &cerr)
	}
	return takeBlob(&blob), nil
}

// WriteStrings replaces the elements of r with the strings of src, in row-major
// order (H5Dwrite). The bytes are written as they are, whatever the character set
// says.
//
// It returns ErrSize if src has another length than r or a string is too long for
// its type, ErrParam for a string with a zero byte inside or one that ends in the
// spaces its type pads with, ErrType if the dataset holds no strings, and the
// errors of WriteRegion. Nothing is written on failure.
func (d *Dataset) WriteStrings(src []string, r Region) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	words, n, err := r.words(nil)
	if err == nil && n != int64(len(src)) {
		err = fmt.Errorf("%w: %d strings, %d elements selected", ErrSize, len(src), n)
	}
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	texts, offsets, err := cTexts(op, d.path, src)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dwrite_strings(&cerr, id, cInts(words), C.size_t(len(r.Start)), cBytes(texts), cUints(offsets), C.size_t(len(src)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return d.transferError(op, &r, rc, &cerr)
	}
	return nil
}
