// Codecs, filters and block functions written in Go that the library calls.

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
)

// FirstUserID is the first id of a codec or filter that a program may register. The last id is 255.
const FirstUserID = C.BLOSC2_USER_REGISTERED_CODECS_START

// maxName is the maximum length of a name in bytes.
const maxName = C.BLOSC2_METALAYER_NAME_MAXLEN

// UserCodec is a codec written in Go. Its functions are called for one stream at a time, and
// concurrently if a context has several threads. They must not keep the slices or use the context
// that calls them. The library call returns an error or a panic of these functions as its error.
type UserCodec struct {
	ID   Codec  // FirstUserID to 255; stored in chunks
	Name string // 1 to 31 bytes

	// Encode compresses src into dst and returns the number of bytes. If the result does not fit,
	// it must return 0, and src is stored uncompressed. meta is CParams.CodecMeta.
	Encode func(dst, src []byte, meta uint8) (int, error)

	// Decode restores the data from src, which Encode wrote, into dst. It must be safe for any
	// bytes.
	Decode func(dst, src []byte, meta uint8) error
}

// UserFilter is a filter written in Go. The rules for the functions of UserCodec also apply here.
type UserFilter struct {
	ID   FilterID // FirstUserID to 255
	Name string   // 1 to 31 bytes

	// Forward and Backward fill dst from src. Both have the length of a block or of the short last
	// block. meta is Filter.Meta.
	Forward, Backward func(dst, src []byte, meta uint8) error
}

// users holds the registered codecs and filters. They cannot be removed, because the library cannot
// remove them.
var users struct {
	sync.RWMutex
	codecs  map[Codec]*UserCodec
	filters map[FilterID]*UserFilter
}

// RegisterCodec registers c with the library for the rest of the process (blosc2_register_codec).
// To compress with it, set CParams.Codec. To read its chunks, name it in DParams.Allow or in
// OpenOptions.Allow.
//
// Codecs must be registered before chunks are made with them. RegisterCodec returns ErrParam, or
// ErrExists if the id or the name is taken.
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

// RegisterFilter registers f with the library for the rest of the process (blosc2_register_filter).
// The rules of RegisterCodec apply.
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

// Block describes the block for which a BlockFunc is called.
type Block struct {
	Chunk    int64 // index of the chunk in its super-chunk or batch; -1 for a single chunk
	Index    int   // index of the block in its chunk
	Offset   int   // offset of its data in the chunk, in bytes
	TypeSize int   // bytes
	Thread   int   // thread of the context that calls, from 0
}

// BlockFunc computes the bytes of one block: dst, which has the length of src, from src. It is
// called concurrently if the context has several threads, and may be called twice for a block. It
// must not keep the slices or use the context that calls it. The library call returns an error or a
// panic of the function as its error.
type BlockFunc func(dst, src []byte, b Block) error

// PanicError is the error of a call in which a function of the caller panicked.
type PanicError struct {
	Value any    // value of the panic
	Stack []byte // stack of the function
}

// Error returns the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("cblosc: panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// hooks holds the Go functions that the library may call from one context, and their first error.
// The context stores the id of the hooks; the hooks have no reference to the context.
type hooks struct {
	block   BlockFunc // may be nil
	medium  *medium   // medium of a super-chunk; may be nil
	id      cgo.Handle
	cleanup runtime.Cleanup

	mu    sync.Mutex
	err   error // first error of the current call
	chunk int64 // Block.Chunk
}

// newHooks returns hooks with an id.
func newHooks(f BlockFunc, m *medium) *hooks {
	k := &hooks{block: f, medium: m}
	k.id = cgo.NewHandle(k)
	return k
}

// number returns the id that C uses for the hooks, or 0 if k is nil.
func (k *hooks) number() C.uintptr_t {
	if k == nil {
		return 0
	}
	return C.uintptr_t(k.id)
}

// outlive keeps the id valid as long as h, the owner of the context.
func (k *hooks) outlive(h *handle) {
	if k != nil {
		k.cleanup = runtime.AddCleanup(h, cgo.Handle.Delete, k.id)
	}
}

// close deletes the id. The context must have been freed.
func (k *hooks) close() {
	if k != nil {
		k.cleanup.Stop()
		k.id.Delete()
	}
}

// abandon deletes the id of hooks whose object was not created because of err. It returns err with
// the hook's error.
func (k *hooks) abandon(err error) error {
	err = k.explain(err)
	k.close()
	return err
}

// begin prepares a library call. The caller must hold the lock of the context.
func (k *hooks) begin() { k.beginChunk(alone) }

// beginChunk is begin for the chunk with that index in a batch or super-chunk.
func (k *hooks) beginChunk(index int64) {
	k.mu.Lock()
	k.err, k.chunk = nil, index
	k.mu.Unlock()
}

// current returns the index of the current chunk.
func (k *hooks) current() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chunk
}

// note records the first error of a call.
func (k *hooks) note(err error) {
	k.mu.Lock()
	if k.err == nil {
		k.err = err
	}
	k.mu.Unlock()
}

// explain adds the recorded error of a hook to err, an error of the library.
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

// compressHooked and decompressHooked make calls that may call back into Go. A callback can move
// the goroutine's stack, which may contain the caller's slices, so C gets copies of them.
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

// usesGo reports whether p names registered codecs or filters.
func (p *CParams) usesGo() bool {
	return p.Codec >= FirstUserID || slices.ContainsFunc(p.Filters[:], func(f Filter) bool { return f.ID >= FirstUserID })
}

// allowsGo reports whether allow names registered codecs or filters.
func allowsGo(a Allow) bool {
	return slices.ContainsFunc(a.Codecs, func(c Codec) bool { return c >= FirstUserID }) ||
		slices.ContainsFunc(a.Filters, func(f FilterID) bool { return f >= FirstUserID })
}

// hooksFor returns hooks for a super-chunk, or nil if it needs no Go functions.
func hooksFor(m *medium, userCode bool) *hooks {
	if m == nil && !userCode {
		return nil
	}
	return newHooks(nil, m)
}
