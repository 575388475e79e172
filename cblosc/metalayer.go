// Metalayers: named byte strings stored with the chunks.

package cblosc

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// Limits of metalayers.
const (
	// MaxMetalayers is the maximum number of fixed metalayers. The library does not check it and
	// writes past its table.
	MaxMetalayers = C.BLOSC2_MAX_METALAYERS
	// MaxVLMetalayers is the maximum number of variable-length metalayers of a frame. The C header
	// defines a larger number, which does not work.
	MaxVLMetalayers = 16
	// MaxMetalayerName is the maximum length of a name in bytes.
	MaxMetalayerName = C.BLOSC2_METALAYER_NAME_MAXLEN
)

// Metalayer is the name and the content of a metalayer.
type Metalayer struct {
	Name    string
	Content []byte
}

// Metalayers are the fixed or the variable-length metalayers of a super-chunk. Changes are stored
// immediately. Metalayers is a view: it needs no Close and is valid as long as its super-chunk.
type Metalayers struct {
	s  *SChunk
	vl bool
}

// Meta returns the fixed metalayers, which are stored uncompressed in the header and keep their
// length.
func (s *SChunk) Meta() *Metalayers { return &Metalayers{s, false} }

// VLMeta returns the variable-length metalayers, which are stored compressed in the trailer.
func (s *SChunk) VLMeta() *Metalayers { return &Metalayers{s, true} }

// Names returns the names in storage order (blosc2_vlmeta_get_names).
func (m *Metalayers) Names() ([]string, error) {
	if err := m.lock("list"); err != nil {
		return nil, err
	}
	defer m.s.h.mu.Unlock()
	return m.namesLocked()
}

func (m *Metalayers) namesLocked() ([]string, error) {
	const slot, most = MaxMetalayerName + 1, max(MaxMetalayers, MaxVLMetalayers)
	var b [most * slot]byte
	var cerr C.goblosc2_err_t
	n := C.goblosc2_meta_names(&cerr, m.s.h.c, cBool(m.vl), (*C.uint8_t)(unsafe.SliceData(b[:])), most)
	switch {
	case n < 0:
		return nil, m.s.h.failed("list metalayers", &cerr)
	case n > most:
		return nil, refused("list metalayers", m.s.path, fmt.Errorf("%w: %d metalayers, at most %d", ErrLimit, n, most))
	}
	names := make([]string, n)
	for i := range names {
		name, _, _ := bytes.Cut(b[i*slot:][:slot], []byte{0})
		names[i] = string(name)
	}
	return names, nil
}

// Has reports whether a metalayer of that name exists (blosc2_meta_exists, blosc2_vlmeta_exists).
func (m *Metalayers) Has(name string) (bool, error) {
	if err := m.lock("find"); err != nil {
		return false, err
	}
	defer m.s.h.mu.Unlock()
	return m.hasLocked(name), nil
}

func (m *Metalayers) hasLocked(name string) bool {
	return strings.IndexByte(name, 0) < 0 && C.goblosc2_meta_has(m.s.h.c, cBool(m.vl), cString(name)) != 0
}

// All yields the metalayers in storage order. Metalayers that are added or deleted during the
// iteration may be missing. After an error the iteration ends.
func (m *Metalayers) All() iter.Seq2[Metalayer, error] {
	return func(yield func(Metalayer, error) bool) {
		names, err := m.Names()
		if err != nil {
			yield(Metalayer{}, err)
			return
		}
		for _, name := range names {
			content, err := m.Get(name)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if !yield(Metalayer{name, content}, err) || err != nil {
				return
			}
		}
	}
}

// Map returns the metalayers as a map.
func (m *Metalayers) Map() (map[string][]byte, error) {
	out := make(map[string][]byte)
	for l, err := range m.All() {
		if err != nil {
			return nil, err
		}
		out[l.Name] = l.Content
	}
	return out, nil
}

// Get returns a copy of the content of a metalayer (blosc2_meta_get, blosc2_vlmeta_get). It returns
// ErrNotFound, ErrClosed, or an *Error from the library.
func (m *Metalayers) Get(name string) ([]byte, error) {
	if err := m.lock("read"); err != nil {
		return nil, err
	}
	defer m.s.h.mu.Unlock()
	if !m.hasLocked(name) {
		return nil, m.refused("read", name, ErrNotFound)
	}
	return m.getLocked(name)
}

// Size returns the size of a metalayer's content in bytes, which Get allocates, and the stored
// size. For a fixed metalayer both are equal. For a variable-length metalayer, content is the size
// in its chunk header (blosc2_cbuffer_sizes). It returns ErrNotFound, ErrFormat, or ErrClosed.
func (m *Metalayers) Size(name string) (content, stored int64, err error) {
	if err := m.lock("measure"); err != nil {
		return 0, 0, err
	}
	defer m.s.h.mu.Unlock()
	if !m.hasLocked(name) {
		return 0, 0, m.refused("measure", name, ErrNotFound)
	}
	var cStored C.int32_t
	n := C.goblosc2_meta_size(m.s.h.c, cBool(m.vl), cString(name), &cStored)
	if n < 0 {
		return 0, 0, m.refused("measure", name, errs.ErrInvalidBytes)
	}
	return int64(n), int64(cStored), nil
}

// getLocked is Get for a name that exists.
func (m *Metalayers) getLocked(name string) ([]byte, error) {
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	var n C.int32_t
	if C.goblosc2_meta_get(&cerr, m.s.h.c, cBool(m.vl), cString(name), &p, &n) < 0 {
		return nil, m.s.h.failed(m.op("read", name), &cerr)
	}
	return takeBytes(p, C.int64_t(n), true), nil
}

// Add adds a metalayer (blosc2_meta_add, blosc2_vlmeta_add). A fixed metalayer of a frame or of a
// super-chunk on disk must be added before the first chunk.
//
// It returns ErrParam for an empty name, one with a zero byte, or a fixed metalayer after the first
// chunk; ErrLimit for a name above 31 bytes or a 17th metalayer; ErrExists; ErrClosed; ErrBroken;
// or an *Error from the library.
func (m *Metalayers) Add(name string, content []byte) error {
	return m.put("add", name, content, func() error {
		limit := MaxVLMetalayers
		if !m.vl {
			limit = MaxMetalayers
		}
		have, err := m.namesLocked()
		switch {
		case err != nil:
			return err
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

// Update replaces the content of a metalayer (blosc2_meta_update, blosc2_vlmeta_update). The
// content of a fixed metalayer must keep its length.
//
// It returns ErrNotFound, ErrSize, ErrParam for the metalayer that describes an Array, ErrClosed,
// ErrBroken, or an *Error from the library.
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
		return 0, m.s.h.failed(m.op("read", name), &cerr)
	}
	C.goblosc2_release(unsafe.Pointer(p))
	return int(n), nil
}

// put implements Add and Update. It calls check under the lock before the library call.
func (m *Metalayers) put(verb, name string, content []byte, check func() error) error {
	if err := m.s.h.lockWrite(verb + " metalayer"); err != nil {
		return err
	}
	defer m.s.h.mu.Unlock()
	if err := check(); err != nil {
		return m.refused(verb, name, err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_meta_put(&cerr, m.s.h.c, cBool(m.vl), cBool(verb == "update"), cString(name),
		(*C.uint8_t)(unsafe.SliceData(content)), C.int32_t(len(content))) < 0 {
		return m.s.h.breakOn(m.s.h.failed(m.op(verb, name), &cerr))
	}
	return nil
}

// Delete removes a variable-length metalayer (blosc2_vlmeta_delete). Fixed metalayers cannot be
// deleted: errors.ErrUnsupported.
func (m *Metalayers) Delete(name string) error {
	if err := m.s.h.lockWrite("delete metalayer"); err != nil {
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
		return m.s.h.breakOn(m.s.h.failed(m.op("delete", name), &cerr))
	}
	return nil
}

// checkMetalayer reports whether the library can store this name and content.
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
