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
	"strings"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// Layout describes how a derived array is stored. The zero value is an array in memory with the
// chunks, blocks and parameters of the source.
type Layout struct {
	Chunks  []int32 // nil: those of the source
	Blocks  []int32 // nil: those of the source
	Storage Storage // nil CParams: those of the source; TypeSize must be the source's, or 0
	Caterva bool    // write the Caterva metalayer; without it a Caterva source becomes b2nd
}

// params returns the parameters of a new array of this shape derived from a. chunks and blocks are
// used where l has none.
func (l *Layout) params(a *Array, shape []int64, chunks, blocks []int32) (*ArrayParams, error) {
	p := &ArrayParams{Shape: shape, Chunks: l.Chunks, Blocks: l.Blocks, DType: a.dtype, Storage: l.Storage, Caterva: l.Caterva, derived: true}
	if p.Chunks == nil {
		p.Chunks = chunks
	}
	if p.Blocks == nil {
		p.Blocks = blocks
	}
	if p.Caterva {
		p.DType = ""
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
// It returns ErrRegion, and the errors of CreateArray and ReadRegion.
func (a *Array) Slice(start, shape []int64, l Layout) (*Array, error) {
	const op = "slice"
	p, err := l.params(a, shape, a.Chunks(), a.Blocks())
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
	if a.rank == 0 || p.Caterva || a.sc.entire {
		return a.gatherLocked(op, p, func(at []int64) []int64 {
			from := slices.Clone(at)
			for i := range from {
				from[i] += start[i]
			}
			return from
		}, nil)
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

// gatherLocked creates the array p chunk by chunk. The function from maps the first element of a
// region of p to an element of a. The function shape maps the shape of the region to the shape in
// a; nil means the same shape. The elements of the region must be in the same order in both.
func (a *Array) gatherLocked(op string, p *ArrayParams, from, shape func([]int64) []int64) (*Array, error) {
	d, err := CreateArray(p)
	if err != nil {
		return nil, err
	}
	if err := d.fillFrom(op, a, make([]int64, d.rank), p.Shape, from, shape); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// fillFrom fills a region of d, chunk by chunk, with elements of a. The caller must hold the lock
// of a.
func (d *Array) fillFrom(op string, a *Array, start, extent []int64, from, shape func([]int64) []int64) error {
	r, err := d.placeLocked(start, extent)
	if err != nil {
		return refused(op, d.sc.path, err)
	}
	if r.nbytes == 0 {
		return nil
	}
	fill := func(part *region) error {
		at, n := make([]int64, d.rank), make([]int64, d.rank)
		for i := range at {
			at[i], n[i] = int64(part.start[i]), int64(part.shape[i])
		}
		b := make([]byte, part.nbytes)
		source := n
		if shape != nil {
			source = shape(n)
		}
		q, err := a.regionLocked(from(at), source, len(b))
		if err == nil {
			err = a.checkStoredRegion(&q)
		}
		if err != nil {
			return refused(op, a.sc.path, err)
		}
		if err := a.readLocked(op, b, &q); err != nil {
			return err
		}
		return d.WriteRegion(b, at, n)
	}
	if d.rank == 0 {
		return fill(&r)
	}
	return d.eachPart(&r, fill)
}

// Copy creates an array with the same elements and metalayers (b2nd_copy). The copy can have other
// chunks, blocks, parameters or storage, and can convert between b2nd and Caterva. Chunks are
// copied without recompression if only the storage differs.
//
// It returns the errors of CreateArray and ReadRegion.
func (a *Array) Copy(l Layout) (*Array, error) {
	const op = "copy array"
	p, err := l.params(a, a.Shape(), a.Chunks(), a.Blocks())
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
	if slices.Equal(p.Chunks, a.Chunks()) && slices.Equal(p.Blocks, a.Blocks()) && !p.Caterva && !a.caterva && p.DType == a.dtype {
		if err := a.sc.checkStored(0, int64(a.sc.facts.nchunks)); err != nil {
			return nil, refused(op, a.sc.path, err)
		}
		return a.deriveLocked(op, p, func(n *newArray) C.int {
			return C.goblosc2_array_copy(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, &n.c, &n.facts)
		})
	}
	if p.Meta, err = a.metaLocked(); err != nil {
		return nil, err
	}
	d, err := a.gatherLocked(op, p, slices.Clone[[]int64], nil)
	if err != nil {
		return nil, err
	}
	if err := a.sc.copyMetaLocked(d.sc.VLMeta(), a.sc.VLMeta()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// metaLocked returns the fixed metalayers except the array's own.
func (a *Array) metaLocked() ([]Metalayer, error) {
	var out []Metalayer
	names, err := a.sc.Meta().namesLocked()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := a.sc.Meta().getLocked(name)
		if err != nil {
			return nil, err
		}
		if name != guard.ArrayName && name != guard.CatervaName {
			out = append(out, Metalayer{name, content})
		}
	}
	return out, nil
}

// Save writes the array to a new file as a contiguous frame (b2nd_save). Its errors are those of
// SChunk.Save.
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
	if !a.sc.buffered() || a.caterva || a.ItemSize() > maxItem {
		// The library would save a sparse frame as a sparse one, and record large elements as
		// bytes.
		d, err := a.Copy(Layout{Storage: st, Caterva: a.caterva})
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
	if !a.sc.buffered() || a.caterva || a.ItemSize() > maxItem || path == "" || strings.IndexByte(path, 0) >= 0 {
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
