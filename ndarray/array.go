// Array checks the arguments of every call, so that backends need not, and guards its backend
// against use after Close.

package ndarray

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// Array is an open n-dimensional array. Any number of goroutines may call its methods at the same
// time. The exception is writes that touch the same chunk (see Write).
type Array struct {
	backend Backend
	state   atomic.Pointer[state] // replaced by Resize
	workers atomic.Int32          // of SetWorkers; 0: GOMAXPROCS
	changes atomic.Int64          // see LossyChanges

	log   atomic.Pointer[slog.Logger] // of SetLogger; may be nil
	count *meter.Shard

	mu     sync.RWMutex // read-locked during every call of the backend, locked by Close
	closed bool
}

// state is the part of an Array that Resize changes.
type state struct {
	meta Meta
	grid grid.Grid
}

// m returns the current metadata.
func (a *Array) m() *Meta { return &a.state.Load().meta }

// New returns an Array backed by b and takes ownership of b: Close of the Array closes it.
//
// It returns ErrType or ErrShape if b's metadata is invalid, and errors.ErrUnsupported if the DType
// is String and b is no StringReader, or if the elements are nullable and b is no NullReader. After
// an error the caller keeps ownership of b.
func New(b Backend) (*Array, error) {
	m := b.Meta().Clone()
	s := m.Spec()
	if err := s.Validate(); err != nil {
		return nil, Wrap("open", m.Path, err)
	}
	if _, ok := As[StringReader](b); !ok && m.DType.Size == 0 {
		return nil, Wrap("open", m.Path, fmt.Errorf("%w: arrays of %v", errors.ErrUnsupported, m.DType))
	}
	if _, ok := As[NullReader](b); !ok && m.Nullable {
		return nil, Wrap("open", m.Path, fmt.Errorf("%w: nullable elements without their null marks", errors.ErrUnsupported))
	}
	g, err := grid.New(m.Shape, m.ChunkShape)
	if err != nil {
		return nil, Wrap("open", m.Path, err)
	}
	a := &Array{backend: b, count: meter.Next()}
	a.state.Store(&state{meta: m, grid: g})
	return a, nil
}

// SetWorkers limits each later call that reads or writes elements to n goroutines that encode or
// decode them. n below 1 means GOMAXPROCS, which is the default. Views that are made later have the
// same limit. Copy, Compare, Map and the reductions have an option Workers instead.
func (a *Array) SetWorkers(n int) { a.workers.Store(int32(min(max(n, 0), math.MaxInt32))) }

// limit returns the number of goroutines for a call of the backend; 0 means GOMAXPROCS.
func (a *Array) limit() int { return int(a.workers.Load()) }

// Backend returns the backend of the array. Its methods do not check their arguments and do not
// wait for Close.
func (a *Array) Backend() Backend { return a.backend }

// Meta returns the metadata of the array. The caller may change the result.
func (a *Array) Meta() Meta { return a.m().Clone() }

// Shape returns the number of elements in each dimension. It is empty for a scalar.
func (a *Array) Shape() []int64 { return append([]int64{}, a.m().Shape...) }

// String describes the array, for example "b2nd sst.b2nd: <f4 [73 144] in chunks of [73 72],
// shuffle + zstd 5".
func (a *Array) String() string {
	m := a.m()
	s := strings.TrimSpace(m.Format+" "+m.Path) + ": " + m.DType.String() + " " + shapeText(*m)
	if m.ChunkShape != nil {
		s += fmt.Sprintf(" in chunks of %v", m.ChunkShape)
	}
	if m.Compression != nil {
		s += ", " + m.Compression.String()
	}
	return s
}

// DType returns the element type, as stored.
func (a *Array) DType() DType { return a.m().DType }

// NumElems returns the number of elements.
func (a *Array) NumElems() int64 { return a.m().NumElems() }

// NBytes returns the number of bytes of all elements in memory.
func (a *Array) NBytes() int64 { return a.m().NumElems() * int64(a.m().DType.Size) }

// ChunkRegions yields the chunks in row-major order, clipped to the array, so that they cover each
// element exactly once. An array that is not chunked has one chunk. An array without elements has
// no chunks.
func (a *Array) ChunkRegions() iter.Seq[Region] {
	if a.m().Null {
		return func(func(Region) bool) {}
	}
	return func(yield func(Region) bool) {
		for box := range a.state.Load().grid.All() {
			if !yield(Region(box)) {
				return
			}
		}
	}
}

// Read fills dst with the elements of r, in row-major order and native byte order. len(dst) must be
// exactly r.NumElems()*DType.Size bytes. Read defines every byte of dst: elements without a stored
// value are Meta().Fill, or zero bytes if the array has no fill value.
//
// It returns ErrClosed, ErrRegion or ErrSize, the context's error, or the backend's error. After an
// error dst may be partly filled.
func (a *Array) Read(ctx context.Context, dst []byte, r Region) error {
	return a.ReadRegion(ctx, dst, r, a.limit())
}

// ReadRegion is Read with the parameters of Backend.ReadRegion, for backends that read an Array. At
// most workers goroutines of the call decode; below 1 means GOMAXPROCS.
func (a *Array) ReadRegion(ctx context.Context, dst []byte, r Region, workers int) error {
	const op = "read"
	o := a.begin(ctx, meter.Read)
	return a.didRead(o, op, int64(len(dst)), a.use(op, func() error {
		if err := a.checkAccess(ctx, len(dst), r); err != nil {
			return err
		}
		if len(dst) == 0 {
			return nil
		}
		return a.backend.ReadRegion(ctx, dst, r, max(workers, 0))
	}))
}

// Write replaces the elements of r with src, in row-major order and native byte order. len(src)
// must be exactly r.NumElems()*DType.Size bytes.
//
// Writes that touch different chunks may run at the same time. If two writes touch the same chunk
// at the same time, one of them may be lost; work divided along Chunks avoids that.
//
// It returns ErrClosed, ErrReadOnly, errors.ErrUnsupported for a format that cannot be written and
// for a lossy filter that the options of the array do not allow (LossyChanges), ErrRegion or
// ErrSize, the context's error, or the backend's error. After an error a part may be written.
func (a *Array) Write(ctx context.Context, src []byte, r Region) error {
	return a.write(ctx, src, r, a.limit())
}

// write is Write on at most workers goroutines; 0 means GOMAXPROCS.
func (a *Array) write(ctx context.Context, src []byte, r Region, workers int) error {
	const op = "write"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, int64(len(src)), a.use(op, func() error {
		w, err := a.writer()
		if err != nil {
			return err
		}
		if err := a.checkAccess(ctx, len(src), r); err != nil {
			return err
		}
		if len(src) == 0 {
			return nil
		}
		return w.WriteRegion(ctx, src, r, workers)
	}))
}

// ReadStrings fills dst with the elements of r, in row-major order, of an array whose elements have
// a variable size: strings, or elements that DType.Split divides. len(dst) must be exactly
// r.NumElems().
//
// It returns ErrType for an array of elements of a fixed size, and the errors of Read.
func (a *Array) ReadStrings(ctx context.Context, dst []string, r Region) error {
	const op = "read"
	o := a.begin(ctx, meter.Read)
	err := a.use(op, func() error {
		s, err := ability[StringReader](a, false)
		if err := errors.Join(a.checkStrings(ctx, len(dst), r), err); err != nil || len(dst) == 0 {
			return err
		}
		return s.ReadStrings(ctx, dst, r)
	})
	return a.didRead(o, op, stringBytes(dst), err)
}

// WriteStrings replaces the elements of r with src, in row-major order, in an array whose elements
// have a variable size. len(src) must be exactly r.NumElems(). A string must not contain a zero
// byte, because HDF5 cannot store one.
//
// It returns ErrType for an array of elements of a fixed size, ErrValue with the index of an
// element that is not of the array's type, and the errors of Write.
func (a *Array) WriteStrings(ctx context.Context, src []string, r Region) error {
	const op = "write"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, stringBytes(src), a.use(op, func() error {
		w, err := ability[StringWriter](a, true)
		if err := errors.Join(a.checkStrings(ctx, len(src), r), err); err != nil || len(src) == 0 {
			return err
		}
		if _, err := a.lossy(); err != nil {
			return err
		}
		for i, s := range src {
			if err := a.m().DType.checkElement(s); err != nil {
				return errs.Mark(fmt.Errorf("element %v: %w", grid.Box(r).Index(int64(i)), err), ErrValue)
			}
		}
		return w.WriteStrings(ctx, src, r)
	}))
}

func (a *Array) checkStrings(ctx context.Context, have int, r Region) error {
	if a.m().DType.Size != 0 {
		return fmt.Errorf("%w: array is %v, asked for elements of variable size", ErrType, a.m().DType)
	}
	if a.m().Null {
		return fmt.Errorf("%w: the array is null", ErrRegion)
	}
	if err := r.Check(a.m().Shape); err != nil {
		return err
	}
	if n := r.NumElems(); n != int64(have) {
		return fmt.Errorf("%w: %d strings, region %v has %d", ErrSize, have, r, n)
	}
	return ctx.Err()
}

// Attrs reads all attributes. An attribute that cannot be read hides no other: Attrs returns the
// readable ones with the first error, and lists the others as unsupported if their names are known.
//
// It returns ErrClosed, errors.ErrUnsupported if the backend has no attributes, or the backend's
// error.
func (a *Array) Attrs(ctx context.Context) (Attrs, error) {
	var attrs Attrs
	err := a.use("read attributes of", func() error {
		r, err := ability[AttrReader](a, false)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		attrs, err = r.Attrs(ctx)
		return err
	})
	return attrs, err
}

// attrDigest returns the backend's AttrDigest of an attribute that has no Value.
func (a *Array) attrDigest(ctx context.Context, name string) (sum [32]byte, err error) {
	err = a.use("read attributes of", func() error {
		r, err := ability[attrDigester](a, false)
		if err == nil {
			sum, err = r.AttrDigest(ctx, name)
		}
		return err
	})
	return sum, err
}

// Attr reads the attribute called name. ValuesOf extracts numbers from it, and Value.Strings
// contains its strings.
//
// It returns ErrNotFound if there is no such attribute, ErrType if ndarray has no element type for
// it, and the errors of Attrs.
func (a *Array) Attr(ctx context.Context, name string) (Value, error) {
	attrs, err := a.Attrs(ctx)
	if v, ok := attrs.Get(name); ok {
		return v, nil
	}
	if err != nil {
		return Value{}, err
	}
	err = fmt.Errorf("%w: attribute %q", ErrNotFound, name)
	for _, u := range attrs.Unsupported {
		if u.Name == name {
			err = fmt.Errorf("%w: attribute %q is %s: %s", ErrType, name, u.Type, u.Reason)
		}
	}
	return Value{}, a.wrap("read attribute of", err)
}

// SetAttr adds an attribute, or replaces the one of that name.
//
// It returns ErrClosed, ErrReadOnly, errors.ErrUnsupported, the errors of Attr.Validate, or the
// backend's error.
func (a *Array) SetAttr(ctx context.Context, attr Attr) error {
	return a.use("set attribute of", func() error {
		w, err := ability[AttrWriter](a, true)
		if err != nil {
			return err
		}
		err = attr.Validate()
		if attr.Raw != nil && attr.Value.DType.Kind == 0 {
			err = checkName(attr.Name) // the backend decides whether it stores Raw
		}
		if err := errors.Join(ctx.Err(), err); err != nil {
			return err
		}
		return w.SetAttr(ctx, attr)
	})
}

// DeleteAttr removes an attribute.
//
// It returns ErrNotFound, ErrClosed, ErrReadOnly, errors.ErrUnsupported, or the backend's error.
func (a *Array) DeleteAttr(ctx context.Context, name string) error {
	return a.use("delete attribute of", func() error {
		w, err := ability[AttrWriter](a, true)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.DeleteAttr(ctx, name)
	})
}

// Storage returns the stored size of the array.
//
// It returns ErrClosed, errors.ErrUnsupported, or the backend's error.
func (a *Array) Storage(ctx context.Context) (Storage, error) {
	var s Storage
	err := a.use("measure", func() error {
		r, err := ability[StorageReporter](a, false)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err = r.Storage(ctx)
		return err
	})
	return s, err
}

// StoredChunk is a row of an array's chunk map.
type StoredChunk struct {
	Region      Region // its elements, clipped to the array
	StoredBytes int64  // compressed bytes; 0: not stored, all elements are equal
}

// StoredChunks yields the regions of ChunkRegions with the stored bytes of each. An array that is
// not chunked is one chunk with all of Storage's bytes.
//
// It yields ErrClosed, errors.ErrUnsupported, the context's error, or the backend's error, and ends
// after an error.
func (a *Array) StoredChunks(ctx context.Context) iter.Seq2[StoredChunk, error] {
	return func(yield func(StoredChunk, error) bool) {
		n := int64(0)
		for r := range a.ChunkRegions() {
			bytes, err := a.chunkBytes(ctx, n)
			if err != nil {
				yield(StoredChunk{}, err)
				return
			}
			if !yield(StoredChunk{r, bytes}, nil) {
				return
			}
			n++
		}
	}
}

func (a *Array) chunkBytes(ctx context.Context, n int64) (bytes int64, err error) {
	if a.m().ChunkShape == nil {
		s, err := a.Storage(ctx)
		return s.StoredBytes, err
	}
	err = a.use("measure", func() error {
		m, err := ability[ChunkMeasurer](a, false)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		bytes, err = m.ChunkBytes(ctx, n)
		return err
	})
	return bytes, err
}

// Close waits for running calls, then releases the backend and returns its error. The second Close
// and every later call that uses the backend return ErrClosed. Results of Meta and the other
// getters stay valid.
func (a *Array) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return a.wrap("close", ErrClosed)
	}
	a.closed = true
	err := a.wrap("close", a.backend.Close())
	if log := a.log.Load(); log != nil {
		record(context.Background(), log, "close", err, slog.String("array", a.m().Path))
	}
	return err
}

// use runs f while the backend is protected from Close.
func (a *Array) use(op string, f func() error) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		return a.wrap(op, ErrClosed)
	}
	return a.wrap(op, f())
}

// checkAccess checks regions and buffer sizes for all calls that move bytes.
func (a *Array) checkAccess(ctx context.Context, have int, r Region) error {
	if a.m().Null {
		return fmt.Errorf("%w: the array is null", ErrRegion)
	}
	if err := r.Check(a.m().Shape); err != nil {
		return err
	}
	if a.m().DType.Size == 0 {
		return fmt.Errorf("%w: elements of %v have a variable size; ReadStrings and WriteStrings move them", ErrType, a.m().DType)
	}
	n := r.NumElems() * int64(a.m().DType.Size) // no overflow: r is inside the shape
	if n > math.MaxInt || have != int(n) {
		return fmt.Errorf("%w: %d bytes, region %v of %d elements of %d bytes needs %d",
			ErrSize, have, r, r.NumElems(), a.m().DType.Size, n)
	}
	return ctx.Err()
}

// ability returns the backend as B, an optional interface.
func ability[B any](a *Array, writes bool) (B, error) {
	b, ok := As[B](a.backend)
	_, isView := a.backend.(*view)
	switch {
	case writes && a.m().ReadOnly && !isView:
		return b, ErrReadOnly
	case !ok:
		return b, fmt.Errorf("%w by format %s", errors.ErrUnsupported, a.m().Format)
	}
	return b, nil
}

func (a *Array) wrap(op string, err error) error { return Wrap(op, a.m().Path, err) }
