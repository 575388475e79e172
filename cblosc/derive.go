// New arrays from existing ones: regions, and copies with other chunks. dims.go changes the number
// of dimensions.

package cblosc

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Layout describes how a derived array is stored. The zero value is an array in memory with the
// chunks, blocks and parameters of the source.
type Layout struct {
	ChunkShape []int32 // nil: those of the source
	Blocks     []int32 // nil: those of the source
	Storage    Storage // nil CParams: those of the source; TypeSize must be the source's, or 0
}

// params returns the parameters of a new array of this shape derived from a. chunks and blocks are
// used where l has none.
func (l *Layout) params(a *Array, shape []int64, chunks, blocks []int32) (*ArrayParams, error) {
	p := &ArrayParams{Shape: shape, ChunkShape: l.ChunkShape, Blocks: l.Blocks, DType: a.dtype, Storage: l.Storage}
	if p.ChunkShape == nil {
		p.ChunkShape = chunks
	}
	if p.Blocks == nil {
		p.Blocks = blocks
	}
	if p.Storage.CParams == nil {
		cp, err := a.sc.CParams()
		if err != nil {
			return nil, err
		}
		cp.BlockSize = 0
		p.Storage.CParams = cp
	} else {
		cp := *p.Storage.CParams
		cp.TypeSize = cmp.Or(cp.TypeSize, a.ItemSize())
		p.Storage.CParams = cp.WithDefaults()
	}
	if p.Storage.DParams == nil {
		p.Storage.DParams = DefaultDParams()
		p.Storage.DParams.Allow = a.sc.allow
	}
	if n := p.Storage.CParams.TypeSize; n != a.ItemSize() {
		return nil, fmt.Errorf("%w: TypeSize = %d for elements of %d bytes", ErrParam, n, a.ItemSize())
	}
	return p, p.validate()
}

// Slice creates an array from a region (b2nd_get_slice). Metalayers are not copied.
//
// It returns errors.ErrUnsupported for an array without dimensions and for chunks with the filter
// Delta or a dictionary, which the library decodes incorrectly in part; ErrRegion; and the errors
// of CreateArray and ReadRegion.
func (a *Array) Slice(start, shape []int64, l Layout) (*Array, error) {
	const op = "slice"
	p, err := l.params(a, shape, a.ChunkShape(), a.Blocks())
	if err == nil {
		err = p.Storage.CParams.checkRecompression()
	}
	if err == nil && len(start) != a.rank {
		err = fmt.Errorf("%w: start of %d dimensions in an array of %d", ErrRegion, len(start), a.rank)
	}
	if err == nil {
		_, err = p.Storage.place()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	r, err := a.placeLocked(start, shape)
	if err == nil {
		err = a.checkStoredRegion(&r)
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if a.rank == 0 || a.sc.entire {
		return nil, refused(op, a.sc.path, a.errParts())
	}
	return a.deriveLocked(op, p, func(n *newArray) C.int {
		return C.goblosc2_array_slice(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, &r.start[0], &r.stop[0], &n.c, &n.facts)
	})
}

// newArray holds the arguments and results of a shim function that derives an array.
type newArray struct {
	path, dtype *C.char
	where       C.goblosc2_place_t
	params      C.goblosc2_cparams_t
	geometry    C.goblosc2_geometry_t
	facts       C.goblosc2_facts_t
	cerr        C.goblosc2_err_t
	c           *C.goblosc2_handle_t
}

// deriveLocked creates the array p with the library function in call.
func (a *Array) deriveLocked(op string, p *ArrayParams, call func(*newArray) C.int) (*Array, error) {
	path, err := p.Storage.place()
	if err != nil {
		return nil, refused(op, p.Storage.Path, err)
	}
	d := p.array(path)
	d.sc.entire = d.sc.entire || a.sc.entire
	k := p.Storage.hooks()
	n := newArray{path: cPath(path), dtype: cString(d.dtype), where: p.Storage.where(k), params: p.Storage.CParams.toC(), geometry: d.geometry}
	if call(&n) < 0 {
		return nil, a.sc.h.hooks.explain(k.abandon(failed(op, path, &n.cerr)))
	}
	d.sc.facts = n.facts
	d.sc.h = ownHooked(n.c, "Array", path, k)
	return d, nil
}

// errParts returns the error for an array of which the library cannot copy parts.
func (a *Array) errParts() error {
	if a.rank == 0 {
		return fmt.Errorf("%w: a part of an array without dimensions", errors.ErrUnsupported)
	}
	return fmt.Errorf("%w: parts of chunks with the filter Delta or a dictionary", errors.ErrUnsupported)
}

// Copy creates an array with the same elements and metalayers (b2nd_copy). The copy can have other
// chunks, blocks, parameters or storage. Chunks are copied without recompression if only the
// storage differs.
//
// It returns errors.ErrUnsupported for a Caterva array, and for other chunks or blocks if the array
// has chunks with the filter Delta or a dictionary. Its other errors are those of CreateArray and
// ReadRegion.
func (a *Array) Copy(l Layout) (*Array, error) {
	const op = "copy array"
	p, err := l.params(a, a.Shape(), a.ChunkShape(), a.Blocks())
	if err == nil {
		err = a.checkCopy(p)
	}
	if err == nil {
		_, err = p.Storage.place()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	err = a.sc.checkStored(0, int64(a.sc.facts.nchunks))
	switch {
	case err != nil:
	case a.caterva:
		err = errCaterva
	case a.sc.entire && (!slices.Equal(p.ChunkShape, a.ChunkShape()) || !slices.Equal(p.Blocks, a.Blocks())):
		err = a.errParts()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	return a.deriveLocked(op, p, func(n *newArray) C.int {
		return C.goblosc2_array_copy(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, &n.c, &n.facts)
	})
}

var errCaterva = fmt.Errorf("%w: a Caterva array, which the library only reads", errors.ErrUnsupported)

// Save writes the array to a new file as a contiguous frame (b2nd_save). Its errors are those of
// SChunk.Save and Copy.
func (a *Array) Save(path string) error {
	const op = "save"
	st := Storage{Path: path, Contiguous: true}
	path, err := st.place()
	if err == nil && path == "" {
		err = fmt.Errorf("%w: no path", ErrParam)
	}
	if err != nil {
		return refused(op, st.Path, err)
	}
	if a.caterva && a.sc.buffered() {
		return a.sc.Save(path)
	}
	if !a.sc.buffered() || a.ItemSize() > maxItem {
		// The library would save a sparse frame as a sparse one, and record large elements as
		// bytes.
		d, err := a.Copy(Layout{Storage: st})
		if err != nil {
			return err
		}
		return d.Close()
	}
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_save(&cerr, a.sc.h.c, cString(path)) < 0 {
		return a.sc.h.hooks.explain(failed(op, path, &cerr))
	}
	return nil
}

// AppendToFile writes the array as a contiguous frame after the current content of the file
// (b2nd_save_append). It returns the start of the frame in bytes, the Offset for opening it. Its
// errors are those of SChunk.AppendToFile.
func (a *Array) AppendToFile(path string) (int64, error) {
	const op = "append to file"
	if !a.sc.buffered() || a.caterva || a.ItemSize() > maxItem || checkPath(path) != nil {
		return a.sc.AppendToFile(path)
	}
	if err := a.sc.h.lock(op); err != nil {
		return 0, err
	}
	defer a.sc.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	offset := C.goblosc2_array_append_file(&cerr, a.sc.h.c, cString(path))
	if offset < 0 {
		return 0, a.sc.h.hooks.explain(failed(op, path, &cerr))
	}
	return int64(offset), nil
}
