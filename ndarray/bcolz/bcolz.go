// The backend: one carray behind ndarray's contract.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/internal/strided"
)

// Backend is one carray. It implements ndarray's Backend, AttrReader and
// StorageReporter, and opened for writing RegionWriter and AttrWriter.
type Backend struct {
	root  *os.Root
	dir   store // the same root, for writing
	tree  *bcolz.Array
	meta  ndarray.Meta
	pool  *cblosc.Pool
	write bool

	shape   sync.RWMutex           // held for writing while the number of rows changes
	locks   [chunkLocks]sync.Mutex // of the chunk files, by their number
	fresh   map[int64]bool         // of a new array: the chunk files that exist; nil: all do
	freshMu sync.Mutex
	attrs   attributes
}

// OpenOptions say how Open looks at a directory; nil means the zero value.
type OpenOptions struct {
	Limits *bcolz.Limits // nil: bcolz.DefaultLimits
	Write  bool          // open for writing, in place
}

// Open opens the carray in the directory path.
//
// It returns ndarray.ErrNotFound, ErrFormat for anything but a carray, ErrCorrupt,
// ErrType for an element type that ndarray does not have, or
// errors.ErrUnsupported for what is above a limit.
func Open(path string, o *OpenOptions) (*Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := open(path, o)
	return b, ndarray.Wrap("open", path, err)
}

func open(path string, o *OpenOptions) (*Backend, error) {
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	return newBackend(path, root, o)
}

// openRoot opens the directory of a tree, so that nothing in it leads out of it.
func openRoot(path string) (*os.Root, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ndarray.Mark(err, ndarray.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: bcolz arrays are directories", ndarray.ErrFormat)
	}
	return os.OpenRoot(path)
}

// newBackend returns the backend of the carray in root, which it takes over.
func newBackend(path string, root *os.Root, o *OpenOptions) (_ *Backend, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Close())
		}
	}()
	if err := expect(root, bcolz.ArrayTree); err != nil {
		return nil, err
	}
	tree, err := bcolz.ReadArray(root.FS(), ".", o.Limits)
	if err != nil {
		return nil, translate(err)
	}
	tree, meta, err := metaOf(path, tree)
	if err != nil {
		return nil, err
	}
	rec, err := readRecord(root, RecordFile)
	if err != nil {
		return nil, err
	}
	rec.apply(&meta)
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
	b := &Backend{root: root, dir: store{root: root, durable: true}, tree: tree, meta: meta, pool: pool, write: o.Write}
	b.attrs.dir, b.attrs.recordFile, b.attrs.members, b.attrs.record = b.dir, RecordFile, slices.Clone(tree.Attrs), rec
	return b, nil
}

// canWrite refuses what could be read and not be written as bcolz would.
func canWrite(tree *bcolz.Array) error {
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

// expect returns ErrFormat unless root is a tree of that kind.
func expect(root *os.Root, want bcolz.Kind) error {
	kind, err := bcolz.Detect(root.FS(), ".")
	if err == nil && kind != want {
		err = fmt.Errorf("%w: %v, want a %v", ndarray.ErrFormat, kind, want)
	}
	return err
}

// metaOf describes a carray in ndarray's words. It returns the tree with the size of
// structured elements.
func metaOf(path string, tree *bcolz.Array) (*bcolz.Array, ndarray.Meta, error) {
	d, err := dtypeOf(tree.Storage.DType)
	if err != nil {
		return nil, ndarray.Meta{}, err
	}
	if tree.Storage.DType.Structured {
		if tree, err = tree.WithItemSize(int64(d.Size)); err != nil {
			return nil, ndarray.Meta{}, translate(err)
		}
	}
	m := ndarray.Meta{
		Format: "bcolz", Path: path, Shape: tree.Sizes.Shape, DType: d,
		Compression: compression(tree.Storage.CParams),
	}
	if len(m.Shape) > ndarray.MaxRank {
		return nil, m, fmt.Errorf("%w: %d axes, at most %d", errors.ErrUnsupported, len(m.Shape), ndarray.MaxRank)
	}
	if err := ndarray.CheckShape(m.Shape, d.Size); err != nil {
		return nil, m, err
	}
	m.ChunkShape = append(m.ChunkShape, tree.Storage.ChunkLen)
	for _, n := range m.Shape[1:] {
		m.ChunkShape = append(m.ChunkShape, max(n, 1))
	}
	m.Fill, err = fillOf(tree.Storage.Default, d)
	return tree, m, err
}

// compression is what bcolz calls cparams.
func compression(p bcolz.CParams) *ndarray.Compression {
	c := &ndarray.Compression{Codec: p.Codec, Level: p.Level}
	if p.Level == 0 {
		c.Codec = "none"
	}
	switch p.Shuffle {
	case bcolz.ByteShuffle:
		c.Filters = []string{"shuffle"}
	case bcolz.BitShuffle:
		c.Filters = []string{"bitshuffle"}
	}
	return c
}

// Meta describes the array.
func (b *Backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion reads elements. The chunk files that r touches are read and
// decompressed on up to GOMAXPROCS goroutines.
func (b *Backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.shape.RLock()
	defer b.shape.RUnlock()
	row := r.NumElems() / r.Shape[0] * int64(b.meta.DType.Size)
	workers, failed := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range b.parts(r) {
		if failed.Err() != nil {
			break
		}
		at := (part.Start[0] - r.Start[0]) * row
		to := dst[at : at+part.Shape[0]*row]
		workers.Go(func() error {
			if err := failed.Err(); err != nil {
				return err
			}
			return b.readFile(to, i, part)
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return ctx.Err() // the loop may have ended early
}

// readFile fills dst with the elements of r, which all lie in the i-th chunk
// file.
func (b *Backend) readFile(dst []byte, i int64, r ndarray.Region) error {
	if b.missing(i) {
		fillWith(dst, b.meta.Fill)
		return nil
	}
	return b.readFileOf(b.tree, dst, i, r)
}

// readFileOf is readFile for a tree that may be of another length than the array.
func (b *Backend) readFileOf(tree *bcolz.Array, dst []byte, i int64, r ndarray.Region) error {
	chunks, err := tree.ReadChunks(i)
	if err != nil {
		return damage(err)
	}
	total := 0
	for _, c := range chunks {
		total += int(c.Header.NBytes)
	}
	rows := dst
	whole := len(dst) == total // r is inside the file: as many bytes are all of it
	if !whole {
		rows = make([]byte, total)
	}
	at := 0
	for _, c := range chunks {
		n := int(c.Header.NBytes)
		got, err := b.pool.Decompress(rows[at:at+n], c.Data)
		if err == nil && got != n {
			err = fmt.Errorf("%w: %d bytes decompressed, the chunk holds %d", ndarray.ErrCorrupt, got, n)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", tree.FileName(i), damage(err))
		}
		at += n
	}
	if !whole {
		from := ndarray.Region{Start: append([]int64{}, r.Start...), Shape: append([]int64{}, b.meta.Shape...)}
		from.Start[0] -= i * tree.Storage.ChunkLen
		from.Shape[0] = int64(total) / tree.RowBytes()
		strided.Copy(strided.Box{Data: dst, Shape: r.Shape, Start: make([]int64, r.Rank())},
			strided.Box{Data: rows, Shape: from.Shape, Start: from.Start}, r.Shape, b.meta.DType.Size)
	}
	b.meta.DType.ToNative(dst)
	return nil
}

// missing reports whether a chunk file of a new array has not been written yet.
func (b *Backend) missing(i int64) bool {
	if b.fresh == nil {
		return false
	}
	b.freshMu.Lock()
	defer b.freshMu.Unlock()
	return !b.fresh[i]
}

// Storage reports the bytes of the chunk files that belong to the array, less
// their headers.
func (b *Backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	var s ndarray.Storage
	if b.meta.NumElems() == 0 {
		return s, ctx.Err()
	}
	s.NumChunks = b.tree.NumFiles()
	for i := range s.NumChunks {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if b.missing(i) {
			continue
		}
		info, err := b.root.Stat(b.tree.FileName(i))
		if err != nil {
			return s, damage(err)
		}
		s.StoredBytes += max(info.Size()-bcolz.HeaderSize, 0)
	}
	return s, nil
}

// Close writes what a new array still lacks, and frees the contexts and the
// directory.
func (b *Backend) Close() error {
	var err error
	if b.fresh != nil {
		err = b.finish()
	}
	return errors.Join(err, b.abandon())
}

// translate marks an error in the metadata with what it means to ndarray.
func translate(err error) error {
	switch {
	case errors.Is(err, format.ErrVersion), errors.Is(err, format.ErrLimit), errors.Is(err, format.ErrUnsupported):
		return ndarray.Mark(err, errors.ErrUnsupported)
	}
	return damage(err)
}

// damage marks an error in the chunk files, or a missing file, of what has been
// found to be a tree.
func damage(err error) error {
	if errors.Is(err, format.ErrVersion) {
		return ndarray.Mark(err, errors.ErrUnsupported)
	}
	for _, is := range []error{format.ErrTruncated, format.ErrMagic, format.ErrCorrupt, cblosc.ErrFormat, fs.ErrNotExist} {
		if errors.Is(err, is) {
			return ndarray.Mark(err, ndarray.ErrCorrupt)
		}
	}
	var e *cblosc.Error
	if errors.As(err, &e) && e.Code != 0 {
		return ndarray.Mark(err, ndarray.ErrCorrupt)
	}
	return err
}
