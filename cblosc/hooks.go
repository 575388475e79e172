// Go inside the library: codecs and filters by id, and functions that see each block
// before it is compressed or after it was decompressed.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_register_codec
// #cgo nocallback goblosc2_register_codec
// #cgo noescape goblosc2_register_filter
// #cgo nocallback goblosc2_register_filter
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/hyperslab/hyperslab/format/chunk"
)

// FirstUserID is the first id of a codec or filter that a program may register; 255
// is the last.
const FirstUserID = C.BLOSC2_USER_REGISTERED_CODECS_START

// maxName is the bytes of a name at most.
const maxName = C.BLOSC2_METALAYER_NAME_MAXLEN

// UserCodec is a codec written in Go. Its functions are called for one stream at a
// time, on several threads at once where contexts have several. They must not keep
// the slices, nor use the context that calls them. An error or a panic in one is the
// error of the call that led there.
type UserCodec struct {
	ID   Codec  // FirstUserID to 255; what chunks are marked with
	Name string // 1 to 31 bytes

	// Encode compresses src into dst and returns the bytes; 0 means that they do not
	// fit, and src is stored as it is. meta is CParams.CodecMeta.
	Encode func(dst, src []byte, meta uint8) (int, error)

	// Decode fills dst with what Encode made src of. It must be safe on any bytes.
	Decode func(dst, src []byte, meta uint8) error
}

// UserFilter is a filter written in Go. What UserCodec says of its functions is true
// for these.
type UserFilter struct {
	ID   FilterID // FirstUserID to 255
	Name string   // 1 to 31 bytes

	// Forward and Backward fill dst, which is as long as src: a block, or the short
	// last one. meta is Filter.Meta.
	Forward, Backward func(dst, src []byte, meta uint8) error
}

// users are the codecs and filters that were registered. The library never forgets
// one, so neither is there a way back here.
var users struct {
	sync.RWMutex
	codecs  map[Codec]*UserCodec
	filters map[FilterID]*UserFilter
}

// RegisterCodec makes c known to the library, for the rest of the process
// (blosc2_register_codec). To compress with it set CParams.Codec; to read its chunks
// name it in DParams.Allow, or in OpenOptions.Allow.
//
// Register codecs before chunks are made. It returns ErrParam, or ErrExists if the id
// or the name is taken.
func RegisterCodec(c UserCodec) error {
	op := fmt.Sprintf("register codec %d", c.ID)
	users.Lock()
	defer users.Unlock()
	_, taken := users.codecs[c.ID]
	for id := range 256 {
		name, ok := codecNameLocked(Codec(id))
		taken = taken || ok && name == c.Name
	}
	if err := checkUser(int(c.ID), c.Name, taken, c.Encode != nil && c.Decode != nil); err != nil {
		return refused(op, "", err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_register_codec(&cerr, C.int32_t(c.ID), cString(c.Name)) < 0 {
		return failed(op, "", &cerr)
	}
	if users.codecs == nil {
		users.codecs = map[Codec]*UserCodec{}
	}
	users.codecs[c.ID] = &c
	return nil
}

// RegisterFilter makes f known to the library, for the rest of the process
// (blosc2_register_filter). What RegisterCodec says is true for it.
func RegisterFilter(f UserFilter) error {
	op := fmt.Sprintf("register filter %d", f.ID)
	users.Lock()
	defer users.Unlock()
	_, taken := users.filters[f.ID]
	for id := range 256 {
		name, ok := filterNameLocked(FilterID(id))
		taken = taken || ok && name == f.Name
	}
	if err := checkUser(int(f.ID), f.Name, taken, f.Forward != nil && f.Backward != nil); err != nil {
		return refused(op, "", err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_register_filter(&cerr, C.int32_t(f.ID), cString(f.Name)) < 0 {
		return failed(op, "", &cerr)
	}
	if users.filters == nil {
		users.filters = map[FilterID]*UserFilter{}
	}
	users.filters[f.ID] = &f
	return nil
}

func checkUser(id int, name string, taken, complete bool) error {
	switch {
	case id < FirstUserID:
		return fmt.Errorf("%w: id %d, want %d to 255", ErrParam, id, FirstUserID)
	case name == "" || len(name) > maxName || strings.ContainsAny(name, "\x00()"):
		return fmt.Errorf("%w: name %q, want 1 to %d bytes without zero bytes and parentheses", ErrParam, name, maxName)
	case !complete:
		return fmt.Errorf("%w: a function is missing", ErrParam)
	case taken:
		return fmt.Errorf("%w: id %d or name %q", ErrExists, id, name)
	}
	return nil
}

func codecNameLocked(c Codec) (string, bool) {
	if u := users.codecs[c]; u != nil {
		return u.Name, true
	}
	name, ok := codecNames[c]
	return name, ok
}

func codecName(c Codec) (string, bool) {
	if c < FirstUserID {
		name, ok := codecNames[c]
		return name, ok
	}
	users.RLock()
	defer users.RUnlock()
	return codecNameLocked(c)
}

func filterNameLocked(f FilterID) (string, bool) {
	if u := users.filters[f]; u != nil {
		return u.Name, true
	}
	name, ok := filterNames[f]
	return name, ok
}

func filterName(f FilterID) (string, bool) {
	if f < FirstUserID {
		name, ok := filterNames[f]
		return name, ok
	}
	users.RLock()
	defer users.RUnlock()
	return filterNameLocked(f)
}

// Block says which block a BlockFunc is called for.
type Block struct {
	Chunk    int64 // the number of the chunk in its super-chunk or batch, -1 if it is alone
	Index    int   // the number of the block in its chunk
	Offset   int   // bytes of data before it in the chunk
	TypeSize int   // bytes
	Thread   int   // which of the context's threads calls, from 0
}

// BlockFunc makes the bytes of one block: dst, which is as long as src, from src. It
// is called on several threads at once where the context has several, may be called
// twice for a block, and must not keep the slices, nor use the context that calls it.
// An error or a panic in it is the error of the call that led there.
type BlockFunc func(dst, src []byte, b Block) error

// PanicError is the error of a call in which a function of the caller's panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the function
}

// Error tells the value.
func (e *PanicError) Error() string { return fmt.Sprintf("cblosc: panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// hooks are what the library may call in Go from one context, and what went wrong
// there. The context has a number for them; they know nothing of it.
type hooks struct {
	block   BlockFunc // nil without one
	medium  *medium   // of a super-chunk; nil without one
	id      cgo.Handle
	cleanup runtime.Cleanup

	mu    sync.Mutex
	err   error // the first of the call that runs
	chunk int64 // Block.Chunk
}

// newHooks returns hooks with a number.
func newHooks(f BlockFunc, m *medium) *hooks {
	k := &hooks{block: f, medium: m}
	k.id = cgo.NewHandle(k)
	return k
}

// number is what C knows the hooks by, 0 if there are none.
func (k *hooks) number() C.uintptr_t {
	if k == nil {
		return 0
	}
	return C.uintptr_t(k.id)
}

// outlive lets the number live as long as h, the owner of the context.
func (k *hooks) outlive(h *handle) {
	if k != nil {
		k.cleanup = runtime.AddCleanup(h, cgo.Handle.Delete, k.id)
	}
}

// close ends the hooks, after their context.
func (k *hooks) close() {
	if k != nil {
		k.cleanup.Stop()
		k.id.Delete()
	}
}

// abandon ends the hooks of what was not made, because of err, which it explains.
func (k *hooks) abandon(err error) error {
	err = k.explain(err)
	k.close()
	return err
}

// begin starts a call of the library, with the lock of the context held.
func (k *hooks) begin() { k.beginChunk(alone) }

// beginChunk is begin for chunk number index of something.
func (k *hooks) beginChunk(index int64) {
	k.mu.Lock()
	k.err, k.chunk = nil, index
	k.mu.Unlock()
}

// current returns the number of the chunk that is worked on.
func (k *hooks) current() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chunk
}

// note keeps the first error of a call.
func (k *hooks) note(err error) {
	k.mu.Lock()
	if k.err == nil {
		k.err = err
	}
	k.mu.Unlock()
}

// explain adds to err, of the library, what a hook had to say.
func (k *hooks) explain(err error) error {
	if k == nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := err.(*Error); ok && k.err != nil {
		e.Err = k.err
	}
	return err
}

// compressHooked and decompressHooked are calls that may come back. A callback can
// move the stack of the goroutine, on which the caller's slices may lie, so C gets
// copies of them.
func compressHooked(h *C.goblosc2_handle_t, src, dst []byte) (C.int, C.goblosc2_err_t) {
	from, to := slices.Clone(src), make([]byte, len(dst))
	var cerr C.goblosc2_err_t
	n := C.goblosc2_compress_hooked(&cerr, h, (*C.uint8_t)(unsafe.SliceData(from)), C.int32_t(len(from)),
		(*C.uint8_t)(unsafe.SliceData(to)), C.int32_t(len(to)))
	copy(dst, to[:max(n, 0)])
	return n, cerr
}

func decompressHooked(h *C.goblosc2_handle_t, b, dst []byte) (C.int, C.goblosc2_err_t) {
	from, to := slices.Clone(b), slices.Clone(dst)
	var cerr C.goblosc2_err_t
	n := C.goblosc2_decompress_hooked(&cerr, h, (*C.uint8_t)(unsafe.SliceData(from)), C.int32_t(len(from)),
		(*C.uint8_t)(unsafe.SliceData(to)), C.int32_t(len(to)))
	copy(dst, to)
	return n, cerr
}

// usesGo reports whether p names codecs or filters of users.
func (p *CParams) usesGo() bool {
	return p.Codec >= FirstUserID || slices.ContainsFunc(p.Filters[:], func(f Filter) bool { return f.ID >= FirstUserID })
}

// allowsGo reports whether allow names codecs or filters of users.
func allowsGo(allow chunk.Policy) bool {
	return slices.ContainsFunc(allow.Codecs, func(c chunk.Codec) bool { return c >= FirstUserID }) ||
		slices.ContainsFunc(allow.Filters, func(f chunk.Filter) bool { return f >= FirstUserID })
}

// hooksFor returns hooks for a super-chunk, nil if it needs none.
func hooksFor(m *medium, userCode bool) *hooks {
	if m == nil && !userCode {
		return nil
	}
	return newHooks(nil, m)
}
