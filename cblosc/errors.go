// Errors in three layers: sentinels for errors.Is, the codes of the library, and the struct that
// holds them with the operation and the path.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// Sentinel errors.
var (
	// ErrClosed means that the value was closed before.
	ErrClosed = errs.ErrClosed
	// ErrBroken means that an earlier write failed half-way. The stored content is unknown until it
	// is opened again.
	ErrBroken = errs.New("an earlier write failed, open it again", errs.ErrCorrupt)
	// ErrReadOnly means that the value was opened read-only.
	ErrReadOnly = errs.ErrReadOnly
	// ErrSize means that a buffer has the wrong length. The message contains both sizes.
	ErrSize = errs.ErrSize
	// ErrRegion means that a region, chunk or item is out of range.
	ErrRegion = errs.ErrRegion
	// ErrParam means that the library cannot accept a parameter.
	ErrParam = errs.ErrParam
	// ErrLimit means that a limit of the library is exceeded: 2 GiB per chunk, 16 metalayers of
	// each kind, 31 bytes per name.
	ErrLimit = errs.New("limit of the library exceeded", errs.ErrShape)
	// ErrNotFound means that no metalayer has that name.
	ErrNotFound = errs.ErrNotFound
	// ErrExists means that the file, directory or metalayer already exists.
	ErrExists = errs.ErrExists
	// ErrFormat means that the bytes are not a valid chunk, frame or array. The error chain
	// contains a *format.Error with the location.
	ErrFormat = errs.ErrInvalid
)

// Code is a result of the library (BLOSC2_ERROR_*). errors.Is maps some codes to the sentinels of
// this package.
type Code int32

// Codes that this package distinguishes.
const (
	codeData          Code = C.BLOSC2_ERROR_DATA
	codeReadBuffer    Code = C.BLOSC2_ERROR_READ_BUFFER
	codeWriteBuffer   Code = C.BLOSC2_ERROR_WRITE_BUFFER
	codeCodecSupport  Code = C.BLOSC2_ERROR_CODEC_SUPPORT
	codeVersion       Code = C.BLOSC2_ERROR_VERSION_SUPPORT
	codeInvalidHeader Code = C.BLOSC2_ERROR_INVALID_HEADER
	codeInvalidParam  Code = C.BLOSC2_ERROR_INVALID_PARAM
	codeRunLength     Code = C.BLOSC2_ERROR_RUN_LENGTH
	codeDictionary    Code = C.BLOSC2_ERROR_CODEC_DICT
	codeFailure       Code = C.BLOSC2_ERROR_FAILURE
	codeNullPointer   Code = C.BLOSC2_ERROR_NULL_POINTER
	codeNotFound      Code = C.BLOSC2_ERROR_NOT_FOUND
)

// Error returns the library's error string and the number.
func (c Code) Error() string {
	text := C.GoString(C.goblosc2_error_text(C.int32_t(c)))
	return fmt.Sprintf("%s (%d)", strings.ToLower(text[:1])+text[1:], int32(c))
}

// Is maps the code to sentinel errors for errors.Is.
func (c Code) Is(target error) bool {
	switch c {
	case codeData, codeInvalidHeader, codeReadBuffer, codeRunLength, codeDictionary:
		return target == ErrFormat || target == errs.ErrCorrupt
	case codeVersion, codeCodecSupport:
		return target == errors.ErrUnsupported
	case codeInvalidParam:
		return target == ErrParam
	case codeNotFound:
		return target == ErrNotFound
	}
	return false
}

// Error describes a failed call: of the library if Code is set, otherwise of the checks before it.
type Error struct {
	Op   string // "compress", "open", "read region", …
	Path string // file or directory, "" in memory
	Code Code   // result of the library, 0 if it was not called
	Call string // function of the library, "" if it was not called
	Err  error  // cause in Go; with a Code the errno, ErrFormat or nil
}

// Error returns the operation, the path and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cblosc: ")
	b.WriteString(e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	b.WriteString(": ")
	if e.Code == 0 {
		b.WriteString(e.Err.Error())
		return b.String()
	}
	b.WriteString(e.Code.Error())
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Format prints the error like Error; the verb %+v adds the name of the library function.
func (e *Error) Format(s fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = io.WriteString(s, strconv.Quote(e.Error()))
		return
	}
	_, _ = io.WriteString(s, e.Error())
	if verb == 'v' && s.Flag('+') && e.Call != "" {
		fmt.Fprintf(s, " (%s)", e.Call)
	}
}

// Unwrap returns the code and the cause.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 2)
	if e.Code != 0 {
		errs = append(errs, e.Code)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// reads are the operations that read stored data.
var reads = map[string]bool{
	"open": true, "open array": true, "read region": true, "read items": true, "read chunk": true, "decompress": true, "decompress chunk": true,
}

// refused returns an Error of a check in Go. The library was not called and nothing has changed.
func refused(op, path string, err error) error { return &Error{Op: op, Path: path, Err: err} }

// failed returns an Error of the library.
func failed(op, path string, cerr *C.goblosc2_err_t) error {
	e := &Error{Op: op, Path: path, Code: Code(cerr.code), Call: C.GoString(cerr.call)}
	switch {
	case cerr.sys != 0:
		e.Err = errs.Errno(int(cerr.sys))
	case (e.Code == codeFailure || e.Code == codeNullPointer) && reads[op]:
		e.Err = errs.ErrInvalidBytes // corrupt data, for which the library has no reason
	}
	return e
}
