// The program's side of an array that a worker reads: a backend that sends requests to the worker
// and validates the responses.

package hyperslab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/strided"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// service is the name of the worker service of this file.
const service = "hyperslab.array"

// windowBytes is the size of the shared memory. It is divided into slots, so that the worker can
// fill some while the program empties another.
const windowBytes = 32 << 20

// slotBytes is the size of a slot for reading elements, unless a chunk is larger. It is small, so
// that data decoded by the worker is still in the processor's cache when the program copies it.
const slotBytes = 2 << 20

func init() {
	worker.Register(service, serve)
	worker.RegisterErrors(errors.ErrUnsupported, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, io.ErrUnexpectedEOF,
		context.Canceled, context.DeadlineExceeded,
		ndarray.ErrSize, ndarray.ErrRegion, ndarray.ErrType, ndarray.ErrShape, ndarray.ErrParam, ndarray.ErrReadOnly, ndarray.ErrFormat,
		ndarray.ErrCorrupt, ndarray.ErrValue, ndarray.ErrNotFound,
		format.ErrTruncated, format.ErrMagic, format.ErrVersion, format.ErrCorrupt, format.ErrLimit, format.ErrSize,
		h5.ErrParam, h5.ErrSize, h5.ErrRegion, h5.ErrType, h5.ErrOverflow, h5.ErrPrecision, h5.ErrNotHDF5, h5.ErrTruncated, h5.ErrCorrupt,
		h5.ErrNoFilter, h5.ErrLocked, h5.ErrKind, h5.ErrNotFound,
		cblosc.ErrSize, cblosc.ErrRegion, cblosc.ErrParam, cblosc.ErrLimit, cblosc.ErrNotFound, cblosc.ErrFormat)
}

// A request selects one piece of a response: at most Size bytes, from Skip on, of the result of
// Verb, at offset At of the window.
type request struct {
	Verb         string // "meta", "attrs", "storage", "chunk", "read", "strings", "uniform" or "equal"
	Start, Shape []int64
	Part         ndarray.Region // "read": the box of the region that is needed now
	Skip, Size   int64
	At           int64
	Workers      int  // "read": number of goroutines; 0: the number of processors
	Alone        bool // "read": must not run concurrently with other requests
}

// remote is the backend of an array that a worker reads.
type remote struct {
	readOnly
	client caller
	meta   ndarray.Meta
	limits limits
	level  worker.Level
}

// caller is a worker.Client, or a part of one.
type caller interface {
	worker.Caller
	Stream(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error
	Close() error
}

// fileCaller is a worker that serves only one file, with one array.
type fileCaller struct {
	*worker.Client
	file *os.File
}

// Close ends the worker.
func (c *fileCaller) Close() error { return errors.Join(c.Client.Close(), c.file.Close()) }

var (
	_ ndarray.StringReader    = (*remote)(nil)
	_ ndarray.AttrReader      = (*remote)(nil)
	_ ndarray.StorageReporter = (*remote)(nil)
	_ ndarray.ChunkMeasurer   = (*remote)(nil)
	_ ndarray.UniformTeller   = (*remote)(nil)
)

// isolate opens the array in a worker. After an error the caller keeps ownership of the file.
func (s *suspect) isolate(ctx context.Context) (*ndarray.Array, error) {
	r, client, err := s.remote(ctx)
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(r)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return a, nil
}

// config returns the configuration of a worker for the file.
func (s *suspect) config(service string) worker.Config {
	cfg := worker.Config{
		Service: service, Open: encode(*s), Files: []*os.File{s.file},
		Limits: worker.Limits{Memory: s.Limits.Memory, CPU: s.Limits.CPU, Wall: s.Limits.Wall, Window: windowBytes},
	}
	if s.full {
		cfg.Require = worker.Full
	}
	return cfg
}

func (s *suspect) remote(ctx context.Context) (*remote, *worker.Client, error) {
	client, err := worker.NewClient(s.config(service))
	if err != nil {
		return nil, nil, err
	}
	r := &remote{client: &fileCaller{client, s.file}, limits: s.Limits}
	if err := r.load(ctx, s.Name); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	r.level = client.Level()
	return r, client, nil
}

// load requests the Meta of the array and validates it.
func (r *remote) load(ctx context.Context, name string) error {
	b, err := r.ask(ctx, "meta", ndarray.Region{}, r.limits.Metadata)
	if err != nil {
		return err
	}
	if err := decode(b, &r.meta); err != nil {
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

func (r *remote) Close() error { return r.client.Close() }

// ask returns the complete result of a verb, at most most bytes.
func (r *remote) ask(ctx context.Context, verb string, g ndarray.Region, most int64) ([]byte, error) {
	const half = windowBytes / 2
	piece := func(i int64) []byte {
		return encode(request{Verb: verb, Start: g.Start, Shape: g.Shape, Skip: i * half, Size: half, At: i % 2 * half})
	}
	var b []byte
	total := int64(-1) // known after the first response
	use := func(answer, window []byte) error {
		n, err := r.total(answer)
		switch {
		case err != nil:
			return err
		case total >= 0 && n != total:
			return fmt.Errorf("%w: answer of %s: got %d bytes, want %d as before", worker.ErrProtocol, verb, n, total)
		case n > most:
			return &format.Error{Format: "worker", What: verb, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", most), Err: format.ErrLimit}
		}
		total = n
		at := len(b) / half % 2 * half
		b = append(b, window[at:at+int(min(half, total-int64(len(b))))]...)
		return nil
	}
	if err := r.client.Call(ctx, piece(0), use); err != nil {
		return nil, err
	}
	rest := func(yield func([]byte) bool) {
		for i := int64(1); i*half < total; i++ {
			if !yield(piece(i)) {
				return
			}
		}
	}
	return b, r.client.Stream(ctx, 1, rest, use)
}

// total decodes a response: the number of bytes of the complete result.
func (r *remote) total(answer []byte) (int64, error) {
	if len(answer) != 8 || binary.LittleEndian.Uint64(answer) > 1<<62 {
		return 0, fmt.Errorf("%w: an answer of %d bytes", worker.ErrProtocol, len(answer))
	}
	return int64(binary.LittleEndian.Uint64(answer)), nil
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
func (r *remote) ReadRegion(ctx context.Context, dst []byte, g ndarray.Region) error {
	item := r.meta.DType.Size
	slot := r.slot()
	slots := int(windowBytes / slot)
	allowed := ndarray.Workers(ctx)
	ahead, each := ahead(allowed, slots, g.NumElems()*int64(item)/slot)
	// The slot that was emptied last is filled next, because it is still in the cache.
	var free []int64
	for i := range min(slots, ahead+1) {
		free = append(free, int64(i)*slot)
	}
	type piece struct {
		box, part ndarray.Region
		at        int64
	}
	var sent []piece // at most one per slot
	requests := func(yield func([]byte) bool) {
		for box := range boxes(g, r.meta.ChunkShape, item, slot) {
			// The worker keeps the rest of a chunk that is larger than a slot.
			for part := range boxes(box, nil, item, slot) {
				p := piece{box, part, free[len(free)-1]}
				free = free[:len(free)-1]
				sent = append(sent, p)
				if !yield(encode(request{Verb: "read", Start: box.Start, Shape: box.Shape, Part: part, At: p.at, Size: slot, Workers: each, Alone: allowed == 1})) {
					return
				}
			}
		}
	}
	return r.client.Stream(ctx, ahead, requests, func(answer, window []byte) error {
		p := sent[0]
		sent = sent[1:]
		want := p.part.NumElems() * int64(item)
		n, err := r.total(answer)
		if err == nil && n != want {
			err = fmt.Errorf("%w: %d bytes of %v, want %d", worker.ErrProtocol, n, p.part, want)
		}
		if err != nil {
			return err
		}
		copyBox(dst, g, window[p.at:p.at+want], p.part, p.part, item)
		free = append(free, p.at)
		return nil
	})
}

// copyBox copies the elements of part from one buffer to another. The buffers contain the regions
// from and to.
func copyBox(dst []byte, to ndarray.Region, src []byte, from, part ndarray.Region, item int) {
	if len(part.Shape) == 0 {
		copy(dst, src)
		return
	}
	strided.Copy(strided.Box{Data: dst, Shape: to.Shape, Start: less(part.Start, to.Start)},
		strided.Box{Data: src, Shape: from.Shape, Start: less(part.Start, from.Start)}, part.Shape, item)
}

func less(a, b []int64) []int64 {
	c := slices.Clone(a)
	for i := range c {
		c[i] -= b[i]
	}
	return c
}

// boxes divides a region into boxes of at most most bytes, in row-major order. No two boxes share a
// chunk, except that a larger chunk is its own box. Without chunks the region is divided at any
// element.
func boxes(g ndarray.Region, chunk []int64, item int, most int64) iter.Seq[ndarray.Region] {
	return func(yield func(ndarray.Region) bool) { cut(g, chunk, int64(item), most, 0, yield) }
}

func cut(g ndarray.Region, chunk []int64, item, most int64, axis int, yield func(ndarray.Region) bool) bool {
	total := g.NumElems() * item
	if total <= most || axis == len(g.Shape) {
		return yield(g)
	}
	thick := int64(1)
	if chunk != nil {
		thick = max(chunk[axis], 1)
	}
	row := total / g.Shape[axis] // bytes of one element along the axis
	step := max(most/max(row, 1)/thick, 1) * thick
	end := g.Start[axis] + g.Shape[axis]
	for at := g.Start[axis]; at < end; {
		next := at + min(step-at%step, end-at)
		s := g.Clone()
		s.Start[axis], s.Shape[axis] = at, next-at
		if !cut(s, chunk, item, most, axis+1, yield) {
			return false
		}
		at = next
	}
	return true
}

// ReadStrings reads strings of variable length.
func (r *remote) ReadStrings(ctx context.Context, dst []string, g ndarray.Region) error {
	for s := range r.meta.Slabs(g) {
		b, err := r.ask(ctx, "strings", s, r.limits.Memory)
		if err != nil {
			return err
		}
		var texts []string
		if err := decode(b, &texts); err != nil {
			return err
		}
		if int64(len(texts)) != s.NumElems() {
			return fmt.Errorf("%w: strings of %v: got %d, want %d", worker.ErrProtocol, s, len(texts), s.NumElems())
		}
		dst = dst[copy(dst, texts):]
	}
	return nil
}

// Attrs reads all attributes.
func (r *remote) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	b, err := r.ask(ctx, "attrs", ndarray.Region{}, r.limits.Metadata)
	if err != nil {
		return ndarray.Attrs{}, err
	}
	return decodeAttrs(b)
}

// decodeAttrs decodes and validates attributes.
func decodeAttrs(b []byte) (a ndarray.Attrs, err error) {
	if err := decode(b, &a); err != nil {
		return ndarray.Attrs{}, err
	}
	for _, x := range a.List {
		if err := x.Value.DType.Validate(); err != nil {
			return ndarray.Attrs{}, fmt.Errorf("%w: attribute %q: %w", worker.ErrProtocol, x.Name, err)
		}
		if err := x.Value.Validate(); errors.Is(err, ndarray.ErrSize) || errors.Is(err, ndarray.ErrShape) {
			return ndarray.Attrs{}, fmt.Errorf("%w: attribute %q: %w", worker.ErrProtocol, x.Name, err)
		}
	}
	return a, nil
}

// Storage requests the stored size.
func (r *remote) Storage(ctx context.Context) (ndarray.Storage, error) {
	var s ndarray.Storage
	b, err := r.ask(ctx, "storage", ndarray.Region{}, r.limits.Metadata)
	if err == nil {
		err = decode(b, &s)
	}
	return s, err
}

// ChunkBytes requests the stored size of a chunk.
func (r *remote) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	var size int64
	b, err := r.ask(ctx, "chunk", ndarray.Region{Start: []int64{n}}, r.limits.Metadata)
	if err == nil {
		err = decode(b, &size)
	}
	return size, err
}

// Uniform returns a function that sends a request to the worker for each region. If a request
// fails, the function returns false; the read of the region then returns the error.
func (r *remote) Uniform(ctx context.Context) (func(ndarray.Region) bool, error) {
	ask := func(verb string, g ndarray.Region) (is bool, err error) {
		b, err := r.ask(ctx, verb, g, r.limits.Metadata)
		if err == nil {
			err = decode(b, &is)
		}
		return is, err
	}
	if known, err := ask("uniform", ndarray.Region{}); err != nil || !known {
		return nil, err
	}
	return func(g ndarray.Region) bool {
		is, err := ask("equal", g)
		return is && err == nil
	}, nil
}
