// The program's side of an array that a worker reads: a backend that sends requests to the worker
// and validates the responses.

package isolated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// windowBytes is the size of the shared memory. It is divided into slots, so that the worker can
// fill some while the program empties another.
const windowBytes = 32 << 20

// slotBytes is the size of a slot for reading elements, unless a chunk is larger. It is small, so
// that data decoded by the worker is still in the processor's cache when the program copies it.
const slotBytes = 2 << 20

// A request asks a worker for the result of Verb:
//
//   - "check": no result, after the check of the file
//   - "list": the first entries from Path on; "more": the next entries
//   - "group": the attributes of the group at Path
//   - "metadata": the metadata of the object at Path
//   - "meta", "attrs", "storage", "chunk", "strings", "nulls", "scales", "uniform", "equal":
//     the result of that method of the array
//   - "" with Fill: elements of the array
//
// If the worker serves a whole file, the array is the one at Path.
type request struct {
	Verb, Path   string
	Start, Shape []int64
	Part         ndarray.Region // elements: the box of the region that is needed now
	Workers      int            // elements: number of goroutines; 0: the number of processors
	Alone        bool           // elements: must not run concurrently with other requests
	Prune, Skip  bool           // "list", "more": end after each group; skip members of the last group
}

// remote is the backend of an array that a worker reads.
type remote struct {
	tree.ReadOnly
	client *worker.Client[request]
	path   string // request.Path
	meta   ndarray.Meta
	limits format.Limits
	level  worker.Level
}

var (
	_ ndarray.StringReader    = (*remote)(nil)
	_ ndarray.AttrReader      = (*remote)(nil)
	_ ndarray.StorageReporter = (*remote)(nil)
	_ ndarray.ChunkMeasurer   = (*remote)(nil)
	_ ndarray.UniformTeller   = (*remote)(nil)
	_ ndarray.NullReader      = (*remote)(nil)
	_ ndarray.ScaleReader     = (*remote)(nil)
)

// load requests the Meta of the array and validates it.
func (r *remote) load(ctx context.Context, name string) error {
	if err := r.ask(ctx, "meta", ndarray.Region{}, &r.meta); err != nil {
		return err
	}
	r.meta.Path, r.meta.ReadOnly = name, true
	spec := r.meta.Spec()
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%w: %w", worker.ErrProtocol, err)
	}
	if n := r.meta.NumElems(); r.meta.DType.Size > 0 && n > r.limits.Array/int64(r.meta.DType.Size) {
		return fmt.Errorf("%w: %d elements of %d bytes, the limit was %d bytes", worker.ErrProtocol, n, r.meta.DType.Size, r.limits.Array)
	}
	if r.meta.DType.Size > windowBytes/2 {
		return fmt.Errorf("%w: elements of %d bytes in a worker, at most %d", errors.ErrUnsupported, r.meta.DType.Size, windowBytes/2)
	}
	return nil
}

func (r *remote) Meta() ndarray.Meta { return r.meta }

// Close does nothing: the worker continues to serve other arrays until its tree is closed.
func (r *remote) Close() error { return nil }

// ask decodes the result of a verb into v.
func (r *remote) ask(ctx context.Context, verb string, g ndarray.Region, v any) error {
	most := r.limits.Metadata
	if verb == "strings" || verb == "nulls" {
		most = r.limits.Memory
	}
	return r.client.Ask(ctx, &request{Verb: verb, Path: r.path, Start: g.Start, Shape: g.Shape}, most, v)
}

// slot returns the number of bytes of a slot for reading elements: at least a chunk, if two of them
// fit the window.
func (r *remote) slot() int64 {
	n := int64(r.meta.DType.Size)
	for _, k := range r.meta.ChunkShape {
		n = min(n*min(k, windowBytes), windowBytes/2)
	}
	return max(n, slotBytes)
}

// ahead returns the number of slots that the worker may fill before the program empties them, for a
// read of that many pieces. each is the number of goroutines per piece. If all processors may be
// used, additional pieces are queued, so that no processor is idle while the program and the worker
// wake each other.
func ahead(allowed, slots int, pieces int64) (n, each int) {
	processors := runtime.GOMAXPROCS(0)
	if n = slots - 1; allowed < processors {
		n = min(n, allowed)
	} else {
		n = min(n, 2*processors+2)
	}
	n = int(min(int64(n), max(pieces, 1)))
	return n, max(min(allowed, processors)/n, 1)
}

// ReadRegion reads elements box by box. While it copies one box from the window, the worker decodes
// the next ones.
func (r *remote) ReadRegion(ctx context.Context, dst []byte, g ndarray.Region, workers int) error {
	item := r.meta.DType.Size
	slot := r.slot()
	slots := int(windowBytes / slot)
	allowed := cmp.Or(workers, runtime.GOMAXPROCS(0))
	ahead, each := ahead(allowed, slots, g.NumElems()*int64(item)/slot)
	// The slot that was emptied last is filled next, because it is still in the cache.
	var free []int64
	for i := range min(slots, ahead+1) {
		free = append(free, int64(i)*slot)
	}
	type piece struct {
		part ndarray.Region
		at   int64
	}
	var sent []piece // at most one per slot
	requests := func(yield func(worker.Part[request]) bool) {
		most := slot / int64(item)
		for box := range grid.Cut(grid.Box(g), r.meta.ChunkShape, most) {
			// The worker keeps the rest of a chunk that is larger than a slot.
			for part := range grid.Cut(box, nil, most) {
				p := piece{ndarray.Region(part), free[len(free)-1]}
				free = free[:len(free)-1]
				sent = append(sent, p)
				q := request{Path: r.path, Start: box.Start, Shape: box.Shape, Part: p.part, Workers: each, Alone: allowed == 1}
				if !yield(worker.Part[request]{Request: q, At: p.at, Size: slot}) {
					return
				}
			}
		}
	}
	return r.client.Fill(ctx, ahead, requests, func(elements []byte) error {
		p := sent[0]
		sent = sent[1:]
		if want := p.part.NumElems() * int64(item); int64(len(elements)) != want {
			return fmt.Errorf("%w: %d bytes of %v, want %d", worker.ErrProtocol, len(elements), p.part, want)
		}
		grid.Copy(dst, grid.Box(g), elements, grid.Box(p.part), grid.Box(p.part), item)
		free = append(free, p.at)
		return nil
	})
}

// ReadStrings reads strings of variable length.
func (r *remote) ReadStrings(ctx context.Context, dst []string, g ndarray.Region) error {
	for box := range grid.Slabs(r.meta.ChunkShape, r.meta.DType.Size, grid.Box(g)) {
		s := ndarray.Region(box)
		var strs []string
		if err := r.ask(ctx, "strings", s, &strs); err != nil {
			return err
		}
		if int64(len(strs)) != s.NumElems() {
			return fmt.Errorf("%w: strings of %v: got %d, want %d", worker.ErrProtocol, s, len(strs), s.NumElems())
		}
		dst = dst[copy(dst, strs):]
	}
	return nil
}

// ReadNulls reads the marks of null elements.
func (r *remote) ReadNulls(ctx context.Context, dst []bool, g ndarray.Region) error {
	marks := int64(r.meta.DType.NumMarks())
	for box := range grid.Slabs(r.meta.ChunkShape, r.meta.DType.Size, grid.Box(g)) {
		s := ndarray.Region(box)
		var nulls []bool
		if err := r.ask(ctx, "nulls", s, &nulls); err != nil {
			return err
		}
		if n := s.NumElems() * marks; int64(len(nulls)) != n {
			return fmt.Errorf("%w: marks of %v: got %d, want %d", worker.ErrProtocol, s, len(nulls), n)
		}
		dst = dst[copy(dst, nulls):]
	}
	return nil
}

// Attrs reads all attributes.
func (r *remote) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	var a ndarray.Attrs
	if err := r.ask(ctx, "attrs", ndarray.Region{}, &a); err != nil {
		return ndarray.Attrs{}, err
	}
	return a, checkAttrs(a)
}

// Scales requests the paths of the dimension scales.
func (r *remote) Scales(ctx context.Context) ([]string, error) {
	var scales []string
	if err := r.ask(ctx, "scales", ndarray.Region{}, &scales); err != nil {
		return nil, err
	}
	if scales != nil && len(scales) != len(r.meta.Shape) {
		return nil, fmt.Errorf("%w: got %d scales, want %d", worker.ErrProtocol, len(scales), len(r.meta.Shape))
	}
	return scales, nil
}

// checkAttrs validates attributes that a worker has returned.
func checkAttrs(a ndarray.Attrs) error {
	for _, x := range a.List {
		if err := x.Value.DType.Validate(); err != nil {
			return fmt.Errorf("%w: attribute %q: %w", worker.ErrProtocol, x.Name, err)
		}
		if err := x.Value.Validate(); errors.Is(err, ndarray.ErrSize) || errors.Is(err, ndarray.ErrShape) {
			return fmt.Errorf("%w: attribute %q: %w", worker.ErrProtocol, x.Name, err)
		}
	}
	return nil
}

// Storage requests the stored size.
func (r *remote) Storage(ctx context.Context) (ndarray.Storage, error) {
	var s ndarray.Storage
	err := r.ask(ctx, "storage", ndarray.Region{}, &s)
	s.Isolation = r.level.String() // the answer of an untrusted worker does not count
	return s, err
}

// ChunkBytes requests the stored size of a chunk.
func (r *remote) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	var size int64
	err := r.ask(ctx, "chunk", ndarray.Region{Start: []int64{n}}, &size)
	return size, err
}

// Uniform returns a function that sends a request to the worker for each region. If a request
// fails, the function returns false; the read of the region then returns the error.
func (r *remote) Uniform(ctx context.Context, _ ndarray.Region) (func(ndarray.Region) bool, error) {
	var known bool
	if err := r.ask(ctx, "uniform", ndarray.Region{}, &known); err != nil || !known {
		return nil, err
	}
	return func(g ndarray.Region) bool {
		var is bool
		return r.ask(ctx, "equal", g, &is) == nil && is
	}, nil
}
