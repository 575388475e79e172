// Errors: the type Error, its sentinels, and the table that maps libhdf5's error stack to them.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/errs"
)

// Sentinels, which errors.Is finds in an *Error.
var (
	ErrClosed    = errs.ErrClosed
	ErrParam     = errs.ErrParam
	ErrSize      = errs.ErrSize
	ErrRegion    = errs.ErrRegion
	ErrType      = errs.ErrType
	ErrOverflow  = errs.New("value out of range") // of package h5value, as ErrPrecision
	ErrPrecision = errs.New("value would lose precision")
	ErrNotHDF5   = errs.New("not an HDF5 file", errs.ErrFormat)
	ErrTruncated = errs.New("file is truncated", ErrCorrupt)
	ErrCorrupt   = errs.ErrCorrupt
	ErrNoFilter  = errs.New("filter not available", errors.ErrUnsupported)
	ErrLocked    = errs.ErrLocked
	ErrKind      = errs.New("wrong kind of object")
	ErrReentrant = errs.New("called from a filter or driver that runs inside an operation")
	ErrVersion   = errs.New("headers and library differ in version")

	ErrNotFound = errs.ErrNotFound
	ErrExists   = errs.ErrExists
	ErrReadOnly = errs.ErrReadOnly
)

// Error reports a failed operation.
type Error struct {
	Op    string        // "open", "read", "create dataset", …
	Path  string        // the file, the object in it, or object@attribute; may be ""
	Err   error         // cause found by this package; nil if Stack has all information
	Errno syscall.Errno // of the failed system call in the stack, or 0
	// Stack is libhdf5's error stack, outermost call first and cause last. It is nil if libhdf5 was
	// not called.
	Stack []Frame
}

// Frame is one frame of libhdf5's error stack.
type Frame struct {
	Func string // C function
	File string // C source file
	Line int
	Desc string
	// Major is the component of libhdf5 and Minor the kind of error. They are libhdf5's names of
	// its error numbers, for example "H5E_FILE" and "H5E_NOTHDF5". The numbers themselves differ
	// between processes.
	Major, Minor string
}

// Error returns op, path and the innermost description. The verb %+v adds the C functions:
//
//	h5: read /a/b: required filter 'blosc2' is not registered
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("h5: " + e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if n := len(e.Stack); n > 0 && e.Err == nil {
		f := e.Stack[n-1]
		desc := f.Desc
		if e.Errno != 0 { // the rest repeats the file name, with the time and addresses
			what, _, _ := strings.Cut(desc, ":")
			desc = what + ": " + e.Errno.Error()
		}
		b.WriteString(": " + desc)
		if e.cutChunk() {
			b.WriteString("; HDF5 before 2.2 reads a chunk that has only the elements inside the dataset, HDF5 2.2 refuses it")
		}
	}
	return b.String()
}

// cutChunk reports whether a decoded chunk has another size than a chunk of the dataset.
func (e *Error) cutChunk() bool {
	n := len(e.Stack)
	return n > 0 && strings.HasPrefix(e.Stack[n-1].Desc, "chunk size is incorrect after being unfiltered")
}

// Format prints the message. With %+v it also prints every frame of the stack, one per line.
func (e *Error) Format(s fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = io.WriteString(s, strconv.Quote(e.Error()))
		return
	}
	_, _ = io.WriteString(s, e.Error())
	if verb == 'v' && s.Flag('+') {
		for i, f := range e.Stack {
			fmt.Fprintf(s, "\n  #%d %s (%s:%d): %s [%s, %s]", i, f.Func, f.File, f.Line, f.Desc, f.Major, f.Minor)
		}
	}
}

// Unwrap returns Err and Errno, if set.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Errno != 0 {
		errs = append(errs, e.Errno)
	}
	return errs
}

// Is matches the sentinels that correspond to Errno or to the stack. If Err is set, it is the
// cause, and Is adds only that a missing file (fs.ErrNotExist) is ErrNotFound.
func (e *Error) Is(target error) bool {
	if e.Err != nil {
		return target == ErrNotFound && errors.Is(e.Err, fs.ErrNotExist)
	}
	if s, ok := errnoSentinels[e.Errno]; ok && errors.Is(s, target) {
		return true
	}
	if n := len(e.Stack); n > 0 && e.Stack[n-1].Func == "H5O__dtype_decode_helper" && e.Stack[n-1].Major != "H5E_RESOURCE" {
		return errors.Is(ErrCorrupt, target) // the decoder of datatypes uses many minor numbers
	}
	if e.cutChunk() {
		return errors.Is(ErrCorrupt, target)
	}
	if n := len(e.Stack); n > 0 && strings.HasPrefix(e.Stack[n-1].Func, "H5S__hyper_proj_int_") && e.Stack[n-1].Minor == "H5E_BADVALUE" {
		return errors.Is(ErrCorrupt, target) // a virtual mapping that selects more elements than its source has
	}
	for i, f := range e.Stack {
		for _, row := range stackSentinels {
			if row.major == f.Major && row.minor == f.Minor && (row.anywhere || i == len(e.Stack)-1) {
				if errors.Is(row.err, target) {
					return true
				}
			}
		}
	}
	return false
}

// FilterError reports a missing filter. It wraps ErrNoFilter.
type FilterError struct {
	ID   int    // registered filter number
	Name string // from the file; may be ""
}

func (e *FilterError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%v: filter %d", ErrNoFilter, e.ID)
	}
	return fmt.Sprintf("%v: filter %d (%s)", ErrNoFilter, e.ID, e.Name)
}

func (e *FilterError) Unwrap() error { return ErrNoFilter }

// advice explains how to get the filter.
func (e *FilterError) advice() string {
	switch e.ID {
	case 307, 32000, 32001, 32004, 32008, 32015, 32026:
		return "import h5/filter, which has it"
	case FilterSzip:
		return "build the library with szip"
	}
	return "register it (RegisterFilter) or allow a plugin (AllowPlugins)"
}

var errnoSentinels = map[syscall.Errno]error{
	syscall.ENOENT: ErrNotFound,
	syscall.EEXIST: ErrExists,
	syscall.EAGAIN: ErrLocked,
	syscall.EROFS:  ErrReadOnly,
}

// stackSentinels maps frames to sentinels. libhdf5 uses the same minor number in many functions.
// For example, "not found" can mean an absent object or an unreadable header. Therefore most rows
// match only the innermost frame, which is the cause.
var stackSentinels = []struct {
	major    string
	minor    string
	anywhere bool
	err      error
}{
	{"H5E_FILE", "H5E_NOTHDF5", false, ErrNotHDF5},
	{"H5E_FILE", "H5E_TRUNCATED", false, ErrTruncated},

	{"H5E_SYM", "H5E_NOTFOUND", false, ErrNotFound},
	{"H5E_ATTR", "H5E_NOTFOUND", false, ErrNotFound},
	{"H5E_LINK", "H5E_NOTFOUND", false, ErrNotFound},
	{"H5E_LINK", "H5E_CANTDELETE", false, ErrNotFound}, // no such link
	{"H5E_LINK", "H5E_TRAVERSE", true, ErrNotFound},    // a link with a missing target
	{"H5E_LINK", "H5E_EXISTS", false, ErrExists},
	{"H5E_OHDR", "H5E_EXISTS", false, ErrExists}, // the destination of a copy
	{"H5E_SYM", "H5E_BADTYPE", false, ErrKind},
	{"H5E_DATASET", "H5E_BADTYPE", false, ErrKind},

	// Errors from decoding corrupt files. Go has checked the arguments of the call, so an invalid
	// value comes from the file.
	{"H5E_FILE", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_CACHE", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_CACHE", "H5E_BADTYPE", false, ErrCorrupt},   // the address of another structure
	{"H5E_CACHE", "H5E_READERROR", false, ErrCorrupt}, // checksum
	{"H5E_BTREE", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_BTREE", "H5E_CANTLOAD", false, ErrCorrupt},
	{"H5E_SYM", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_SYM", "H5E_VERSION", false, ErrCorrupt},
	{"H5E_SYM", "H5E_CANTDECODE", false, ErrCorrupt},
	{"H5E_HEAP", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_HEAP", "H5E_BADRANGE", false, ErrCorrupt},
	{"H5E_HEAP", "H5E_CANTGET", false, ErrCorrupt},
	{"H5E_HEAP", "H5E_VERSION", false, ErrCorrupt},
	{"H5E_OHDR", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_OHDR", "H5E_CANTINIT", false, ErrCorrupt},
	{"H5E_OHDR", "H5E_CANTLOAD", false, ErrCorrupt},
	{"H5E_OHDR", "H5E_OVERFLOW", false, ErrCorrupt}, // a structure that ends before its fields
	{"H5E_HEAP", "H5E_OVERFLOW", false, ErrCorrupt},
	{"H5E_CACHE", "H5E_OVERFLOW", false, ErrCorrupt},
	{"H5E_BTREE", "H5E_OVERFLOW", false, ErrCorrupt},
	{"H5E_SYM", "H5E_OVERFLOW", false, ErrCorrupt},
	{"H5E_FILE", "H5E_OVERFLOW", false, ErrCorrupt},
	{"H5E_OHDR", "H5E_VERSION", false, ErrCorrupt},
	{"H5E_DATATYPE", "H5E_BADRANGE", false, ErrCorrupt},
	{"H5E_DATATYPE", "H5E_CANTLOAD", false, ErrCorrupt},
	{"H5E_DATATYPE", "H5E_BADVALUE", false, ErrCorrupt},
	{"H5E_ARGS", "H5E_OVERFLOW", false, ErrCorrupt}, // an address outside the file
	{"H5E_IO", "H5E_BADRANGE", false, ErrCorrupt},
	{"H5E_VOL", "H5E_BADSIZE", false, ErrCorrupt}, // a sequence of another length than its object in a heap
	{"H5E_REFERENCE", "H5E_CANTDECODE", false, ErrCorrupt},
	{"H5E_PLINE", "H5E_CANTLOAD", false, ErrCorrupt},
	{"H5E_PLINE", "H5E_READERROR", true, ErrCorrupt}, // a filter failed; since 2.0 followed by its frames
}

// newError returns the error of a failed shim call and frees the memory that the shim allocated for
// it. The caller must still hold the lock.
func newError(op, path string, rc C.int, cerr *C.goh5_err_t) *Error {
	e := &Error{Op: op, Path: path}
	if p := unsafe.Pointer(cerr.stack); p != nil {
		e.Stack = parseStack(&reader{cmem.Bytes(p, int(cerr.stack_len))})
		e.Errno = stackErrno(e.Stack)
		cmem.Free(p)
	}
	have, want := int64(cerr.have), int64(cerr.want)
	switch rc {
	case C.GOH5_ENOMEM:
		e.Err = cmem.ErrOutOfMemory
	case C.GOH5_ESIZE:
		e.Err = sizeError(have, want)
	case C.GOH5_ETYPE:
		e.Err = ErrType
	case C.GOH5_ELOSSY:
		e.Err = fmt.Errorf("%w: the conversion may change numbers; package h5value checks each of them", ErrType)
	case C.GOH5_ENOFILTER:
		f := &FilterError{ID: int(cerr.filter), Name: filterName(cerr)}
		e.Err = fmt.Errorf("%w: %s", f, f.advice())
	case C.GOH5_ELONG:
		e.Err = fmt.Errorf("%w: string %d has %d bytes, the type holds %d", ErrSize, cerr.index, have, want)
	case C.GOH5_ETRIM:
		e.Err = fmt.Errorf("%w: string %d ends in the padding of its type and would be read back shorter", ErrParam, cerr.index)
	case C.GOH5_ELAYOUT:
		e.Err = fmt.Errorf("%w: the dataset is not chunked", ErrParam)
	case C.GOH5_ENOCHUNK:
		e.Err = fmt.Errorf("%w: the chunk is not stored", ErrNotFound)
	case C.GOH5_ECHUNKSIZE:
		e.Err = chunkSizeError("", have)
	case C.GOH5_EMASK:
		e.Err = fmt.Errorf("%w: filter mask %#x for %d filters", ErrParam, have, want)
	case C.GOH5_EMOVING:
		e.Err = fmt.Errorf("%w: the file may change while it is read", errors.ErrUnsupported)
	case C.GOH5_EDRIVER:
		e.Err = fmt.Errorf("%w: the library does not read this file as a plain one", errors.ErrUnsupported)
	case C.GOH5_EEXISTS:
		e.Err = ErrExists
	case C.GOH5_EORDER:
		e.Err = ErrNoOrder
	case C.GOH5_EINDEX:
		e.Err = fmt.Errorf("%w: place %d of %d", ErrRegion, want, have)
	case C.GOH5_EUNSUPPORTED:
		e.Err = fmt.Errorf("%w by the linked HDF5", errors.ErrUnsupported)
	case C.GOH5_EFILLCOPY:
		e.Err = fmt.Errorf("%w: fill values of variable length and references cannot be converted by a copy", errors.ErrUnsupported)
	case C.GOH5_ESEQCOPY:
		e.Err = fmt.Errorf("%w: the library cannot copy chunks of sequences with the fill time \"at allocation\" if addresses have fewer than 8 bytes", errors.ErrUnsupported)
	case C.GOH5_ESTRAY:
		e.Err = fmt.Errorf("%w: a group or committed datatype with the layout of a dataset", ErrCorrupt)
	case C.GOH5_ECLASS:
		e.Err = fmt.Errorf("%w: a dataset with an attribute CLASS of its own", ErrType)
	case C.GOH5_EAXIS:
		e.Err = fmt.Errorf("%w: axis %d of a dataset of %d dimensions", ErrParam, want, have)
	case C.GOH5_ERANKS:
		e.Err = fmt.Errorf("%w: chunks of %d dimensions in a dataset of %d", ErrCorrupt, have, want)
	case C.GOH5_EPIECES:
		e.Err = fmt.Errorf("%w: strings and sequences of more than %d bytes in one read, the limit of the process or the size of the file", errs.ErrLimit, want)
	case C.GOH5_ESHORT:
		e.Err = fmt.Errorf("%w: %d bytes claimed, %d held", ErrCorrupt, want, have)
	}
	if e.Err == nil && lib.cause != nil {
		e.Err, lib.cause = lib.cause, nil // error of a filter or driver in Go
	}
	if e.Err == nil && lib.outside != "" {
		e.Err = &OutsideError{lib.outside}
	}
	if e.Err == nil {
		e.Err = userLink(e.Stack)
	}
	if e.Err == nil && tooLargeForHeader(e.Stack) {
		e.Err = fmt.Errorf("%w: more than the 64 KiB that an object header holds; a file with a lower bound of V18 keeps it elsewhere", ErrSize)
	}
	if what := laterMessage(e.Stack); e.Err == nil && what != "" {
		e.Err = fmt.Errorf("%w, or %w: %s that HDF5 %d.%d does not support",
			errors.ErrUnsupported, ErrCorrupt, what, C.H5_VERS_MAJOR, C.H5_VERS_MINOR)
	}
	if e.Err == nil {
		e.Err = invalidElement(e.Stack)
	}
	if e.Err == nil && throughNoGroup(e.Stack) {
		e.Err = fmt.Errorf("%w: the path leads through an object that is not a group", ErrNotFound)
	}
	return e
}

// chunkSizeError is the error for the index entry of a chunk, at a place in words, whose size no
// chunk has.
func chunkSizeError(place string, have int64) error {
	return fmt.Errorf("%w: index entry of the chunk%s: stored size: got %d bytes, want 1 to %d", ErrCorrupt, place, uint64(have), int64(math.MaxInt64))
}

// tooLargeForHeader reports whether the stack ends in the function that adds a message to an object
// header. Before this function reads from the file, it can fail only because the message is too
// large.
func tooLargeForHeader(stack []Frame) bool {
	n := len(stack)
	return n > 0 && stack[n-1].Func == "H5O__alloc" && stack[n-1].Minor == "H5E_CANTINIT"
}

// invalidElement returns the error for an element whose length or kind is invalid, or nil for any
// other stack. libhdf5 allocates memory for a sequence before it compares the length of the
// sequence with the file.
func invalidElement(stack []Frame) error {
	n := len(stack)
	switch {
	case n == 0:
	case stack[n-1].Func == "H5T__ref_disk_getsize":
		return fmt.Errorf("%w: a reference of an unknown kind", ErrCorrupt)
	case stack[n-1].Minor == "H5E_NOSPACE" && slices.ContainsFunc(stack, func(f Frame) bool { return f.Func == "H5T__conv_vlen" }):
		return fmt.Errorf("%w: a sequence or string that claims more bytes than the memory of the process", errs.ErrLimit)
	}
	return nil
}

// laterMessage returns the message whose version or class ends the stack, or "" for any other
// stack. libhdf5 checks the versions of these messages.
func laterMessage(stack []Frame) string {
	if len(stack) == 0 {
		return ""
	}
	for prefix, what := range map[string]string{
		"bad version number for datatype message":       "a datatype in a version",
		"unknown datatype class found":                  "a datatype of a class",
		"bad version number for layout message":         "a data layout in a version",
		"bad version # of encoded VDS heap information": "a virtual mapping in a version",
	} {
		if strings.HasPrefix(stack[len(stack)-1].Desc, prefix) {
			return what
		}
	}
	return ""
}

// throughNoGroup reports whether the stack ends in the lookup of a member in an object that is not
// a group. libhdf5 tries the symbol table of an old-format group last, and reports only that this
// message is missing.
func throughNoGroup(stack []Frame) bool {
	n := len(stack)
	return n >= 3 && stack[n-1].Major == "H5E_OHDR" && stack[n-1].Minor == "H5E_NOTFOUND" && stack[n-3].Func == "H5G__stab_lookup"
}

// filterName does not use C.GoString, because that would move every error to the heap.
func filterName(cerr *C.goh5_err_t) string {
	name := unsafe.Slice((*byte)(unsafe.Pointer(&cerr.name[0])), len(cerr.name))
	text, _, _ := strings.Cut(string(name), "\x00")
	return text
}

func sizeError(have, want int64) error {
	return fmt.Errorf("%w: have %d, want %d", ErrSize, have, want)
}

func parseStack(r *reader) []Frame {
	frames := make([]Frame, r.word())
	for i := range frames {
		frames[i] = Frame{
			Line: int(r.word()), Func: r.text(), File: r.text(), Desc: r.text(),
			Major: r.text(), Minor: r.text(),
		}
	}
	return frames
}

// stackErrno returns the errno from the description of the innermost frames, where libhdf5's
// drivers write it ("errno = 2, error message = …").
func stackErrno(stack []Frame) syscall.Errno {
	for i := len(stack) - 1; i >= 0; i-- {
		_, after, ok := strings.Cut(stack[i].Desc, "errno = ")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(after, ",")
		if n, err := strconv.Atoi(digits); err == nil && n > 0 {
			return errs.Errno(n)
		}
	}
	return 0
}
