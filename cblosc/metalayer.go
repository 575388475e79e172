// Metalayers: named bytes beside the chunks.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_meta_count
// #cgo nocallback goblosc2_meta_count
// #cgo noescape goblosc2_meta_name
// #cgo nocallback goblosc2_meta_name
// #cgo noescape goblosc2_meta_get
// #cgo nocallback goblosc2_meta_get
// #cgo noescape goblosc2_meta_put
// #cgo nocallback goblosc2_meta_put
// #cgo noescape goblosc2_vlmeta_delete
// #cgo nocallback goblosc2_vlmeta_delete
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Limits of metalayers.
const (
	// MaxMetalayers is the number of fixed metalayers. The library does not check
	// it and writes past its table.
	MaxMetalayers = C.BLOSC2_MAX_METALAYERS
	// MaxVLMetalayers is the number of variable-length metalayers that a frame
	// takes; the header's greater number is not true.
	MaxVLMetalayers = 16
	// MaxMetalayerName is the length of a name in bytes.
	MaxMetalayerName = C.BLOSC2_METALAYER_NAME_MAXLEN
)

// Metalayer is a name and its content.
type Metalayer struct {
	Name    string
	Content []byte
}

// Metalayers are the fixed or the variable-length metalayers of a super-chunk.
// Values are stored at once. It is a view: it needs no Close and ends with its
// super-chunk.
type Metalayers struct {
	s  *SChunk
	vl bool
}

// Meta returns the fixed metalayers: stored in the header, uncompressed, and of
// constant length.
func (s *SChunk) Meta() *Metalayers { return &Metalayers{s, false} }

// VLMeta returns the variable-length metalayers: stored in the trailer,
// compressed, of any length.
func (s *SChunk) VLMeta() *Metalayers { return &Metalayers{s, true} }

// Names returns the names in storage order.
func (m *Metalayers) Names() ([]string, error) {
	if err := m.lock("list"); err != nil {
		return nil, err
	}
	defer m.s.h.mu.Unlock()
	return m.namesLocked(), nil
}

func (m *Metalayers) namesLocked() []string {
	names := make([]string, C.goblosc2_meta_count(m.s.h.c, cBool(m.vl)))
	for i := range names {
		names[i] = C.GoString(C.goblosc2_meta_name(m.s.h.c, cBool(m.vl), C.int32_t(i)))
	}
	return names
}

func (m *Metalayers) hasLocked(name string) bool {
	for _, n := range m.namesLocked() {
		if n == name {
			return true
		}
	}
	return false
}

// Get returns a copy of the content of a metalayer (blosc2_meta_get,
// blosc2_vlmeta_get). It returns ErrNotFound, ErrClosed, or an *Error from the
// library.
func (m *Metalayers) Get(name string) ([]byte, error) {
	if err := m.lock("read"); err != nil {
		return nil, err
	}
	defer m.s.h.mu.Unlock()
	if !m.hasLocked(name) {
		return nil, m.refused("read", name, ErrNotFound)
	}
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	var n C.int32_t
	if C.goblosc2_meta_get(&cerr, m.s.h.c, cBool(m.vl), cString(name), &p, &n) < 0 {
		return nil, failed(m.op("read", name), m.s.path, &cerr)
	}
	return takeBytes(p, C.int64_t(n), true), nil
}

// Add adds a metalayer (blosc2_meta_add, blosc2_vlmeta_add). A fixed one of a
// frame or of anything on disk is added before the first chunk.
//
// It returns ErrParam for an empty name, one with a zero byte, or a fixed
// metalayer after the first chunk; ErrLimit for a name above 31 bytes or a 17th
// metalayer; ErrExists; ErrClosed; ErrBroken; or an *Error from the library.
func (m *Metalayers) Add(name string, content []byte) error {
	return m.put("add", name, content, func() error {
		limit := MaxVLMetalayers
		if !m.vl {
			limit = MaxMetalayers
		}
		have := m.namesLocked()
		switch {
		case m.hasLocked(name):
			return ErrExists
		case len(have) >= limit:
			return fmt.Errorf("%w: %d metalayers", ErrLimit, limit)
		case !m.vl && m.s.framed && m.s.facts.nchunks > 0:
			return fmt.Errorf("%w: the metalayers of a frame are added before its first chunk", ErrParam)
		}
		return checkMetalayer(name, content)
	})
}

// Update replaces the content of a metalayer (blosc2_meta_update,
// blosc2_vlmeta_update). That of a fixed one keeps its length.
//
// It returns ErrNotFound, ErrSize, ErrParam for the metalayer that describes an
// Array, ErrClosed, ErrBroken, or an *Error from the library.
func (m *Metalayers) Update(name string, content []byte) error {
	return m.put("update", name, content, func() error {
		if !m.hasLocked(name) {
			return ErrNotFound
		}
		if m.vl {
			return checkMetalayer(name, content)
		}
		if m.s.array && (name == "b2nd" || name == "caterva") {
			return fmt.Errorf("%w: this metalayer holds the array's shape", ErrParam)
		}
		old, err := m.lengthLocked(name)
		if err == nil && old != len(content) {
			err = fmt.Errorf("%w: %d bytes for a fixed metalayer of %d", ErrSize, len(content), old)
		}
		return err
	})
}

func (m *Metalayers) lengthLocked(name string) (int, error) {
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	var n C.int32_t
	if C.goblosc2_meta_get(&cerr, m.s.h.c, 0, cString(name), &p, &n) < 0 {
		return 0, failed(m.op("read", name), m.s.path, &cerr)
	}
	C.goblosc2_release(unsafe.Pointer(p))
	return int(n), nil
}

// put is what Add and Update share: check says, under the lock, whether the call
// may be made.
func (m *Metalayers) put(verb, name string, content []byte, check func() error) error {
	if err := m.lock(verb); err != nil {
		return err
	}
	defer m.s.h.mu.Unlock()
	if err := check(); err != nil {
		return m.refused(verb, name, err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_meta_put(&cerr, m.s.h.c, cBool(m.vl), cBool(verb == "update"), cString(name),
		(*C.uint8_t)(unsafe.SliceData(content)), C.int32_t(len(content))) < 0 {
		return m.s.h.breakOn(failed(m.op(verb, name), m.s.path, &cerr))
	}
	return nil
}

// Delete removes a variable-length metalayer (blosc2_vlmeta_delete). Fixed ones
// stay: errors.ErrUnsupported.
func (m *Metalayers) Delete(name string) error {
	if err := m.lock("delete"); err != nil {
		return err
	}
	defer m.s.h.mu.Unlock()
	switch {
	case !m.vl:
		return m.refused("delete", name, fmt.Errorf("%w: fixed metalayers cannot be deleted", errors.ErrUnsupported))
	case !m.hasLocked(name):
		return m.refused("delete", name, ErrNotFound)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_vlmeta_delete(&cerr, m.s.h.c, cString(name)) < 0 {
		return m.s.h.breakOn(failed(m.op("delete", name), m.s.path, &cerr))
	}
	return nil
}

// checkMetalayer says whether the library can store this name and content.
func checkMetalayer(name string, content []byte) error {
	switch {
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("%w: metalayer name %q", ErrParam, name)
	case len(name) > MaxMetalayerName:
		return fmt.Errorf("%w: metalayer name %q of %d bytes, at most %d", ErrLimit, name, len(name), MaxMetalayerName)
	case len(content) > maxBuffer:
		return fmt.Errorf("%w: metalayer content of %d bytes, at most %d", ErrLimit, len(content), maxBuffer)
	}
	return nil
}

func (m *Metalayers) lock(verb string) error { return m.s.h.lock(verb + " metalayer") }

func (m *Metalayers) refused(verb, name string, err error) error {
	return refused(m.op(verb, name), m.s.path, err)
}

func (m *Metalayers) op(verb, name string) string { return fmt.Sprintf("%s metalayer %q", verb, name) }
