// reader: one operation on a file, with its work limit, the visited structures, and the annotated
// fields.

package h5file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format"
)

// A reader is one operation on a File. It must be used by one goroutine only.
type reader struct {
	f         *File
	left      int64                 // bytes that it may still read
	seen      map[spot]bool         // structures that must be reached only once
	heaps     map[Addr]*FractalHeap // fractal heaps read so far
	tracing   bool                  // parts write fields
	fields    []format.Field        // fields of the structures read while tracing
	visit     func(format.Field)    // receives the fields instead, if not nil
	globals   map[Addr]*GlobalHeap  // collections read so far
	first     error                 // first error of a traversal that continues after errors
	firstIn   string                // path of the object of that error
	path      string                // path of the object that a traversal is reading; "" before the first one
	resolving bool                  // a shared message is being resolved

	otherFile func(name string, offset int64) // Policy.OtherFile
}

// spot is a structure of one kind at one address.
type spot struct {
	what string
	addr Addr
}

func (f *File) reader() *reader {
	left := f.limits.Reread
	if left > 0 && f.size > math.MaxInt64/2/left {
		left = math.MaxInt64 / 2
	} else {
		left *= f.size
	}
	return &reader{f: f, left: left + freeWork, seen: map[spot]bool{}, heaps: map[Addr]*FractalHeap{}, globals: map[Addr]*GlobalHeap{}}
}

// hinted is the maximum number of structures of one hint.
const hinted = 4096

// hint passes the structures that are read next to a reader that can fetch them in parallel. size
// is the size of each in bytes.
func (r *reader) hint(at []Addr, size int64) {
	to := readahead.Of(r.f.src)
	if to == nil || len(at) < 2 {
		return
	}
	ranges := make([][2]int64, 0, len(at))
	for _, a := range at[:min(len(at), hinted)] {
		if p := r.f.position(a); a.Defined() && p >= 0 && p < r.f.size {
			ranges = append(ranges, [2]int64{r.f.place(a), size})
		}
	}
	to.Prefetch(context.Background(), readahead.List(ranges)) // it ends when the file is closed
}

// annotated receives a structure that was read while tracing.
func (r *reader) annotated(f format.Field) {
	if r.visit != nil {
		r.visit(f)
		return
	}
	r.fields = append(r.fields, f)
}

// note keeps the first error of an operation that continues after errors.
func (r *reader) note(err error) {
	if r.first == nil {
		r.first, r.firstIn = err, r.path
	}
}

// quiet returns a reader with the same work limit that does not annotate, and a function that
// copies the remaining limit back. It is used to read a structure that another one refers to.
func (r *reader) quiet() (*reader, func()) {
	if !r.tracing {
		return r, func() {}
	}
	q := &reader{f: r.f, left: r.left, seen: map[spot]bool{}, heaps: r.heaps, globals: r.globals}
	return q, func() { r.left = q.left }
}

// once returns an error if the structure was reached before, because trees must not have cycles.
func (r *reader) once(what string, a Addr) error {
	p := spot{what, a}
	if r.seen[p] {
		return &format.Error{Format: formatName, What: what, Offset: r.f.place(a), Got: "found a second time", Want: "one way to it", Err: format.ErrCorrupt}
	}
	r.seen[p] = true
	return nil
}

// Segmented is implemented by a source whose addresses are not offsets: a multi set.
type Segmented interface{ Segments() []Segment }

// Segment is a range of addresses that a reader stores from offset At on.
type Segment struct {
	Start    Addr
	At, Size int64
}

// Position returns the offset in the reader of an address, or -1 if it is out of range.
func (f *File) Position(a Addr) int64 { return f.position(a) }

// position is Position.
func (f *File) position(a Addr) int64 {
	if f.segments != nil {
		for _, s := range slices.Backward(f.segments) {
			if a >= s.Start {
				if uint64(a-s.Start) > uint64(s.Size) {
					return -1
				}
				return s.At + format.Size(a-s.Start)
			}
		}
		return -1
	}
	if uint64(a) > math.MaxInt64-uint64(f.base) {
		return -1
	}
	return int64(a) + f.base
}

// place is position for error messages: never negative.
func (f *File) place(a Addr) int64 { return max(f.position(a), 0) }

// part opens the structure of n bytes at a. The result is never nil. With an error it contains the
// available bytes of the structure.
func (r *reader) part(what string, a Addr, n int64) *part {
	p := &part{r: r, what: what, at: r.f.position(a)}
	if r.tracing {
		p.describe()
	}
	if !a.Defined() || p.at < 0 || p.at >= r.f.size {
		p.at = max(p.at, 0)
		p.ended = true
		p.fail(&format.Error{Format: formatName, What: what, Offset: p.at, Got: "address " + a.String(), Want: fmt.Sprintf("one inside the file's %d bytes", r.f.size), Err: format.ErrTruncated})
		return p
	}
	b, err := r.bytes(what, p.at, n, 0)
	p.b = b
	if p.field != nil {
		p.field.Length = int64(len(b))
	}
	if err != nil {
		p.fail(err)
	}
	return p
}

// bytes reads n bytes at an offset of the file. They belong to a structure of which "have" bytes
// were read before. If the file ends before them, it returns the available bytes and
// format.ErrTruncated.
func (r *reader) bytes(what string, at, n, have int64) ([]byte, error) {
	fail := func(got, want string, kind error) error {
		return &format.Error{Format: formatName, What: what, Offset: at, Got: got, Want: want, Err: kind}
	}
	if n < 0 || n > r.f.limits.Structure-have {
		return nil, fail(strconv.FormatUint(uint64(n)+uint64(have), 10)+" bytes", fmt.Sprintf("at most %d", r.f.limits.Structure), format.ErrLimit)
	}
	var short error
	if there := max(r.f.size-at, 0); n > there {
		short = fail(fmt.Sprintf("%d bytes", there+have), strconv.FormatInt(n+have, 10), format.ErrTruncated)
		n = there
	}
	// A structure costs its bytes, and at least 32.
	if r.left -= max(n, 32); r.left < 0 {
		return nil, fail(fmt.Sprintf("more than %d bytes of structures", r.f.limits.Reread*r.f.size+freeWork), "structures that do not overlap", format.ErrLimit)
	}
	b := make([]byte, n)
	k, err := r.f.src.ReadAt(b, at)
	if int64(k) == n {
		return b, short
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b[:k], fail(fmt.Sprintf("%d bytes", int64(k)+have), strconv.FormatInt(n+have, 10), format.ErrTruncated)
	}
	return b[:k], fail("", "", err)
}
