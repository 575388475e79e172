// The backend of one carray.

package bcolz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/meter"
	"github.com/hyperslab/hyperslab/ndarray"
)

// backend is one carray.
type backend struct {
	place      place
	dir        store // the same directory, for writing
	tree       *bcolztree.Array
	meta       ndarray.Meta
	pool       *cblosc.Pool
	cparams    *cblosc.CParams // of the pool; nil if the array is not open for writing
	write      bool
	allowLossy bool // OpenOptions.AllowLossy
	lock       *filelock.Lock
	seen       fs.FileInfo // meta/sizes after the last change of this array; nil without a lock
	only       *ChunkRange // nil: all chunk files
	skeleton   bool        // a new array for which other processes write the missing chunk files
	part       bool        // a column of a nested ctable that shares the table's metadata

	shape   sync.RWMutex           // held for writing while the number of rows changes
	locks   [chunkLocks]sync.Mutex // of the chunk files; file i uses lock i modulo chunkLocks
	fresh   map[int64]bool         // of a new array: the chunk files that exist; nil: all exist
	freshMu sync.Mutex
	attrs   attributes
}

// OpenOptions are the options of Open. nil means the zero value.
type OpenOptions struct {
	MaxMetadata int64 // maximum bytes of one metadata file; 0: 16 MiB
	MaxChunk    int64 // maximum bytes of the rows of one full chunk; 0: 2 GiB minus 33 bytes
	Write       bool  // open for writing, in place

	// Lock is the lock of the directory, which the caller holds, and of which the array keeps a
	// reference until Close. Nil: with Write, an array takes the lock and waits for other writers:
	// without limit for other processes, 10 seconds for a writer of this process. Then it returns
	// ndarray.ErrLocked. With ChunkRange there is no lock.
	Lock *ndarray.Lock

	// AllowLossy allows writes to an array of floats that bcolz quantizes. Otherwise they return
	// errors.ErrUnsupported. ndarray.Array.LossyChanges then counts the changed elements.
	AllowLossy bool

	// ChunkRange is the range of chunk files that may be read and written; nil: all. It is for
	// several processes that fill one array. Each process fills its own part, in one directory or
	// in a copy of the metadata (OpenOptions.Shards of package hyperslab). If the array is open for
	// writing, missing files in the range read as the fill value, and the length cannot change.
	ChunkRange *ChunkRange
}

func (o *OpenOptions) limits() *bcolztree.Limits {
	l := bcolztree.DefaultLimits()
	return &bcolztree.Limits{Metadata: cmp.Or(o.MaxMetadata, l.Metadata), Chunk: cmp.Or(o.MaxChunk, l.Chunk)}
}

// ChunkRange is a range of chunk files, by their numbers.
type ChunkRange struct{ First, End int64 } // End is exclusive

// Open opens the carray in the directory path.
//
// It returns ndarray.ErrNotFound, ErrFormat for anything except a carray, ErrCorrupt, ErrType for
// an element type that ndarray does not have, or errors.ErrUnsupported if a limit is exceeded.
func Open(path string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := open(path, o)
	if err != nil {
		return nil, ndarray.Wrap("open", path, err)
	}
	return b, nil
}

func open(path string, o *OpenOptions) (_ *backend, err error) {
	lock, err := o.lock(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	p, err := openPlace(path)
	if err != nil {
		return nil, err
	}
	b, err := newBackend(path, p, o)
	if err == nil {
		b.lock, err = lock, b.see()
	}
	return b, err
}

// lock locks the directory of an array or a table if it will be changed.
func (o *OpenOptions) lock(path string) (*filelock.Lock, error) {
	if !o.Write || o.ChunkRange != nil {
		return nil, nil
	}
	lock, err := filelock.Hold(o.Lock, path)
	if err != nil {
		if p, perr := openPlace(path); perr != nil { // it describes a missing or unsuitable file better
			return nil, perr
		} else if perr := p.close(); perr != nil {
			return nil, perr
		}
	}
	return lock, err
}

// see records the state of meta/sizes after a change of this array.
func (b *backend) see() (err error) {
	if b.lock == nil || b.part {
		return nil
	}
	b.seen, err = fs.Stat(b.place.fsys, bcolztree.SizesFile)
	return err
}

// unchanged returns ndarray.ErrReplaced if another program has replaced the directory or changed
// the length of the array since see.
func (b *backend) unchanged() error {
	if err := b.lock.Check(); err != nil || b.seen == nil {
		return err
	}
	info, err := fs.Stat(b.place.fsys, bcolztree.SizesFile)
	if err == nil && !regularfile.Same(info, b.seen) {
		err = ndarray.ErrReplaced
	}
	return err
}

// OpenFS opens the carray in the directory dir of fsys for reading; "." is the root. It reads, for
// example, from an archive, or from several directories with one part of the chunk files each
// (OpenOptions.Shards of package hyperslab). Files are opened again for each read. The errors are
// those of Open, and ErrReadOnly for o.Write.
func OpenFS(fsys fs.FS, dir string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := openFS(fsys, dir, o)
	if err != nil {
		return nil, ndarray.Wrap("open", dir, err)
	}
	return b, nil
}

func openFS(fsys fs.FS, dir string, o *OpenOptions) (*backend, error) {
	p, err := placeIn(fsys, dir, o)
	if err != nil {
		return nil, err
	}
	return newBackend(dir, p, o)
}

// placeIn returns the directory dir of fsys.
func placeIn(fsys fs.FS, dir string, o *OpenOptions) (place, error) {
	if o.Write {
		return place{}, fmt.Errorf("%w: a file system of any kind is only read", ndarray.ErrReadOnly)
	}
	return place{fsys: fsys}.sub(dir)
}

// newBackend returns the backend of the carray in p. It takes ownership of p.
func newBackend(name string, p place, o *OpenOptions) (_ *backend, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := expect(p, bcolztree.ArrayTree); err != nil {
		return nil, err
	}
	tree, err := bcolztree.ReadArray(p.fsys, ".", o.limits())
	if err != nil {
		return nil, err
	}
	tree, meta, err := metaOf(name, tree)
	if err != nil {
		return nil, err
	}
	rec, err := readRecord(p.fsys, bcolztree.RecordFile)
	if err != nil {
		return nil, err
	}
	rec.apply(&meta)
	others, err := bcolztree.OtherMeta(p.fsys, ".")
	if err != nil {
		return nil, err
	}
	b, err := backendOf(p, tree, meta, rec, o)
	if err == nil {
		b.attrs.others = slices.DeleteFunc(others, func(name string) bool {
			return name == bcolztree.RecordFile || strings.HasPrefix(path.Base(name), temporary)
		})
	}
	return b, err
}

// backendOf returns the backend of an array that was read from p.
func backendOf(p place, tree *bcolztree.Array, meta ndarray.Meta, rec *record, o *OpenOptions) (*backend, error) {
	meta.ReadOnly = !o.Write
	var params *cblosc.CParams
	if o.Write {
		if err := canWrite(tree); err != nil {
			return nil, err
		}
		params = cparams(tree.Storage.CParams, int(tree.Storage.DType.TypeSize()))
	}
	pool, err := cblosc.NewPool(params, nil)
	if err != nil {
		return nil, err
	}
	b := &backend{place: p, dir: store{root: p.root, durable: true}, tree: tree, meta: meta, pool: pool, cparams: params, write: o.Write, allowLossy: o.AllowLossy, only: o.ChunkRange}
	b.attrs.dir, b.attrs.recordFile, b.attrs.members, b.attrs.record = b.dir, bcolztree.RecordFile, slices.Clone(tree.Attrs), rec
	return b, nil
}

// canWrite returns an error for an array that can be read but not written as bcolz would.
func canWrite(tree *bcolztree.Array) error {
	s := tree.Storage
	if _, err := cblosc.ParseCodec(s.CParams.Codec); err != nil {
		return fmt.Errorf("%w: writing chunks of codec %q", errors.ErrUnsupported, s.CParams.Codec)
	}
	if s.DType.Structured {
		return fmt.Errorf("%w: writing elements of %s: bcolz itself cannot open such arrays", errors.ErrUnsupported, s.DType.Text)
	}
	if n := s.DType.TypeSize(); n < 1 || n > 255 {
		return fmt.Errorf("%w: writing elements of %d bytes, Blosc1 knows 1 to 255", errors.ErrUnsupported, n)
	}
	return nil
}

// expect returns ErrFormat unless p is a tree of that kind.
func expect(p place, want bcolztree.Kind) error {
	kind, err := bcolztree.Detect(p.fsys, ".")
	if err == nil && kind != want {
		err = fmt.Errorf("%w: %v, want a %v", ndarray.ErrFormat, kind, want)
	}
	return err
}

// metaOf returns the Meta of a carray, and the tree with the size of structured elements.
func metaOf(path string, tree *bcolztree.Array) (*bcolztree.Array, ndarray.Meta, error) {
	d, err := dtypeOf(tree.Storage.DType)
	if err != nil {
		return nil, ndarray.Meta{}, err
	}
	if tree.Storage.DType.Structured {
		if tree, err = tree.WithItemSize(int64(d.Size)); err != nil {
			return nil, ndarray.Meta{}, err
		}
	}
	m := ndarray.Meta{
		Format: "bcolz", Path: path, Shape: tree.Sizes.Shape, DType: d,
		Compression: compression(tree.Storage.CParams),
	}
	if len(m.Shape) > grid.MaxRank {
		return nil, m, fmt.Errorf("%w: %d axes, at most %d", errors.ErrUnsupported, len(m.Shape), grid.MaxRank)
	}
	if err := grid.Check(m.Shape, d.Size); err != nil {
		return nil, m, err
	}
	m.ChunkShape = append(m.ChunkShape, tree.Storage.ChunkLen)
	for _, n := range m.Shape[1:] {
		m.ChunkShape = append(m.ChunkShape, max(n, 1))
	}
	m.Fill, err = fillOf(tree.Storage.Default, d)
	return tree, m, err
}

// compression converts bcolz's cparams.
func compression(p bcolztree.CParams) *ndarray.Compression {
	c := &ndarray.Compression{Codec: p.Codec, Level: p.Level}
	if p.Level == 0 {
		c.Codec = "none"
	}
	switch p.Shuffle {
	case bcolztree.ByteShuffle:
		c.Filters = []string{"shuffle"}
	case bcolztree.BitShuffle:
		c.Filters = []string{"bitshuffle"}
	}
	return c
}

// Meta describes the array.
func (b *backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion reads elements. The chunk files that r touches are read and decompressed by at most
// the given number of workers.
func (b *backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.shape.RLock()
	defer b.shape.RUnlock()
	if err := b.allowed(r); err != nil {
		return err
	}
	return b.each(ctx, r, workers, func(ctx context.Context, p *chunked.Plan, q *chunked.Piece) error {
		to := dst[q.InBuffer:][:q.Elements*int64(b.meta.DType.Size)]
		if q.Data {
			return b.readFile(ctx, to, q.Number, nil)
		}
		return b.readFile(ctx, to, q.Number, func(rows []byte) { p.Gather(q, to, rows) })
	})
}

// each calls f for each piece of a region, on at most the given number of workers. A piece is the
// part of the region in one chunk file. It is contiguous in the caller's buffer, because files
// divide the array along its first dimension only.
func (b *backend) each(ctx context.Context, r ndarray.Region, workers int, f func(ctx context.Context, p *chunked.Plan, q *chunked.Piece) error) error {
	shape := b.tree.Sizes.Shape
	if r.NumElems() == 0 {
		return ctx.Err()
	}
	axes := make([]chunked.Axis, len(shape))
	for i, n := range shape {
		var ok bool
		if axes[i], ok = chunked.NewAxis(r.Start[i], r.Shape[i], 1, 1, n); !ok {
			return fmt.Errorf("%w: got %v, want a part of %v", ndarray.ErrRegion, r, shape)
		}
	}
	chunk := slices.Clone(shape)
	chunk[0] = b.tree.Storage.ChunkLen
	l := chunked.NewLayout(shape, chunk, b.meta.DType.Size)
	p := chunked.NewPlan(&l, axes, l.Item)
	take := func() (*chunked.Piece, error) { return p.NewPiece(), nil }
	put := func(*chunked.Piece) error { return nil }
	return chunked.Each(ctx, p.Chunks, workers, chunked.AnyOrder, take, put, func(ctx context.Context, q *chunked.Piece, k int64) error {
		p.At(k, q)
		return f(ctx, p, q)
	})
}

// readFile fills dst with rows of the i-th chunk file: the first ones, or those that pick copies.
func (b *backend) readFile(ctx context.Context, dst []byte, i int64, pick func(rows []byte)) error {
	if b.missing(i) {
		boxes.Repeat(dst, b.meta.Fill)
		return nil
	}
	return b.readFileOf(ctx, b.tree, dst, i, pick)
}

// readFileOf is readFile for a tree whose length may differ from the array's. It waits until the
// process has enough memory for the stored and the decoded chunks of a file.
func (b *backend) readFileOf(ctx context.Context, tree *bcolztree.Array, dst []byte, i int64, pick func(rows []byte)) error {
	need := min(tree.Rows()-i*tree.Storage.ChunkLen, tree.Storage.ChunkLen) * tree.RowBytes()
	if int64(len(dst)) < need {
		need *= 2
	}
	grant, err := budget.Acquire(ctx, need)
	if err != nil {
		return err
	}
	defer grant.Release()
	chunks, err := tree.ReadChunksInto(i, budget.Get)
	if err != nil {
		return err
	}
	meter.Next().Chunks.Add(int64(len(chunks)))
	defer func() {
		for _, c := range chunks {
			budget.Put(c.Data)
		}
	}()
	total := 0
	for _, c := range chunks {
		total += int(c.Header.NBytes)
	}
	rows := dst
	whole := len(dst) == total // dst is for rows of this file only, so equal sizes mean all of them
	if !whole {
		rows = budget.Get(total)
		defer budget.Put(rows)
	}
	if _, err = decompress(b.pool, rows, chunks); err != nil {
		return fmt.Errorf("%s: %w", tree.FileName(i), err)
	}
	switch {
	case whole:
	case pick != nil:
		pick(rows)
	default:
		copy(dst, rows)
	}
	b.meta.DType.ToNative(dst)
	return nil
}

// decompress writes the values of chunks, one after the other, to dst, which must have exactly
// their size. If dst is nil, it allocates the result.
func decompress(pool *cblosc.Pool, dst []byte, chunks []bcolztree.Chunk) ([]byte, error) {
	if dst == nil {
		total := 0
		for _, c := range chunks {
			total += int(c.Header.NBytes)
		}
		dst = make([]byte, total)
	}
	at := 0
	for _, c := range chunks {
		n := int(c.Header.NBytes)
		got, err := pool.Decompress(dst[at:at+n], c.Data)
		if err == nil && got != n {
			err = fmt.Errorf("%w: %d bytes decompressed, the chunk holds %d", ndarray.ErrCorrupt, got, n)
		}
		if e, ok := errors.AsType[*cblosc.Error](err); ok && e.Code != 0 {
			err = errs.Mark(err, ndarray.ErrCorrupt) // whatever the reason of the library is, the header was valid
		}
		if err != nil {
			return nil, err
		}
		at += n
	}
	return dst, nil
}

// allowed returns ErrRegion for rows outside the chunk files of OpenOptions.ChunkRange.
func (b *backend) allowed(r ndarray.Region) error {
	if b.only == nil {
		return nil
	}
	length := b.tree.Storage.ChunkLen
	first, last := r.Start[0]/length, (r.Start[0]+r.Shape[0]-1)/length
	if first < b.only.First || last >= b.only.End {
		return fmt.Errorf("%w: rows %d to %d are in the chunk files %d to %d, of which this handle has %d to %d",
			ndarray.ErrRegion, r.Start[0], r.Start[0]+r.Shape[0]-1, first, last, b.only.First, b.only.End-1)
	}
	return nil
}

// missing reports whether a chunk file of a new array, or of a part that is being
// filled, has not been written yet.
func (b *backend) missing(i int64) bool {
	if b.only != nil && b.write {
		_, err := fs.Stat(b.place.fsys, b.tree.FileName(i))
		return errors.Is(err, fs.ErrNotExist)
	}
	if b.fresh == nil {
		return false
	}
	b.freshMu.Lock()
	defer b.freshMu.Unlock()
	return !b.fresh[i]
}

// Storage reports the bytes of the array's chunk files without their headers.
func (b *backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	var s ndarray.Storage
	if b.meta.NumElems() == 0 {
		return s, ctx.Err()
	}
	s.NumChunks = b.tree.NumFiles()
	for i := range s.NumChunks {
		n, err := b.ChunkBytes(ctx, i)
		if err != nil {
			return s, err
		}
		s.StoredBytes += n
	}
	return s, nil
}

// ChunkBytes reports the bytes of a chunk file without its header; 0 if it is not written yet.
func (b *backend) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	if err := ctx.Err(); err != nil || b.missing(n) {
		return 0, err
	}
	info, err := fs.Stat(b.place.fsys, b.tree.FileName(n))
	if err != nil {
		return 0, format.Part(err)
	}
	return max(info.Size()-bcolztree.HeaderSize, 0), nil
}

// Close writes the missing files of a new array, then frees the contexts and closes the directory.
func (b *backend) Close() error {
	var err error
	if b.fresh != nil {
		err = b.finish()
	}
	return errors.Join(err, b.abandon())
}
